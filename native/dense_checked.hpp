// The bytes of a mapped array, each block verified when it is first touched.
#pragma once

#include <cstddef>
#include <cstdint>

namespace pincite {

struct Checked {
    static constexpr std::size_t kBlock = 65536;

    const std::uint8_t* data = nullptr;
    std::size_t size = 0;
    const std::uint8_t* crcs = nullptr;  // little-endian CRC-32 of each block; null: trusted
    std::uint8_t* seen = nullptr;        // 1 for a block that was verified; threads may race to it

    // False when a block that holds some of [begin, end) fails its checksum.
    bool holds(std::size_t begin, std::size_t end) const {
        if (crcs == nullptr || begin >= end) return true;
        for (std::size_t block = begin / kBlock; block <= (end - 1) / kBlock; ++block) {
            if (!seen[block] && !verify(block)) return false;
        }
        return true;
    }

    // Has the system read what lies in [begin, end), and what is needed to verify it, without
    // waiting for it.
    void ask(std::size_t begin, std::size_t end) const;

    // The same of everything, where all will be read.
    void fetch() const;

    // Tells the system that this is read here and there: then it reads what it is asked for only.
    void scatter() const;

   private:
    bool verify(std::size_t block) const;
};

}  // namespace pincite

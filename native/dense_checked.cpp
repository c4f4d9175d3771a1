#include "dense_checked.hpp"

#include <algorithm>
#include <array>

namespace pincite {
namespace {

using Table = std::array<std::array<std::uint32_t, 256>, 8>;

Table tables() {
    Table table{};
    for (std::uint32_t byte = 0; byte < 256; ++byte) {
        std::uint32_t crc = byte;
        for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ (crc & 1U ? 0xEDB88320U : 0U);
        table[0][byte] = crc;
    }
    for (std::size_t slice = 1; slice < 8; ++slice) {
        for (std::size_t byte = 0; byte < 256; ++byte) {
            const std::uint32_t crc = table[slice - 1][byte];
            table[slice][byte] = (crc >> 8) ^ table[0][crc & 0xFFU];
        }
    }
    return table;
}

std::uint32_t little(const std::uint8_t* bytes) {
    return std::uint32_t(bytes[0]) | std::uint32_t(bytes[1]) << 8 | std::uint32_t(bytes[2]) << 16 |
           std::uint32_t(bytes[3]) << 24;
}

// The CRC-32 of zlib, eight bytes at a time (Kounavis and Berry, "A Systematic Approach to
// Building High Performance Software-Based CRC Generators", 2005).
std::uint32_t crc32(const std::uint8_t* bytes, std::size_t size) {
    static const Table table = tables();
    std::uint32_t crc = 0xFFFFFFFFU;
    for (; size >= 8; bytes += 8, size -= 8) {
        const std::uint32_t low = little(bytes) ^ crc, high = little(bytes + 4);
        crc = table[7][low & 0xFFU] ^ table[6][(low >> 8) & 0xFFU] ^
              table[5][(low >> 16) & 0xFFU] ^ table[4][low >> 24] ^ table[3][high & 0xFFU] ^
              table[2][(high >> 8) & 0xFFU] ^ table[1][(high >> 16) & 0xFFU] ^ table[0][high >> 24];
    }
    for (; size > 0; ++bytes, --size) crc = (crc >> 8) ^ table[0][(crc ^ *bytes) & 0xFFU];
    return ~crc;
}

}  // namespace

bool Checked::verify(std::size_t block) const {
    const std::size_t begin = block * kBlock;
    const std::size_t bytes = std::min(size - begin, kBlock);
    if (crc32(data + begin, bytes) != little(crcs + 4 * block)) return false;
    seen[block] = 1;
    return true;
}

}  // namespace pincite

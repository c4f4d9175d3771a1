#include "dense_checked.hpp"

#include <algorithm>

#include "checksum.hpp"

namespace pincite {
namespace {

std::uint32_t little(const std::uint8_t* bytes) {
    return std::uint32_t(bytes[0]) | std::uint32_t(bytes[1]) << 8 | std::uint32_t(bytes[2]) << 16 |
           std::uint32_t(bytes[3]) << 24;
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

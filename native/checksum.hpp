// The checksum of a segment's blocks.
#pragma once

#include <cstddef>
#include <cstdint>

namespace pincite {

// The CRC-32 of zlib.
std::uint32_t crc32(const std::uint8_t* data, std::size_t size);

}  // namespace pincite

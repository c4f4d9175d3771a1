#include "checksum.hpp"

#include <array>

#if defined(__x86_64__) && defined(__GNUC__)
#define PINCITE_FOLDING 1
#include <immintrin.h>
#endif

namespace pincite {
namespace {

constexpr std::size_t kSlices = 16;

using Tables = std::array<std::array<std::uint32_t, 256>, kSlices>;

Tables make_tables() {
    Tables tables{};
    for (std::uint32_t byte = 0; byte < 256; ++byte) {
        std::uint32_t crc = byte;
        for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ (crc & 1 ? 0xEDB88320U : 0U);
        tables[0][byte] = crc;
    }
    for (std::size_t slice = 1; slice < kSlices; ++slice) {
        for (std::size_t byte = 0; byte < 256; ++byte) {
            const std::uint32_t before = tables[slice - 1][byte];
            tables[slice][byte] = (before >> 8) ^ tables[0][before & 0xFF];
        }
    }
    return tables;
}

// Sixteen bytes at a time (Kounavis and Berry, "Novel Table Lookup-Based Algorithms for
// High-Performance CRC Generation", 2008).
std::uint32_t by_tables(const std::uint8_t* data, std::size_t size, std::uint32_t crc) {
    static const Tables tables = make_tables();
    for (; size >= kSlices; data += kSlices, size -= kSlices) {
        std::uint32_t next = 0;
        for (std::size_t i = 0; i < kSlices; ++i) {
            const std::uint32_t mixed = i < 4 ? (crc >> (8 * i)) & 0xFF : 0;
            next ^= tables[kSlices - 1 - i][data[i] ^ mixed];
        }
        crc = next;
    }
    for (; size > 0; ++data, --size) crc = (crc >> 8) ^ tables[0][(crc ^ *data) & 0xFF];
    return crc;
}

#ifdef PINCITE_FOLDING

constexpr std::size_t kFold = 64;  // bytes of a step, and the fewest that can be folded

#define PINCITE_CARRYLESS __attribute__((target("pclmul,sse4.1")))

PINCITE_CARRYLESS __m128i at(const std::uint8_t* data) {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(data));
}

// `value` moved ahead by the distance that `powers` stand for, onto `next`.
PINCITE_CARRYLESS __m128i folded(__m128i value, __m128i powers, __m128i next) {
    const __m128i low = _mm_clmulepi64_si128(value, powers, 0x00);
    const __m128i high = _mm_clmulepi64_si128(value, powers, 0x11);
    return _mm_xor_si128(_mm_xor_si128(low, high), next);
}

// 64 bytes at a time by carry-less multiplication (Gopal et al., "Fast CRC Computation for Generic
// Polynomials Using PCLMULQDQ Instruction", Intel 2009; the constants are those of its appendix).
// `size` is a multiple of 16 and at least 64.
PINCITE_CARRYLESS std::uint32_t by_folding(const std::uint8_t* data, std::size_t size,
                                           std::uint32_t crc) {
    const __m128i by_64 = _mm_set_epi64x(0x01C6E41596, 0x0154442BD4);
    const __m128i by_16 = _mm_set_epi64x(0x00CCAA009E, 0x01751997D0);
    const __m128i by_8 = _mm_set_epi64x(0, 0x0163CD6124);
    const __m128i barrett = _mm_set_epi64x(0x01F7011641, 0x01DB710641);
    const __m128i words = _mm_setr_epi32(-1, 0, -1, 0);

    __m128i a = _mm_xor_si128(at(data), _mm_cvtsi32_si128(static_cast<int>(crc)));
    __m128i b = at(data + 16), c = at(data + 32), d = at(data + 48);
    for (data += kFold, size -= kFold; size >= kFold; data += kFold, size -= kFold) {
        a = folded(a, by_64, at(data));
        b = folded(b, by_64, at(data + 16));
        c = folded(c, by_64, at(data + 32));
        d = folded(d, by_64, at(data + 48));
    }
    a = folded(folded(folded(a, by_16, b), by_16, c), by_16, d);
    for (; size >= 16; data += 16, size -= 16) a = folded(a, by_16, at(data));

    a = _mm_xor_si128(_mm_srli_si128(a, 8), _mm_clmulepi64_si128(a, by_16, 0x10));
    a = _mm_xor_si128(_mm_srli_si128(a, 4),
                      _mm_clmulepi64_si128(_mm_and_si128(a, words), by_8, 0x00));
    __m128i quotient = _mm_clmulepi64_si128(_mm_and_si128(a, words), barrett, 0x10);
    quotient = _mm_clmulepi64_si128(_mm_and_si128(quotient, words), barrett, 0x00);
    return static_cast<std::uint32_t>(_mm_extract_epi32(_mm_xor_si128(a, quotient), 1));
}

bool can_fold() {
    static const bool can = __builtin_cpu_supports("pclmul") && __builtin_cpu_supports("sse4.1");
    return can;
}

#endif

}  // namespace

std::uint32_t crc32(const std::uint8_t* data, std::size_t size) {
    std::uint32_t crc = 0xFFFFFFFFU;
#ifdef PINCITE_FOLDING
    if (size >= kFold && can_fold()) {
        const std::size_t whole = size / 16 * 16;
        crc = by_folding(data, whole, crc);
        data += whole;
        size -= whole;
    }
#endif
    return ~by_tables(data, size, crc);
}

}  // namespace pincite

// Where a row lies among ascending ones.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "bm25_segment.hpp"

#if defined(__x86_64__) && defined(__GNUC__)
#define PINCITE_X86 1
#include <immintrin.h>
#endif

namespace pincite::bm25 {

// The first of `count` ascending rows that is not below `low`. Free of branches that depend on
// the data, so that several searches overlap; multiplied, because compilers branch on a choice.
inline std::size_t lower_bound(const std::uint16_t* rows, std::size_t count, std::uint16_t low) {
    const std::uint16_t* base = rows;
    while (count > 1) {
        const std::size_t half = count / 2;
        base += static_cast<std::size_t>(base[half - 1] < low) * half;
        count -= half;
    }
    return static_cast<std::size_t>(base - rows) + (count == 1 && *base < low);
}

// How many of `kNear` rows are below `low`.
constexpr std::size_t kNear = 64;

inline std::size_t count_below(const std::uint16_t* rows, std::uint16_t low) {
#ifdef PINCITE_X86
    const __m128i sought = _mm_set1_epi16(static_cast<short>(low)), zero = _mm_setzero_si128();
    __m128i others = zero;  // minus how many in each lane are not below
    for (std::size_t i = 0; i < kNear; i += 8) {
        const __m128i own = _mm_loadu_si128(reinterpret_cast<const __m128i*>(rows + i));
        others = _mm_add_epi16(others, _mm_cmpeq_epi16(_mm_subs_epu16(sought, own), zero));
    }
    const __m128i sums = _mm_madd_epi16(others, _mm_set1_epi16(-1));
    const __m128i halves = _mm_add_epi32(sums, _mm_shuffle_epi32(sums, 0x4E));
    const __m128i whole = _mm_add_epi32(halves, _mm_shuffle_epi32(halves, 0xB1));
    return kNear - static_cast<std::size_t>(_mm_cvtsi128_si32(whole));
#else
    return lower_bound(rows, kNear, low);
#endif
}

// The same within a window, whose rows lie at random as a rule: `low` is looked for about where
// it then lies, and everywhere when it is not there.
inline std::size_t find_near(const std::uint16_t* rows, std::size_t count, std::uint16_t low) {
    if (count <= kNear) return lower_bound(rows, count, low);
    const std::size_t guess = ((low & (kWindowRows - 1)) * count) >> kWindowBits;
    const std::size_t first = std::min(guess > kNear / 2 ? guess - kNear / 2 : 0, count - kNear);
    const std::size_t below = count_below(rows + first, low);
    if (below > 0 && below < kNear) return first + below;
    if (below == 0) return lower_bound(rows, first, low);
    return first + kNear + lower_bound(rows + first + kNear, count - first - kNear, low);
}

}  // namespace pincite::bm25

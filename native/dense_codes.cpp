#include "dense_codes.hpp"

#include <algorithm>
#include <cmath>

#include "dense_half.hpp"

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>
#define PINCITE_X86 1
#endif

namespace pincite {
namespace {

constexpr float kStep = 0.9957F;  // of the best even 4-level quantiser of a normal (Max 1960)
constexpr std::size_t kGroup = 16;

struct Weights {
    float along;   // of the first factor
    float across;  // of the second one, for twice a sum of codes less 3 times the query's sum
    std::int32_t offset;
};

Weights weights(const CodedQuery& query, float centroid, float scale) {
    return {centroid * scale, query.step * scale, 3 * query.sum};
}

using Kernel = void (*)(const Blocks&, const std::int8_t*, const Weights&, float*);

void estimate_portable(const Blocks& blocks, const std::int8_t* query, const Weights& weights,
                       float* out) {
    for (std::size_t block = 0; block < blocks.count; ++block) {
        const std::uint8_t* codes = blocks.codes + block * block_bytes(blocks.padded);
        const std::uint16_t* factors = blocks.factors + block * kBlockFactors;
        std::int32_t sums[kBlockRows] = {};
        for (std::size_t group = 0; group < blocks.padded / kGroup; ++group) {
            const std::int8_t* values = query + group * kGroup;
            for (std::size_t lane = 0; lane < kBlockRows; ++lane) {
                for (std::size_t j = 0; j < 4; ++j) {
                    const int byte = codes[group * 64 + lane * 4 + j];
                    sums[lane] += (byte & 3) * values[j] + (byte >> 2 & 3) * values[4 + j] +
                                  (byte >> 4 & 3) * values[8 + j] + (byte >> 6) * values[12 + j];
                }
            }
        }
        for (std::size_t lane = 0; lane < kBlockRows; ++lane) {
            const auto whole = static_cast<float>(2 * sums[lane] - weights.offset);
            out[block * kBlockRows + lane] =
                widened(factors[lane]) * weights.along +
                widened(factors[kBlockRows + lane]) * weights.across * whole;
        }
    }
}

#ifdef PINCITE_X86

#define PINCITE_AVX512 __attribute__((target("avx512f,avx512bw,avx512vl,avx512vnni")))

PINCITE_AVX512 inline void finish_avx512(const __m512i* sums, const std::uint16_t* factors,
                                         const Weights& weights, float* out) {
    // Places 1, 2 and 3 of a byte were summed where they stand: 4, 16 and 64 times their codes.
    __m512i sum = _mm512_add_epi32(
        _mm512_add_epi32(sums[0], _mm512_srai_epi32(sums[1], 2)),
        _mm512_add_epi32(_mm512_srai_epi32(sums[2], 4), _mm512_srai_epi32(sums[3], 6)));
    sum = _mm512_sub_epi32(_mm512_add_epi32(sum, sum), _mm512_set1_epi32(weights.offset));
    const auto* halves = reinterpret_cast<const __m256i*>(factors);
    const __m512 along = _mm512_cvtph_ps(_mm256_loadu_si256(halves));
    const __m512 across = _mm512_cvtph_ps(_mm256_loadu_si256(halves + 1));
    const __m512 first = _mm512_mul_ps(along, _mm512_set1_ps(weights.along));
    const __m512 second = _mm512_mul_ps(_mm512_mul_ps(across, _mm512_set1_ps(weights.across)),
                                        _mm512_cvtepi32_ps(sum));
    _mm512_storeu_ps(out, _mm512_add_ps(first, second));
}

PINCITE_AVX512 inline void add_avx512(__m512i* sums, __m512i codes, const __m512i* places,
                                      const __m512i* query) {
    for (int t = 0; t < 4; ++t) {
        sums[t] = _mm512_dpbusd_epi32(sums[t], _mm512_and_si512(codes, places[t]), query[t]);
    }
}

template <std::size_t kBlocks>
PINCITE_AVX512 inline void blocks_avx512(const Blocks& blocks, std::size_t first,
                                         const std::int8_t* query, const Weights& weights,
                                         float* out) {
    const std::size_t stride = block_bytes(blocks.padded);
    const std::uint8_t* codes = blocks.codes + first * stride;
    const __m512i places[4] = {_mm512_set1_epi8(0x03), _mm512_set1_epi8(0x0C),
                               _mm512_set1_epi8(0x30), _mm512_set1_epi8(char(0xC0))};
    __m512i sums[kBlocks][4];
    for (auto& block : sums) {
        for (auto& sum : block) sum = _mm512_setzero_si512();
    }
    for (std::size_t group = 0; group < blocks.padded / kGroup; ++group) {
        __m512i values[4];
        for (std::size_t t = 0; t < 4; ++t) {
            std::int32_t four;
            std::memcpy(&four, query + group * kGroup + 4 * t, sizeof four);
            values[t] = _mm512_set1_epi32(four);
        }
        for (std::size_t block = 0; block < kBlocks; ++block) {
            add_avx512(sums[block], _mm512_loadu_si512(codes + block * stride + group * 64),
                       places, values);
        }
    }
    for (std::size_t block = 0; block < kBlocks; ++block) {
        finish_avx512(sums[block], blocks.factors + (first + block) * kBlockFactors, weights,
                      out + (first + block) * kBlockRows);
    }
}

PINCITE_AVX512 void estimate_avx512(const Blocks& blocks, const std::int8_t* query,
                                    const Weights& weights, float* out) {
    std::size_t block = 0;
    for (; block + 2 <= blocks.count; block += 2) {
        blocks_avx512<2>(blocks, block, query, weights, out);
    }
    if (block < blocks.count) blocks_avx512<1>(blocks, block, query, weights, out);
}

#define PINCITE_AVX2 __attribute__((target("avx2,f16c")))

PINCITE_AVX2 inline __m256i times_avx2(__m256i codes, __m256i places, __m256i query) {
    return _mm256_maddubs_epi16(_mm256_and_si256(codes, places), query);
}

// The sums of eight documents. Products of pairs are summed in 16 bits: four groups stay within
// 4 * 2 * 2 * 12 * 127 < 32,767.
PINCITE_AVX2 inline __m256i sums_avx2(const std::uint8_t* codes, const std::int8_t* query,
                                      std::size_t groups) {
    const __m256i low = _mm256_set1_epi8(0x03), high = _mm256_set1_epi8(0x0C);
    const __m256i ones = _mm256_set1_epi16(1);
    __m256i once = _mm256_setzero_si256(), fourfold = _mm256_setzero_si256();
    for (std::size_t begin = 0; begin < groups; begin += 4) {
        __m256i narrow = _mm256_setzero_si256(), wide = _mm256_setzero_si256();
        for (std::size_t group = begin; group < std::min(begin + 4, groups); ++group) {
            const __m256i first =
                _mm256_loadu_si256(reinterpret_cast<const __m256i*>(codes + group * 64));
            const __m256i second = _mm256_srli_epi16(first, 4);
            __m256i values[4];
            for (std::size_t t = 0; t < 4; ++t) {
                std::int32_t four;
                std::memcpy(&four, query + group * kGroup + 4 * t, sizeof four);
                values[t] = _mm256_set1_epi32(four);
            }
            narrow = _mm256_add_epi16(narrow, times_avx2(first, low, values[0]));
            narrow = _mm256_add_epi16(narrow, times_avx2(second, low, values[2]));
            wide = _mm256_add_epi16(wide, times_avx2(first, high, values[1]));
            wide = _mm256_add_epi16(wide, times_avx2(second, high, values[3]));
        }
        once = _mm256_add_epi32(once, _mm256_madd_epi16(narrow, ones));
        fourfold = _mm256_add_epi32(fourfold, _mm256_madd_epi16(wide, ones));
    }
    return _mm256_add_epi32(once, _mm256_srai_epi32(fourfold, 2));
}

PINCITE_AVX2 void estimate_avx2(const Blocks& blocks, const std::int8_t* query,
                                const Weights& weights, float* out) {
    const __m256i offset = _mm256_set1_epi32(weights.offset);
    for (std::size_t half = 0; half < 2 * blocks.count; ++half) {
        const std::size_t block = half / 2, lane = half % 2 * 8;
        const std::uint8_t* codes = blocks.codes + block * block_bytes(blocks.padded) + lane * 4;
        const std::uint16_t* factors = blocks.factors + block * kBlockFactors + lane;
        __m256i sum = sums_avx2(codes, query, blocks.padded / kGroup);
        sum = _mm256_sub_epi32(_mm256_add_epi32(sum, sum), offset);
        const __m256 along =
            _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(factors)));
        const __m256 across = _mm256_cvtph_ps(
            _mm_loadu_si128(reinterpret_cast<const __m128i*>(factors + kBlockRows)));
        const __m256 first = _mm256_mul_ps(along, _mm256_set1_ps(weights.along));
        const __m256 second = _mm256_mul_ps(
            _mm256_mul_ps(across, _mm256_set1_ps(weights.across)), _mm256_cvtepi32_ps(sum));
        _mm256_storeu_ps(out + block * kBlockRows + lane, _mm256_add_ps(first, second));
    }
}

#endif

struct Named {
    const char* name;
    Kernel run;
};

std::vector<Named> kernels() {
    std::vector<Named> found;
#ifdef PINCITE_X86
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512vnni") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512vl")) {
        found.push_back({"avx512", estimate_avx512});
    }
    if (__builtin_cpu_supports("avx2")) found.push_back({"avx2", estimate_avx2});
#endif
    found.push_back({"portable", estimate_portable});
    return found;
}

const std::vector<Named>& known() {
    static const std::vector<Named> all = kernels();
    return all;
}

}  // namespace

float encode(const float* residual, std::size_t padded, std::uint8_t* block, std::size_t lane) {
    const float squared = dot(residual, residual, padded);
    if (!(squared > 0.0F)) return 0.0F;
    const float inverse = std::sqrt(static_cast<float>(padded) / squared) / kStep;
    float product = 0.0F;
    for (std::size_t i = 0; i < padded; ++i) {
        const float level = std::floor(residual[i] * inverse) + 2.0F;
        const int code = static_cast<int>(std::min(std::max(level, 0.0F), 3.0F));
        product += residual[i] * static_cast<float>(2 * code - 3);
        const std::size_t place = i % kGroup;
        block[i / kGroup * 64 + lane * 4 + place % 4] |=
            static_cast<std::uint8_t>(code << (2 * (place / 4)));
    }
    return squared / product;
}

void CodedQuery::assign(const float* rotated, std::size_t padded) {
    float largest = 0.0F;
    for (std::size_t i = 0; i < padded; ++i) largest = std::max(largest, std::fabs(rotated[i]));
    const float inverse = largest > 0.0F ? 127.0F / largest : 0.0F;
    step = largest / 127.0F;
    sum = 0;
    values.resize(padded);
    for (std::size_t i = 0; i < padded; ++i) {
        const float value = rotated[i] * inverse;
        values[i] = static_cast<std::int8_t>(value < 0.0F ? value - 0.5F : value + 0.5F);
        sum += values[i];
    }
}

std::vector<const char*> kernel_names() {
    std::vector<const char*> names;
    for (const auto& kernel : known()) names.push_back(kernel.name);
    return names;
}

void estimate_with(std::size_t kernel, const Blocks& blocks, const CodedQuery& query,
                   float centroid, float scale, float* out) {
    known()[kernel].run(blocks, query.values.data(), weights(query, centroid, scale), out);
}

void estimate(const Blocks& blocks, const CodedQuery& query, float centroid, float scale,
              float* out) {
    static const Kernel best = known().front().run;
    best(blocks, query.values.data(), weights(query, centroid, scale), out);
}

}  // namespace pincite

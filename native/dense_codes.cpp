#include "dense_codes.hpp"

#include <algorithm>
#include <cmath>

#include "clones.hpp"
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

using Kernel = void (*)(const Blocks&, const CodedQuery&, const Weights&, float*);

void estimate_portable(const Blocks& blocks, const CodedQuery& coded, const Weights& weights,
                       float* out) {
    const std::int8_t* query = coded.values.data();
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

PINCITE_AVX512 void estimate_avx512(const Blocks& blocks, const CodedQuery& coded,
                                    const Weights& weights, float* out) {
    const std::int8_t* query = coded.values.data();
    std::size_t block = 0;
    for (; block + 2 <= blocks.count; block += 2) {
        blocks_avx512<2>(blocks, block, query, weights, out);
    }
    if (block < blocks.count) blocks_avx512<1>(blocks, block, query, weights, out);
}

#define PINCITE_AVX2 __attribute__((target("avx2,f16c")))

// Half a byte of a code names two dimensions' levels, so one shuffle looks up 16 documents' sums of
// two products (André, Kermarrec and Le Scouarnec, "Quicker ADC", 2021). For each byte of a group
// there are two tables of 16 sums, raised to be no less than 0: for the low and the high half.
constexpr std::size_t kTables = 2 * 16 * 4;

PINCITE_AVX2 void make_tables(CodedQuery& query) {
    // Digits of 0 to 15 in base 4, pair by pair.
    const __m128i low = _mm_setr_epi8(0, 0, 1, 0, 2, 0, 3, 0, 0, 1, 1, 1, 2, 1, 3, 1);
    const __m128i high = _mm_add_epi8(low, _mm_set1_epi16(0x0200));
    const std::size_t groups = query.values.size() / kGroup;
    query.tables.resize(groups * kTables);
    query.raised = 0;
    for (std::size_t table = 0; table < groups * 8; ++table) {
        const std::size_t half = table % 2, byte = table / 2 % 4;
        const std::int8_t* values = query.values.data() + table / 8 * kGroup + 8 * half + byte;
        const int first = values[0], second = values[4];
        const int raise = 3 * (std::max(-first, 0) + std::max(-second, 0));
        const auto pair = static_cast<std::int16_t>((first & 0xFF) | second * 256);
        const __m128i both = _mm_set1_epi16(pair);
        const __m128i sums =
            _mm_packs_epi16(_mm_maddubs_epi16(low, both), _mm_maddubs_epi16(high, both));
        _mm_storeu_si128(reinterpret_cast<__m128i*>(query.tables.data() + 16 * table),
                         _mm_add_epi8(sums, _mm_set1_epi8(static_cast<char>(raise))));
        query.raised += raise;
    }
}

PINCITE_AVX2 inline __m128i load_avx2(const std::uint8_t* from) {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
}

// A group of 16 documents with 4 bytes each as 4 bytes of 16 documents each.
PINCITE_AVX2 inline void by_byte_avx2(const std::uint8_t* group, __m128i* bytes) {
    const __m128i order = _mm_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    __m128i four[4];
    for (int i = 0; i < 4; ++i) four[i] = _mm_shuffle_epi8(load_avx2(group + 16 * i), order);
    const __m128i low[2] = {_mm_unpacklo_epi32(four[0], four[1]),
                            _mm_unpacklo_epi32(four[2], four[3])};
    const __m128i high[2] = {_mm_unpackhi_epi32(four[0], four[1]),
                             _mm_unpackhi_epi32(four[2], four[3])};
    bytes[0] = _mm_unpacklo_epi64(low[0], low[1]);
    bytes[1] = _mm_unpackhi_epi64(low[0], low[1]);
    bytes[2] = _mm_unpacklo_epi64(high[0], high[1]);
    bytes[3] = _mm_unpackhi_epi64(high[0], high[1]);
}

// Adds the sums of up to kRoom groups to those of eight and eight documents.
constexpr std::size_t kRoom = 64;  // 4 * 64 sums of at most 254 fit into 16 bits

PINCITE_AVX2 inline void add_avx2(const std::uint8_t* codes, const std::uint8_t* tables,
                                  std::size_t groups, __m256i* sums) {
    const __m128i half = _mm_set1_epi8(0x0F);
    __m128i even = _mm_setzero_si128(), odd = _mm_setzero_si128();
    for (std::size_t group = 0; group < groups; ++group) {
        __m128i bytes[4];
        by_byte_avx2(codes + group * 64, bytes);
        for (std::size_t i = 0; i < 4; ++i) {
            const std::uint8_t* table = tables + group * kTables + 32 * i;
            const __m128i low =
                _mm_shuffle_epi8(load_avx2(table), _mm_and_si128(bytes[i], half));
            const __m128i high = _mm_shuffle_epi8(
                load_avx2(table + 16), _mm_and_si128(_mm_srli_epi16(bytes[i], 4), half));
            const __m128i both = _mm_add_epi8(low, high);
            even = _mm_add_epi16(even, both);  // what the odd ones add to it is taken back below
            odd = _mm_add_epi16(odd, _mm_srli_epi16(both, 8));
        }
    }
    even = _mm_sub_epi16(even, _mm_slli_epi16(odd, 8));
    sums[0] = _mm256_add_epi32(sums[0], _mm256_cvtepu16_epi32(_mm_unpacklo_epi16(even, odd)));
    sums[1] = _mm256_add_epi32(sums[1], _mm256_cvtepu16_epi32(_mm_unpackhi_epi16(even, odd)));
}

PINCITE_AVX2 void estimate_avx2(const Blocks& blocks, const CodedQuery& query,
                                const Weights& weights, float* out) {
    const __m256i offset = _mm256_set1_epi32(weights.offset + 2 * query.raised);
    const std::size_t groups = blocks.padded / kGroup;
    for (std::size_t block = 0; block < blocks.count; ++block) {
        const std::uint8_t* codes = blocks.codes + block * block_bytes(blocks.padded);
        __m256i sums[2] = {_mm256_setzero_si256(), _mm256_setzero_si256()};
        for (std::size_t begin = 0; begin < groups; begin += kRoom) {
            add_avx2(codes + begin * 64, query.tables.data() + begin * kTables,
                     std::min(kRoom, groups - begin), sums);
        }
        for (std::size_t half = 0; half < 2; ++half) {
            const std::uint16_t* factors = blocks.factors + block * kBlockFactors + 8 * half;
            const __m256i sum = _mm256_sub_epi32(_mm256_add_epi32(sums[half], sums[half]), offset);
            const __m256 along =
                _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(factors)));
            const __m256 across = _mm256_cvtph_ps(
                _mm_loadu_si128(reinterpret_cast<const __m128i*>(factors + kBlockRows)));
            const __m256 first = _mm256_mul_ps(along, _mm256_set1_ps(weights.along));
            const __m256 second = _mm256_mul_ps(
                _mm256_mul_ps(across, _mm256_set1_ps(weights.across)), _mm256_cvtepi32_ps(sum));
            _mm256_storeu_ps(out + block * kBlockRows + 8 * half, _mm256_add_ps(first, second));
        }
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

PINCITE_CLONES float encode(const float* residual, std::size_t padded, std::uint8_t* block,
                            std::size_t lane) {
    const float squared = dot(residual, residual, padded);
    if (!(squared > 0.0F)) return 0.0F;
    const float inverse = std::sqrt(static_cast<float>(padded) / squared) / kStep;
    float product = 0.0F;
    for (std::size_t i = 0; i < padded; ++i) {
        const float level = residual[i] * inverse;
        const int code = (level >= -1.0F) + (level >= 0.0F) + (level >= 1.0F);
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
    constexpr float top = kLargest;
    const float inverse = largest > 0.0F ? top / largest : 0.0F;
    step = largest / top;
    sum = 0;
    values.resize(padded);
    for (std::size_t i = 0; i < padded; ++i) {
        const float value = rotated[i] * inverse;
        values[i] = static_cast<std::int8_t>(value < 0.0F ? value - 0.5F : value + 0.5F);
        sum += values[i];
    }
#ifdef PINCITE_X86
    static const bool looks_up = __builtin_cpu_supports("avx2");
    if (looks_up) make_tables(*this);
#endif
}

std::vector<const char*> kernel_names() {
    std::vector<const char*> names;
    for (const auto& kernel : known()) names.push_back(kernel.name);
    return names;
}

void estimate_with(std::size_t kernel, const Blocks& blocks, const CodedQuery& query,
                   float centroid, float scale, float* out) {
    known()[kernel].run(blocks, query, weights(query, centroid, scale), out);
}

void estimate(const Blocks& blocks, const CodedQuery& query, float centroid, float scale,
              float* out) {
    static const Kernel best = known().front().run;
    best(blocks, query, weights(query, centroid, scale), out);
}

}  // namespace pincite

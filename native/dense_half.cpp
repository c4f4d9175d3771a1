#include "dense_half.hpp"

#include <algorithm>
#include <cmath>

#include "clones.hpp"

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>
#define PINCITE_X86 1
#endif

namespace pincite {
namespace {

constexpr std::size_t kLanes = 32;
constexpr double kEpsilon = 1.0 / (1 << 23);

// The sum of the lanes, as a tree: a chain of additions would take as long as the row itself.
inline float total(float* lanes) {
    for (std::size_t half = kLanes / 2; half > 0; half /= 2) {
        for (std::size_t lane = 0; lane < half; ++lane) lanes[lane] += lanes[lane + half];
    }
    return lanes[0];
}

void finish(const std::uint16_t* row, const float* query, std::size_t from, std::size_t dimension,
            float* dots, float* squares) {
    for (std::size_t i = from; i < dimension; ++i) {
        const float value = widened(row[i]);
        dots[i - from] += value * query[i];
        squares[i - from] += value * value;
    }
}

Product product_portable(const std::uint16_t* row, const float* query, std::size_t dimension) {
    float dots[kLanes] = {}, squares[kLanes] = {};
    const std::size_t whole = dimension - dimension % kLanes;
    for (std::size_t i = 0; i < whole; i += kLanes) {
        for (std::size_t lane = 0; lane < kLanes; ++lane) {
            const float value = widened(row[i + lane]);
            dots[lane] += value * query[i + lane];
            squares[lane] += value * value;
        }
    }
    finish(row, query, whole, dimension, dots, squares);
    return {total(dots), total(squares)};
}

#ifdef PINCITE_X86

__attribute__((target("avx512f"))) Product product_avx512(const std::uint16_t* row,
                                                          const float* query,
                                                          std::size_t dimension) {
    __m512 dots[2] = {_mm512_setzero_ps(), _mm512_setzero_ps()};
    __m512 squares[2] = {_mm512_setzero_ps(), _mm512_setzero_ps()};
    const std::size_t whole = dimension - dimension % kLanes;
    for (std::size_t i = 0; i < whole; i += kLanes) {
        for (std::size_t half = 0; half < 2; ++half) {
            const std::size_t at = i + 16 * half;
            const __m512 value = _mm512_cvtph_ps(
                _mm256_loadu_si256(reinterpret_cast<const __m256i*>(row + at)));
            dots[half] = _mm512_fmadd_ps(value, _mm512_loadu_ps(query + at), dots[half]);
            squares[half] = _mm512_fmadd_ps(value, value, squares[half]);
        }
    }
    float left[kLanes] = {}, right[kLanes] = {};
    for (std::size_t half = 0; half < 2; ++half) {
        _mm512_storeu_ps(left + 16 * half, dots[half]);
        _mm512_storeu_ps(right + 16 * half, squares[half]);
    }
    finish(row, query, whole, dimension, left, right);
    return {total(left), total(right)};
}

__attribute__((target("avx2,f16c,fma"))) Product product_avx2(const std::uint16_t* row,
                                                              const float* query,
                                                              std::size_t dimension) {
    __m256 dots[4], squares[4];
    for (int part = 0; part < 4; ++part) dots[part] = squares[part] = _mm256_setzero_ps();
    const std::size_t whole = dimension - dimension % kLanes;
    for (std::size_t i = 0; i < whole; i += kLanes) {
        for (std::size_t part = 0; part < 4; ++part) {
            const std::size_t at = i + 8 * part;
            const __m256 value =
                _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(row + at)));
            dots[part] = _mm256_fmadd_ps(value, _mm256_loadu_ps(query + at), dots[part]);
            squares[part] = _mm256_fmadd_ps(value, value, squares[part]);
        }
    }
    float left[kLanes] = {}, right[kLanes] = {};
    for (std::size_t part = 0; part < 4; ++part) {
        _mm256_storeu_ps(left + 8 * part, dots[part]);
        _mm256_storeu_ps(right + 8 * part, squares[part]);
    }
    finish(row, query, whole, dimension, left, right);
    return {total(left), total(right)};
}

// The row stays in a register for all queries.
__attribute__((target("avx512f"))) void dots_avx512(const float* row, const float* queries,
                                                    std::size_t dimension, float* out) {
    __m512 sums[kTogether];
    for (auto& sum : sums) sum = _mm512_setzero_ps();
    for (std::size_t i = 0; i < dimension; i += 16) {
        const std::size_t left = dimension - i;
        const auto mask = static_cast<__mmask16>(left < 16 ? (1U << left) - 1U : 0xFFFFU);
        const __m512 values = _mm512_maskz_loadu_ps(mask, row + i);
        for (std::size_t query = 0; query < kTogether; ++query) {
            const float* other = queries + query * dimension + i;
            sums[query] = _mm512_fmadd_ps(values, _mm512_maskz_loadu_ps(mask, other), sums[query]);
        }
    }
    for (std::size_t query = 0; query < kTogether; ++query) {
        out[query] = _mm512_reduce_add_ps(sums[query]);
    }
}

__attribute__((target("avx2,fma"))) void dots_avx2(const float* row, const float* queries,
                                                   std::size_t dimension, float* out) {
    __m256 sums[kTogether];
    for (auto& sum : sums) sum = _mm256_setzero_ps();
    const std::size_t whole = dimension - dimension % 8;
    for (std::size_t i = 0; i < whole; i += 8) {
        const __m256 values = _mm256_loadu_ps(row + i);
        for (std::size_t query = 0; query < kTogether; ++query) {
            const float* other = queries + query * dimension + i;
            sums[query] = _mm256_fmadd_ps(values, _mm256_loadu_ps(other), sums[query]);
        }
    }
    for (std::size_t query = 0; query < kTogether; ++query) {
        const __m128 four = _mm_add_ps(_mm256_castps256_ps128(sums[query]),
                                       _mm256_extractf128_ps(sums[query], 1));
        const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
        out[query] = _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
        for (std::size_t i = whole; i < dimension; ++i) {
            out[query] += row[i] * queries[query * dimension + i];
        }
    }
}

#endif

using ProductKernel = Product (*)(const std::uint16_t*, const float*, std::size_t);

ProductKernel best_product() {
#ifdef PINCITE_X86
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f")) return product_avx512;
    // Every CPU with AVX2 has F16C; compilers differ in whether they can be asked for it.
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return product_avx2;
#endif
    return product_portable;
}

void dots_portable(const float* row, const float* queries, std::size_t dimension, float* out) {
    for (std::size_t query = 0; query < kTogether; ++query) {
        out[query] = dot(row, queries + query * dimension, dimension);
    }
}

using DotsKernel = void (*)(const float*, const float*, std::size_t, float*);

DotsKernel best_dots() {
#ifdef PINCITE_X86
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f")) return dots_avx512;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return dots_avx2;
#endif
    return dots_portable;
}

}  // namespace

std::uint16_t narrowed(float value) {
    std::uint32_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    const auto sign = static_cast<std::uint16_t>((bits >> 16) & 0x8000U);
    const float magnitude = std::fabs(value);
    if (!(magnitude < 65520.0F)) return sign | 0x7C00U;
    if (magnitude < 0x1p-14F) {
        const float steps = std::nearbyint(magnitude * 0x1p24F);  // subnormals are whole steps
        return sign | static_cast<std::uint16_t>(steps);
    }
    bits &= 0x7FFFFFFFU;
    bits += 0x0FFFU + ((bits >> 13) & 1U);  // round half to even
    return sign | static_cast<std::uint16_t>((bits - (112U << 23)) >> 13);
}

PINCITE_CLONES void widen(const std::uint16_t* from, std::size_t count, float* to) {
    for (std::size_t i = 0; i < count; ++i) to[i] = widened(from[i]);
}

Product product(const std::uint16_t* row, const float* query, std::size_t dimension) {
    static const ProductKernel kernel = best_product();
    return kernel(row, query, dimension);
}

PINCITE_CLONES double exact_product(const std::uint16_t* row, const float* query,
                                    std::size_t dimension) {
    constexpr std::size_t lanes = 8;
    double sums[lanes] = {};
    const std::size_t whole = dimension - dimension % lanes;
    for (std::size_t i = 0; i < whole; i += lanes) {
        for (std::size_t lane = 0; lane < lanes; ++lane) {
            sums[lane] += double(widened(row[i + lane])) * double(query[i + lane]);
        }
    }
    for (std::size_t i = whole; i < dimension; ++i) {
        sums[i - whole] += double(widened(row[i])) * double(query[i]);
    }
    for (std::size_t half = lanes / 2; half > 0; half /= 2) {
        for (std::size_t lane = 0; lane < half; ++lane) sums[lane] += sums[lane + half];
    }
    return sums[0];
}

PINCITE_CLONES float dot(const float* a, const float* b, std::size_t dimension) {
    float sums[kLanes] = {};
    const std::size_t whole = dimension - dimension % kLanes;
    for (std::size_t i = 0; i < whole; i += kLanes) {
        for (std::size_t lane = 0; lane < kLanes; ++lane) sums[lane] += a[i + lane] * b[i + lane];
    }
    for (std::size_t i = whole; i < dimension; ++i) sums[i - whole] += a[i] * b[i];
    return total(sums);
}

void dots(const float* row, const float* queries, std::size_t count, std::size_t dimension,
          float* out) {
    static const DotsKernel kernel = best_dots();
    if (count == kTogether) return kernel(row, queries, dimension, out);
    for (std::size_t query = 0; query < count; ++query) {
        out[query] = dot(row, queries + query * dimension, dimension);
    }
}

bool finite(const std::uint16_t* row, std::size_t dimension, float squared) {
    constexpr std::uint16_t infinite = 0x7C00;
    if (squared < 0x1p32F) return true;
    return std::none_of(row, row + dimension,
                        [](std::uint16_t half) { return (half & infinite) == infinite; });
}

float slack(const float* query, std::size_t dimension, float longest) {
    double squared = 0.0;
    for (std::size_t i = 0; i < dimension; ++i) squared += double(query[i]) * double(query[i]);
    const double length = std::sqrt(squared * double(longest));
    return static_cast<float>(2.0 * double(dimension + 8) * kEpsilon * length);
}

}  // namespace pincite

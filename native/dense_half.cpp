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

double tree(double* sums) {
    for (std::size_t half = 4; half > 0; half /= 2) {
        for (std::size_t lane = 0; lane < half; ++lane) sums[lane] += sums[lane + half];
    }
    return sums[0];
}

double exact_portable(const std::uint16_t* row, const float* query, std::size_t dimension) {
    double sums[8] = {};
    for (std::size_t first = 0; first < dimension; first += 8) {
        const std::size_t lanes = std::min<std::size_t>(8, dimension - first);
        for (std::size_t lane = 0; lane < lanes; ++lane) {
            sums[lane] += double(widened(row[first + lane])) * double(query[first + lane]);
        }
    }
    return tree(sums);
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

__attribute__((target("avx2"))) inline float added(__m256 sum) {
    const __m128 four =
        _mm_add_ps(_mm256_castps256_ps128(sum), _mm256_extractf128_ps(sum, 1));
    const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
}

__attribute__((target("avx2"))) inline float added(const __m256* sums) {
    return added(_mm256_add_ps(_mm256_add_ps(sums[0], sums[1]), _mm256_add_ps(sums[2], sums[3])));
}

template <bool kSquared>
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
            if constexpr (kSquared) squares[part] = _mm256_fmadd_ps(value, value, squares[part]);
        }
    }
    Product result{added(dots), kSquared ? added(squares) : 0.0F};
    for (std::size_t i = whole; i < dimension; ++i) {
        const float value = widened(row[i]);
        result.dot += value * query[i];
        if constexpr (kSquared) result.squared += value * value;
    }
    return result;
}

// Each product is exact, so that it does not matter whether it is rounded before it is added.
__attribute__((target("avx2,f16c,fma"))) double exact_avx2(const std::uint16_t* row,
                                                           const float* query,
                                                           std::size_t dimension) {
    __m256d low = _mm256_setzero_pd(), high = _mm256_setzero_pd();
    const std::size_t whole = dimension - dimension % 8;
    for (std::size_t i = 0; i < whole; i += 8) {
        const __m256 a =
            _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(row + i)));
        low = _mm256_fmadd_pd(_mm256_cvtps_pd(_mm256_castps256_ps128(a)),
                              _mm256_cvtps_pd(_mm_loadu_ps(query + i)), low);
        high = _mm256_fmadd_pd(_mm256_cvtps_pd(_mm256_extractf128_ps(a, 1)),
                               _mm256_cvtps_pd(_mm_loadu_ps(query + i + 4)), high);
    }
    double sums[8];
    _mm256_storeu_pd(sums, low);
    _mm256_storeu_pd(sums + 4, high);
    for (std::size_t i = whole; i < dimension; ++i) {
        sums[i - whole] += double(widened(row[i])) * double(query[i]);
    }
    return tree(sums);
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
        out[query] = added(sums[query]);
        for (std::size_t i = whole; i < dimension; ++i) {
            out[query] += row[i] * queries[query * dimension + i];
        }
    }
}

#endif

using ProductKernel = Product (*)(const std::uint16_t*, const float*, std::size_t);
using ExactKernel = double (*)(const std::uint16_t*, const float*, std::size_t);

#ifdef PINCITE_X86

// Every CPU with AVX2 has F16C; compilers differ in whether they can be asked for it.
bool has_avx2() {
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}

bool has_avx512() {
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx512f");
}

#endif

ProductKernel best_product() {
#ifdef PINCITE_X86
    if (has_avx512()) return product_avx512;
    if (has_avx2()) return product_avx2<true>;
#endif
    return product_portable;
}

ProductKernel best_half_dot() {
#ifdef PINCITE_X86
    if (has_avx2()) return product_avx2<false>;
#endif
    return product_portable;
}

ExactKernel best_exact() {
#ifdef PINCITE_X86
    if (has_avx2()) return exact_avx2;
#endif
    return exact_portable;
}

void dots_portable(const float* row, const float* queries, std::size_t dimension, float* out) {
    for (std::size_t query = 0; query < kTogether; ++query) {
        out[query] = dot(row, queries + query * dimension, dimension);
    }
}

using DotsKernel = void (*)(const float*, const float*, std::size_t, float*);

DotsKernel best_dots() {
#ifdef PINCITE_X86
    if (has_avx512()) return dots_avx512;
    if (has_avx2()) return dots_avx2;
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

float half_dot(const std::uint16_t* row, const float* query, std::size_t dimension) {
    static const ProductKernel kernel = best_half_dot();
    return kernel(row, query, dimension).dot;
}

double exact_product(const std::uint16_t* row, const float* query, std::size_t dimension) {
    static const ExactKernel kernel = best_exact();
    return kernel(row, query, dimension);
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

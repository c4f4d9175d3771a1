// Products of float16 rows with float32 queries, in float32.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace pincite {

// Exact for normal and subnormal numbers: the exponent is rebased by one multiplication.
inline float widened(std::uint16_t half) {
    const std::uint32_t magnitude = static_cast<std::uint32_t>(half & 0x7FFFU) << 13;
    const std::uint32_t sign = static_cast<std::uint32_t>(half & 0x8000U) << 16;
    float value;
    std::memcpy(&value, &magnitude, sizeof value);
    value *= 0x1p112F;
    std::uint32_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    bits |= sign;
    std::memcpy(&value, &bits, sizeof value);
    return value;
}

// The nearest float16; beyond its range, infinity.
std::uint16_t narrowed(float value);

void widen(const std::uint16_t* from, std::size_t count, float* to);

struct Product {
    float dot;
    float squared;  // the row's length, squared
};

Product product(const std::uint16_t* row, const float* query, std::size_t dimension);

// The product alone, of a row that is finite.
float half_dot(const std::uint16_t* row, const float* query, std::size_t dimension);

// In float64, where each product is exact, in eight lanes that are then added as a tree.
double exact_product(const std::uint16_t* row, const float* query, std::size_t dimension);

float dot(const float* a, const float* b, std::size_t dimension);

// Products of one row with up to kTogether queries, which stand one after the other.
constexpr std::size_t kTogether = 8;
void dots(const float* row, const float* queries, std::size_t count, std::size_t dimension,
          float* out);

// `widened` makes inf and nan finite numbers from 65,536 up, so only long rows need a look.
bool finite(const std::uint16_t* row, std::size_t dimension, float squared);

// Bound of a float32 dot product's error, whatever the order of summation
// (Higham, "Accuracy and Stability of Numerical Algorithms", 2002, equation 3.5).
float slack(const float* query, std::size_t dimension, float longest);

}  // namespace pincite

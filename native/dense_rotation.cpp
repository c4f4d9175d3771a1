#include "dense_rotation.hpp"

#include <cmath>
#include <cstdint>

#include "clones.hpp"

namespace pincite {
namespace {

constexpr std::size_t kRounds = 4;
constexpr std::uint64_t kSeed = 0x70696E63697465ULL;

// SplitMix64 (Steele, Lea and Flood, "Fast Splittable Pseudorandom Number Generators", 2014).
std::uint64_t next(std::uint64_t& state) {
    std::uint64_t z = (state += 0x9E3779B97F4A7C15ULL);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
    return z ^ (z >> 31);
}

// One pass of the Hadamard transform; all passes are alike (Pease 1968), so each vectorises.
PINCITE_CLONES void butterfly(const float* from, float* to, std::size_t half) {
    for (std::size_t i = 0; i < half; ++i) {
        to[2 * i] = from[i] + from[i + half];
        to[2 * i + 1] = from[i] - from[i + half];
    }
}

PINCITE_CLONES void scale(float* values, const float* by, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) values[i] *= by[i];
}

PINCITE_CLONES void multiply(float* values, float by, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) values[i] *= by;
}

// Rotates each pair of the two halves by 45 degrees: what a transform of a part did not mix.
PINCITE_CLONES void mix(float* values, std::size_t half) {
    constexpr float root = 0.70710678F;
    for (std::size_t i = 0; i < half; ++i) {
        const float a = values[i], b = values[i + half];
        values[i] = (a + b) * root;
        values[i + half] = (a - b) * root;
    }
}

void hadamard(float* values, float* scratch, std::size_t count) {
    float *from = values, *to = scratch;
    for (std::size_t step = 1; step < count; step *= 2) {
        butterfly(from, to, count / 2);
        std::swap(from, to);
    }
    if (from != values) std::copy(from, from + count, values);
    multiply(values, 1.0F / std::sqrt(static_cast<float>(count)), count);
}

}  // namespace

Rotation::Rotation(std::size_t dimension) : size_(padded(dimension)), power_(1) {
    while (power_ * 2 <= size_) power_ *= 2;
    std::uint64_t state = kSeed;
    for (std::size_t i = 0; i < kRounds * size_; ++i) {
        signs_.push_back(next(state) >> 63 ? -1.0F : 1.0F);
    }
}

// For sizes that are no power of two, transforms of the head and of the tail take turns, as the
// FHT-Kac rotation of the RaBitQ library does (Gao and Long, SIGMOD 2024).
void Rotation::apply(float* values) const {
    static thread_local std::vector<float> scratch;
    scratch.resize(power_);
    for (std::size_t round = 0; round < kRounds; ++round) {
        scale(values, signs_.data() + round * size_, size_);
        hadamard(round % 2 ? values + size_ - power_ : values, scratch.data(), power_);
        if (power_ < size_) mix(values, size_ / 2);
    }
}

}  // namespace pincite

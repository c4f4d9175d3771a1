#include "dense.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "best.hpp"
#include "clones.hpp"

namespace pincite {
namespace {

constexpr std::size_t kLanes = 32;
constexpr double kEpsilon = 1.0 / (1 << 23);

struct Product {
    float dot;
    float squared;  // the row's length, squared
};

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

// The sum of the lanes, as a tree: a chain of additions would take as long as the row itself.
inline float total(float* lanes) {
    for (std::size_t half = kLanes / 2; half > 0; half /= 2) {
        for (std::size_t lane = 0; lane < half; ++lane) lanes[lane] += lanes[lane + half];
    }
    return lanes[0];
}

// Sums by lanes, so that the compiler may vectorise without reordering one sum.
PINCITE_CLONES Product product(const std::uint16_t* row, const float* query,
                               std::size_t dimension) {
    float dots[kLanes] = {}, squares[kLanes] = {};
    const std::size_t whole = dimension - dimension % kLanes;
    for (std::size_t i = 0; i < whole; i += kLanes) {
        for (std::size_t lane = 0; lane < kLanes; ++lane) {
            const float value = widened(row[i + lane]);
            dots[lane] += value * query[i + lane];
            squares[lane] += value * value;
        }
    }
    for (std::size_t i = whole; i < dimension; ++i) {
        const float value = widened(row[i]);
        dots[i - whole] += value * query[i];
        squares[i - whole] += value * value;
    }
    return {total(dots), total(squares)};
}

// `widened` makes inf and nan finite numbers from 65,536 up, so only long rows need a look.
bool finite(const std::uint16_t* row, std::size_t dimension, float squared) {
    constexpr std::uint16_t infinite = 0x7C00;
    if (squared < 0x1p32F) return true;
    return std::none_of(row, row + dimension,
                        [](std::uint16_t half) { return (half & infinite) == infinite; });
}

// Bound of a float32 dot product's error, whatever the order of summation
// (Higham, "Accuracy and Stability of Numerical Algorithms", 2002, equation 3.5).
float slack(const float* query, std::size_t dimension, float longest) {
    double squared = 0.0;
    for (std::size_t i = 0; i < dimension; ++i) squared += double(query[i]) * double(query[i]);
    const double length = std::sqrt(squared * double(longest));
    return static_cast<float>(2.0 * double(dimension + 8) * kEpsilon * length);
}

}  // namespace

Candidates dense_candidates(const std::uint16_t* rows, std::size_t count, std::size_t dimension,
                            const std::uint8_t* mask, const float* query, float limit,
                            std::size_t k) {
    std::vector<std::int64_t> kept;
    std::vector<float> scores;
    float longest = 0.0F;
    for (std::size_t row = 0; row < count; ++row) {
        if (mask != nullptr && !mask[row]) continue;
        const std::uint16_t* values = rows + row * dimension;
        const Product found = product(values, query, dimension);
        if (!finite(values, dimension, found.squared)) return {{}, false};
        longest = std::max(longest, found.squared);
        kept.push_back(static_cast<std::int64_t>(row));
        scores.push_back(std::min(std::max(found.dot, -limit), limit));
    }
    // The slack is known only now, so a second pass over the scores selects.
    const float room = slack(query, dimension, longest);
    Best<std::int64_t> best(k);
    for (std::size_t i = 0; i < kept.size(); ++i) best.offer(kept[i], scores[i], room);
    Candidates result{{}, true};
    for (const auto& entry : best.finish(room)) result.rows.push_back(entry.row);
    return result;
}

}  // namespace pincite

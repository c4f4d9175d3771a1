#include "dense_search.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "clones.hpp"

namespace pincite {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// The query times a power of two, which ranks alike: its largest value in [0.5, 1), so that
// products in float32 neither overflow nor vanish. The power that it was divided by.
double scale(std::vector<float>& values) {
    float largest = 0.0F;
    for (const float value : values) largest = std::max(largest, std::fabs(value));
    int exponent = 0;
    std::frexp(largest, &exponent);
    for (float& value : values) value = std::ldexp(value, -exponent);
    return std::ldexp(1.0, exponent);
}

float length(const std::vector<float>& values) {
    double squared = 0.0;
    for (const float value : values) squared += double(value) * double(value);
    return static_cast<float>(std::sqrt(squared));
}

// The largest magnitude, infinite when a value is not finite: bits of positive numbers are in
// their order, with infinity and nan above all.
PINCITE_CLONES double largest_of(const double* values, std::size_t size) {
    constexpr std::int64_t magnitude = std::numeric_limits<std::int64_t>::max();
    std::int64_t most = 0;
    for (std::size_t i = 0; i < size; ++i) {
        std::int64_t bits;
        std::memcpy(&bits, values + i, sizeof bits);
        most = std::max(most, bits & magnitude);
    }
    double largest;
    std::memcpy(&largest, &most, sizeof largest);
    return std::isfinite(largest) ? largest : std::numeric_limits<double>::infinity();
}

// Divided by the largest magnitude, then by the length.
PINCITE_CLONES void normalized(const double* values, std::size_t size, double largest,
                               float* out) {
    constexpr std::size_t lanes = 8;
    std::vector<double> small((size + lanes - 1) / lanes * lanes, 0.0);
    for (std::size_t i = 0; i < size; ++i) small[i] = values[i] / largest;
    double sums[lanes] = {};
    for (std::size_t i = 0; i < small.size(); i += lanes) {
        for (std::size_t lane = 0; lane < lanes; ++lane) {
            sums[lane] += small[i + lane] * small[i + lane];
        }
    }
    for (std::size_t half = lanes / 2; half > 0; half /= 2) {
        for (std::size_t lane = 0; lane < half; ++lane) sums[lane] += sums[lane + half];
    }
    const double length = std::sqrt(sums[0]);
    for (std::size_t i = 0; i < size; ++i) out[i] = static_cast<float>(small[i] / length);
}

bool before(const Hit& a, const Hit& b) {
    if (a.score != b.score) return a.score > b.score;
    return a.part != b.part ? a.part < b.part : a.row < b.row;
}

void cut(std::vector<Hit>& hits, std::size_t k) {
    std::sort(hits.begin(), hits.end(), before);
    if (hits.size() <= k) return;
    const float last = hits[k - 1].score;
    std::size_t size = k;
    while (size < hits.size() && hits[size].score == last) ++size;
    hits.resize(size);
}

}  // namespace

Prepared prepared(const double* query, std::size_t size, bool unit) {
    Prepared result;
    result.values.resize(size);
    result.largest = largest_of(query, size);
    if (!std::isfinite(result.largest) || result.largest == 0.0) return result;
    if (unit) {
        normalized(query, size, result.largest, result.values.data());
    } else {
        std::transform(query, query + size, result.values.begin(),
                       [](double value) { return static_cast<float>(value); });
    }
    return result;
}

Hits dense_search(const std::vector<Step>& steps, const Prepared& query, std::size_t k,
                  bool unit) {
    std::vector<float> values = query.values;
    const double power = unit ? 1.0 : scale(values);
    const float longer = unit ? 1.0F : length(values);
    Wanted wanted{values.data(), k, unit ? 1.0F : kInfinity, -kInfinity, power};
    Hits hits;
    for (std::size_t part = 0; part < steps.size(); ++part) {
        const Step& step = steps[part];
        Effort effort = step.effort;
        effort.gap *= longer;  // efforts are of queries of unit length
        effort.own_gap *= longer;
        effort.margin *= longer;
        const Candidates found = step.coded != nullptr
                                     ? coded_candidates(*step.coded, step.kept, wanted, effort)
                                     : exact_candidates(step.rows, step.places, wanted);
        if (found.damage != Damage::none) return {{}, found.damage, part};
        for (std::size_t i = 0; i < found.rows.size(); ++i) {
            hits.best.push_back({part, found.rows[i], found.scores[i]});
        }
        if (found.scores.size() >= k) {
            const double kth = double(found.scores[k - 1]) / power;
            wanted.floor = std::max(wanted.floor, static_cast<float>(kth));
        }
    }
    cut(hits.best, k);
    return hits;
}

}  // namespace pincite

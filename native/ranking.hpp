// What a search found, and how two such lists become one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace pincite {

struct Hit {
    std::size_t part;
    std::int64_t row;
    float score;
};

// The k best of all segments and what ties with the last, best first; ties in any order.
struct Ranking {
    std::vector<Hit> hits;
};

// The exact sum of finite numbers, rounded once, as Python's math.fsum has it.
double exact_sum(const std::vector<double>& values);

// `fusion.distribution_scores` without clipping, bit for bit.
std::vector<double> distribution_scores(const std::vector<double>& scores);

}  // namespace pincite

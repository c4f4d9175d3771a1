// One query against the vectors of several segments.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "dense.hpp"
#include "ranking.hpp"

namespace pincite {

// A query in float32. `largest` is its largest magnitude, infinity when it is not finite; the
// values count only when that is neither infinite nor 0.
struct Prepared {
    std::vector<float> values;
    double largest = 0.0;
};

// Of unit length if asked for: divided by its largest value, then by its length, whose square is
// summed in eight lanes and those as a tree.
Prepared prepared(const double* query, std::size_t size, bool unit);

// How one segment is searched: by its codes, or, without, by the rows at the places (null: by all).
struct Step {
    Rows rows;
    const CodedRows* coded = nullptr;
    Kept kept;
    Effort effort;
    const Places* places = nullptr;
};

// The k best of all segments and what ties with the last, best first, ties by part and row.
struct Hits {
    std::vector<Hit> best;
    Damage damage = Damage::none;
    std::size_t part = 0;  // that is damaged
};

// `unit` as the query was prepared: scores are cosines, clipped to [-1, 1], or products.
Hits dense_search(const std::vector<Step>& steps, const Prepared& query, std::size_t k, bool unit);

}  // namespace pincite

// Exact BM25 over one segment.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "best.hpp"

namespace pincite {

// One query term (or group of synonyms): rows ascending, the frequency in each, the idf.
struct Postings {
    double idf;
    const std::uint32_t* rows;
    const std::uint32_t* tfs;
    std::size_t count;
};

// A contribution is idf * (scale * tf / (tf + norm) + delta),
// with norm = k1 * (1 - b + b * length / average).
struct Formula {
    double k1, b, average, scale, delta;
};

// The rows that reach the k-th best score, ascending, with their scores. `allow` may be null.
// Throws std::out_of_range when rows do not ascend or lie beyond `size`.
std::vector<Best<std::uint32_t>::Entry> bm25_best(const std::vector<Postings>& groups,
                                                  const std::uint32_t* lengths, std::size_t size,
                                                  const std::uint8_t* allow, std::size_t k,
                                                  const Formula& formula);

}  // namespace pincite

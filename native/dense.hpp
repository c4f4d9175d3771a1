// Which float16 rows could be among the k best dot products with a float32 query: by looking at
// all of them, or by their codes first.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "dense_checked.hpp"
#include "dense_codes.hpp"
#include "dense_lists.hpp"
#include "dense_rotation.hpp"

namespace pincite {

enum class Damage { none, not_finite, vectors, codes };

// Rows and their scores, best first, ties by row.
struct Candidates {
    std::vector<std::int64_t> rows;
    std::vector<float> scores;
    Damage damage = Damage::none;
};

// Where rows lie, ascending.
using Places = std::vector<std::uint32_t>;

// The places of codes that may be found: all with null data; else those whose bit is set, the
// lowest of a block for its first place.
struct Kept {
    const std::uint16_t* blocks = nullptr;
    bool holds(std::size_t place) const {
        return blocks == nullptr || (blocks[place / kBlockRows] >> (place % kBlockRows) & 1) != 0;
    }
    // Of a block, those in [begin, end).
    unsigned within(std::size_t block, std::size_t begin, std::size_t end) const {
        unsigned bits = blocks[block];
        const std::size_t first = block * kBlockRows;
        if (first < begin) bits = bits >> (begin - first) << (begin - first);
        if (first + kBlockRows > end) bits &= (1U << (end - first)) - 1;
        return bits;
    }
};
static_assert(kBlockRows == 16, "a block's places are the bits of a word");

struct Wanted {
    const float* query;
    std::size_t k;
    float limit;           // products are clipped to [-limit, limit]
    float floor;           // what other segments promise: the k-th best product so far
    double unit;           // a score is a product times this power of two
};

// float16 bits, (count, dimension): a row at each place.
struct Rows {
    Checked bytes;
    std::size_t count = 0;
    std::size_t dimension = 0;
    float longest = 0.0F;  // bound of a row's squared length, all being finite; 0: not known
    const std::uint32_t* order = nullptr;  // which row lies at each place; null: the row itself
    std::atomic<bool>* absent = nullptr;   // whether rows were last met on the disk; null: not asked
    const std::uint16_t* at(std::size_t place) const {
        return reinterpret_cast<const std::uint16_t*>(bytes.data) + place * dimension;
    }
    bool holds(std::size_t place) const {
        return bytes.holds(2 * place * dimension, 2 * (place + 1) * dimension);
    }
    void ask(std::size_t place) const {
        bytes.ask(2 * place * dimension, 2 * (place + 1) * dimension);
    }
    std::size_t row(std::size_t place) const { return order != nullptr ? order[place] : place; }
};

// The k best of the rows at these places (null: of all) and everything that ties with the last of
// them. Scores are summed in float64 in eight lanes, so that every path gives the same bits, and
// rounded to float32.
Candidates exact_candidates(const Rows& rows, const Places* kept, const Wanted& wanted);

// How far a search by codes looks.
struct Effort {
    float gap;          // lists that come so near to the nearest one are looked at
    float own_gap;      // and those so near to the nearest that holds a kept row
    std::size_t seen;   // kept rows looked at, at least
    std::size_t depth;  // rows scored exactly, at most
    float margin;       // by how much a product may exceed its estimate
};

// Codes of rows in lists; the arrays are not owned. The vectors lie as the codes do where both have
// the same order, else as their rows.
struct CodedRows {
    Rows rows;
    Checked codes;
    const std::uint16_t* factors = nullptr;
    const std::uint32_t* order = nullptr;  // the row of each code; null: its place
    const std::uint32_t* starts = nullptr;
    float scale = 1.0F;
    std::shared_ptr<const Centroids> centroids;
    std::shared_ptr<const Rotation> rotation;
    const std::uint32_t* places = nullptr;  // of some codes among all of them; null: all are here
};

// The same among the kept rows that their codes put first.
Candidates coded_candidates(const CodedRows& coded, const Kept& kept, const Wanted& wanted,
                            const Effort& effort);

// The best `depth` estimates of the lists within `gap`, best first, with their rows: what
// calibration looks at.
Candidates estimated_rows(const CodedRows& coded, const float* query, float gap,
                          std::size_t depth);

// By how much each list is farther than the nearest one, as a search sees it.
std::vector<float> list_gaps(const CodedRows& coded, const float* query);

// The k best rows of each query, best first: (queries, k).
std::vector<std::int64_t> exact_best(const Rows& rows, const float* queries, std::size_t count,
                                     std::size_t k);

}  // namespace pincite

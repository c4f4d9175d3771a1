// Exact BM25 over keyword segments: bounds decide what is scored, float64 decides what is found.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "bm25_segment.hpp"

namespace pincite::bm25 {

// A contribution is idf * (scale * tf / (tf + norm) + delta),
// with norm = k1 * (1 - b + b * length / average).
struct Formula {
    double k1, b, average, scale, delta;
};

// One segment of a collection. A mask has a byte for each row, or is null for all rows. A filter
// is a mask, or the rows that it keeps, ascending, where these are few.
struct Part {
    const KeywordData* data;
    const std::uint8_t* live;
    const std::uint8_t* allow;
    const std::uint32_t* chosen;
    std::size_t chosen_count;
};

struct Found {
    std::uint32_t part, row;
    float score;
};

// Terms that count as one: df of the union of their rows, tf summed.
using Group = std::vector<std::string>;

// A group in the parts that are searched: its terms in each, and how many live rows hold one.
struct Resolved {
    std::vector<std::vector<Term>> terms;
    std::uint64_t df;
};

// Groups are looked up once. Threads may share one.
class Lexicon {
   public:
    // Remembers `parts` with their live rows; what they point to must outlive it.
    explicit Lexicon(std::vector<Part> parts) : parts_(std::move(parts)) {}

    std::shared_ptr<const Resolved> resolve(const Group& group);

    const std::vector<Part>& parts() const { return parts_; }

   private:
    const std::vector<Part> parts_;
    std::mutex mutex_;
    std::map<Group, std::shared_ptr<const Resolved>> known_;
};

// A group and how often the query says it.
struct Weighted {
    std::shared_ptr<const Resolved> group;
    std::uint32_t count;
};

// Every row that reaches the k-th best score, best first, then by part and row. Groups come in the
// order in which their contributions are summed. `rows` counts all live rows.
std::vector<Found> keyword_search(const std::vector<Part>& parts,
                                  const std::vector<Weighted>& groups, std::uint64_t rows,
                                  std::size_t k, const Formula& formula);

// More terms than this can not be bounded in 16 bits.
constexpr std::size_t kMostTerms = 8192;

}  // namespace pincite::bm25

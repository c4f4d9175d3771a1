// What a search does within one window of rows, and the memory that it does it in.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "bm25_segment.hpp"
#include "clones.hpp"

namespace pincite::bm25 {

constexpr std::uint16_t kLocal = kWindowRows - 1;  // the bits of a row within its window

// Finding one row in a list costs about as much as reading this many postings.
constexpr std::size_t kProbeCost = 16;

// A row of the window, and what its score, in quanta, can not exceed.
struct Candidate {
    std::uint16_t local;
    std::uint16_t bound;
};

// A term's postings in the part that is searched. `rows` and `codes` are indexed by posting.
struct List {
    std::size_t group;
    const std::uint16_t* rows;
    const std::uint8_t* codes;
    const std::uint32_t* starts;  // of each window, and the end
    const std::uint16_t* bounds;  // of each window
    std::uint16_t table[kCodes];  // of each code

    // The first posting of the window that is not below `low`, or the window's end.
    std::uint32_t seek(std::size_t window, std::uint16_t low) const;
};

// A list within the window that is searched.
struct Active {
    std::uint32_t bound;
    std::uint32_t count;
    const std::uint16_t* rows;
    const std::uint8_t* codes;
    const std::uint16_t* table;
};

// Reused by every search of a thread.
struct Scratch {
    std::vector<List> lists;
    std::vector<Active> active;  // by bound, ascending
    std::vector<Candidate> candidates;
    std::vector<std::uint16_t> scores;  // all zero between windows
    std::vector<double> dense;
    std::vector<std::uint32_t> frequencies;
    std::vector<std::uint32_t> starts;
    std::vector<std::uint16_t> bounds;
    std::vector<std::uint64_t> order;
    std::size_t windows = 0;

    void prepare(std::size_t lists, std::size_t windows);

    // (bound << 32 | window), descending.
    const std::vector<std::uint64_t>& windows_by_bound();

    // Fills `active`; the number of postings in it.
    std::size_t activate(std::size_t window);

    std::uint32_t active_total() const;

    template <typename Test>
    void keep(Test test) {
        std::size_t kept = 0;
        for (const Candidate& candidate : candidates) {
            candidates[kept] = candidate;
            kept += test(candidate);
        }
        candidates.resize(kept);
    }
};

Scratch& scratch();

// Makes list `i` of the scratch ready; its table is filled.
void bind(const KeywordData& data, std::size_t term, Span runs, Span postings, Scratch& scratch,
          std::size_t i);

std::size_t count_flags(const std::uint8_t* flags, std::size_t size);

template <typename Use>
void for_each_flag(const std::uint8_t* flags, std::size_t size, Use use) {
    for (std::size_t i = 0; i < size; ++i) {
        if (flags[i]) use(i);
    }
}

void accumulate(const Active& list, std::vector<std::uint16_t>& scores);

// Rows of `scores` that reach `threshold`, which is at least 1; leaves all zero.
void collect_scores(std::vector<std::uint16_t>& scores, std::uint32_t threshold,
                    std::vector<Candidate>& out);

// Rows of one list that reach `threshold`.
void collect_list(const Active& list, std::uint32_t threshold, std::vector<Candidate>& out);

// Add a list's bounds to the candidates that it holds: by reading it, or by seeking in it.
void add_merged(const Active& list, std::vector<std::uint16_t>& scores,
                std::vector<Candidate>& candidates);
void add_probed(const Active& list, std::vector<Candidate>& candidates);

}  // namespace pincite::bm25

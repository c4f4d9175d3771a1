// From postings grouped by term to the arrays of a keyword segment; src/pincite/bm25/packing.py says
// what they are and holds the same in NumPy.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "build_memory.hpp"

namespace pincite {

// How postings are encoded: the classes of frequencies, and for each code, ascending by class and
// then length, its class and least length.
struct Codes {
    std::vector<std::uint32_t> firsts;  // of each class
    std::vector<std::uint8_t> classes;
    std::vector<std::uint32_t> lengths;
    std::uint32_t exact;  // frequencies above it are kept as they are, too
};

struct Windows {
    std::uint32_t window;    // rows
    std::uint64_t long_term;  // postings from which a term has bounds
    std::vector<std::pair<std::uint8_t, std::uint8_t>> groups;  // of classes, [first, end)
    std::uint8_t none;
};

template <typename Tf>
struct Grouped {
    const std::int64_t* offsets;
    std::size_t terms;
    const std::uint32_t* rows;
    const Tf* tfs;
    const std::uint32_t* lengths;
    std::size_t size;  // rows
};

struct Packed {
    Large<std::uint16_t> rows;
    Large<std::uint8_t> codes;
    std::vector<std::uint32_t> large_at, large_tfs;
    std::vector<std::uint32_t> term_runs, run_starts;
    std::vector<std::uint16_t> run_blocks;
    std::vector<std::uint32_t> long_terms, window_starts;
    std::vector<std::uint8_t> window_codes;
};

// Throws std::out_of_range when offsets or rows lead outside of the arrays, or a frequency is 0.
template <typename Tf>
Packed pack(const Grouped<Tf>& given, const Codes& codes, const Windows& windows,
            std::size_t threads);

}  // namespace pincite

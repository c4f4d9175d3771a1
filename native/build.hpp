// From raw words to postings grouped by term.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "text.hpp"

namespace pincite {

// Postings of `rows` texts: T terms in byte order, ascending rows within each.
struct Inverted {
    std::vector<std::uint8_t> vocabulary;
    std::vector<std::uint64_t> vocabulary_offsets, postings_offsets;  // T + 1
    Large<std::uint32_t> rows;
    Large<std::uint8_t> small_tfs;  // or, when a frequency is above 255,
    Large<std::uint32_t> large_tfs;
    std::vector<std::uint32_t> lengths;
};

// The texts of the scans, one after the other; a thread for each scan. The scans are absorbed and
// the lexicon is settled.
Inverted invert(const Lexicon& lexicon, std::vector<Scan>& scans);

}  // namespace pincite

// The compact layout of postings, written and read; src/pincite/bm25/compact.py says what it is and
// does the same in Python.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "bm25_segment.hpp"

namespace pincite::bm25 {

// From so many postings on, a window has a bit for each row.
constexpr std::size_t kDenseWindow = 512;

// A term's postings.
struct Postings {
    std::vector<std::uint32_t> rows, tfs;
};

// The postings of a short term, or those of a long one in a window, which may be looked up where
// they are packed. Throws Damaged for bytes that are no postings.
class Unpacked {
   public:
    // Low 16 bits of rows, codes, and the places and frequencies of those above kExact.
    std::vector<std::uint16_t> rows;
    std::vector<std::uint8_t> codes;
    std::vector<std::pair<std::uint32_t, std::uint32_t>> large;

    // All of a short term; its rows also go to `wide`.
    void open_term(const KeywordData& data, std::size_t term, std::vector<std::uint32_t>& wide);

    // The `count` postings of a window, which lie in bytes [begin, end): ready to be looked up.
    void open_window(const KeywordData& data, std::uint32_t begin, std::uint32_t end,
                     std::size_t window, std::uint32_t count);

    // Fills `rows`, `codes` and `large` for the window that is open.
    void complete();

    // The place of a row of the open window, or a number not below `count()`.
    std::uint32_t find(std::uint16_t row) const;

    std::uint32_t count() const { return count_; }

    // Of the posting at a place of the open window; the code may bound more than it needs to.
    std::uint8_t bounding_code(std::uint32_t place, std::uint16_t row) const;
    std::uint32_t frequency(std::uint32_t place) const;

    // Of a posting whose code stands for more than kExact.
    std::uint32_t large_frequency(std::uint32_t place) const;

   private:
    std::uint32_t two(std::uint32_t place) const;
    void note(std::uint32_t place, std::uint32_t tf, std::uint8_t code);

    const CodeTable* table_ = nullptr;
    const std::uint8_t* bits_ = nullptr;  // of the rows, where there are many
    const std::uint8_t* twos_ = nullptr;  // of the frequencies
    const std::uint8_t* rest_ = nullptr;  // what the larger ones exceed, up to `end_`
    const std::uint8_t* end_ = nullptr;
    const std::uint8_t* lengths_ = nullptr;  // the codes of those of the window's rows
    std::size_t size_ = 0;                    // rows of the window
    std::uint32_t count_ = 0;
    std::uint16_t high_ = 0;
    bool complete_ = false;
};

// How many postings a term has.
std::uint32_t compact_count(const KeywordData& data, std::size_t term);

// All postings of a term.
void unpack(const KeywordData& data, std::size_t term, Postings& out);

// All postings of a segment of the other layout in this one.
struct Compacted {
    std::string packed;
    std::vector<std::uint32_t> packed_starts, packed_windows;
};

Compacted compacted(const KeywordData& data);

}  // namespace pincite::bm25

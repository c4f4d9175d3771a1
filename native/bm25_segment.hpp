// The arrays of a keyword segment (laid out in pincite/bm25/segment.py), verified as they are read.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace pincite::bm25 {

// An array that contradicts its checksum or the other arrays.
struct Damaged : std::runtime_error {
    using std::runtime_error::runtime_error;
};

constexpr std::size_t kChecksummed = 65536;  // bytes of a block with a checksum

// Bytes whose blocks of 64 KiB are checked when they are first touched. Without checksums they
// are taken as they are. Threads may share one; at worst a block is checked twice.
class Checked {
   public:
    Checked() = default;
    Checked(const std::uint8_t* data, std::size_t size, const std::uint8_t* crcs);

    std::size_t size() const { return size_; }

    // The address of byte `begin`, after bytes [begin, end) were verified.
    const std::uint8_t* touch(std::size_t begin, std::size_t end) const {
        if (begin > end || end > size_) throw Damaged("an offset lies beyond its array");
        if (seen_ && !seen(begin, end)) verify(begin, end);
        return data_ + begin;
    }

    const void* peek(std::size_t at) const { return data_ + at; }

   private:
    // Whether the bytes lie within one block that was verified.
    bool seen(std::size_t begin, std::size_t end) const {
        const std::size_t block = begin / kChecksummed;
        return end <= (block + 1) * kChecksummed && end > begin &&
               seen_[block].load(std::memory_order_relaxed);
    }
    void verify(std::size_t begin, std::size_t end) const;

    const std::uint8_t* data_ = nullptr;
    std::size_t size_ = 0;
    const std::uint8_t* crcs_ = nullptr;
    std::unique_ptr<std::atomic<bool>[]> seen_;
};

template <typename T>
class Column {
   public:
    Column() = default;
    explicit Column(Checked bytes) : bytes_(std::move(bytes)) {
        if (bytes_.size() % sizeof(T)) throw Damaged("an array ends within an item");
    }

    std::size_t size() const { return bytes_.size() / sizeof(T); }

    const T* range(std::size_t first, std::size_t end) const {
        if (end > size()) throw Damaged("an offset lies beyond its array");
        return reinterpret_cast<const T*>(bytes_.touch(first * sizeof(T), end * sizeof(T)));
    }

    T operator[](std::size_t i) const { return *range(i, i + 1); }

    // Where item `i` lies, to be fetched ahead of its use.
    const void* peek(std::size_t i) const { return bytes_.peek(i * sizeof(T)); }

   private:
    Checked bytes_;
};

struct Span {
    std::uint32_t begin = 0, end = 0;

    std::uint32_t size() const { return end - begin; }
};

// Where a term's postings are.
struct Term {
    std::size_t number;
    Span runs, postings;
};

constexpr std::size_t kWindowBits = 12;
constexpr std::size_t kWindowRows = std::size_t{1} << kWindowBits;
constexpr std::size_t kBlockBits = 16;
constexpr std::size_t kGroups = 4;  // bounds of a window
constexpr std::size_t kCodes = 256;
constexpr std::uint32_t kExact = 8;  // frequencies up to here are told by their code

// What a segment holds. The compact layout has the last four arrays, the other has those of runs,
// rows, codes and large frequencies.
struct KeywordArrays {
    Column<std::uint8_t> vocabulary;
    Column<std::uint32_t> vocabulary_offsets, term_runs, run_starts;
    Column<std::uint16_t> run_blocks, rows;
    Column<std::uint8_t> codes;
    Column<std::uint32_t> large_at, large_tfs, code_tfs, code_lengths, lengths, long_terms;
    Column<std::uint32_t> window_starts;
    Column<std::uint8_t> window_codes;
    Column<std::uint8_t> packed, length_codes;
    Column<std::uint32_t> packed_starts, packed_windows;
};

// The code of a posting, by its frequency and the code of its row's length.
class CodeTable {
   public:
    CodeTable() = default;
    // Of codes that ascend by class of frequencies, then length. Throws Damaged for others.
    CodeTable(const std::uint32_t* tfs, const std::uint32_t* lengths, std::size_t count);

    // Of a frequency up to kExact, less one.
    std::uint8_t near(std::uint32_t before, std::uint8_t length) const {
        return near_[before][length];
    }

    std::uint8_t code(std::uint32_t tf, std::uint8_t length) const {
        return tf - 1 < kExact ? near_[tf - 1][length] : by_class(tf, length);
    }

    // That bounds every frequency.
    std::uint8_t most(std::uint8_t length) const { return by_class_.back()[length]; }

   private:
    std::uint8_t by_class(std::uint32_t tf, std::uint8_t length) const;

    using Row = std::array<std::uint8_t, kCodes>;

    std::array<Row, kExact> near_{};
    std::vector<std::uint32_t> lasts_;  // the largest frequency of each class
    std::vector<Row> by_class_ = std::vector<Row>(1);
};

class KeywordData {
   public:
    // Throws Damaged when the sizes of the arrays contradict each other.
    explicit KeywordData(KeywordArrays arrays);

    std::size_t rows() const { return arrays_.lengths.size(); }
    std::size_t windows() const { return (rows() + kWindowRows - 1) >> kWindowBits; }
    std::size_t terms() const { return arrays_.vocabulary_offsets.size() - 1; }

    // Whether postings are packed (see bm25_compact.hpp).
    bool compact() const { return arrays_.packed_starts.size() > 0; }
    const CodeTable& code_table() const;

    // The number of a term, or terms().
    std::size_t find(std::string_view term) const;

    // A term's runs, and its postings.
    Span runs(std::size_t term) const;
    Span postings(Span runs) const;

    // The same, read; their frequencies, unless that is null.
    void postings(std::size_t term, std::vector<std::uint32_t>& rows,
                  std::vector<std::uint32_t>* tfs) const;

    // Where a term of many postings has its bounds; false for others.
    bool long_place(std::size_t term, std::size_t* place) const;

    // The frequency of posting `at` where it is above kExact and its code does not tell it.
    std::uint32_t large_frequency(std::size_t at) const;

    const KeywordArrays& arrays() const { return arrays_; }

    std::string name;  // what errors call it

   private:
    std::string_view term(std::size_t number) const;

    KeywordArrays arrays_;
    mutable std::once_flag table_made_;
    mutable CodeTable table_;
};

}  // namespace pincite::bm25

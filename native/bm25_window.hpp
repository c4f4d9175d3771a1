// What a search does within one window of rows, and the memory that it does it in.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "bm25_compact.hpp"
#include "bm25_segment.hpp"
#include "clones.hpp"

namespace pincite::bm25 {

constexpr std::uint16_t kLocal = kWindowRows - 1;  // the bits of a row within its window

// Finding one row in a list costs about as much as reading this many postings.
constexpr std::size_t kProbeCost = 8;

// The same where the list has to be unpacked to be read.
constexpr std::size_t kPackedCost = 2;

// How many windows before its turn one is fetched.
constexpr std::size_t kAhead = 3;

// So many windows with the highest bounds are searched before the others, which follow in the
// order in which they lie in memory.
constexpr std::size_t kFirst = 8;

inline void prefetch(const void* address) {
#if defined(__GNUC__)
    __builtin_prefetch(address);
#else
    (void)address;
#endif
}

// A row of the window, and what its score, in quanta, can not exceed.
struct Candidate {
    std::uint16_t local;
    std::uint16_t bound;
};

// A term's postings in the part that is searched. `rows` and `codes` are indexed by posting; of a
// long term in the compact layout, they hold one window at a time.
struct List {
    std::size_t group;
    const std::uint16_t* rows;
    const std::uint8_t* codes;
    const std::uint32_t* starts;  // of each window, and the end
    const std::uint16_t* bounds;  // of each window
    std::uint16_t table[kCodes];  // of each code
    Unpacked* unpacked;  // in the compact layout, what `rows` and `codes` point to
    const std::uint32_t* packed;  // where each window is packed; null for other terms
    std::size_t window;           // the one that is unpacked

    // The first posting of the window that is not below `low`, or the window's end.
    std::uint32_t seek(std::size_t window, std::uint16_t low) const;
};

// A list within the window, or the block of windows, that is searched.
struct Active {
    List* list;
    std::uint32_t bound;
    std::uint32_t count;
    const std::uint16_t* rows;
    const std::uint8_t* codes;
    const std::uint16_t* table;
};

// The candidates of a window. There is room behind them for whole vectors to be stored.
class Candidates {
   public:
    Candidates() : items_(kWindowRows + 64) {}

    Candidate* begin() { return items_.data(); }
    Candidate* end() { return items_.data() + count_; }
    std::size_t size() const { return count_; }
    bool empty() const { return count_ == 0; }
    void resize(std::size_t count) { count_ = count; }
    void push(std::size_t local, std::uint16_t bound) {
        items_[count_++] = {static_cast<std::uint16_t>(local), bound};
    }

    template <typename Test>
    void keep(Test test) {
        std::size_t kept = 0;
        for (std::size_t i = 0; i < count_; ++i) {
            const Candidate candidate = items_[i];
            items_[kept] = candidate;
            kept += test(candidate);
        }
        count_ = kept;
    }

   private:
    std::vector<Candidate> items_;
    std::size_t count_ = 0;
};

// Reused by every search of a thread.
struct Scratch {
    std::vector<List> lists;
    std::vector<Unpacked> unpacked;
    std::vector<std::uint32_t> wide;
    std::vector<Active> active;  // by bound, ascending
    Candidates candidates;
    std::vector<std::uint16_t> scores;  // all zero between windows
    std::vector<double> dense;
    std::vector<std::uint32_t> frequencies;
    std::vector<std::uint32_t> starts;
    std::vector<std::uint16_t> bounds;
    std::vector<std::uint32_t> totals;  // the bound of each window
    std::vector<std::uint32_t> order;
    std::size_t windows = 0;
    const KeywordData* data = nullptr;

    void prepare(const KeywordData& data, std::size_t lists);

    void add(const Active& list);  // to `active`, in its place
    void unpack(List& list, std::size_t window) const;

    // Fills `totals` and `order`: the windows with the highest bounds, highest first, then the rest
    // as they lie in memory. How many the first are.
    std::size_t order_windows();

    // Fills `active`, by bound, ascending; the number of postings in it.
    std::size_t activate(std::size_t window);

    // Fills `active` for windows [first, end), without postings; the sum of its bounds.
    std::uint32_t activate_all(std::size_t first, std::size_t end);

    std::uint32_t active_total() const;

    // Has a packed list ready to be looked up in a window; and its `rows` and `codes` filled.
    void open(List& list, std::size_t window) const {
        if (list.packed != nullptr && list.window != window) unpack(list, window);
    }
    void complete(List& list, std::size_t window) const;
    void complete(Active& active, std::size_t window) const;

    // Asks for the postings of a window that will soon be searched: windows are not visited in the
    // order in which they lie in memory.
    void fetch(std::size_t window) const;
};

Scratch& scratch();

// Makes list `i` of the scratch ready; its table is filled.
void bind(const KeywordData& data, const Term& term, Scratch& scratch, std::size_t i);

// The flagged rows of a window as candidates without a bound yet. False, and no candidates, when
// there are more than `most`.
bool collect_flagged(const std::uint8_t* flags, std::size_t size, std::size_t most,
                     Candidates& out);

// Rows whose bounds in these lists add up to `threshold` (at least 1) or more. `scores` is all
// zero before and after.
void collect(const Active* lists, std::size_t count, std::uint32_t threshold,
             std::vector<std::uint16_t>& scores, Candidates& out);

// Add a list's bounds to the candidates that it holds: by reading it, or by seeking in it.
void add_merged(const Active& list, std::vector<std::uint16_t>& scores, Candidates& candidates);
void add_probed(const Active& list, Candidates& candidates);

// The same where the list is packed; the window is open.
void add_packed(const List& list, Candidates& candidates);

// The same for candidates of a block, whose `local` are the low bits of their rows.
void add_sought(const List& list, std::size_t block, Candidates& candidates);

}  // namespace pincite::bm25

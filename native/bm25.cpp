#include "bm25.hpp"

#include <algorithm>
#include <limits>
#include <stdexcept>

#include "clones.hpp"

namespace pincite {
namespace {

// Scores of one window stay in the second-level cache, however many rows the segment has.
constexpr std::size_t kWindow = 16384;
constexpr std::size_t kBatch = 256;

// Apart from the scatter, so that the compiler can vectorise the two divisions. The order of
// operations is that of bm25/formulas.py, and the build forbids contraction: the same bits.
PINCITE_CLONES void contributions(const std::uint32_t* rows, const std::uint32_t* tfs,
                                  std::size_t count, double idf, const std::uint32_t* lengths,
                                  const Formula& formula, double* out) {
    const double k1 = formula.k1, b = formula.b, average = formula.average;
    const double scale = formula.scale, delta = formula.delta, rest = 1.0 - b;
    for (std::size_t i = 0; i < count; ++i) {
        const double tf = tfs[i];
        const double norm = k1 * (rest + b * (static_cast<double>(lengths[rows[i]]) / average));
        out[i] = idf * (scale * (tf / (tf + norm)) + delta);
    }
}

float rounded(double score) {
    constexpr double low = std::numeric_limits<float>::min();
    constexpr double high = std::numeric_limits<float>::max();
    return static_cast<float>(std::min(std::max(score, low), high));
}

struct Cursor {
    const Postings* postings;
    std::size_t next = 0;

    bool done() const { return next == postings->count; }
    std::uint32_t row() const { return postings->rows[next]; }

    // Where the rows below `end` stop; they must ascend from `start`.
    std::size_t stop(std::uint64_t start, std::uint64_t end) const {
        const std::uint32_t* rows = postings->rows;
        std::uint64_t previous = start;
        std::size_t at = next;
        for (; at < postings->count && rows[at] < end; ++at) {
            if (rows[at] < previous) throw std::out_of_range("postings do not ascend");
            previous = rows[at];
        }
        return at;
    }
};

void accumulate(Cursor& cursor, std::uint64_t start, std::uint64_t end,
                const std::uint32_t* lengths, const std::uint8_t* allow, const Formula& formula,
                double* window) {
    double batch[kBatch];
    const std::size_t stop = cursor.stop(start, end);
    while (cursor.next < stop) {
        const std::uint32_t* rows = cursor.postings->rows + cursor.next;
        const std::size_t count = std::min(kBatch, stop - cursor.next);
        contributions(rows, cursor.postings->tfs + cursor.next, count, cursor.postings->idf,
                      lengths, formula, batch);
        for (std::size_t i = 0; i < count; ++i) {
            if (allow == nullptr || allow[rows[i]]) window[rows[i] - start] += batch[i];
        }
        cursor.next += count;
    }
}

// The next row that any cursor stands at, or `size` when all are done.
std::uint64_t lowest(const std::vector<Cursor>& cursors, std::uint64_t size) {
    std::uint64_t row = size;
    for (const Cursor& cursor : cursors) {
        if (!cursor.done()) row = std::min<std::uint64_t>(row, cursor.row());
    }
    return row;
}

// Scores up to this one round below the k-th best. One comparison then passes over rows that were
// not touched and rows that are not good enough, and is almost never mispredicted.
double bar(const Best<std::uint32_t>& best) {
    const double kth = best.kth();
    return kth <= std::numeric_limits<float>::min() ? 0.0 : kth * (1.0 - 0x1p-23);
}

void harvest(std::vector<double>& window, std::uint64_t start, std::size_t used,
             Best<std::uint32_t>& best) {
    double floor = bar(best);
    for (std::size_t i = 0; i < used; ++i) {
        if (window[i] <= floor) continue;
        best.offer(static_cast<std::uint32_t>(start + i), rounded(window[i]), 0.0F);
        floor = bar(best);
    }
    std::fill(window.begin(), window.begin() + static_cast<std::ptrdiff_t>(used), 0.0);
}

}  // namespace

std::vector<Best<std::uint32_t>::Entry> bm25_best(const std::vector<Postings>& groups,
                                                  const std::uint32_t* lengths, std::size_t size,
                                                  const std::uint8_t* allow, std::size_t k,
                                                  const Formula& formula) {
    std::vector<Cursor> cursors;
    for (const Postings& postings : groups) cursors.push_back({&postings});
    std::vector<double> window(std::min(kWindow, size), 0.0);
    Best<std::uint32_t> best(k);
    for (std::uint64_t row = lowest(cursors, size); row < size; row = lowest(cursors, size)) {
        const std::uint64_t start = row - row % kWindow;
        const std::uint64_t end = std::min<std::uint64_t>(start + kWindow, size);
        for (Cursor& cursor : cursors) {
            accumulate(cursor, start, end, lengths, allow, formula, window.data());
        }
        harvest(window, start, end - start, best);
    }
    for (const Cursor& cursor : cursors) {
        if (!cursor.done()) throw std::out_of_range("a posting lies beyond the segment's rows");
    }
    return best.finish(0.0F);
}

}  // namespace pincite

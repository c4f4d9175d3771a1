#include "bm25_window.hpp"

#include <algorithm>
#include <cstring>
#include <functional>

namespace pincite::bm25 {
namespace {

// The first of `count` ascending rows that is not below `low`. Free of branches that depend on
// the data, so that several searches overlap.
inline std::size_t lower_bound(const std::uint16_t* rows, std::size_t count, std::uint16_t low) {
    const std::uint16_t* base = rows;
    while (count > 1) {
        const std::size_t half = count / 2;
        base = base[half - 1] < low ? base + half : base;
        count -= half;
    }
    return static_cast<std::size_t>(base - rows) + (count == 1 && *base < low);
}

void bind_long(const KeywordData& data, std::size_t place, Span postings, List& list,
               std::uint16_t* bounds) {
    const KeywordArrays& a = data.arrays();
    const std::size_t windows = data.windows();
    list.starts = a.window_starts.range(place * (windows + 1), (place + 1) * (windows + 1));
    const std::uint8_t* codes =
        a.window_codes.range(place * windows * kGroups, (place + 1) * windows * kGroups);
    bool fits = list.starts[0] == postings.begin && list.starts[windows] == postings.end;
    for (std::size_t w = 0; w < windows; ++w) {
        fits &= list.starts[w] <= list.starts[w + 1];
        const std::uint8_t* own = codes + w * kGroups;
        bounds[w] = std::max(std::max(list.table[own[0]], list.table[own[1]]),
                             std::max(list.table[own[2]], list.table[own[3]]));
    }
    if (!fits) throw Damaged("its windows do not cover a term's postings");
}

void bind_short(const KeywordData& data, Span runs, Span postings, List& list,
                std::uint32_t* starts, std::uint16_t* bounds) {
    const KeywordArrays& a = data.arrays();
    const std::size_t windows = data.windows();
    std::fill(bounds, bounds + windows, std::uint16_t{0});
    std::size_t window = 0;
    starts[0] = postings.begin;
    for (std::uint32_t run = runs.begin; run < runs.end; ++run) {
        const std::uint32_t begin = a.run_starts[run], end = a.run_starts[run + 1];
        const std::size_t base = std::size_t{a.run_blocks[run]} << (kBlockBits - kWindowBits);
        if (begin < postings.begin || end > postings.end) {
            throw Damaged("a run lies outside of its term");
        }
        for (std::uint32_t at = begin; at < end; ++at) {
            const std::size_t own = base | (list.rows[at] >> kWindowBits);
            if (own < window || own >= windows) throw Damaged("postings do not ascend");
            while (window < own) starts[++window] = at;
            bounds[own] = std::max(bounds[own], list.table[list.codes[at]]);
        }
    }
    while (window < windows) starts[++window] = postings.end;
    list.starts = starts;
}

PINCITE_CLONES std::uint16_t largest(const std::uint16_t* values, std::size_t count) {
    std::uint16_t most = 0;
    for (std::size_t i = 0; i < count; ++i) most = values[i] > most ? values[i] : most;
    return most;
}

constexpr std::size_t kStripe = 64;

}  // namespace

std::uint32_t List::seek(std::size_t window, std::uint16_t low) const {
    const std::uint32_t begin = starts[window];
    return begin +
           static_cast<std::uint32_t>(lower_bound(rows + begin, starts[window + 1] - begin, low));
}

Scratch& scratch() {
    thread_local Scratch own;
    return own;
}

void Scratch::prepare(std::size_t count, std::size_t window_count) {
    windows = window_count;
    lists.resize(count);
    starts.resize(count * (windows + 1));
    bounds.resize(count * windows);
    scores.assign(kWindowRows, 0);
}

const std::vector<std::uint64_t>& Scratch::windows_by_bound() {
    order.resize(windows);
    for (std::size_t w = 0; w < windows; ++w) {
        std::uint64_t bound = 0;
        for (const List& list : lists) bound += list.bounds[w];
        order[w] = bound << 32 | w;
    }
    std::sort(order.begin(), order.end(), std::greater<std::uint64_t>());
    return order;
}

std::size_t Scratch::activate(std::size_t window) {
    active.clear();
    std::size_t postings = 0;
    for (const List& list : lists) {
        const std::uint32_t begin = list.starts[window], count = list.starts[window + 1] - begin;
        if (count == 0) continue;
        postings += count;
        active.push_back({list.bounds[window], count, list.rows + begin, list.codes + begin,
                          list.table});
        for (std::size_t i = active.size() - 1;
             i > 0 && active[i - 1].bound > active[i].bound; --i) {
            std::swap(active[i - 1], active[i]);
        }
    }
    return postings;
}

std::uint32_t Scratch::active_total() const {
    std::uint32_t total = 0;
    for (const Active& list : active) total += list.bound;
    return total;
}

void bind(const KeywordData& data, std::size_t term, Span runs, Span postings, Scratch& scratch,
          std::size_t i) {
    const KeywordArrays& a = data.arrays();
    List& list = scratch.lists[i];
    list.rows = a.rows.range(postings.begin, postings.end) - postings.begin;
    list.codes = a.codes.range(postings.begin, postings.end) - postings.begin;
    std::uint16_t* bounds = scratch.bounds.data() + i * scratch.windows;
    list.bounds = bounds;
    std::size_t place;
    if (data.long_place(term, &place)) {
        bind_long(data, place, postings, list, bounds);
    } else {
        bind_short(data, runs, postings, list,
                   scratch.starts.data() + i * (scratch.windows + 1), bounds);
    }
}

PINCITE_CLONES std::size_t count_flags(const std::uint8_t* flags, std::size_t size) {
    std::size_t count = 0;
    for (std::size_t i = 0; i < size; ++i) count += flags[i] != 0;
    return count;
}

void accumulate(const Active& list, std::vector<std::uint16_t>& scores) {
    std::uint16_t* out = scores.data();
    const std::uint16_t* rows = list.rows;
    const std::uint8_t* codes = list.codes;
    const std::uint16_t* table = list.table;
    for (std::uint32_t i = 0; i < list.count; ++i) {
        std::uint16_t& score = out[rows[i] & kLocal];
        score = static_cast<std::uint16_t>(score + table[codes[i]]);
    }
}

void collect_scores(std::vector<std::uint16_t>& scores, std::uint32_t threshold,
                    std::vector<Candidate>& out) {
    for (std::size_t start = 0; start < kWindowRows; start += kStripe) {
        if (largest(scores.data() + start, kStripe) < threshold) continue;
        for (std::size_t i = start; i < start + kStripe; ++i) {
            if (scores[i] >= threshold) out.push_back({static_cast<std::uint16_t>(i), scores[i]});
        }
    }
    std::memset(scores.data(), 0, kWindowRows * sizeof scores[0]);
}

void collect_list(const Active& list, std::uint32_t threshold, std::vector<Candidate>& out) {
    for (std::uint32_t i = 0; i < list.count; ++i) {
        const std::uint16_t bound = list.table[list.codes[i]];
        if (bound >= threshold) {
            out.push_back({static_cast<std::uint16_t>(list.rows[i] & kLocal), bound});
        }
    }
}

void add_merged(const Active& list, std::vector<std::uint16_t>& scores,
                std::vector<Candidate>& candidates) {
    accumulate(list, scores);
    for (Candidate& candidate : candidates) {
        candidate.bound = static_cast<std::uint16_t>(candidate.bound + scores[candidate.local]);
    }
    std::memset(scores.data(), 0, kWindowRows * sizeof scores[0]);
}

void add_probed(const Active& list, std::vector<Candidate>& candidates) {
    const std::uint16_t high = static_cast<std::uint16_t>(list.rows[0] & ~kLocal);
    for (Candidate& candidate : candidates) {
        const std::uint16_t low = static_cast<std::uint16_t>(high | candidate.local);
        const std::size_t at = lower_bound(list.rows, list.count, low);
        if (at < list.count && list.rows[at] == low) {
            candidate.bound = static_cast<std::uint16_t>(candidate.bound +
                                                         list.table[list.codes[at]]);
        }
    }
}

}  // namespace pincite::bm25

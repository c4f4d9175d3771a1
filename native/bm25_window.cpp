#include "bm25_window.hpp"

#include <algorithm>
#include <cstring>
#include <functional>

#include "bm25_near.hpp"

namespace pincite::bm25 {
namespace {

void bind_long(const KeywordData& data, std::size_t place, Span postings, List& list,
               std::uint16_t* bounds) {
    const KeywordArrays& a = data.arrays();
    const std::size_t windows = data.windows();
    list.starts = a.window_starts.range(place * (windows + 1), (place + 1) * (windows + 1));
    const std::uint8_t* codes =
        a.window_codes.range(place * windows * kGroups, (place + 1) * windows * kGroups);
    if (data.compact()) {
        list.packed = a.packed_windows.range(place * (windows + 1), (place + 1) * (windows + 1));
        list.window = windows;
    }
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

// A short term of the compact layout.
void bind_packed(const KeywordData& data, std::size_t term, List& list,
                 std::vector<std::uint32_t>& wide, std::uint32_t* starts, std::uint16_t* bounds) {
    const std::size_t windows = data.windows();
    std::fill(bounds, bounds + windows, std::uint16_t{0});
    list.unpacked->open_term(data, term, wide);
    list.rows = list.unpacked->rows.data();
    list.codes = list.unpacked->codes.data();
    std::size_t window = 0;
    starts[0] = 0;
    for (std::uint32_t at = 0; at < wide.size(); ++at) {
        const std::size_t own = wide[at] >> kWindowBits;
        while (window < own) starts[++window] = at;
        bounds[own] = std::max(bounds[own], list.table[list.codes[at]]);
    }
    while (window < windows) starts[++window] = static_cast<std::uint32_t>(wide.size());
    list.starts = starts;
}

inline void accumulate(const Active& list, std::uint16_t* scores) {
    const std::uint16_t* rows = list.rows;
    const std::uint8_t* codes = list.codes;
    const std::uint16_t* table = list.table;
    for (std::uint32_t i = 0; i < list.count; ++i) {
        std::uint16_t& score = scores[rows[i] & kLocal];
        score = static_cast<std::uint16_t>(score + table[codes[i]]);
    }
}

void collect_one(const Active& list, std::uint32_t threshold, Candidates& out) {
    Candidate* items = out.begin();
    std::size_t kept = 0;
    const std::size_t count = std::min<std::size_t>(list.count, kWindowRows);
    for (std::size_t i = 0; i < count; ++i) {
        const std::uint16_t bound = list.table[list.codes[i]];
        items[kept] = {static_cast<std::uint16_t>(list.rows[i] & kLocal), bound};
        kept += bound >= threshold;
    }
    out.resize(kept);
}

// By the rows of the lists, when they are few. What was taken is cleared, so that no row comes
// twice.
void collect_touched(const Active* lists, std::size_t count, std::uint32_t threshold,
                     std::uint16_t* scores, Candidates& out) {
    Candidate* items = out.begin();
    std::size_t kept = 0;
    for (const Active* list = lists; list < lists + count; ++list) {
        for (std::uint32_t i = 0; i < list->count; ++i) {
            const std::uint16_t local = list->rows[i] & kLocal;
            items[kept] = {local, scores[local]};
            kept += scores[local] >= threshold;
            scores[local] = 0;
        }
    }
    out.resize(kept);
}

// Up to so many postings, visiting their rows is cheaper than scanning the window.
constexpr std::size_t kFew = 256;

constexpr std::uint32_t kFetched = 256;  // the rest follows by itself

void collect_all(std::uint32_t threshold, std::uint16_t* scores, Candidates& out) {
    Candidate* items = out.begin();
    std::size_t kept = 0;
#ifdef PINCITE_X86  // every such machine has SSE2
    const __m128i least = _mm_set1_epi16(static_cast<short>(threshold));
    const __m128i zero = _mm_setzero_si128();
    for (std::size_t start = 0; start < kWindowRows; start += 16) {
        __m128i* both = reinterpret_cast<__m128i*>(scores + start);
        const __m128i low = _mm_loadu_si128(both), high = _mm_loadu_si128(both + 1);
        const __m128i above = _mm_packs_epi16(_mm_cmpeq_epi16(_mm_subs_epu16(least, low), zero),
                                              _mm_cmpeq_epi16(_mm_subs_epu16(least, high), zero));
        unsigned found = static_cast<unsigned>(_mm_movemask_epi8(above));
        for (; found; found &= found - 1) {
            const std::size_t local = start + static_cast<std::size_t>(__builtin_ctz(found));
            items[kept++] = {static_cast<std::uint16_t>(local), scores[local]};
        }
        _mm_storeu_si128(both, zero);
        _mm_storeu_si128(both + 1, zero);
    }
#else
    for (std::size_t i = 0; i < kWindowRows; ++i) {
        items[kept] = {static_cast<std::uint16_t>(i), scores[i]};
        kept += scores[i] >= threshold;
    }
    std::memset(scores, 0, kWindowRows * sizeof *scores);
#endif
    out.resize(kept);
}

#ifdef PINCITE_X86
// The same with one comparison for 32 rows.
__attribute__((target("avx512f,avx512bw,avx512vl,avx512dq"))) void collect_all_v4(std::uint32_t threshold,
                                                              std::uint16_t* scores,
                                                              Candidates& out) {
    const __m512i least = _mm512_set1_epi16(static_cast<short>(threshold));
    const __m512i zero = _mm512_setzero_si512();
    const __m512i lanes =
        _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
    Candidate* items = out.begin();
    std::size_t kept = 0;
    for (std::size_t start = 0; start < kWindowRows; start += 32) {
        const __m512i values = _mm512_loadu_si512(scores + start);
        const __mmask32 above = _mm512_cmpge_epu16_mask(values, least);
        _mm512_storeu_si512(scores + start, zero);
        if (above == 0) continue;
        for (int half = 0; half < 2; ++half) {
            const __mmask16 own = static_cast<__mmask16>(above >> (16 * half));
            const __m256i part = half ? _mm512_extracti64x4_epi64(values, 1)
                                      : _mm512_castsi512_si256(values);
            const __m512i bounds = _mm512_slli_epi32(_mm512_cvtepu16_epi32(part), 16);
            const int first = static_cast<int>(start) + 16 * half;
            const __m512i locals = _mm512_add_epi32(lanes, _mm512_set1_epi32(first));
            const __m512i packed = _mm512_maskz_compress_epi32(own, _mm512_or_si512(bounds, locals));
            _mm512_storeu_si512(items + kept, packed);
            kept += static_cast<std::size_t>(__builtin_popcount(own));
        }
    }
    out.resize(kept);
}

const bool kHasV4 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                    __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq");
#endif

}  // namespace

std::uint32_t List::seek(std::size_t window, std::uint16_t low) const {
    const std::uint32_t begin = starts[window];
    return begin +
           static_cast<std::uint32_t>(find_near(rows + begin, starts[window + 1] - begin, low));
}

Scratch& scratch() {
    thread_local Scratch own;
    return own;
}

void Scratch::prepare(const KeywordData& own, std::size_t count) {
    data = &own;
    windows = own.windows();
    if (own.compact() && unpacked.size() < count) unpacked.resize(count);
    lists.resize(count);
    starts.resize(count * (windows + 1));
    bounds.resize(count * windows);
    scores.assign(kWindowRows, 0);
}

std::size_t Scratch::order_windows() {
    totals.assign(windows, 0);
    for (const List& list : lists) {
        for (std::size_t w = 0; w < windows; ++w) totals[w] += list.bounds[w];
    }
    order.resize(windows);
    for (std::size_t w = 0; w < windows; ++w) order[w] = static_cast<std::uint32_t>(w);
    const std::size_t first = std::min(kFirst, windows);
    const auto begin = order.begin(), rest = begin + static_cast<std::ptrdiff_t>(first);
    std::partial_sort(begin, rest, order.end(), [this](std::uint32_t x, std::uint32_t y) {
        return totals[x] != totals[y] ? totals[x] > totals[y] : x < y;
    });
    std::uint32_t taken[kFirst];
    std::sort(taken, std::copy(begin, rest, taken));
    std::size_t at = first, next = 0;
    for (std::uint32_t w = 0; w < windows; ++w) {
        if (next < first && taken[next] == w) {
            ++next;
        } else {
            order[at++] = w;
        }
    }
    return first;
}

void Scratch::add(const Active& list) {
    active.push_back(list);
    for (std::size_t i = active.size() - 1; i > 0 && active[i - 1].bound > active[i].bound; --i) {
        std::swap(active[i - 1], active[i]);
    }
}

std::size_t Scratch::activate(std::size_t window) {
    active.clear();
    std::size_t postings = 0;
    for (List& list : lists) {
        const std::uint32_t begin = list.starts[window], count = list.starts[window + 1] - begin;
        if (count == 0) continue;
        postings += count;
        add({&list, list.bounds[window], count, list.rows + begin, list.codes + begin, list.table});
    }
    return postings;
}

std::uint32_t Scratch::activate_all(std::size_t first, std::size_t end) {
    active.clear();
    for (List& list : lists) {
        const std::uint16_t most = *std::max_element(list.bounds + first, list.bounds + end);
        if (most > 0) add({&list, most, 0, nullptr, nullptr, nullptr});
    }
    return active_total();
}

void Scratch::unpack(List& list, std::size_t window) const {
    list.window = windows;  // none, should this throw
    list.unpacked->open_window(*data, list.packed[window], list.packed[window + 1], window,
                               list.starts[window + 1] - list.starts[window]);
    list.window = window;
}

void Scratch::complete(List& list, std::size_t window) const {
    if (list.packed == nullptr) return;
    open(list, window);
    list.unpacked->complete();
    list.rows = list.unpacked->rows.data() - list.starts[window];
    list.codes = list.unpacked->codes.data() - list.starts[window];
}

void Scratch::complete(Active& own, std::size_t window) const {
    if (own.list->packed == nullptr) return;
    complete(*own.list, window);
    own.rows = own.list->unpacked->rows.data();
    own.codes = own.list->unpacked->codes.data();
}

void Scratch::fetch(std::size_t window) const {
    for (const List& list : lists) {
        if (list.packed != nullptr) {
            const void* first = data->arrays().packed.peek(list.packed[window]);
            for (std::size_t at = 0; at < 4; ++at) {
                prefetch(static_cast<const std::uint8_t*>(first) + 64 * at);
            }
            continue;
        }
        const std::uint32_t begin = list.starts[window], end = list.starts[window + 1];
        const std::uint32_t some = begin + std::min(end - begin, kFetched);
        for (std::uint32_t at = begin; at < some; at += 32) prefetch(list.rows + at);
        for (std::uint32_t at = begin; at < some; at += 64) prefetch(list.codes + at);
    }
}

std::uint32_t Scratch::active_total() const {
    std::uint32_t total = 0;
    for (const Active& list : active) total += list.bound;
    return total;
}

void bind(const KeywordData& data, const Term& term, Scratch& scratch, std::size_t i) {
    const Span postings = term.postings;
    const KeywordArrays& a = data.arrays();
    List& list = scratch.lists[i];
    list.packed = nullptr;
    std::uint16_t* bounds = scratch.bounds.data() + i * scratch.windows;
    std::uint32_t* starts = scratch.starts.data() + i * (scratch.windows + 1);
    list.bounds = bounds;
    std::size_t place;
    const bool is_long = data.long_place(term.number, &place);
    if (data.compact()) {
        list.unpacked = &scratch.unpacked[i];
        if (!is_long) return bind_packed(data, term.number, list, scratch.wide, starts, bounds);
    } else {
        list.rows = a.rows.range(postings.begin, postings.end) - postings.begin;
        list.codes = a.codes.range(postings.begin, postings.end) - postings.begin;
    }
    if (is_long) return bind_long(data, place, postings, list, bounds);
    bind_short(data, term.runs, postings, list, starts, bounds);
}

constexpr std::size_t kStripe = 64;

// Whether a sample of the flags tells that there are many times more than `most`.
static bool surely_more(const std::uint8_t* flags, std::size_t size, std::size_t most) {
    constexpr std::size_t kSample = 4 * kStripe;
    if (size < 2 * kSample) return false;
    std::size_t found = 0;
    for (std::size_t i = 0; i < kSample; ++i) found += flags[i] != 0;
    return found * size > (2 * most + 256) * kSample;
}

bool collect_flagged(const std::uint8_t* flags, std::size_t size, std::size_t most,
                     Candidates& out) {
    out.resize(0);
    if (surely_more(flags, size, most)) return false;
    for (std::size_t start = 0; start < size; start += kStripe) {
        const std::size_t count = std::min(kStripe, size - start);
        std::uint64_t words[kStripe / 8] = {};
        std::memcpy(words, flags + start, count);
        std::uint64_t any = 0;
        for (const std::uint64_t word : words) any |= word;
        if (any == 0) continue;
        for (std::size_t i = start; i < start + count; ++i) {
            if (flags[i]) out.push(i, 0);
        }
        if (out.size() > most) {
            out.resize(0);
            return false;
        }
    }
    return true;
}

void collect(const Active* lists, std::size_t count, std::uint32_t threshold,
             std::vector<std::uint16_t>& scores, Candidates& out) {
    out.resize(0);
    if (threshold > 0xFFFF) return;
    if (count == 1) return collect_one(*lists, threshold, out);
    std::size_t postings = 0;
    for (std::size_t i = 0; i < count; ++i) {
        accumulate(lists[i], scores.data());
        postings += lists[i].count;
    }
    if (postings <= kFew) return collect_touched(lists, count, threshold, scores.data(), out);
#ifdef PINCITE_X86
    if (kHasV4) return collect_all_v4(threshold, scores.data(), out);
#endif
    collect_all(threshold, scores.data(), out);
}

void add_merged(const Active& list, std::vector<std::uint16_t>& scores, Candidates& candidates) {
    std::uint16_t* own = scores.data();
    for (std::uint32_t i = 0; i < list.count; ++i) {
        own[list.rows[i] & kLocal] = list.table[list.codes[i]];
    }
    for (Candidate& candidate : candidates) {
        candidate.bound = static_cast<std::uint16_t>(candidate.bound + own[candidate.local]);
    }
    if (list.count > kFew) {
        std::memset(own, 0, kWindowRows * sizeof *own);
    } else {
        for (std::uint32_t i = 0; i < list.count; ++i) own[list.rows[i] & kLocal] = 0;
    }
}

void add_probed(const Active& list, Candidates& candidates) {
    const std::uint16_t high = static_cast<std::uint16_t>(list.rows[0] & ~kLocal);
    for (Candidate& candidate : candidates) {
        const std::uint16_t low = static_cast<std::uint16_t>(high | candidate.local);
        const std::size_t at = find_near(list.rows, list.count, low);
        if (at < list.count && list.rows[at] == low) {
            candidate.bound = static_cast<std::uint16_t>(candidate.bound +
                                                         list.table[list.codes[at]]);
        }
    }
}

void add_packed(const List& list, Candidates& candidates) {
    const Unpacked& own = *list.unpacked;
    const std::uint16_t high = static_cast<std::uint16_t>(list.window << kWindowBits);
    for (Candidate& each : candidates) {
        const std::uint16_t row = static_cast<std::uint16_t>(high | (each.local & kLocal));
        const std::uint32_t place = own.find(row);
        if (place < own.count()) {
            each.bound = static_cast<std::uint16_t>(each.bound +
                                                    list.table[own.bounding_code(place, row)]);
        }
    }
}

void add_sought(const List& list, std::size_t block, Candidates& candidates) {
    const std::uint32_t* starts = list.starts + (block << (kBlockBits - kWindowBits));
    for (const Candidate& each : candidates) {
        const std::uint32_t begin = starts[each.local >> kWindowBits];
        const std::size_t count = starts[(each.local >> kWindowBits) + 1] - begin;
        const std::size_t guess = begin + (((each.local & kLocal) * count) >> kWindowBits);
        prefetch(list.rows + guess);
        prefetch(list.codes + guess);
    }
    for (Candidate& each : candidates) {
        const std::size_t window = each.local >> kWindowBits;
        const std::size_t begin = starts[window], count = starts[window + 1] - begin;
        const std::size_t at = begin + find_near(list.rows + begin, count, each.local);
        if (at < starts[window + 1] && list.rows[at] == each.local) {
            each.bound = static_cast<std::uint16_t>(each.bound + list.table[list.codes[at]]);
        }
    }
}

}  // namespace pincite::bm25

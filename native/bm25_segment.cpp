#include "bm25_segment.hpp"

#include <algorithm>
#include <cstring>

#include "checksum.hpp"

namespace pincite::bm25 {

Checked::Checked(const std::uint8_t* data, std::size_t size, const std::uint8_t* crcs)
    : data_(data), size_(size), crcs_(crcs) {
    if (crcs != nullptr) {
        seen_ = std::make_unique<std::atomic<bool>[]>((size + kChecksummed - 1) / kChecksummed);
    }
}

void Checked::verify(std::size_t begin, std::size_t end) const {
    for (std::size_t block = begin / kChecksummed; block * kChecksummed < end; ++block) {
        if (seen_[block].load(std::memory_order_relaxed)) continue;
        const std::size_t first = block * kChecksummed;
        std::uint32_t stored;
        std::memcpy(&stored, crcs_ + 4 * block, sizeof stored);
        if (crc32(data_ + first, std::min(kChecksummed, size_ - first)) != stored) {
            throw Damaged("a block fails its checksum");
        }
        seen_[block].store(true, std::memory_order_relaxed);
    }
}

KeywordData::KeywordData(KeywordArrays arrays) : arrays_(std::move(arrays)) {
    const KeywordArrays& a = arrays_;
    const std::size_t long_terms = a.long_terms.size();
    const std::size_t starts = long_terms * (windows() + 1);
    const bool lists =
        compact() ? a.packed_starts.size() == a.vocabulary_offsets.size() &&
                        a.packed_windows.size() == starts && a.length_codes.size() == rows()
                  : a.term_runs.size() == a.vocabulary_offsets.size() &&
                        a.run_starts.size() == a.run_blocks.size() + 1 &&
                        a.rows.size() == a.codes.size() && a.large_at.size() == a.large_tfs.size();
    const bool fits = lists && a.vocabulary_offsets.size() > 0 &&
                      a.code_tfs.size() == a.code_lengths.size() && a.code_tfs.size() < kCodes &&
                      a.window_starts.size() == starts &&
                      a.window_codes.size() == long_terms * windows() * kGroups;
    if (!fits) throw Damaged("its arrays differ in length");
}

std::string_view KeywordData::term(std::size_t number) const {
    const std::uint32_t* ends = arrays_.vocabulary_offsets.range(number, number + 2);
    const std::uint8_t* first = arrays_.vocabulary.range(ends[0], ends[1]);
    return {reinterpret_cast<const char*>(first), ends[1] - ends[0]};
}

std::size_t KeywordData::find(std::string_view wanted) const {
    std::size_t low = 0, high = terms();
    while (low < high) {
        const std::size_t middle = (low + high) / 2;
        const int order = term(middle).compare(wanted);
        if (order == 0) return middle;
        if (order < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return terms();
}

Span KeywordData::runs(std::size_t term) const {
    const std::uint32_t* ends = arrays_.term_runs.range(term, term + 2);
    if (ends[0] >= ends[1]) throw Damaged("a term has no runs");
    return {ends[0], ends[1]};
}

Span KeywordData::postings(Span runs) const {
    const Span found{arrays_.run_starts[runs.begin], arrays_.run_starts[runs.end]};
    if (found.begin > found.end || found.end > arrays_.rows.size()) {
        throw Damaged("a term's postings lie outside of it");
    }
    return found;
}

const CodeTable& KeywordData::code_table() const {
    std::call_once(table_made_, [this] {
        const std::size_t count = arrays_.code_tfs.size();
        table_ = CodeTable(arrays_.code_tfs.range(0, count), arrays_.code_lengths.range(0, count),
                           count);
    });
    return table_;
}

void KeywordData::postings(std::size_t term, std::vector<std::uint32_t>& rows,
                           std::vector<std::uint32_t>* tfs) const {
    const KeywordArrays& a = arrays_;
    const Span own = runs(term), all = postings(own);
    rows.clear();
    if (tfs) tfs->clear();
    for (std::uint32_t run = own.begin; run < own.end; ++run) {
        const std::uint32_t begin = a.run_starts[run], end = a.run_starts[run + 1];
        const std::uint32_t base = std::uint32_t{a.run_blocks[run]} << kBlockBits;
        if (begin < all.begin || begin > end || end > all.end) {
            throw Damaged("a run lies outside of its term");
        }
        const std::uint16_t* low = a.rows.range(begin, end);
        const std::uint8_t* codes = a.codes.range(begin, end);
        for (std::uint32_t i = 0; i < end - begin; ++i) {
            const std::uint32_t row = base | low[i];
            if (row >= this->rows() || (!rows.empty() && row <= rows.back())) {
                throw Damaged("postings do not ascend");
            }
            rows.push_back(row);
            if (!tfs) continue;
            const std::uint32_t tf = a.code_tfs[codes[i]];
            tfs->push_back(tf <= kExact ? tf : large_frequency(begin + i));
            if (tfs->back() == 0) throw Damaged("a posting has a frequency of 0");
        }
    }
}

CodeTable::CodeTable(const std::uint32_t* tfs, const std::uint32_t* lengths, std::size_t count) {
    std::vector<std::uint32_t> edges(lengths, lengths + count);
    std::sort(edges.begin(), edges.end());
    edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
    by_class_.clear();
    for (std::size_t i = 0; i < count;) {
        std::size_t end = i + 1;
        for (; end < count && tfs[end] == tfs[i]; ++end) {
            if (lengths[end] <= lengths[end - 1]) throw Damaged("its codes do not ascend");
        }
        if (!lasts_.empty() && tfs[i] <= lasts_.back()) throw Damaged("its codes do not ascend");
        lasts_.push_back(tfs[i]);
        by_class_.emplace_back();
        for (std::size_t edge = 0, at = i; edge < kCodes; ++edge) {
            while (edge < edges.size() && at + 1 < end && lengths[at + 1] <= edges[edge]) ++at;
            by_class_.back()[edge] = static_cast<std::uint8_t>(at);
        }
        i = end;
    }
    if (count == 0) by_class_.emplace_back();
    for (std::uint32_t tf = 1; tf <= kExact && count; ++tf) {
        for (std::size_t length = 0; length < kCodes; ++length) {
            near_[tf - 1][length] = by_class(tf, static_cast<std::uint8_t>(length));
        }
    }
}

std::uint8_t CodeTable::by_class(std::uint32_t tf, std::uint8_t length) const {
    const auto found = std::lower_bound(lasts_.begin(), lasts_.end(), tf);
    if (tf == 0 || found == lasts_.end()) throw Damaged("a frequency has no code");
    return by_class_[static_cast<std::size_t>(found - lasts_.begin())][length];
}

bool KeywordData::long_place(std::size_t term, std::size_t* place) const {
    const std::size_t count = arrays_.long_terms.size();
    const std::uint32_t* terms = arrays_.long_terms.range(0, count);
    const std::uint32_t* found =
        std::lower_bound(terms, terms + count, static_cast<std::uint32_t>(term));
    *place = static_cast<std::size_t>(found - terms);
    return *place < count && *found == term;
}

std::uint32_t KeywordData::large_frequency(std::size_t at) const {
    std::size_t low = 0, high = arrays_.large_at.size();
    while (low < high) {
        const std::size_t middle = (low + high) / 2;
        if (arrays_.large_at[middle] < at) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    if (low == arrays_.large_at.size() || arrays_.large_at[low] != at) {
        throw Damaged("a large frequency is missing");
    }
    return arrays_.large_tfs[low];
}

}  // namespace pincite::bm25

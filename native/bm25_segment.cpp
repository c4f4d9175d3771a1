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
    const bool fits = a.term_runs.size() > 0 && a.term_runs.size() == a.vocabulary_offsets.size() &&
                      a.run_starts.size() == a.run_blocks.size() + 1 &&
                      a.rows.size() == a.codes.size() && a.large_at.size() == a.large_tfs.size() &&
                      a.code_tfs.size() == a.code_lengths.size() && a.code_tfs.size() < kCodes &&
                      a.window_starts.size() == long_terms * (windows() + 1) &&
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

#include "build_pack.hpp"

#include <algorithm>
#include <stdexcept>

#include "build_threads.hpp"

namespace pincite {
namespace {

constexpr std::size_t kAhead = 24;    // how far memory is fetched ahead
constexpr std::size_t kTable = 4096;  // lengths whose codes are looked up

// Codes by class and length.
class Encoder {
public:
    explicit Encoder(const Codes& codes) : codes_(codes) {
        const std::size_t count = codes.firsts.size();
        table_.resize(count * kTable);
        for (std::size_t c = 0; c < count; ++c) {
            const auto range = std::equal_range(codes.classes.begin(), codes.classes.end(), c);
            starts_.push_back(range.first - codes.classes.begin());
            ends_.push_back(range.second - codes.classes.begin());
            for (std::size_t n = 0; n < kTable; ++n) table_[c * kTable + n] = search(c, n);
        }
        for (std::uint32_t tf = 0; tf < classes_.size(); ++tf) classes_[tf] = find_class(tf);
    }

    std::size_t class_of(std::uint32_t tf) const {
        return tf < classes_.size() ? classes_[tf] : find_class(tf);
    }

    std::uint8_t code(std::size_t c, std::uint32_t length) const {
        return length < kTable ? table_[c * kTable + length] : search(c, length);
    }

    std::uint8_t class_of_code(std::uint8_t code) const { return codes_.classes[code]; }
    std::uint32_t length_of_code(std::uint8_t code) const { return codes_.lengths[code]; }

private:
    std::uint8_t find_class(std::uint32_t tf) const {
        const auto at = std::upper_bound(codes_.firsts.begin(), codes_.firsts.end(), tf);
        return static_cast<std::uint8_t>(std::max<std::ptrdiff_t>(at - codes_.firsts.begin(), 1) -
                                         1);
    }

    // The last code whose class and length are no greater, as a sorted search would have it.
    std::uint8_t search(std::size_t c, std::uint32_t length) const {
        const auto begin = codes_.lengths.begin();
        const auto at = std::upper_bound(begin + starts_[c], begin + ends_[c], length);
        return static_cast<std::uint8_t>(at - begin - 1);
    }

    const Codes& codes_;
    std::vector<std::ptrdiff_t> starts_, ends_;
    std::vector<std::uint8_t> table_;
    std::vector<std::uint8_t> classes_ = std::vector<std::uint8_t>(256);
};

// What one thread makes of a range of terms; run starts and offsets are those of the whole.
struct Part {
    std::vector<std::uint32_t> large_at, large_tfs, term_runs, run_starts;
    std::vector<std::uint16_t> run_blocks;
    std::vector<std::uint32_t> long_terms, window_starts;
    std::vector<std::uint8_t> window_codes;
};

template <typename Tf>
class Packer {
public:
    Packer(const Grouped<Tf>& given, const Codes& codes, const Windows& windows)
        : given_(given),
          codes_(codes),
          windows_(windows),
          encoder_(codes),
          count_((given.size + windows.window - 1) / windows.window),
          total_(static_cast<std::size_t>(given.offsets[given.terms])) {}

    void terms(std::size_t first, std::size_t last, Packed& out, Part& part) const {
        for (std::size_t term = first; term < last; ++term) {
            const auto begin = static_cast<std::size_t>(given_.offsets[term]);
            const auto end = static_cast<std::size_t>(given_.offsets[term + 1]);
            part.term_runs.push_back(static_cast<std::uint32_t>(part.run_starts.size()));
            encode(begin, end, out, part);
            if (end - begin >= windows_.long_term) {
                part.long_terms.push_back(static_cast<std::uint32_t>(term));
                bounds(begin, end, out, part);
            }
        }
    }

private:
    void encode(std::size_t begin, std::size_t end, Packed& out, Part& part) const {
        std::uint32_t block = 0xFFFFFFFFu;
        for (std::size_t i = begin; i < end; ++i) {
            if (i + kAhead < total_) fetch_length(given_.rows[i + kAhead]);
            const std::uint32_t row = given_.rows[i];
            const auto tf = static_cast<std::uint32_t>(given_.tfs[i]);
            if (row >= given_.size || tf == 0) throw std::out_of_range("a posting is not valid");
            if (row >> 16 != block) {
                block = row >> 16;
                part.run_starts.push_back(static_cast<std::uint32_t>(i));
                part.run_blocks.push_back(static_cast<std::uint16_t>(block));
            }
            out.rows[i] = static_cast<std::uint16_t>(row);
            out.codes[i] = encoder_.code(encoder_.class_of(tf), given_.lengths[row]);
            if (tf > codes_.exact) {
                part.large_at.push_back(static_cast<std::uint32_t>(i));
                part.large_tfs.push_back(tf);
            }
        }
    }

    void fetch_length(std::uint32_t row) const {
        if (row < given_.size) __builtin_prefetch(&given_.lengths[row]);
    }

    void bounds(std::size_t begin, std::size_t end, const Packed& out, Part& part) const {
        std::size_t i = begin;
        for (std::size_t w = 0; w < count_; ++w) {
            part.window_starts.push_back(static_cast<std::uint32_t>(i));
            const std::size_t from = i;
            while (i < end && given_.rows[i] / windows_.window == w) ++i;
            for (const auto& [first, last] : windows_.groups) {
                part.window_codes.push_back(bound(out.codes, from, i, first, last));
            }
        }
        part.window_starts.push_back(static_cast<std::uint32_t>(end));
    }

    // A code that none of the group's postings in [from, to) exceeds.
    std::uint8_t bound(const Large<std::uint8_t>& codes, std::size_t from, std::size_t to,
                       std::uint8_t first, std::uint8_t last) const {
        std::uint8_t most = 0;
        std::uint32_t least = 0xFFFFFFFFu;
        bool held = false;
        for (std::size_t i = from; i < to; ++i) {
            const std::uint8_t c = encoder_.class_of_code(codes[i]);
            if (c < first || c >= last) continue;
            held = true;
            most = std::max(most, c);
            least = std::min(least, encoder_.length_of_code(codes[i]));
        }
        return held ? encoder_.code(most, least) : windows_.none;
    }

    const Grouped<Tf>& given_;
    const Codes& codes_;
    const Windows& windows_;
    Encoder encoder_;
    std::size_t count_, total_;
};

template <typename T>
void append(std::vector<T>& to, const std::vector<T>& from) {
    to.insert(to.end(), from.begin(), from.end());
}

// The first terms of `threads` ranges with about as many postings each, and their end.
template <typename Tf>
std::vector<std::size_t> shares(const Grouped<Tf>& given, std::size_t threads) {
    std::vector<std::size_t> bounds{0};
    const std::int64_t total = given.offsets[given.terms];
    for (std::size_t t = 1; t < threads; ++t) {
        const auto* at = std::lower_bound(given.offsets, given.offsets + given.terms,
                                          total * static_cast<std::int64_t>(t) /
                                              static_cast<std::int64_t>(threads));
        bounds.push_back(std::max<std::size_t>(at - given.offsets, bounds.back()));
    }
    bounds.push_back(given.terms);
    return bounds;
}

}  // namespace

template <typename Tf>
Packed pack(const Grouped<Tf>& given, const Codes& codes, const Windows& windows,
            std::size_t threads) {
    Packed out;
    const auto total = static_cast<std::size_t>(given.offsets[given.terms]);
    out.rows.resize(total);
    out.codes.resize(total);
    const Packer<Tf> packer(given, codes, windows);
    const auto bounds = shares(given, threads);
    std::vector<Part> parts(threads);
    in_threads(threads, [&](std::size_t t) {
        packer.terms(bounds[t], bounds[t + 1], out, parts[t]);
    });
    for (const Part& part : parts) {
        for (const std::uint32_t run : part.term_runs) {
            out.term_runs.push_back(run + static_cast<std::uint32_t>(out.run_starts.size()));
        }
        append(out.run_starts, part.run_starts);
        append(out.run_blocks, part.run_blocks);
        append(out.large_at, part.large_at);
        append(out.large_tfs, part.large_tfs);
        append(out.long_terms, part.long_terms);
        append(out.window_starts, part.window_starts);
        append(out.window_codes, part.window_codes);
    }
    out.term_runs.push_back(static_cast<std::uint32_t>(out.run_starts.size()));
    out.run_starts.push_back(static_cast<std::uint32_t>(total));
    return out;
}

template Packed pack(const Grouped<std::uint8_t>&, const Codes&, const Windows&, std::size_t);
template Packed pack(const Grouped<std::uint32_t>&, const Codes&, const Windows&, std::size_t);

}  // namespace pincite

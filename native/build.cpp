#include "build.hpp"

#include <algorithm>

#include "build_threads.hpp"

namespace pincite {
namespace {

constexpr std::uint8_t kWide = 255;  // the frequency stands in `wide`
constexpr std::size_t kAhead = 24;   // how far memory is fetched ahead

// The distinct terms of each text, with their frequencies, in the order of appearance.
struct Counted {
    Large<std::uint32_t> terms;
    Large<std::uint8_t> tfs;
    std::vector<std::uint32_t> wide;
    std::vector<std::size_t> ends;
    std::vector<std::uint32_t> lengths;
    Large<std::uint32_t> df;  // by term
};

class Counter {
public:
    Counter(const Lexicon& lexicon, const Scan& scan)
        : lexicon_(lexicon), scan_(scan), where_(lexicon.terms().size(), 0) {
        counted_.df.assign(lexicon.terms().size(), 0);
        counted_.terms.reserve(scan.words.size() / 2);
        counted_.tfs.reserve(scan.words.size() / 2);
    }

    Counted run() {
        std::size_t begin = 0;
        for (const std::size_t end : scan_.ends) {
            count(begin, end, false);
            // A text of nothing but stop words is kept whole.
            if (terms_.empty() && stopped_) count(begin, end, true);
            close();
            begin = end;
        }
        return std::move(counted_);
    }

private:
    void count(std::size_t begin, std::size_t end, bool stops) {
        terms_.clear();
        tfs_.clear();
        length_ = 0;
        stopped_ = false;
        look_up(begin, end);
        for (const std::uint32_t direct : directs_) {
            if (direct & Lexicon::kSeveral) {
                for (const Piece& piece : lexicon_.several(direct)) {
                    add(piece.term, piece.part, piece.stop, stops);
                }
            } else {
                add(direct & ~Lexicon::kStop, false, direct & Lexicon::kStop, stops);
            }
        }
    }

    void look_up(std::size_t begin, std::size_t end) {
        directs_.clear();
        const std::size_t last = scan_.words.size();
        for (std::size_t i = begin; i < end; ++i) {
            if (i + kAhead < last) lexicon_.prefetch(scan_.words[i + kAhead]);
            const std::uint32_t direct = lexicon_.direct(scan_.words[i]);
            if (!(direct & Lexicon::kSeveral)) {
                __builtin_prefetch(&where_[direct & ~Lexicon::kStop]);
                __builtin_prefetch(&counted_.df[direct & ~Lexicon::kStop], 1);
            }
            directs_.push_back(direct);
        }
    }

    void add(std::uint32_t term, bool part, bool stop, bool stops) {
        stopped_ |= stop;
        if (stop && !stops) return;
        length_ += !part;
        const std::uint32_t at = where_[term];
        if (at < terms_.size() && terms_[at] == term) {
            ++tfs_[at];
            return;
        }
        where_[term] = static_cast<std::uint32_t>(terms_.size());
        terms_.push_back(term);
        tfs_.push_back(1);
    }

    void close() {
        for (const std::uint32_t term : terms_) ++counted_.df[term];
        counted_.terms.insert(counted_.terms.end(), terms_.begin(), terms_.end());
        for (const std::uint32_t tf : tfs_) {
            counted_.tfs.push_back(static_cast<std::uint8_t>(std::min<std::uint32_t>(tf, kWide)));
            if (tf >= kWide) counted_.wide.push_back(tf);
        }
        counted_.ends.push_back(counted_.terms.size());
        counted_.lengths.push_back(length_);
    }

    const Lexicon& lexicon_;
    const Scan& scan_;
    Counted counted_;
    Large<std::uint32_t> where_;  // of a term, its place in `terms_` when it is there
    std::vector<std::uint32_t> directs_, terms_, tfs_;
    std::uint32_t length_ = 0;
    bool stopped_ = false;
};

// The terms with a posting in byte order.
std::vector<std::uint32_t> sorted_terms(const Strings& terms, const std::vector<Counted>& parts) {
    struct Sortable {
        std::uint64_t head;
        std::uint32_t term;
    };
    std::vector<Sortable> found;
    for (std::uint32_t term = 0; term < terms.size(); ++term) {
        const bool used = std::any_of(parts.begin(), parts.end(),
                                      [term](const Counted& part) { return part.df[term] > 0; });
        if (!used) continue;
        const std::string_view text = terms.text(term);
        std::uint64_t head = 0;
        for (std::size_t i = 0; i < 8; ++i) {
            head = head << 8 | (i < text.size() ? static_cast<std::uint8_t>(text[i]) : 0);
        }
        found.push_back({head, term});
    }
    std::sort(found.begin(), found.end(), [&terms](const Sortable& a, const Sortable& b) {
        return a.head != b.head ? a.head < b.head : terms.text(a.term) < terms.text(b.term);
    });
    std::vector<std::uint32_t> order;
    order.reserve(found.size());
    for (const Sortable& entry : found) order.push_back(entry.term);
    return order;
}

using Places = Large<std::size_t>;

template <typename Tf>
void fill(const Counted& part, std::uint32_t row, Places& next, Large<std::uint32_t>& rows,
          Large<Tf>& tfs) {
    auto wide = part.wide.begin();
    std::size_t begin = 0;
    const std::size_t last = part.terms.size();
    for (const std::size_t end : part.ends) {
        for (std::size_t i = begin; i < end; ++i) {
            if (i + 2 * kAhead < last) __builtin_prefetch(&next[part.terms[i + 2 * kAhead]], 1);
            if (i + kAhead < last) {
                const std::size_t soon = next[part.terms[i + kAhead]];
                __builtin_prefetch(&rows[soon], 1);
                __builtin_prefetch(&tfs[soon], 1);
            }
            const std::size_t at = next[part.terms[i]]++;
            rows[at] = row;
            tfs[at] = static_cast<Tf>(part.tfs[i] == kWide ? *wide++ : part.tfs[i]);
        }
        begin = end;
        ++row;
    }
}

// Where each part's postings of each term begin, and the offsets of the terms.
std::vector<Places> offsets(const std::vector<std::uint32_t>& order,
                            const std::vector<Counted>& parts, std::size_t terms,
                            std::vector<std::uint64_t>& out) {
    std::vector<Places> next(parts.size(), Places(terms));
    std::size_t at = 0;
    out.push_back(0);
    for (const std::uint32_t term : order) {
        for (std::size_t p = 0; p < parts.size(); ++p) {
            next[p][term] = at;
            at += parts[p].df[term];
        }
        out.push_back(at);
    }
    return next;
}

void write_vocabulary(const Strings& terms, const std::vector<std::uint32_t>& order,
                      Inverted& out) {
    out.vocabulary_offsets.reserve(order.size() + 1);
    out.vocabulary_offsets.push_back(0);
    for (const std::uint32_t term : order) {
        const std::string_view text = terms.text(term);
        out.vocabulary.insert(out.vocabulary.end(), text.begin(), text.end());
        out.vocabulary_offsets.push_back(out.vocabulary.size());
    }
}

}  // namespace

Inverted invert(const Lexicon& lexicon, std::vector<Scan>& scans) {
    const Strings& terms = lexicon.terms();
    std::vector<Counted> parts(scans.size());
    in_threads(scans.size(), [&](std::size_t p) {
        parts[p] = Counter(lexicon, scans[p]).run();
        scans[p].words = {};
    });
    Inverted out;
    const auto order = sorted_terms(terms, parts);
    write_vocabulary(terms, order, out);
    out.postings_offsets.reserve(order.size() + 1);
    auto next = offsets(order, parts, terms.size(), out.postings_offsets);
    bool large = false;
    std::vector<std::uint32_t> first_rows;
    for (const Counted& part : parts) {
        first_rows.push_back(static_cast<std::uint32_t>(out.lengths.size()));
        out.lengths.insert(out.lengths.end(), part.lengths.begin(), part.lengths.end());
        large |= std::any_of(part.wide.begin(), part.wide.end(),
                             [](std::uint32_t tf) { return tf > kWide; });
    }
    out.rows.resize(out.postings_offsets.back());
    large ? out.large_tfs.resize(out.rows.size()) : out.small_tfs.resize(out.rows.size());
    in_threads(parts.size(), [&](std::size_t p) {
        if (large) {
            fill(parts[p], first_rows[p], next[p], out.rows, out.large_tfs);
        } else {
            fill(parts[p], first_rows[p], next[p], out.rows, out.small_tfs);
        }
    });
    return out;
}

}  // namespace pincite

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

// Texts [first, last) of a scan, and the thread that they are for.
struct Stretch {
    const Scan* scan;
    std::size_t first, last, thread;

    std::size_t begin() const { return first ? scan->ends[first - 1] : 0; }  // in words
    std::size_t words() const { return scan->ends[last - 1] - begin(); }
};

// All texts, for as many threads as there are scans, about equally by words.
std::vector<Stretch> stretches(const std::vector<Scan>& scans) {
    std::size_t total = 0, done = 0, thread = 0;
    for (const Scan& scan : scans) total += scan.words.size();
    std::vector<Stretch> found;
    for (const Scan& scan : scans) {
        std::size_t first = 0;
        for (std::size_t i = 0; i < scan.ends.size(); ++i) {
            const bool full = (done + scan.ends[i]) * scans.size() >= total * (thread + 1);
            if (i + 1 < scan.ends.size() && !(full && thread + 1 < scans.size())) continue;
            found.push_back({&scan, first, i + 1, thread});
            first = i + 1;
            thread += full && thread + 1 < scans.size();
        }
        done += scan.words.size();
    }
    return found;
}

// Does `work` for each stretch, in its thread.
template <typename Work>
void in_stretches(const std::vector<Stretch>& all, const Work& work) {
    in_threads(all.empty() ? 0 : all.back().thread + 1, [&](std::size_t thread) {
        for (std::size_t p = 0; p < all.size(); ++p) {
            if (all[p].thread == thread) work(p);
        }
    });
}

class Counter {
public:
    Counter(const Lexicon& lexicon, const Stretch& stretch)
        : lexicon_(lexicon),
          words_(stretch.scan->words),
          stretch_(stretch),
          seen_(lexicon.terms().size(), Seen{}) {
        counted_.ends.reserve(stretch.last - stretch.first);
        counted_.lengths.reserve(stretch.last - stretch.first);
        reach(stretch.words() / 4 * 3);
    }

    Counted run() {
        std::size_t begin = stretch_.begin();
        for (std::size_t text = stretch_.first; text < stretch_.last; ++text) {
            const std::size_t end = stretch_.scan->ends[text];
            find(begin, end);
            count(false);
            // A text of nothing but stop words is kept whole.
            if (size_ == start_ && stopped_) count(true);
            close();
            begin = end;
        }
        counted_.terms.resize(size_);
        counted_.tfs.resize(size_);
        counted_.df.resize(seen_.size());
        for (std::size_t term = 0; term < seen_.size(); ++term) {
            counted_.df[term] = seen_[term].texts;
        }
        return std::move(counted_);
    }

private:
    struct Seen {
        std::uint32_t last = 0;   // the end of the term's last posting
        std::uint32_t texts = 0;  // how many hold it
    };

    static constexpr std::uint32_t kPart = Lexicon::kSeveral;  // of what is in `found_`

    void count(bool stops) {
        length_ = 0;
        stopped_ = false;
        reach(size_ + found_.size());
        for (const std::uint32_t found : found_) {
            if (found & Lexicon::kStop) {
                stopped_ = true;
                if (!stops) continue;
            }
            length_ += !(found & kPart);
            add(found & ~(kPart | Lexicon::kStop));
        }
    }

    // The terms of a text's words, one after the other, all their memory fetched ahead.
    void find(std::size_t begin, std::size_t end) {
        found_.clear();
        for (std::size_t i = begin; i < end; ++i) {
            fetch_ahead(i);
            const std::uint32_t direct = lexicon_.direct(words_[i]);
            if (direct & Lexicon::kSeveral) {
                for (const Piece& piece : lexicon_.several(direct)) {
                    hold(piece.term | (piece.part ? kPart : 0) | (piece.stop ? Lexicon::kStop : 0));
                }
            } else {
                hold(direct);
            }
        }
    }

    void hold(std::uint32_t found) {
        __builtin_prefetch(&seen_[found & ~(kPart | Lexicon::kStop)], 1);
        found_.push_back(found);
    }

    void fetch_ahead(std::size_t i) const {
        if (i + 2 * kAhead >= words_.size()) return;
        lexicon_.prefetch(words_[i + 2 * kAhead]);
        const std::uint32_t direct = lexicon_.direct(words_[i + kAhead]);
        if (direct & Lexicon::kSeveral) lexicon_.prefetch_several(direct);
    }

    // Without a branch: whether a word comes again cannot be foretold.
    void add(std::uint32_t term) {
        Seen& seen = seen_[term];
        const bool fresh = seen.last <= start_;
        const std::size_t at = fresh ? size_ : seen.last - 1;
        std::uint32_t& tf = tfs_[at - start_];
        tf = (fresh ? 0 : tf) + 1;
        counted_.terms[at] = term;
        seen.last = static_cast<std::uint32_t>(at + 1);
        seen.texts += fresh;
        size_ += fresh;
    }

    void close() {
        for (std::size_t i = start_; i < size_; ++i) {
            const std::uint32_t tf = tfs_[i - start_];
            counted_.tfs[i] = static_cast<std::uint8_t>(std::min<std::uint32_t>(tf, kWide));
            wide_ |= tf >= kWide;
        }
        if (wide_) {
            for (std::size_t i = start_; i < size_; ++i) {
                if (tfs_[i - start_] >= kWide) counted_.wide.push_back(tfs_[i - start_]);
            }
            wide_ = false;
        }
        counted_.ends.push_back(size_);
        counted_.lengths.push_back(length_);
        start_ = size_;
    }

    // Makes room for postings up to `end`.
    void reach(std::size_t end) {
        if (end > counted_.terms.size()) {
            const std::size_t size = std::max(end, counted_.terms.size() + counted_.terms.size() / 4);
            counted_.terms.resize(size);
            counted_.tfs.resize(size);
        }
        if (end - start_ > tfs_.size()) tfs_.resize(2 * (end - start_));
    }

    const Lexicon& lexicon_;
    const Large<std::uint32_t>& words_;
    const Stretch& stretch_;
    Counted counted_;
    Large<Seen> seen_;  // by term
    std::vector<std::uint32_t> found_, tfs_;  // of this text
    std::size_t start_ = 0, size_ = 0;  // where this text's postings begin and end
    std::uint32_t length_ = 0;
    bool stopped_ = false, wide_ = false;
};

// The terms with a posting in byte order.
std::vector<std::uint32_t> sorted_terms(const Strings& terms, const std::vector<Counted>& parts,
                                        std::size_t threads) {
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
    const auto before = [&terms](const Sortable& a, const Sortable& b) {
        return a.head != b.head ? a.head < b.head : terms.text(a.term) < terms.text(b.term);
    };
    const auto middle = found.begin() + static_cast<std::ptrdiff_t>(found.size() / 2);
    in_threads(threads, [&](std::size_t part) {
        if (part == 0) std::sort(found.begin(), threads > 1 ? middle : found.end(), before);
        if (part == 1) std::sort(middle, found.end(), before);
    });
    if (threads > 1) std::inplace_merge(found.begin(), middle, found.end(), before);
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
    const std::vector<Stretch> all = stretches(scans);
    std::vector<Counted> parts(all.size());
    in_stretches(all, [&](std::size_t p) { parts[p] = Counter(lexicon, all[p]).run(); });
    for (Scan& scan : scans) scan.words = {};
    Inverted out;
    const auto order = sorted_terms(terms, parts, std::min<std::size_t>(scans.size(), 2));
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
    in_stretches(all, [&](std::size_t p) {
        if (large) {
            fill(parts[p], first_rows[p], next[p], out.rows, out.large_tfs);
        } else {
            fill(parts[p], first_rows[p], next[p], out.rows, out.small_tfs);
        }
    });
    return out;
}

}  // namespace pincite

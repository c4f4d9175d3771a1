#include "bm25_search.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "best.hpp"
#include "bm25_compact.hpp"
#include "bm25_window.hpp"

namespace pincite::bm25 {
namespace {

constexpr std::size_t kRemembered = 10'000;

constexpr std::size_t kMany = 96;  // candidates of a window

// A term of the query in the part that is searched.
struct Own {
    std::size_t group;
    const Term* term;
};

std::vector<Term> resolved(const KeywordData& data, const Group& group) {
    std::vector<Term> found;
    for (const std::string& word : group) {
        const std::size_t number = data.find(word);
        if (number == data.terms()) continue;
        if (data.compact()) {
            found.push_back({number, {}, {0, compact_count(data, number)}});
            continue;
        }
        const Span runs = data.runs(number);
        found.push_back({number, runs, data.postings(runs)});
    }
    return found;
}

// Marks the rows of a term's postings; those marked anew and live are counted.
std::uint64_t marked(const Part& part, const Term& term, Postings& scratch,
                     std::vector<bool>* seen) {
    if (part.data->compact()) {
        unpack(*part.data, term.number, scratch);
    } else {
        part.data->postings(term.number, scratch.rows, nullptr);
    }
    std::uint64_t count = 0;
    for (const std::uint32_t row : scratch.rows) {
        if (part.live != nullptr && !part.live[row]) continue;
        if (seen == nullptr) {
            ++count;
        } else if (!(*seen)[row]) {
            (*seen)[row] = true;
            ++count;
        }
    }
    return count;
}

std::uint64_t part_frequency(const Part& part, const std::vector<Term>& terms) {
    if (terms.empty()) return 0;
    Postings postings;
    if (terms.size() == 1) {
        return part.live ? marked(part, terms[0], postings, nullptr) : terms[0].postings.size();
    }
    std::vector<bool> seen(part.data->rows());
    std::uint64_t total = 0;
    for (const Term& term : terms) total += marked(part, term, postings, &seen);
    return total;
}

double idf(std::uint64_t rows, std::uint64_t matching) {
    const double n = static_cast<double>(rows), m = static_cast<double>(matching);
    return std::log1p((n - m + 0.5) / (m + 0.5));
}

// The factor of every code, at least that of any posting with the code.
PINCITE_CLONES void bound_factors(const std::uint32_t* tfs, const std::uint32_t* lengths,
                                  std::size_t count, const Formula& formula, double* out) {
    const double k1 = formula.k1, b = formula.b, average = formula.average;
    const double scale = formula.scale * (1.0 + 1e-12), delta = formula.delta, rest = 1.0 - b;
    for (std::size_t i = 0; i < count; ++i) {
        const double tf = tfs[i];
        const double norm = k1 * (rest + b * (static_cast<double>(lengths[i]) / average));
        out[i] = scale * (tf / (tf + norm)) + delta;
    }
}

PINCITE_CLONES void fill_table(const double* factors, std::size_t count, double weight,
                               std::uint16_t* table) {
    for (std::size_t i = 0; i < count; ++i) {
        table[i] = static_cast<std::uint16_t>(static_cast<std::int32_t>(factors[i] * weight) + 1);
    }
    for (std::size_t i = count; i < kCodes; ++i) table[i] = 0;
}

// Runs `use` on a part; damage is reported under the part's name.
template <typename Use>
auto named(const Part& part, Use use) {
    try {
        return use();
    } catch (const Damaged& damage) {
        throw Damaged("Keyword segment " + part.data->name + " is damaged: " + damage.what() +
                      ". Run `pincite doctor --repair` on the store that holds it, or restore a "
                      "backup; an index of its own can also be built anew.");
    }
}

class Search {
   public:
    Search(const std::vector<double>& weights, std::size_t k, const Formula& formula)
        : weights_(weights), formula_(formula), best_(k), k_(k) {}

    void part(std::uint32_t number, const Part& part, const std::vector<Own>& terms);

    std::vector<Found> finish();

   private:
    void weigh(const std::vector<Own>& terms);
    void walk();
    void walk_rows(const std::uint32_t* row, const std::uint32_t* end);
    void visit(std::size_t window);
    bool choose(std::size_t window);
    void collect(std::uint32_t threshold, std::size_t first_essential);
    void probe(std::size_t count, std::uint32_t rest);
    void settle();
    void settle_sparse();
    void settle_dense();
    void offer(const Candidate& candidate, double score);
    double exact(std::uint32_t row);
    double contribution(std::size_t group, std::uint32_t tf, std::uint32_t row) const;
    std::uint32_t frequency(const List& list, std::size_t at) const;
    bool allowed(std::uint32_t row) const;
    std::uint32_t row_of(const Candidate& candidate) const;
    std::size_t window() const { return first_row_ >> kWindowBits; }
    void update_threshold();

    const std::vector<double>& weights_;
    const Formula& formula_;
    Best<std::uint64_t> best_;
    std::size_t k_;

    // The part that is searched.
    std::uint32_t number_ = 0;
    Part part_{};
    const std::uint32_t* code_tfs_ = nullptr;
    double quantum_ = 0.0;  // bounds are scores times this
    std::uint32_t threshold_ = 1;
    Scratch& s_ = scratch();

    std::size_t usual_ = 0;  // candidates of the last windows

    // The window, or block of them, that is searched.
    std::size_t first_row_ = 0;
    std::size_t postings_ = 0;
};

void Search::update_threshold() {
    constexpr double low = std::numeric_limits<float>::min();
    const double kth = best_.kth();
    threshold_ = 1;
    if (!(kth > low)) return;  // scores below are rounded up to it
    const double bound = kth * (1.0 - 0x1p-23) * quantum_;
    if (bound > 1.0) threshold_ = static_cast<std::uint32_t>(std::min(bound, 4e9));
}

void Search::weigh(const std::vector<Own>& terms) {
    const KeywordArrays& a = part_.data->arrays();
    const std::size_t codes = a.code_tfs.size();
    double factors[kCodes];
    code_tfs_ = a.code_tfs.range(0, codes);
    bound_factors(code_tfs_, a.code_lengths.range(0, codes), codes, formula_,
                  factors);
    const double most = codes ? *std::max_element(factors, factors + codes) : 0.0;
    double total = 0.0;
    for (const Own& own : terms) total += weights_[own.group] * most;
    quantum_ = (65534.0 - 2.0 * static_cast<double>(terms.size())) / total;
    s_.prepare(*part_.data, terms.size());
    for (std::size_t i = 0; i < terms.size(); ++i) {
        List& list = s_.lists[i];
        list.group = terms[i].group;
        fill_table(factors, codes, weights_[list.group] * quantum_, list.table);
        bind(*part_.data, *terms[i].term, s_, i);
    }
}

void Search::part(std::uint32_t number, const Part& part, const std::vector<Own>& terms) {
    if (terms.empty()) return;
    number_ = number;
    part_ = part;
    weigh(terms);
    update_threshold();
    if (part_.chosen != nullptr) return walk();
    const std::size_t first = s_.order_windows();
    for (std::size_t i = 0; i < s_.order.size(); ++i) {
        if (i < first && i + kAhead < first) s_.fetch(s_.order[i + kAhead]);
        if (s_.totals[s_.order[i]] >= threshold_) visit(s_.order[i]);
    }
}

bool Search::allowed(std::uint32_t row) const {
    return (part_.live == nullptr || part_.live[row]) &&
           (part_.allow == nullptr || part_.allow[row]);
}

std::uint32_t Search::row_of(const Candidate& candidate) const {
    const std::size_t row = first_row_ | candidate.local;
    if (row >= part_.data->rows()) throw Damaged("a posting names a row that is not there");
    return static_cast<std::uint32_t>(row);
}

// Takes the window's allowed rows as candidates where they are few. True when that was done, or
// when there are none.
bool Search::choose(std::size_t window) {
    const std::size_t first = window << kWindowBits;
    if (part_.allow == nullptr) return false;
    const std::size_t size = std::min(kWindowRows, part_.data->rows() - first);
    const std::size_t most = postings_ / (s_.active.size() * kProbeCost);
    return collect_flagged(part_.allow + first, size, most, s_.candidates);
}

// Few rows are looked up one by one, a block of windows at a time; where postings are packed, a
// window at a time.
void Search::walk() {
    const std::size_t bits = part_.data->compact() ? kWindowBits : kBlockBits;
    const std::uint32_t* const end = part_.chosen + part_.chosen_count;
    for (const std::uint32_t* row = part_.chosen; row != end;) {
        const std::uint64_t beyond = ((std::uint64_t{*row} >> bits) + 1) << bits;
        const std::uint32_t* next = std::lower_bound(row, end, beyond);
        const std::size_t first = (beyond - (std::uint64_t{1} << bits)) >> kWindowBits;
        const std::uint32_t total =
            s_.activate_all(first, std::min<std::size_t>(beyond >> kWindowBits, s_.windows));
        for (; row != next && total >= threshold_; row = std::min(next, row + kWindowRows)) {
            walk_rows(row, std::min(next, row + kWindowRows));
        }
        row = next;
    }
}

void Search::walk_rows(const std::uint32_t* row, const std::uint32_t* end) {
    const std::size_t block = *row >> kBlockBits, window = *row >> kWindowBits;
    first_row_ = block << kBlockBits;
    s_.candidates.resize(0);
    for (; row != end; ++row) s_.candidates.push(*row & 0xFFFF, 0);
    std::uint32_t rest = s_.active_total();
    for (std::size_t i = s_.active.size(); i-- > 0 && !s_.candidates.empty();) {
        rest -= s_.active[i].bound;
        const std::uint32_t needed = threshold_ > rest ? threshold_ - rest : 0;
        List& list = *s_.active[i].list;
        if (list.packed == nullptr) {
            add_sought(list, block, s_.candidates);
        } else {
            s_.open(list, window);
            add_packed(list, s_.candidates);
        }
        s_.candidates.keep([needed](const Candidate& each) { return each.bound >= needed; });
    }
    settle_sparse();
}

void Search::visit(std::size_t window) {
    first_row_ = window << kWindowBits;
    postings_ = s_.activate(window);
    const std::size_t count = s_.active.size();
    if (choose(window)) {
        if (!s_.candidates.empty()) probe(count, s_.active_total());
    } else {
        // The lists with the lowest bounds can not reach the threshold together.
        std::uint32_t rest = 0;
        std::size_t first = 0;
        while (first < count && rest + s_.active[first].bound < threshold_) {
            rest += s_.active[first++].bound;
        }
        if (first == count) return;
        // Where many candidates are to be expected, lists that would be read anyway are read at once.
        while (usual_ > kMany && first > 0 && s_.active[first - 1].count < usual_ * kProbeCost) {
            rest -= s_.active[--first].bound;
        }
        collect(threshold_ - rest, first);
        usual_ = (3 * usual_ + s_.candidates.size()) / 4;
        probe(first, rest);
    }
    settle();
}

// Candidates from the lists from `first` on.
void Search::collect(std::uint32_t threshold, std::size_t first) {
    const std::size_t count = s_.active.size() - first;
    for (std::size_t i = first; i < s_.active.size(); ++i) s_.complete(s_.active[i], window());
    bm25::collect(s_.active.data() + first, count, threshold, s_.scores, s_.candidates);
    if (part_.allow == nullptr && part_.live == nullptr) return;
    s_.candidates.keep([this](const Candidate& candidate) { return allowed(row_of(candidate)); });
}

// Adds the first `count` lists to the candidates, from the highest bound down; `rest` is the sum
// of their bounds.
void Search::probe(std::size_t count, std::uint32_t rest) {
    while (count > 0 && !s_.candidates.empty()) {
        Active& list = s_.active[--count];
        rest -= list.bound;
        const std::uint32_t needed = threshold_ > rest ? threshold_ - rest : 0;
        const bool packed = list.list->packed != nullptr;
        if (s_.candidates.size() * (packed ? kPackedCost : kProbeCost) <= list.count) {
            if (packed) {
                s_.open(*list.list, window());
                add_packed(*list.list, s_.candidates);
            } else {
                add_probed(list, s_.candidates);
            }
        } else {
            s_.complete(list, window());
            add_merged(list, s_.scores, s_.candidates);
        }
        s_.candidates.keep([needed](const Candidate& candidate) { return candidate.bound >= needed; });
    }
}

void Search::settle() {
    Candidates& candidates = s_.candidates;
    if (candidates.empty()) return;
    const std::size_t sought = std::min(candidates.size(), k_) * s_.active.size() * kProbeCost;
    if (sought > 4 * postings_ && candidates.size() > 2 * k_) {
        settle_dense();
    } else {
        settle_sparse();
    }
}

void Search::settle_sparse() {
    Candidates& candidates = s_.candidates;
    if (candidates.size() > k_) {  // the best first, so that the threshold rises at once
        std::nth_element(candidates.begin(), candidates.begin() + k_,
                         candidates.end(), [](const Candidate& x, const Candidate& y) {
                             return x.bound > y.bound;
                         });
    }
    for (const Candidate& candidate : candidates) {
        if (candidate.bound < threshold_) continue;
        const std::uint32_t row = row_of(candidate);
        if (allowed(row)) offer(candidate, exact(row));
    }
}

void Search::offer(const Candidate& candidate, double score) {
    if (!(score > 0.0)) return;
    constexpr double low = std::numeric_limits<float>::min();
    constexpr double high = std::numeric_limits<float>::max();
    const float rounded = static_cast<float>(std::min(std::max(score, low), high));
    const float before = best_.kth();
    best_.offer(std::uint64_t{number_} << 32 | row_of(candidate), rounded, 0.0F);
    if (best_.kth() > before) update_threshold();
}

// The order of operations is that of bm25/formulas.py, and the build forbids contraction.
double Search::contribution(std::size_t group, std::uint32_t tf, std::uint32_t row) const {
    const double f = tf, length = part_.data->arrays().lengths[row];
    const double norm =
        formula_.k1 * ((1.0 - formula_.b) + formula_.b * (length / formula_.average));
    return weights_[group] * (formula_.scale * (f / (f + norm)) + formula_.delta);
}

std::uint32_t Search::frequency(const List& list, std::size_t at) const {
    const std::uint8_t code = list.codes[at];
    if (code >= part_.data->arrays().code_tfs.size()) throw Damaged("a posting has no such code");
    const std::uint32_t tf = code_tfs_[code];
    if (tf <= kExact) return tf;
    if (!part_.data->compact()) return part_.data->large_frequency(at);
    const std::size_t first = list.packed == nullptr ? 0 : list.starts[list.window];
    return list.unpacked->large_frequency(static_cast<std::uint32_t>(at - first));
}

double Search::exact(std::uint32_t row) {
    prefetch(part_.data->arrays().lengths.peek(row));
    const std::uint16_t low = static_cast<std::uint16_t>(row);
    const std::size_t window = row >> kWindowBits;
    double score = 0.0;
    for (std::size_t i = 0; i < s_.lists.size();) {
        const std::size_t group = s_.lists[i].group;
        std::uint32_t tf = 0;
        for (; i < s_.lists.size() && s_.lists[i].group == group; ++i) {
            List& list = s_.lists[i];
            if (list.packed != nullptr) {
                s_.open(list, window);
                const std::uint32_t place = list.unpacked->find(low);
                if (place < list.unpacked->count()) tf += list.unpacked->frequency(place);
                continue;
            }
            const std::uint32_t at = list.seek(window, low);
            if (at < list.starts[window + 1] && list.rows[at] == low) {
                tf += frequency(list, at);
            }
        }
        if (tf > 0) score += contribution(group, tf, row);
    }
    return score;
}

// Where nearly every row must be scored, reading the postings in order is cheaper than seeking.
void Search::settle_dense() {
    std::vector<double>& scores = s_.dense;
    std::vector<std::uint32_t>& tfs = s_.frequencies;
    scores.assign(kWindowRows, 0.0);
    const std::size_t window = this->window();
    const std::size_t size = std::min(kWindowRows, part_.data->rows() - first_row_);
    for (std::size_t i = 0; i < s_.lists.size();) {
        const std::size_t group = s_.lists[i].group;
        tfs.assign(kWindowRows, 0);
        for (; i < s_.lists.size() && s_.lists[i].group == group; ++i) {
            List& list = s_.lists[i];
            s_.complete(list, window);
            for (std::uint32_t at = list.starts[window]; at < list.starts[window + 1]; ++at) {
                tfs[list.rows[at] & kLocal] += frequency(list, at);
            }
        }
        for (std::size_t local = 0; local < size; ++local) {
            if (tfs[local] == 0) continue;
            const std::size_t row = first_row_ | local;
            scores[local] += contribution(group, tfs[local], static_cast<std::uint32_t>(row));
        }
    }
    for (const Candidate& candidate : s_.candidates) {
        if (allowed(row_of(candidate))) offer(candidate, scores[candidate.local]);
    }
}

std::vector<Found> Search::finish() {
    std::vector<Found> found;
    for (const auto& entry : best_.finish(0.0F)) {
        found.push_back({static_cast<std::uint32_t>(entry.row >> 32),
                         static_cast<std::uint32_t>(entry.row & 0xFFFFFFFFU), entry.score});
    }
    std::sort(found.begin(), found.end(), [](const Found& x, const Found& y) {
        if (x.score != y.score) return x.score > y.score;
        return x.part != y.part ? x.part < y.part : x.row < y.row;
    });
    return found;
}

}  // namespace

std::shared_ptr<const Resolved> Lexicon::resolve(const Group& group) {
    {
        const std::lock_guard<std::mutex> held(mutex_);
        const auto found = known_.find(group);
        if (found != known_.end()) return found->second;
    }
    auto own = std::make_shared<Resolved>();
    for (const Part& part : parts_) {
        own->terms.push_back(named(part, [&] { return resolved(*part.data, group); }));
        own->df += named(part, [&] { return part_frequency(part, own->terms.back()); });
    }
    const std::lock_guard<std::mutex> held(mutex_);
    if (known_.size() >= kRemembered) known_.clear();
    known_[group] = own;
    return own;
}

std::vector<Found> keyword_search(const std::vector<Part>& parts,
                                  const std::vector<Weighted>& groups, std::uint64_t rows,
                                  std::size_t k, const Formula& formula) {
    std::vector<double> weights;
    for (const Weighted& each : groups) {
        weights.push_back(each.count * idf(rows, std::min(each.group->df, rows)));
    }
    Search search(weights, k, formula);
    for (std::size_t i = 0; i < parts.size(); ++i) {
        std::vector<Own> terms;
        for (std::size_t group = 0; group < groups.size(); ++group) {
            for (const Term& term : groups[group].group->terms[i]) terms.push_back({group, &term});
        }
        named(parts[i], [&] {
            search.part(static_cast<std::uint32_t>(i), parts[i], terms);
            return 0;
        });
    }
    return search.finish();
}

}  // namespace pincite::bm25

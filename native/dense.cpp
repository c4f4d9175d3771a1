#include "dense.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <iterator>

#include "best.hpp"
#include "dense_half.hpp"
#include "dense_top.hpp"

#if defined(__GNUC__)
#define PINCITE_PREFETCH(address) __builtin_prefetch(address)
#else
#define PINCITE_PREFETCH(address) (void)(address)
#endif

namespace pincite {
namespace {

constexpr std::size_t kAhead = 6;  // rows whose memory is asked for before they are needed

float clipped(float value, float limit) { return std::min(std::max(value, -limit), limit); }

float score_of(const Rows& rows, std::size_t place, const Wanted& wanted) {
    const double product = exact_product(rows.at(place), wanted.query, rows.dimension);
    const double top = std::isfinite(wanted.limit)
                           ? static_cast<double>(wanted.limit)
                           : static_cast<double>(std::numeric_limits<float>::max());
    return static_cast<float>(std::min(std::max(product * wanted.unit, -top), top));
}

struct Scored {
    std::size_t row;  // or its place
    float score;
};

// float32 products of rows with a query; verifies what it reads.
class Products {
   public:
    Products(const Rows& rows, const Wanted& wanted, std::size_t count)
        : rows_(rows), wanted_(wanted), longest_(rows.longest) {
        scored_.reserve(count);
    }

    // Asks for a row's memory before it is needed.
    void fetch(std::size_t place) const {
        const auto* bytes = reinterpret_cast<const char*>(rows_.at(place));
        for (std::size_t at = 0; at < 2 * rows_.dimension; at += 64) PINCITE_PREFETCH(bytes + at);
    }

    // The row's product; `damage()` says whether that could be told.
    float add(std::size_t place) {
        if (!rows_.holds(place)) return failed(Damage::vectors);
        float dot;
        if (rows_.longest > 0.0F) {
            dot = half_dot(rows_.at(place), wanted_.query, rows_.dimension);
        } else {
            const Product found = product(rows_.at(place), wanted_.query, rows_.dimension);
            if (!finite(rows_.at(place), rows_.dimension, found.squared)) {
                return failed(Damage::not_finite);
            }
            longest_ = std::max(longest_, found.squared);
            dot = found.dot;
        }
        const float score = clipped(dot, wanted_.limit);
        scored_.push_back({place, score});
        return score;
    }

    Damage damage() const { return damage_; }
    const std::vector<Scored>& scored() const { return scored_; }
    float room() const { return slack(wanted_.query, rows_.dimension, longest_); }

   private:
    float failed(Damage damage) {
        damage_ = damage;
        return 0.0F;
    }

    const Rows& rows_;
    const Wanted& wanted_;
    float longest_;
    Damage damage_ = Damage::none;
    std::vector<Scored> scored_;
};

// float32 products choose what is scored exactly: all within twice their error of the k-th best.
Candidates selected(const Rows& rows, const Products& products, const Wanted& wanted) {
    if (products.damage() != Damage::none) return {{}, {}, products.damage()};
    const float room = products.room();
    Best<std::size_t> best(wanted.k);
    for (const auto& each : products.scored()) {
        if (each.score >= wanted.floor - room) best.offer(each.row, each.score, room);
    }
    std::vector<Scored> exact;
    for (const auto& entry : best.finish(room)) {
        exact.push_back({rows.row(entry.row), score_of(rows, entry.row, wanted)});
    }
    std::sort(exact.begin(), exact.end(), [](const Scored& a, const Scored& b) {
        return a.score != b.score ? a.score > b.score : a.row < b.row;
    });
    Candidates result;
    for (const auto& each : exact) {
        if (result.rows.size() >= wanted.k && each.score < result.scores[wanted.k - 1]) break;
        result.rows.push_back(static_cast<std::int64_t>(each.row));
        result.scores.push_back(each.score);
    }
    return result;
}

// A query against one segment's codes.
class Scan {
   public:
    void start(const CodedRows& coded, const float* query) {
        coded_ = &coded;
        rotated_.assign(coded.rotation->size(), 0.0F);
        std::copy(query, query + coded.rows.dimension, rotated_.begin());
        coded.rotation->apply(rotated_.data());
        query_.assign(rotated_.data(), rotated_.size());
        weigh_lists();
    }

    std::size_t lists() const { return lists_.size(); }

    // The largest of the lists' products.
    float nearest() const {
        float best = -std::numeric_limits<float>::infinity();
        for (const auto& list : lists_) best = std::max(best, list.value);
        return best;
    }

    // Puts the lists whose product reaches the bar first, the nearest of them first, behind the
    // first `done`; how many are in order now.
    std::size_t open(float bar, std::size_t done) {
        const auto begin = lists_.begin() + static_cast<std::ptrdiff_t>(done);
        const auto end = std::partition(begin, lists_.end(), [bar](const Estimate& list) {
            return list.value >= bar;
        });
        std::sort(begin, end, better);
        return static_cast<std::size_t>(end - lists_.begin());
    }

    const Estimate& list(std::size_t rank) const { return lists_[rank]; }

    // Looks at all rows of a list; false when its codes are damaged.
    bool whole(const Estimate& list, const Kept& filter, Top& top) {
        const std::size_t begin = coded_->starts[list.place], end = coded_->starts[list.place + 1];
        if (begin == end) return true;
        const std::size_t first = begin / kBlockRows, last = (end + kBlockRows - 1) / kBlockRows;
        if (!holds(first, last)) return false;
        estimates_.resize((last - first) * kBlockRows);
        run(first, last - first, product_with(list));
        const float* values = estimates_.data() - first * kBlockRows;
        for (std::size_t place = begin; place < end; ++place) {
            if (values[place] < top.bar() || !filter.holds(place)) continue;
            top.offer(values[place], static_cast<std::uint32_t>(place));
        }
        return true;
    }

    // Looks only at blocks that hold kept rows, and counts those.
    bool kept(const Estimate& list, const Kept& filter, Top& top, std::size_t& seen) {
        const std::size_t begin = coded_->starts[list.place], end = coded_->starts[list.place + 1];
        if (filter.blocks == nullptr) {
            seen += end - begin;
            return whole(list, filter, top);
        }
        const std::size_t last = (end + kBlockRows - 1) / kBlockRows;
        bool weighed = false;
        float centroid = 0.0F;
        for (std::size_t block = begin / kBlockRows; block < last;) {
            std::size_t stop = block;
            while (stop < last && filter.within(stop, begin, end) != 0) ++stop;
            if (stop > block) {
                if (!holds(block, stop)) return false;
                if (!weighed) centroid = product_with(list);
                weighed = true;
                estimates_.resize((stop - block) * kBlockRows);
                run(block, stop - block, centroid);
                const float* values = estimates_.data();
                for (; block < stop; ++block, values += kBlockRows) {
                    seen += offer(values, block, filter.within(block, begin, end), top);
                }
            }
            ++block;
        }
        return true;
    }

    std::size_t row(std::size_t place) const {
        return coded_->order != nullptr ? coded_->order[whole(place)] : whole(place);
    }

    // Where the vector of a code lies.
    std::size_t vector(std::size_t place) const {
        return coded_->order == coded_->rows.order ? whole(place) : row(place);
    }

    Top top;

   private:
    // The place of a code among all.
    std::size_t whole(std::size_t place) const {
        return coded_->places != nullptr ? coded_->places[place] : place;
    }

    // Of a block's estimates those whose bits are set; how many they are.
    static std::size_t offer(const float* values, std::size_t block, unsigned bits, Top& top) {
        std::size_t found = 0;
        for (std::size_t lane = 0; bits != 0; ++lane, bits >>= 1) {
            if ((bits & 1U) == 0) continue;
            top.offer(values[lane], static_cast<std::uint32_t>(block * kBlockRows + lane));
            ++found;
        }
        return found;
    }

    void weigh_lists() {
        const std::size_t count = coded_->centroids->count();
        coded_->centroids->estimate_all(query_, rotated_.data(), estimates_);
        lists_.resize(count);
        for (std::size_t list = 0; list < count; ++list) {
            lists_[list] = {estimates_[list], static_cast<std::uint32_t>(list)};
        }
    }

    float product_with(const Estimate& list) const {
        return coded_->centroids->product_with(list.place, rotated_.data());
    }

    bool holds(std::size_t first, std::size_t last) const {
        const std::size_t bytes = block_bytes(rotated_.size());
        return coded_->codes.holds(first * bytes, last * bytes);
    }

    void run(std::size_t first, std::size_t count, float centroid) {
        const std::size_t padded = rotated_.size();
        estimate({coded_->codes.data + first * block_bytes(padded),
                  coded_->factors + first * kBlockFactors, count, padded},
                 query_, centroid, coded_->scale, estimates_.data());
    }

    const CodedRows* coded_ = nullptr;
    std::vector<float> rotated_, estimates_;
    CodedQuery query_;
    std::vector<Estimate> lists_;
};

// Goes through the lists, the nearest first, as far as the effort says, and until `fewest` rows are
// met; false when codes are damaged.
bool gather(Scan& scan, const Kept& filter, const Effort& effort, std::size_t fewest) {
    constexpr float all = -std::numeric_limits<float>::infinity();
    scan.top.reset(effort.depth);
    float bar = scan.nearest() - effort.gap, opened = bar;
    std::size_t seen = 0, known = scan.open(bar, 0);
    bool own = effort.seen == 0;  // whether the nearest list with a kept row was met
    fewest = std::min(fewest, effort.depth);
    const auto enough = [&] { return seen >= effort.seen && scan.top.size() >= fewest; };
    for (std::size_t rank = 0; rank < scan.lists(); ++rank) {
        if (rank == known) {
            if (bar >= opened && enough()) break;
            known = scan.open(opened = all, known);
        }
        const Estimate& list = scan.list(rank);
        if (list.value < bar && enough()) break;
        if (!(effort.seen > 0 ? scan.kept(list, filter, scan.top, seen)
                              : scan.whole(list, filter, scan.top))) {
            return false;
        }
        if (!own && seen > 0) {
            own = true;
            bar = std::min(bar, list.value - effort.own_gap);
        }
    }
    return true;
}

// Scoring rows whose pages are on the disk: when the search before had to wait for some, all of them
// are asked for before the first one is.
class Absent {
   public:
    explicit Absent(const Rows& rows)
        : rows_(rows), asks_(rows.absent != nullptr && rows.absent->load()) {
        if (rows.absent != nullptr) start_ = Clock::now();
    }

    template <typename Place>
    void ask(std::size_t count, Place place) const {
        for (std::size_t i = 0; asks_ && i < count; ++i) rows_.ask(place(i));
    }

    // After so many rows.
    void learn(std::size_t scored) const {
        if (rows_.absent == nullptr || scored == 0) return;
        const bool slow = Clock::now() - start_ > scored * kSlow;
        if (slow != asks_) rows_.absent->store(slow);
    }

   private:
    using Clock = std::chrono::steady_clock;
    static constexpr std::chrono::nanoseconds kSlow{3000};  // for a row; from memory it is 200

    const Rows& rows_;
    bool asks_;
    Clock::time_point start_{};
};

// The k-th best of a growing set, kept in a small heap.
class Kth {
   public:
    explicit Kth(std::size_t k) : k_(k) {}
    float value() const {
        return heap_.size() < k_ ? -std::numeric_limits<float>::infinity() : heap_.top();
    }
    void offer(float score) {
        if (heap_.size() < k_) {
            heap_.push(score);
        } else if (score > heap_.top()) {
            heap_.pop();
            heap_.push(score);
        }
    }

   private:
    std::size_t k_;
    std::priority_queue<float, std::vector<float>, std::greater<float>> heap_;
};

}  // namespace

Candidates exact_candidates(const Rows& rows, const Places* kept, const Wanted& wanted) {
    const std::size_t count = kept != nullptr ? kept->size() : rows.count;
    Products products(rows, wanted, count);
    const Absent absent(rows);
    if (kept != nullptr) absent.ask(count, [kept](std::size_t i) { return (*kept)[i]; });
    for (std::size_t i = 0; i < count && products.damage() == Damage::none; ++i) {
        if (kept != nullptr && i + kAhead < count) products.fetch((*kept)[i + kAhead]);
        products.add(kept != nullptr ? (*kept)[i] : i);
    }
    absent.learn(count);
    return selected(rows, products, wanted);
}

Candidates coded_candidates(const CodedRows& coded, const Kept& filter, const Wanted& wanted,
                            const Effort& effort) {
    static thread_local Scan scan;
    scan.start(coded, wanted.query);
    if (!gather(scan, filter, effort, wanted.k)) return {{}, {}, Damage::codes};
    const auto& best = scan.top.finish();
    Products products(coded.rows, wanted, best.size());
    Kth kth(wanted.k);
    const Absent absent(coded.rows);
    absent.ask(best.size(), [&best](std::size_t i) { return scan.vector(best[i].place); });
    for (std::size_t i = 0; i < best.size() && products.damage() == Damage::none; ++i) {
        if (i + kAhead < best.size()) products.fetch(scan.vector(best[i + kAhead].place));
        if (best[i].value + effort.margin < std::max(kth.value(), wanted.floor)) break;
        kth.offer(products.add(scan.vector(best[i].place)));
    }
    absent.learn(products.scored().size());
    return selected(coded.rows, products, wanted);
}

Candidates estimated_rows(const CodedRows& coded, const float* query, float gap,
                          std::size_t depth) {
    static thread_local Scan scan;
    scan.start(coded, query);
    if (!gather(scan, {}, {gap, gap, 0, depth, 0.0F}, 0)) return {{}, {}, Damage::codes};
    Candidates result;
    for (const auto& each : scan.top.finish()) {
        result.rows.push_back(static_cast<std::int64_t>(scan.row(each.place)));
        result.scores.push_back(each.value);
    }
    return result;
}

std::vector<float> list_gaps(const CodedRows& coded, const float* query) {
    Scan scan;
    scan.start(coded, query);
    std::vector<float> gaps(scan.lists());
    const float nearest = scan.nearest();
    for (std::size_t list = 0; list < gaps.size(); ++list) {
        gaps[list] = nearest - scan.list(list).value;
    }
    return gaps;
}

std::vector<std::int64_t> exact_best(const Rows& rows, const float* queries, std::size_t count,
                                     std::size_t k) {
    std::vector<Top> tops(count);
    for (auto& top : tops) top.reset(k);
    constexpr std::size_t block = 16;  // rows that stay in the cache with eight queries
    const std::size_t dimension = rows.dimension;
    std::vector<float> wide(block * dimension);
    for (std::size_t first = 0; first < rows.count; first += block) {
        const std::size_t held = std::min(block, rows.count - first);
        widen(rows.at(first), held * dimension, wide.data());
        for (std::size_t query = 0; query < count; query += kTogether) {
            const std::size_t together = std::min(kTogether, count - query);
            for (std::size_t row = 0; row < held; ++row) {
                float found[kTogether];
                dots(wide.data() + row * dimension, queries + query * dimension, together,
                     dimension, found);
                const auto place = static_cast<std::uint32_t>(first + row);
                for (std::size_t i = 0; i < together; ++i) tops[query + i].offer(found[i], place);
            }
        }
    }
    std::vector<std::int64_t> result;
    for (auto& top : tops) {
        for (const auto& each : top.finish()) {
            result.push_back(static_cast<std::int64_t>(rows.row(each.place)));
        }
    }
    return result;
}

}  // namespace pincite

#include "ranking.hpp"

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>
#include <numeric>
#include <unordered_map>
#include <utility>

#include "ranking_module.hpp"

namespace py = pybind11;

namespace pincite {

// Shewchuk, "Adaptive Precision Floating-Point Arithmetic and Fast Robust Geometric Predicates",
// 1997: partial sums that do not overlap; at the end half-even, across several of them.
double exact_sum(const std::vector<double>& values) {
    std::vector<double> partials;
    for (double x : values) {
        std::size_t kept = 0;
        for (double y : partials) {
            if (std::fabs(x) < std::fabs(y)) std::swap(x, y);
            const double high = x + y, low = y - (high - x);
            if (low != 0.0) partials[kept++] = low;
            x = high;
        }
        partials.resize(kept);
        if (x != 0.0) partials.push_back(x);
    }
    if (partials.empty()) return 0.0;
    std::size_t left = partials.size() - 1;
    double high = partials[left], low = 0.0;
    while (left > 0 && low == 0.0) {
        const double x = high, y = partials[--left];
        high = x + y;
        low = y - (high - x);
    }
    if (left > 0 && low != 0.0 && (low < 0.0) == (partials[left - 1] < 0.0)) {
        const double twice = low * 2.0, rounded = high + twice;
        if (twice == rounded - high) high = rounded;
    }
    return high;
}

std::vector<double> distribution_scores(const std::vector<double>& scores) {
    std::vector<double> shares(scores.size(), 0.5);
    if (scores.size() < 2) return shares;
    const auto [low, high] = std::minmax_element(scores.begin(), scores.end());
    if (*low == *high) return shares;
    const double scale = std::max(std::fabs(*low), std::fabs(*high));
    std::vector<double> apart = scores;
    for (double& value : apart) value /= scale;
    const double mean = exact_sum(apart) / static_cast<double>(apart.size());
    for (double& value : apart) value -= mean;
    std::vector<double> squares(apart.size());
    std::transform(apart.begin(), apart.end(), squares.begin(), [](double d) { return d * d; });
    const double freedom = static_cast<double>(apart.size() - 1);
    const double deviation = std::sqrt(exact_sum(squares) / freedom);
    if (deviation == 0.0) return shares;
    const double width = 6.0 * deviation;
    for (std::size_t i = 0; i < apart.size(); ++i) shares[i] = 0.5 + apart[i] / width;
    return shares;
}

}  // namespace pincite

namespace {

using pincite::Hit;
using pincite::Ranking;

// Puts items in the order of the ids of their rows, which Python knows.
template <typename Item, typename HitOf>
void by_id(Item* begin, Item* end, const py::function& row_id, const HitOf& hit_of) {
    std::vector<std::pair<py::object, Item>> named;
    for (Item* each = begin; each != end; ++each) {
        const Hit& hit = hit_of(*each);
        named.emplace_back(row_id(hit.part, hit.row), *each);
    }
    std::sort(named.begin(), named.end(),
              [](const auto& a, const auto& b) { return a.first.attr("__lt__")(b.first).template cast<bool>(); });
    for (auto& each : named) *begin++ = each.second;
}

// The stretch of equal scores around `place` of what is in order of score.
template <typename Items>
std::pair<std::size_t, std::size_t> stretch(const Items& items, std::size_t place) {
    std::size_t first = place, last = place + 1;
    while (first > 0 && items[first - 1].score == items[place].score) --first;
    while (last < items.size() && items[last].score == items[place].score) ++last;
    return {first, last};
}

// One leg of a hybrid search: its first hits, and the weighted shares of their scores.
class Leg {
   public:
    Leg(std::vector<Hit> hits, std::size_t depth, double weight, const py::function& row_id)
        : hits_(std::move(hits)), row_id_(row_id) {
        cut(depth);
        std::vector<double> scores;
        for (const Hit& hit : hits_) scores.push_back(double(hit.score));
        shares_ = pincite::distribution_scores(scores);
        for (double& share : shares_) share *= weight;
        ranks_.resize(hits_.size());
    }

    const std::vector<Hit>& hits() const { return hits_; }
    double share(std::size_t place) const { return shares_[place]; }

    // Score, rank from 1, share.
    py::object part(std::size_t place) {
        if (ranks_[place] == 0) rank(place);
        return py::make_tuple(hits_[place].score, ranks_[place], shares_[place]);
    }

   private:
    void cut(std::size_t depth) {
        if (hits_.size() <= depth) return;
        const auto [first, last] = stretch(hits_, depth - 1);
        if (last > depth) {
            by_id(hits_.data() + first, hits_.data() + last, row_id_,
                  [](const Hit& hit) -> const Hit& { return hit; });
        }
        hits_.resize(depth);
    }

    // Ids are asked for only where scores are equal, and only of what is returned.
    void rank(std::size_t place) {
        const auto [first, last] = stretch(hits_, place);
        std::vector<std::size_t> order(last - first);
        std::iota(order.begin(), order.end(), first);
        if (order.size() > 1) {
            by_id(order.data(), order.data() + order.size(), row_id_,
                  [this](std::size_t each) -> const Hit& { return hits_[each]; });
        }
        for (std::size_t i = 0; i < order.size(); ++i) ranks_[order[i]] = first + i + 1;
    }

    std::vector<Hit> hits_;
    py::function row_id_;
    std::vector<double> shares_;
    std::vector<std::size_t> ranks_;  // 0 until asked for
};

constexpr std::size_t kAbsent = std::numeric_limits<std::size_t>::max();

struct Fused {
    float score;
    Hit hit;
    std::size_t keyword, vector;  // places in the legs
};

struct Place {
    std::size_t part;
    std::int64_t row;
    bool operator==(const Place& other) const { return part == other.part && row == other.row; }
};

struct Hashed {
    std::size_t operator()(const Place& place) const {
        return (place.part << 40) ^ static_cast<std::size_t>(place.row);
    }
};

// The union of both, best first, ties in any order.
std::vector<Fused> joined(const Leg& keyword, const Leg& vector) {
    std::vector<Fused> all;
    all.reserve(keyword.hits().size() + vector.hits().size());
    std::unordered_map<Place, std::size_t, Hashed> places;
    for (const Hit& hit : keyword.hits()) {
        const std::size_t place = all.size();
        places.emplace(Place{hit.part, hit.row}, place);
        all.push_back({static_cast<float>(keyword.share(place)), hit, place, kAbsent});
    }
    for (std::size_t i = 0; i < vector.hits().size(); ++i) {
        const Hit& hit = vector.hits()[i];
        const auto found = places.find({hit.part, hit.row});
        if (found == places.end()) {
            all.push_back({static_cast<float>(vector.share(i)), hit, kAbsent, i});
        } else {
            Fused& both = all[found->second];
            both.score = static_cast<float>(keyword.share(both.keyword) + vector.share(i));
            both.vector = i;
        }
    }
    std::sort(all.begin(), all.end(),
              [](const Fused& a, const Fused& b) { return a.score > b.score; });
    return all;
}

// The ranks [start, stop) of two rankings fused, of which the first `depth` count: fused score,
// (segment, row), and of each leg its score, rank and share, or None.
py::list fuse(const Ranking& keyword, const Ranking& vector, const std::pair<double, double>& weights,
              std::size_t depth, const std::pair<std::size_t, std::size_t>& page,
              const py::function& row_id) {
    if (depth == 0) throw py::value_error("depth must be at least 1");
    Leg one(keyword.hits, depth, weights.first, row_id);
    Leg two(vector.hits, depth, weights.second, row_id);
    std::vector<Fused> all = joined(one, two);
    const std::size_t stop = std::min(page.second, all.size());
    py::list rows;
    for (std::size_t place = page.first, ordered = 0; place < stop; ++place) {
        if (place >= ordered) {
            const auto [first, last] = stretch(all, place);
            if (last - first > 1) {
                by_id(all.data() + first, all.data() + last, row_id,
                      [](const Fused& each) -> const Hit& { return each.hit; });
            }
            ordered = last;
        }
        const Fused& each = all[place];
        rows.append(py::make_tuple(
            each.score, py::make_tuple(each.hit.part, each.hit.row),
            each.keyword == kAbsent ? py::none() : one.part(each.keyword),
            each.vector == kAbsent ? py::none() : two.part(each.vector)));
    }
    return rows;
}

// A new (segment, row, score), as a search returns hundreds of them.
PyObject* tuple_of(const Hit& hit) {
    PyObject* tuple = PyTuple_New(3);
    if (tuple == nullptr) throw py::error_already_set();
    PyTuple_SET_ITEM(tuple, 0, PyLong_FromSize_t(hit.part));
    PyTuple_SET_ITEM(tuple, 1, PyLong_FromLongLong(hit.row));
    PyTuple_SET_ITEM(tuple, 2, PyFloat_FromDouble(double(hit.score)));
    return tuple;
}

py::list listed(const Ranking& ranking) {
    py::list found(ranking.hits.size());
    for (std::size_t i = 0; i < ranking.hits.size(); ++i) {
        PyList_SET_ITEM(found.ptr(), static_cast<py::ssize_t>(i), tuple_of(ranking.hits[i]));
    }
    return found;
}

}  // namespace

void bind_ranking(py::module_& module) {
    py::class_<Ranking>(module, "Ranking")
        .def(py::init([](const std::vector<std::tuple<std::size_t, std::int64_t, float>>& hits) {
            Ranking made;
            for (const auto& [part, row, score] : hits) made.hits.push_back({part, row, score});
            return made;
        }), py::arg("hits"))
        .def("__len__", [](const Ranking& ranking) { return ranking.hits.size(); })
        .def("listed", &listed);
    module.def("fuse", &fuse, py::arg("keyword"), py::arg("vector"), py::arg("weights"),
               py::arg("depth"), py::arg("page"), py::arg("row_id"));
}

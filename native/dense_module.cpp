#include "dense_module.hpp"

#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <deque>
#include <limits>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <tuple>

#include "dense_narrow.hpp"
#include "dense_search.hpp"

namespace py = pybind11;

namespace {

template <typename T>
using Array = py::array_t<T, py::array::c_style>;
using Mask = std::optional<Array<bool>>;

void require(bool holds, const char* what) {
    if (!holds) throw std::invalid_argument(what);
}

std::size_t size_of(py::ssize_t size) { return static_cast<std::size_t>(size); }

template <typename T>
py::array_t<T> copied(const std::vector<T>& values) {
    return py::array_t<T>(static_cast<py::ssize_t>(values.size()), values.data());
}

template <typename T>
py::array_t<T> shaped(const std::vector<T>& values, std::vector<py::ssize_t> shape) {
    return py::array_t<T>(std::move(shape), values.data());
}

const std::uint8_t* flags(const Mask& mask, std::size_t rows) {
    static_assert(sizeof(bool) == 1, "NumPy and C++ must agree on bool");
    if (!mask) return nullptr;
    require(mask->ndim() == 1 && size_of(mask->size()) == rows, "a mask needs one flag per row");
    return reinterpret_cast<const std::uint8_t*>(mask->data());
}

// Checksums of a mapped array as SegmentFile.guarded gives them: CRCs, and flags to be written.
using Guard = std::optional<std::pair<py::buffer, py::buffer>>;

class Guarded {
   public:
    Guarded(const Guard& guard, const void* data, std::size_t size) {
        checked_.data = static_cast<const std::uint8_t*>(data);
        checked_.size = size;
        if (!guard) return;
        crcs_ = guard->first.request();
        seen_ = guard->second.request(true);
        const std::size_t blocks =
            (size + pincite::Checked::kBlock - 1) / pincite::Checked::kBlock;
        require(size_of(crcs_.size * crcs_.itemsize) == 4 * blocks &&
                    size_of(seen_.size * seen_.itemsize) == blocks,
                "a guard needs one checksum and one flag per block");
        checked_.crcs = static_cast<const std::uint8_t*>(crcs_.ptr);
        checked_.seen = static_cast<std::uint8_t*>(seen_.ptr);
    }
    const pincite::Checked& checked() const { return checked_; }

   private:
    py::buffer_info crcs_, seen_;
    pincite::Checked checked_;
};

const char* named(pincite::Damage damage) {
    switch (damage) {
        case pincite::Damage::none: return "";
        case pincite::Damage::not_finite: return "not finite";
        case pincite::Damage::vectors: return "vectors";
        case pincite::Damage::codes: return "codes";
    }
    return "";
}

// Which row stands at each place; whoever wrote it meant a permutation.
using Order = std::optional<Array<std::uint32_t>>;

const std::uint32_t* checked(const Order& order, std::size_t rows) {
    if (!order) return nullptr;
    require(order->ndim() == 1 && size_of(order->size()) == rows, "the order does not fit the rows");
    const std::uint32_t* data = order->data();
    require(std::all_of(data, data + rows, [rows](std::uint32_t row) { return row < rows; }),
            "the order names rows that do not exist");
    return data;
}

class Vectors {
   public:
    Vectors(Array<std::uint16_t> rows, const Guard& guard, Order order)
        : array_(std::move(rows)), order_(std::move(order)),
          guard_(guard, array_.data(), size_of(array_.nbytes())) {
        require(array_.ndim() == 2, "rows must be a matrix");
        rows_ = {guard_.checked(), size_of(array_.shape(0)), size_of(array_.shape(1)), 0.0F,
                 checked(order_, size_of(array_.shape(0)))};
    }

    const pincite::Rows& rows() const { return rows_; }

    // For rows of a mapped file that is too large to be read whole.
    void scatter() {
        guard_.checked().scatter();
        rows_.absent = &absent_;
    }

    // Asks the system for all of them, in one go.
    void fetch() const { guard_.checked().fetch(); }

    // Where the rows lie whose flag is set.
    pincite::Places places(const std::uint8_t* flags) const {
        pincite::Places found;
        for (std::size_t row = 0; row < rows_.count; ++row) {
            if (row % 8 == 0) row = skipped(flags, row);
            if (row < rows_.count && flags[row]) found.push_back(static_cast<std::uint32_t>(row));
        }
        if (rows_.order != nullptr) {
            std::call_once(inverted_, [this] { invert(); });
            for (auto& row : found) row = place_of_[row];
            std::sort(found.begin(), found.end());
        }
        return found;
    }

    // Codes are only made of finite rows, none longer than their scale.
    void bound(float scale) { rows_.longest = scale * scale; }

    void check(const Array<float>& query) const {
        require(query.ndim() == 1 && size_of(query.size()) == rows_.dimension,
                "the query must be as wide as the rows");
    }

    py::array_t<std::int64_t> best(const Array<float>& queries, std::size_t k) const {
        require(queries.ndim() == 2 && size_of(queries.shape(1)) == rows_.dimension,
                "the queries must be as wide as the rows");
        const std::size_t each = std::min(k, rows_.count);
        require(each > 0, "there must be a row, and k must be at least 1");
        std::vector<std::int64_t> found;
        const float* data = queries.data();
        const auto count = size_of(queries.shape(0));
        {
            py::gil_scoped_release released;
            found = pincite::exact_best(rows_, data, count, each);
        }
        return shaped(found, {queries.shape(0), static_cast<py::ssize_t>(each)});
    }

   private:
    // Behind all rows that are dropped, eight at a time.
    std::size_t skipped(const std::uint8_t* flags, std::size_t row) const {
        std::uint64_t eight = 0;
        for (; row + 8 <= rows_.count; row += 8) {
            std::memcpy(&eight, flags + row, sizeof eight);
            if (eight != 0) break;
        }
        return row;
    }

    void invert() const {
        place_of_.resize(rows_.count);
        for (std::size_t place = 0; place < rows_.count; ++place) {
            place_of_[rows_.order[place]] = static_cast<std::uint32_t>(place);
        }
    }

    Array<std::uint16_t> array_;
    Order order_;
    Guarded guard_;
    pincite::Rows rows_;
    mutable std::once_flag inverted_;
    std::atomic<bool> absent_{true};
    mutable pincite::Places place_of_;  // of each row, once a filter asked for it
};

class Codes {
   public:
    Codes(std::shared_ptr<Vectors> vectors, Array<std::uint8_t> codes, const Guard& guard,
          Array<std::uint16_t> factors, Order order, Array<std::uint32_t> starts,
          Array<std::uint16_t> centroids, float scale)
        : vectors_(std::move(vectors)), codes_(std::move(codes)), factors_(std::move(factors)),
          starts_(std::move(starts)), centroids_(std::move(centroids)), order_(std::move(order)),
          guard_(guard, codes_.data(), size_of(codes_.nbytes())) {
        vectors_->bound(scale);
        const pincite::Rows& rows = vectors_->rows();
        const std::size_t padded = pincite::Rotation::padded(rows.dimension);
        const std::size_t blocks =
            (rows.count + pincite::kBlockRows - 1) / pincite::kBlockRows;
        require(size_of(codes_.size()) == blocks * pincite::block_bytes(padded),
                "the codes do not fit the rows");
        require(size_of(factors_.size()) == blocks * pincite::kBlockFactors,
                "the factors do not fit the rows");
        require(centroids_.ndim() == 2 && centroids_.shape(0) > 0 &&
                    size_of(centroids_.shape(1)) == padded,
                "the centroids do not fit the rows");
        check_lists(rows.count);
        coded_ = {rows, guard_.checked(), factors_.data(),
                  order_ ? checked(order_, rows.count) : rows.order, starts_.data(), scale,
                  std::make_shared<pincite::Centroids>(centroids_.data(),
                                                       size_of(centroids_.shape(0)), padded),
                  std::make_shared<pincite::Rotation>(rows.dimension)};
    }

    const pincite::CodedRows& coded() const { return coded_; }

    py::tuple estimated(const Array<float>& query, float gap, std::size_t depth) const {
        vectors_->check(query);
        require(depth > 0, "depth must be at least 1");
        pincite::Candidates found;
        const float* values = query.data();
        {
            py::gil_scoped_release released;
            found = pincite::estimated_rows(coded_, values, gap,
                                            std::min(depth, coded_.rows.count));
        }
        return py::make_tuple(copied(found.rows), copied(found.scores));
    }

    py::array_t<float> gaps(const Array<float>& query) const {
        vectors_->check(query);
        return copied(pincite::list_gaps(coded_, query.data()));
    }

   private:
    void check_lists(std::size_t rows) const {
        const std::uint32_t* starts = starts_.data();
        const auto lists = size_of(centroids_.shape(0));
        require(starts_.ndim() == 1 && size_of(starts_.size()) == lists + 1 && starts[0] == 0 &&
                    starts[lists] == rows && std::is_sorted(starts, starts + lists + 1),
                "the lists do not fit the rows");
    }

    std::shared_ptr<Vectors> vectors_;
    Array<std::uint8_t> codes_;
    Array<std::uint16_t> factors_;
    Array<std::uint32_t> starts_;
    Array<std::uint16_t> centroids_;
    Order order_;
    Guarded guard_;
    pincite::CodedRows coded_;
};

// How far to look: gap, own gap, seen, depth, margin.
using Effort = std::tuple<float, float, std::size_t, std::size_t, float>;

// How a search for k of the kept rows goes, ready for many queries. Threads may share one.
class Plan {
   public:
    // A step for each segment: its vectors; its codes, a mask of the kept rows, an effort, or None.
    explicit Plan(const py::list& steps) : made_(std::make_shared<Steps>()) {
        for (const py::handle step : steps) {
            auto [vectors, codes, mask, effort] =
                step.cast<std::tuple<std::shared_ptr<Vectors>, std::shared_ptr<Codes>, Mask,
                                     std::optional<Effort>>>();
            require(vectors != nullptr, "a step needs vectors");
            require(made_->empty() || vectors->rows().dimension == made_->front().rows.dimension,
                    "all rows must be as wide");
            add(*vectors, codes.get(), mask, effort);
            owners_.push_back({std::move(vectors), std::move(codes), std::move(mask)});
        }
        steps_ = made_;
    }

    // The query's largest magnitude, the damage that was met and in which segment, and the k best.
    py::tuple search(const py::array& query, std::size_t k, bool unit) {
        require(k > 0, "k must be at least 1");
        require(query.ndim() == 1 && (steps_->empty() ||
                                      size_of(query.size()) == steps_->front().rows.dimension),
                "the query must be as wide as the rows");
        if (used_ < kOften && ++used_ == kOften) narrow();
        const std::shared_ptr<const Steps> steps = steps_;
        const std::vector<double> values = widened(query);
        pincite::Prepared prepared;
        pincite::Hits hits;
        {
            py::gil_scoped_release released;
            prepared = pincite::prepared(values.data(), values.size(), unit);
            const double most = unit ? kMostUnit : kMost;
            if (prepared.largest > 0.0 && prepared.largest <= most) {
                hits = pincite::dense_search(*steps, prepared, k, unit);
            }
        }
        return py::make_tuple(prepared.largest, named(hits.damage), hits.part,
                              pincite::Ranking{std::move(hits.best)});
    }

   private:
    // Of any numbers; float32 without NumPy's conversion, which takes as long as a small search.
    static std::vector<double> widened(const py::array& query) {
        const auto size = static_cast<std::ptrdiff_t>(query.size());
        if (py::isinstance<Array<float>>(query)) {
            const auto* values = static_cast<const float*>(query.data());
            return {values, values + size};
        }
        const auto wide = py::array_t<double, py::array::c_style | py::array::forcecast>(query);
        return {wide.data(), wide.data() + size};
    }

    using Steps = std::vector<pincite::Step>;

    static constexpr std::size_t kOften = 2;   // a filter that comes again is worth packing for
    static constexpr std::size_t kNarrow = 8;  // and one that keeps a row in so many

    static constexpr double kMostUnit = std::numeric_limits<double>::max();
    static constexpr double kMost = double(std::numeric_limits<float>::max());

    struct Owner {
        std::shared_ptr<Vectors> vectors;
        std::shared_ptr<Codes> codes;
        Mask mask;
    };

    void add(const Vectors& vectors, const Codes* codes, const Mask& mask,
             const std::optional<Effort>& effort) {
        const pincite::Rows& rows = vectors.rows();
        const std::uint8_t* kept = flags(mask, rows.count);
        pincite::Step step{rows, nullptr, {}, {}, nullptr};
        if (codes != nullptr && effort) {
            const auto [gap, own_gap, seen, depth, margin] = *effort;
            require(depth > 0, "depth must be at least 1");
            step.coded = &codes->coded();
            require(step.coded->rows.count == rows.count, "the codes do not fit the rows");
            step.effort = {gap, own_gap, seen, std::min(depth, rows.count), margin};
            if (kept != nullptr) step.kept.blocks = bits(*step.coded, kept);
        } else if (kept != nullptr) {
            step.places = &places_.emplace_back(vectors.places(kept));
        }
        made_->push_back(step);
    }

    // Packs the codes that filters keep. Searches that run go on with the steps that they have.
    void narrow() {
        auto steps = std::make_shared<Steps>(*steps_);
        std::vector<std::shared_ptr<const pincite::Narrowed>> made;
        {
            py::gil_scoped_release released;
            for (pincite::Step& step : *steps) {
                if (step.coded == nullptr || step.kept.blocks == nullptr || !few(step)) continue;
                auto packed = pincite::narrowed(*step.coded, step.kept);
                if (packed == nullptr) continue;  // the search says what is damaged
                step.coded = &packed->coded;
                step.kept = {};
                made.push_back(std::move(packed));
            }
        }
        packed_ = std::move(made);
        steps_ = std::move(steps);
    }

    static bool few(const pincite::Step& step) {
        std::size_t kept = 0;
        for (std::size_t place = 0; place < step.rows.count; ++place) {
            kept += step.kept.holds(place) ? 1 : 0;
        }
        return kept * kNarrow <= step.rows.count;
    }

    // The flags of rows as bits of the places of their codes.
    const std::uint16_t* bits(const pincite::CodedRows& coded, const std::uint8_t* kept) {
        const std::size_t count = coded.rows.count;
        auto& blocks = bits_.emplace_back((count + pincite::kBlockRows - 1) / pincite::kBlockRows);
        for (std::size_t place = 0; place < count; ++place) {
            const std::size_t row = coded.order != nullptr ? coded.order[place] : place;
            const unsigned bit = kept[row] != 0 ? 1U : 0U;
            blocks[place / pincite::kBlockRows] |=
                static_cast<std::uint16_t>(bit << (place % pincite::kBlockRows));
        }
        return blocks.data();
    }

    std::shared_ptr<Steps> made_;
    std::shared_ptr<const Steps> steps_;
    std::size_t used_ = 0;
    std::vector<Owner> owners_;
    std::deque<pincite::Places> places_;  // whose addresses stay
    std::deque<std::vector<std::uint16_t>> bits_;
    std::vector<std::shared_ptr<const pincite::Narrowed>> packed_;
};

py::array_t<std::uint16_t> train(const Array<std::uint16_t>& rows, std::size_t lists,
                                 std::size_t iterations) {
    require(rows.ndim() == 2 && rows.shape(0) > 0 && lists > 0, "there must be rows and lists");
    const std::uint16_t* data = rows.data();
    const auto count = size_of(rows.shape(0)), dimension = size_of(rows.shape(1));
    std::vector<std::uint16_t> centroids;
    {
        py::gil_scoped_release released;
        centroids = pincite::train_lists(data, count, dimension, lists, iterations);
    }
    return shaped(centroids, {static_cast<py::ssize_t>(lists),
                              static_cast<py::ssize_t>(pincite::Rotation::padded(dimension))});
}

py::tuple encode(const Array<std::uint16_t>& rows, const Array<std::uint16_t>& centroids,
                 float scale) {
    require(rows.ndim() == 2 && centroids.ndim() == 2 && centroids.shape(0) > 0,
            "rows and centroids must be matrices");
    const auto count = size_of(rows.shape(0)), dimension = size_of(rows.shape(1));
    require(size_of(centroids.shape(1)) == pincite::Rotation::padded(dimension) && scale > 0,
            "the centroids do not fit the rows");
    const std::uint16_t* data = rows.data();
    const std::uint16_t* center_data = centroids.data();
    const auto lists = size_of(centroids.shape(0));
    pincite::Encoded out;
    {
        py::gil_scoped_release released;
        out = pincite::encode_rows(data, count, dimension, center_data, lists, scale);
    }
    return py::make_tuple(copied(out.codes), copied(out.factors), copied(out.order),
                          copied(out.starts));
}

py::tuple prepare(const Array<double>& query, bool unit) {
    require(query.ndim() == 1 && query.size() > 0, "the query must be flat");
    const pincite::Prepared found =
        pincite::prepared(query.data(), size_of(query.size()), unit);
    return py::make_tuple(copied(found.values), found.largest);
}

py::array_t<float> rotate(const Array<float>& values) {
    require(values.ndim() == 1, "values must be flat");
    const pincite::Rotation rotation(size_of(values.size()));
    std::vector<float> out(rotation.size());
    std::copy(values.data(), values.data() + values.size(), out.begin());
    rotation.apply(out.data());
    return copied(out);
}

// Estimates of blocks by one kernel, in units of 1, for a query that is rotated already.
py::array_t<float> estimates(const Array<std::uint8_t>& codes, const Array<std::uint16_t>& factors,
                             const Array<float>& rotated, float centroid, std::size_t kernel) {
    const auto padded = size_of(rotated.size());
    require(padded > 0 && padded % 32 == 0, "the query must be padded");
    const std::size_t blocks = size_of(codes.size()) / pincite::block_bytes(padded);
    require(size_of(codes.size()) == blocks * pincite::block_bytes(padded) &&
                size_of(factors.size()) == blocks * pincite::kBlockFactors,
            "codes, factors and query do not fit");
    require(kernel < pincite::kernel_names().size(), "there is no such kernel");
    pincite::CodedQuery query;
    query.assign(rotated.data(), padded);
    std::vector<float> out(blocks * pincite::kBlockRows);
    pincite::estimate_with(kernel, {codes.data(), factors.data(), blocks, padded}, query, centroid,
                           1.0F, out.data());
    return copied(out);
}

}  // namespace

void bind_dense(py::module_& module) {
    // noconvert: a silent copy of a segment would cost more than the kernel saves.
    py::class_<Vectors, std::shared_ptr<Vectors>>(module, "DenseVectors")
        .def(py::init<Array<std::uint16_t>, const Guard&, Order>(), py::arg("rows").noconvert(),
             py::arg("guard"), py::arg("order").noconvert() = py::none())
        .def("scatter", &Vectors::scatter)
        .def("fetch", &Vectors::fetch)
        .def("best", &Vectors::best, py::arg("queries"), py::arg("k"));
    py::class_<Codes, std::shared_ptr<Codes>>(module, "DenseCodes")
        .def(py::init<std::shared_ptr<Vectors>, Array<std::uint8_t>, const Guard&,
                      Array<std::uint16_t>, Order, Array<std::uint32_t>, Array<std::uint16_t>,
                      float>(),
             py::arg("vectors"), py::arg("codes").noconvert(), py::arg("guard"),
             py::arg("factors").noconvert(), py::arg("order").noconvert(),
             py::arg("starts").noconvert(), py::arg("centroids").noconvert(), py::arg("scale"))
        .def("estimated", &Codes::estimated, py::arg("query"), py::arg("gap"),
             py::arg("depth"))
        .def("gaps", &Codes::gaps, py::arg("query"));
    py::class_<Plan>(module, "DensePlan")
        .def(py::init<const py::list&>(), py::arg("steps"))
        .def("search", &Plan::search, py::arg("query"), py::arg("k"), py::arg("unit"));
    module.def("dense_train", &train, py::arg("rows").noconvert(), py::arg("lists"),
               py::arg("iterations"));
    module.def("dense_encode", &encode, py::arg("rows").noconvert(),
               py::arg("centroids").noconvert(), py::arg("scale"));
    module.def("dense_prepare", &prepare, py::arg("query"), py::arg("unit"));
    module.def("dense_rotate", &rotate, py::arg("values"));
    module.def("dense_kernels", &pincite::kernel_names);
    module.def("dense_estimates", &estimates, py::arg("codes"), py::arg("factors"),
               py::arg("rotated"), py::arg("centroid"), py::arg("kernel"));
}

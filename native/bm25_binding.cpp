// The Python face of keyword search. It takes plain buffers, so that it needs no NumPy.
#include "bm25_binding.hpp"

#include <pybind11/stl.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "bm25_compact.hpp"
#include "bm25_search.hpp"
#include "ranking.hpp"

namespace py = pybind11;

namespace pincite::bm25 {
namespace {

void require(bool holds, const char* what) {
    if (!holds) throw std::invalid_argument(what);
}

struct View {
    const std::uint8_t* data;
    std::size_t size, item;
};

View viewed(const py::buffer_info& info) {
    py::ssize_t stride = info.itemsize;
    for (py::ssize_t i = info.ndim; i-- > 0; stride *= info.shape[i]) {
        require(info.shape[i] < 2 || info.strides[i] == stride, "a buffer must be contiguous");
    }
    return {static_cast<const std::uint8_t*>(info.ptr),
            static_cast<std::size_t>(info.size * info.itemsize),
            static_cast<std::size_t>(info.itemsize)};
}

// Holds the buffers that its data reads.
class Held {
   public:
    Held(std::string name, const py::dict& arrays) : name_(std::move(name)) {
        KeywordArrays a;
        take(arrays, "vocabulary", a.vocabulary);
        take(arrays, "vocabulary_offsets", a.vocabulary_offsets);
        if (arrays.contains("packed")) {
            take(arrays, "packed", a.packed);
            take(arrays, "length_codes", a.length_codes);
            take(arrays, "packed_starts", a.packed_starts);
            take(arrays, "packed_windows", a.packed_windows);
        } else {
            take(arrays, "term_runs", a.term_runs);
            take(arrays, "run_starts", a.run_starts);
            take(arrays, "run_blocks", a.run_blocks);
            take(arrays, "rows", a.rows);
            take(arrays, "codes", a.codes);
            take(arrays, "large_at", a.large_at);
            take(arrays, "large_tfs", a.large_tfs);
        }
        take(arrays, "code_tfs", a.code_tfs);
        take(arrays, "code_lengths", a.code_lengths);
        take(arrays, "lengths", a.lengths);
        take(arrays, "long_terms", a.long_terms);
        take(arrays, "window_starts", a.window_starts);
        take(arrays, "window_codes", a.window_codes);
        data_ = std::make_unique<KeywordData>(std::move(a));
        data_->name = name_;
    }

    const KeywordData& data() const { return *data_; }

   private:
    template <typename T>
    void take(const py::dict& arrays, const char* name, Column<T>& column) {
        require(arrays.contains(name), "an array is missing");
        const auto pair = arrays[name].cast<std::tuple<py::buffer, std::optional<py::buffer>>>();
        const View view = hold(std::get<0>(pair));
        require(view.item == 1 || view.item == sizeof(T), "an array has items of another size");
        const std::uint8_t* crcs = nullptr;
        if (std::get<1>(pair)) {
            const View sums = hold(*std::get<1>(pair));
            require(sums.size == (view.size + 65535) / 65536 * 4, "a block needs one checksum");
            crcs = sums.data;
        }
        column = Column<T>(Checked(aligned(view, alignof(T)), view.size, crcs));
    }

    View hold(const py::buffer& buffer) {
        infos_.push_back(buffer.request());
        return viewed(infos_.back());
    }

    // Bytes out of a database may begin anywhere.
    const std::uint8_t* aligned(const View& view, std::size_t alignment) {
        if (reinterpret_cast<std::uintptr_t>(view.data) % alignment == 0) return view.data;
        copies_.emplace_back((view.size + 7) / 8);
        std::memcpy(copies_.back().data(), view.data, view.size);
        return reinterpret_cast<const std::uint8_t*>(copies_.back().data());
    }

    std::string name_;
    std::vector<py::buffer_info> infos_;
    std::vector<std::vector<std::uint64_t>> copies_;
    std::unique_ptr<KeywordData> data_;
};

using Segments = std::vector<const Held*>;
using Masks = std::vector<std::optional<py::buffer>>;
// Buffers with a flag for each row, held while they are read.
class Flags {
   public:
    // Null for None.
    const std::uint8_t* of(const std::optional<py::buffer>& given, std::size_t rows) {
        if (!given) return nullptr;
        infos_.push_back(given->request());
        const View view = viewed(infos_.back());
        require(view.item == 1 && view.size == rows, "a mask needs one flag per row");
        return view.data;
    }

    // By a flag for each row, or by the numbers of rows (uint32, ascending).
    void restrict(Part& part, const std::optional<py::buffer>& given) {
        if (!given || given->request().itemsize == 1) {
            part.allow = of(given, part.data->rows());
            return;
        }
        infos_.push_back(given->request());
        require(infos_.back().item_type_is_equivalent_to<std::uint32_t>(),
                "a filter is of flags, or of rows as uint32");
        const View view = viewed(infos_.back());
        static const std::uint32_t none = 0;  // no rows are not the same as no filter
        part.chosen_count = view.size / sizeof none;
        part.chosen = part.chosen_count ? reinterpret_cast<const std::uint32_t*>(view.data) : &none;
        const std::uint32_t* end = part.chosen + part.chosen_count;
        require(std::adjacent_find(part.chosen, end, std::greater_equal<>()) == end,
                "rows must ascend");
        require(part.chosen == end || end[-1] < part.data->rows(), "a row is not there");
    }

   private:
    std::vector<py::buffer_info> infos_;
};

template <typename T>
py::bytes bytes_of(const std::vector<T>& values) {
    return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

// The postings of terms [first, end) of a compact segment as bytes of uint32: how many each term
// has, their rows, their frequencies.
py::tuple unpacked(const Held& held, std::size_t first, std::size_t end) {
    const KeywordData& data = held.data();
    require(data.compact() && first <= end && end <= data.terms(), "there are no such terms");
    std::vector<std::uint32_t> counts;
    Postings all, own;
    {
        py::gil_scoped_release released;
        for (std::size_t term = first; term < end; ++term) {
            unpack(data, term, own);
            counts.push_back(static_cast<std::uint32_t>(own.rows.size()));
            all.rows.insert(all.rows.end(), own.rows.begin(), own.rows.end());
            all.tfs.insert(all.tfs.end(), own.tfs.begin(), own.tfs.end());
        }
    }
    return py::make_tuple(bytes_of(counts), bytes_of(all.rows), bytes_of(all.tfs));
}

// The arrays that replace those of postings in the compact layout, as bytes.
py::dict compact(const Held& held) {
    require(!held.data().compact(), "the segment is compact");
    Compacted made;
    {
        py::gil_scoped_release released;
        made = compacted(held.data());
    }
    py::dict found;
    found["packed"] = py::bytes(made.packed);
    found["packed_starts"] = bytes_of(made.packed_starts);
    found["packed_windows"] = bytes_of(made.packed_windows);
    return found;
}

// The bytes of a term; a lone surrogate is encoded like any other character.
std::string encoded(PyObject* term) {
    Py_ssize_t size = 0;
    if (const char* text = PyUnicode_AsUTF8AndSize(term, &size)) {
        return {text, static_cast<std::size_t>(size)};
    }
    PyErr_Clear();
    const py::bytes bytes = py::reinterpret_steal<py::bytes>(
        PyUnicode_AsEncodedString(term, "utf-8", "surrogatepass"));
    if (!bytes) throw py::error_already_set();
    return bytes;
}

// Distinct groups of distinct terms in dictionary order, each with how often it was given.
std::vector<std::pair<Group, std::uint32_t>> in_order(const py::sequence& groups) {
    std::map<Group, std::uint32_t> counted;
    for (const py::handle each : groups) {
        Group group;
        for (const py::handle term : py::reinterpret_borrow<py::sequence>(each)) {
            group.push_back(encoded(term.ptr()));
        }
        std::sort(group.begin(), group.end());
        group.erase(std::unique(group.begin(), group.end()), group.end());
        if (!group.empty()) ++counted[std::move(group)];
    }
    return {counted.begin(), counted.end()};
}

// Segments and their live rows, ready for many searches. Threads may share one.
class Searcher {
   public:
    Searcher(py::list segments, const Masks& live, std::uint64_t rows, double average)
        : segments_(std::move(segments)),
          lexicon_(parts(live)),
          rows_(rows),
          average_(average) {}

    // None for more terms than can be bounded.
    py::object search(const py::sequence& groups, std::size_t k, double k1, double b, double scale,
                      double delta, const std::optional<Masks>& allow) {
        require(k > 0, "k must be at least 1");
        const auto ordered = in_order(groups);
        std::size_t terms = 0;
        for (const auto& each : ordered) terms += each.first.size();
        if (terms > kMostTerms) return py::none();
        std::vector<Part> parts = lexicon_.parts();
        Flags flags;
        if (allow) {
            require(allow->size() == parts.size(), "a segment needs one mask or None");
            for (std::size_t i = 0; i < parts.size(); ++i) flags.restrict(parts[i], (*allow)[i]);
        }
        std::vector<Found> found;
        {
            py::gil_scoped_release released;
            std::vector<Weighted> words;
            for (const auto& [group, count] : ordered) {
                words.push_back({lexicon_.resolve(group), count});
            }
            found = keyword_search(parts, words, rows_, k, {k1, b, average_, scale, delta});
        }
        Ranking ranking;
        for (const Found& each : found) ranking.hits.push_back({each.part, each.row, each.score});
        return py::cast(std::move(ranking));
    }

   private:
    std::vector<Part> parts(const Masks& live) {
        const Segments segments = segments_.cast<Segments>();
        require(live.size() == segments.size(), "a segment needs one mask or None");
        std::vector<Part> found;
        for (std::size_t i = 0; i < segments.size(); ++i) {
            require(segments[i] != nullptr, "a segment is None");
            const KeywordData& data = segments[i]->data();
            found.push_back({&data, flags_.of(live[i], data.rows()), nullptr, nullptr, 0});
        }
        return found;
    }

    py::list segments_;
    Flags flags_;
    Lexicon lexicon_;
    std::uint64_t rows_;
    double average_;
};

}  // namespace

void bind(py::module_& module) {
    py::register_exception<Damaged>(module, "Damaged", PyExc_ValueError);
    py::class_<Held>(module, "KeywordSegment")
        .def(py::init<std::string, const py::dict&>(), py::arg("name"), py::arg("arrays"))
        .def("unpacked", &unpacked, py::arg("first"), py::arg("end"))
        .def("compact", &compact);
    py::class_<Searcher>(module, "KeywordSearcher")
        .def(py::init<py::list, const Masks&, std::uint64_t, double>(), py::arg("segments"),
             py::arg("live"), py::arg("rows"), py::arg("average"))
        .def("search", &Searcher::search, py::arg("groups"), py::arg("k"), py::arg("k1"),
             py::arg("b"), py::arg("scale"), py::arg("delta"), py::arg("allow") = py::none());
}

}  // namespace pincite::bm25

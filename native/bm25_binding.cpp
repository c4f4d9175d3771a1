// The Python face of keyword search. It takes plain buffers, so that it needs no NumPy.
#include "bm25_binding.hpp"

#include <pybind11/stl.h>

#include <cstring>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "bm25_search.hpp"

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
        take(arrays, "term_runs", a.term_runs);
        take(arrays, "run_starts", a.run_starts);
        take(arrays, "run_blocks", a.run_blocks);
        take(arrays, "rows", a.rows);
        take(arrays, "codes", a.codes);
        take(arrays, "large_at", a.large_at);
        take(arrays, "large_tfs", a.large_tfs);
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
using Words = std::vector<py::bytes>;

// Parts whose masks stay held while they are searched.
struct Parts {
    std::vector<py::buffer_info> infos;
    std::vector<Part> parts;

    Parts(const Segments& segments, const Masks& live, const Masks& allow) {
        require(live.size() == segments.size() && allow.size() == segments.size(),
                "a segment needs one mask or None");
        for (std::size_t i = 0; i < segments.size(); ++i) {
            require(segments[i] != nullptr, "a segment is None");
            const KeywordData& data = segments[i]->data();
            parts.push_back({&data, mask(live[i], data.rows()), mask(allow[i], data.rows())});
        }
    }

    const std::uint8_t* mask(const std::optional<py::buffer>& given, std::size_t rows) {
        if (!given) return nullptr;
        infos.push_back(given->request());
        const View view = viewed(infos.back());
        require(view.item == 1 && view.size == rows, "a mask needs one flag per row");
        return view.data;
    }
};

Group group_of(const Words& words) {
    Group group;
    for (const py::bytes& word : words) group.push_back(word);
    return group;
}

std::uint64_t frequency(const Segments& segments, const Masks& live, const Words& words) {
    const Parts parts(segments, live, Masks(segments.size()));
    const Group group = group_of(words);
    py::gil_scoped_release released;
    return document_frequency(parts.parts, group);
}

py::list search(const Segments& segments, const Masks& live, const Masks& allow,
                const std::vector<Words>& groups, const std::vector<std::uint32_t>& counts,
                const std::vector<std::int64_t>& dfs, std::uint64_t rows, std::size_t k, double k1, double b, double average,
                double scale, double delta) {
    require(k > 0, "k must be at least 1");
    require(dfs.size() == groups.size() && counts.size() == groups.size(),
            "a group needs one count and one df");
    const Parts parts(segments, live, allow);
    std::vector<Weighted> words;
    std::size_t terms = 0;
    for (std::size_t i = 0; i < groups.size(); ++i) {
        words.push_back({group_of(groups[i]), counts[i], dfs[i]});
        terms += groups[i].size();
    }
    require(terms <= kMostTerms, "too many terms");
    std::vector<Found> found;
    {
        py::gil_scoped_release released;
        found = keyword_search(parts.parts, words, rows, k, {k1, b, average, scale, delta});
    }
    py::list result(found.size());
    for (std::size_t i = 0; i < found.size(); ++i) {
        result[i] = py::make_tuple(found[i].part, found[i].row, found[i].score);
    }
    return result;
}

}  // namespace

void bind(py::module_& module) {
    py::register_exception<Damaged>(module, "Damaged", PyExc_ValueError);
    module.attr("MOST_TERMS") = kMostTerms;
    py::class_<Held>(module, "KeywordSegment")
        .def(py::init<std::string, const py::dict&>(), py::arg("name"), py::arg("arrays"));
    module.def("document_frequency", &frequency, py::arg("segments"), py::arg("live"),
               py::arg("group"));
    module.def("keyword_search", &search, py::arg("segments"), py::arg("live"), py::arg("allow"),
               py::arg("groups"), py::arg("counts"), py::arg("dfs"), py::arg("rows"), py::arg("k"), py::arg("k1"),
               py::arg("b"), py::arg("average"), py::arg("scale"), py::arg("delta"));
}

}  // namespace pincite::bm25

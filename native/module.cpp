// The Python face of the kernels: checks shapes, releases the GIL, copies small results out.
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <optional>
#include <stdexcept>
#include <tuple>
#include <vector>

#include "bm25.hpp"
#include "dense_module.hpp"

namespace py = pybind11;

namespace {

template <typename T>
using Array = py::array_t<T, py::array::c_style>;

using Mask = std::optional<Array<bool>>;
using Group = std::tuple<double, Array<std::uint32_t>, Array<std::uint32_t>>;

template <typename T>
py::array_t<T> copied(const std::vector<T>& values) {
    return py::array_t<T>(static_cast<py::ssize_t>(values.size()), values.data());
}

void require(bool holds, const char* what) {
    if (!holds) throw std::invalid_argument(what);
}

const std::uint8_t* bytes_of(const Mask& mask, py::ssize_t rows) {
    static_assert(sizeof(bool) == 1, "NumPy and C++ must agree on bool");
    if (!mask) return nullptr;
    require(mask->ndim() == 1 && mask->size() == rows, "a mask needs one flag per row");
    return reinterpret_cast<const std::uint8_t*>(mask->data());
}

std::vector<pincite::Postings> postings_of(const std::vector<Group>& groups) {
    std::vector<pincite::Postings> result;
    for (const auto& [idf, rows, tfs] : groups) {
        require(rows.ndim() == 1 && tfs.ndim() == 1 && rows.size() == tfs.size(),
                "a group needs one frequency per row");
        result.push_back({idf, rows.data(), tfs.data(), static_cast<std::size_t>(rows.size())});
    }
    return result;
}

py::tuple bm25_best(const std::vector<Group>& groups, const Array<std::uint32_t>& lengths,
                    const Mask& allow, std::size_t k, double k1, double b, double average,
                    double scale, double delta) {
    require(k > 0, "k must be at least 1");
    require(lengths.ndim() == 1, "lengths must be flat");
    const auto postings = postings_of(groups);
    const std::uint8_t* allowed = bytes_of(allow, lengths.size());
    const std::uint32_t* length_data = lengths.data();
    const auto size = static_cast<std::size_t>(lengths.size());
    std::vector<std::uint32_t> rows;
    std::vector<float> scores;
    {
        py::gil_scoped_release released;
        for (const auto& entry : pincite::bm25_best(postings, length_data, size, allowed, k,
                                                    {k1, b, average, scale, delta})) {
            rows.push_back(entry.row);
            scores.push_back(entry.score);
        }
    }
    return py::make_tuple(copied(rows), copied(scores));
}

}  // namespace

PYBIND11_MODULE(_native, module) {
    module.doc() = "Compiled kernels of Pincite; pincite.segments.kernels decides when they run.";
    module.attr("KERNEL_VERSION") = 2;
    // noconvert: a silent copy of a segment would cost more than the kernel saves.
    module.def("bm25_best", &bm25_best, py::arg("groups"), py::arg("lengths").noconvert(),
               py::arg("allow"), py::arg("k"), py::arg("k1"), py::arg("b"), py::arg("average"),
               py::arg("scale"), py::arg("delta"));
    bind_dense(module);
}

// The Python face of the kernels: checks shapes, releases the GIL, copies small results out.
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <optional>
#include <stdexcept>
#include <tuple>
#include <vector>

#include "bm25_binding.hpp"
#include "dense.hpp"

namespace py = pybind11;

namespace {

template <typename T>
using Array = py::array_t<T, py::array::c_style>;

using Mask = std::optional<Array<bool>>;

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

py::tuple dense_candidates(const Array<std::uint16_t>& rows, const Mask& mask,
                           const Array<float>& query, float limit, std::size_t k) {
    require(k > 0, "k must be at least 1");
    require(limit > 0, "limit must be above 0");
    require(rows.ndim() == 2 && query.ndim() == 1 && rows.shape(1) == query.size(),
            "rows must be a matrix as wide as the query");
    const std::uint8_t* kept = bytes_of(mask, rows.shape(0));
    const std::uint16_t* row_data = rows.data();
    const float* query_data = query.data();
    const auto count = static_cast<std::size_t>(rows.shape(0));
    const auto dimension = static_cast<std::size_t>(rows.shape(1));
    pincite::Candidates found;
    {
        py::gil_scoped_release released;
        found = pincite::dense_candidates(row_data, count, dimension, kept, query_data, limit, k);
    }
    return py::make_tuple(copied(found.rows), found.finite);
}

}  // namespace

PYBIND11_MODULE(_native, module) {
    module.doc() = "Compiled kernels of Pincite; pincite.segments.kernels decides when they run.";
    module.attr("KERNEL_VERSION") = 2;
    pincite::bm25::bind(module);
    // noconvert: a silent copy of a segment would cost more than the kernel saves.
    module.def("dense_candidates", &dense_candidates, py::arg("rows").noconvert(),
               py::arg("mask"), py::arg("query"), py::arg("limit"), py::arg("k"));
}

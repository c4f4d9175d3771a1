#include "ids_module.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <stdexcept>

namespace py = pybind11;

namespace {

void require(bool holds, const char* what) {
    if (!holds) throw std::invalid_argument(what);
}

// Ids one after another, UTF-8, with where each of them begins and the last one ends. `verified`
// has a flag for every `near` rows, which whoever verifies them sets.
class IdStrings {
   public:
    IdStrings(const py::buffer& bytes, const py::buffer& ends, const py::buffer& verified,
              std::size_t near)
        : bytes_(bytes.request()), ends_(ends.request()), verified_(verified.request()),
          near_(near) {
        require(ends_.itemsize == sizeof(std::uint64_t) && ends_.size > 0, "there must be ends");
        count_ = static_cast<std::size_t>(ends_.size) - 1;
        size_ = static_cast<std::size_t>(bytes_.size * bytes_.itemsize);
        require(near > 0 && verified_.itemsize == 1 &&
                    static_cast<std::size_t>(verified_.size) * near > count_,
                "there must be a flag for every few rows");
    }

    // None when one of the rows is not verified, or is none.
    py::object ids(const py::sequence& rows) const {
        const auto* flags = static_cast<const std::uint8_t*>(verified_.ptr);
        const auto* ends = static_cast<const std::uint64_t*>(ends_.ptr);
        const auto* bytes = static_cast<const char*>(bytes_.ptr);
        py::list found(rows.size());
        for (std::size_t i = 0; i < found.size(); ++i) {
            const auto row = rows[i].cast<std::size_t>();
            if (row >= count_ || !flags[row / near_]) return py::none();
            const std::uint64_t begin = ends[row], end = ends[row + 1];
            if (begin > end || end > size_) return py::none();
            PyObject* id = PyUnicode_DecodeUTF8(
                bytes + begin, static_cast<Py_ssize_t>(end - begin), "surrogatepass");
            if (id == nullptr) throw py::error_already_set();
            PyList_SET_ITEM(found.ptr(), static_cast<Py_ssize_t>(i), id);
        }
        return std::move(found);
    }

   private:
    py::buffer_info bytes_, ends_, verified_;
    std::size_t near_, count_ = 0, size_ = 0;
};

}  // namespace

void bind_ids(py::module_& module) {
    py::class_<IdStrings>(module, "IdStrings")
        .def(py::init<const py::buffer&, const py::buffer&, const py::buffer&, std::size_t>(),
             py::arg("bytes"), py::arg("ends"), py::arg("verified"), py::arg("near"))
        .def("ids", &IdStrings::ids, py::arg("rows"));
}

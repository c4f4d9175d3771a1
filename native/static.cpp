#include "static.hpp"

#include <pybind11/numpy.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "clones.hpp"
#include "wordpiece.hpp"

namespace py = pybind11;

namespace {

template <typename T>
using Array = py::array_t<T, py::array::c_style>;

void require(bool holds, const char* what) {
    if (!holds) throw std::invalid_argument(what);
}

// Adds scale * row, one product and one sum after the other as NumPy does.
PINCITE_CLONES
void add_row(const std::int8_t* row, float scale, std::size_t width, float* sums) {
    for (std::size_t d = 0; d < width; ++d) sums[d] += scale * static_cast<float>(row[d]);
}

// How often each piece of a text stands in it, in the order in which they come first.
class Counts {
public:
    explicit Counts(std::size_t pieces) : counts_(pieces, 0) {}

    const std::vector<std::uint16_t>& of(const std::uint16_t* ids, std::size_t count) {
        for (const std::uint16_t id : seen_) counts_[id] = 0;
        seen_.clear();
        for (std::size_t at = 0; at < count; ++at)
            if (counts_[ids[at]]++ == 0) seen_.push_back(ids[at]);
        return seen_;
    }

    // Past `most` a count grows by its square root only.
    double damped(std::uint16_t id, double most) const {
        const auto count = static_cast<double>(counts_[id]);
        return count <= most ? count : std::sqrt(count * most);
    }

private:
    std::vector<std::uint32_t> counts_;
    std::vector<std::uint16_t> seen_;
};

py::array_t<float> static_sums(const Array<std::int8_t>& rows, const Array<float>& scales,
                               const Array<std::uint16_t>& ids, const Array<std::int64_t>& starts,
                               double share) {
    require(rows.ndim() == 2 && scales.size() == rows.shape(0), "each row needs a scale");
    require(starts.size() > 0, "there must be a first start");
    const auto width = static_cast<std::size_t>(rows.shape(1));
    const py::ssize_t texts = starts.size() - 1;
    const std::int64_t* first = starts.data();
    for (py::ssize_t text = 0; text < texts; ++text)
        require(first[text] <= first[text + 1], "starts must not fall");
    require(first[0] >= 0 && first[texts] <= ids.size(), "starts must lie in the ids");
    for (py::ssize_t at = 0; at < ids.size(); ++at)
        require(ids.data()[at] < rows.shape(0), "an id is past the table");
    py::array_t<float> sums(std::vector<py::ssize_t>{texts, rows.shape(1)});
    float* out = sums.mutable_data();
    const std::int8_t* table = rows.data();
    const float* factors = scales.data();
    const std::uint16_t* pieces = ids.data();
    {
        py::gil_scoped_release released;
        std::fill(out, out + texts * rows.shape(1), 0.0f);
        Counts counts(static_cast<std::size_t>(rows.shape(0)));
        for (py::ssize_t text = 0; text < texts; ++text) {
            const auto size = static_cast<std::size_t>(first[text + 1] - first[text]);
            const double most = std::max(1.0, share * static_cast<double>(size));
            for (const std::uint16_t id : counts.of(pieces + first[text], size))
                add_row(table + id * width, factors[id] * static_cast<float>(counts.damped(id, most)),
                        width, out + text * rows.shape(1));
        }
    }
    return sums;
}

// White space of ASCII, as str.split has it.
bool space(char c) { return c == ' ' || (c >= 9 && c <= 13) || (c >= 0x1c && c <= 0x1f); }

// The ids of a text as bytes; `other` gives those of a word that is not all ASCII.
py::bytes ids_of(pincite::WordPieces& pieces, const py::str& text, const py::function& other) {
    py::ssize_t size = 0;
    const char* data = PyUnicode_AsUTF8AndSize(text.ptr(), &size);
    if (data == nullptr) throw py::error_already_set();
    const std::string_view all(data, static_cast<std::size_t>(size));
    std::vector<std::uint16_t> ids;
    for (std::size_t at = 0; at < all.size();) {
        const std::size_t start = at;
        bool plain = true;
        for (; at < all.size() && !space(all[at]); ++at) plain = plain && all[at] >= 0;
        const std::string_view word = all.substr(start, at - start);
        if (word.empty()) {
            ++at;
        } else if (plain) {
            pieces.cut(word, ids);
        } else {
            const std::string found = py::bytes(other(py::str(word.data(), word.size())));
            const std::size_t before = ids.size();
            ids.resize(before + found.size() / sizeof(std::uint16_t));
            std::copy_n(found.data(), found.size() / sizeof(std::uint16_t) * sizeof(std::uint16_t),
                        reinterpret_cast<char*>(ids.data() + before));
        }
    }
    return {reinterpret_cast<const char*>(ids.data()), ids.size() * sizeof(std::uint16_t)};
}

}  // namespace

void bind_static(py::module_& module) {
    py::class_<pincite::WordPieces>(module, "WordPieces", "A vocabulary of word pieces.")
        .def(py::init([](const py::bytes& lines) {
                 return std::make_unique<pincite::WordPieces>(std::string_view(lines));
             }),
             py::arg("lines"))
        .def("ids", &ids_of, py::arg("text"), py::arg("other"),
             "The ids of a text as 16-bit integers; other gives those of words beyond ASCII.");
    module.def("static_sums", &static_sums, py::arg("rows"), py::arg("scales"), py::arg("ids"),
               py::arg("starts"), py::arg("share"),
               "The sum of each text's scaled rows, frequent ones damped.");
}

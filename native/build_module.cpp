// The Python face of text and build. Strings are gathered with the GIL, the rest runs without it.
#include "build_module.hpp"

#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "build.hpp"
#include "build_pack.hpp"
#include "build_threads.hpp"
#include "porter.hpp"

namespace py = pybind11;

namespace pincite {
namespace {

// The vector's memory as an array, not copied.
template <typename Vector>
py::array_t<typename Vector::value_type> array_of(Vector&& values) {
    auto* held = new Vector(std::move(values));
    const py::capsule owner(held, [](void* data) { delete static_cast<Vector*>(data); });
    return py::array_t<typename Vector::value_type>(static_cast<py::ssize_t>(held->size()),
                                                    held->data(), owner);
}

std::string_view bytes_in(const py::handle& encoded) {
    return {PyBytes_AS_STRING(encoded.ptr()), static_cast<std::size_t>(PyBytes_GET_SIZE(encoded.ptr()))};
}

// Of a compact ASCII string.
std::string_view ascii_in(const py::handle& text) {
    return {reinterpret_cast<const char*>(PyUnicode_1BYTE_DATA(text.ptr())),
            static_cast<std::size_t>(PyUnicode_GET_LENGTH(text.ptr()))};
}

// UTF-8, a lone surrogate like any other character.
py::bytes encoded(const py::handle& text) {
    PyObject* made = PyUnicode_AsEncodedString(text.ptr(), "utf-8", "surrogatepass");
    if (!made) throw py::error_already_set();
    return py::reinterpret_steal<py::bytes>(made);
}

py::str decoded(std::string_view text) {
    PyObject* made = PyUnicode_DecodeUTF8(text.data(), static_cast<py::ssize_t>(text.size()),
                                          "surrogatepass");
    if (!made) throw py::error_already_set();
    return py::reinterpret_steal<py::str>(made);
}

// Texts as bytes that stay in place while this lives.
class Gathered {
public:
    Gathered(const py::sequence& texts, const std::string& languages) {
        // A list of our own, so that no other thread can drop a string while it is read.
        const py::object given = py::reinterpret_steal<py::object>(
            PySequence_Fast(texts.ptr(), "texts are no sequence"));
        if (!given) throw py::error_already_set();
        const auto count = static_cast<std::size_t>(PySequence_Fast_GET_SIZE(given.ptr()));
        PyObject** items = PySequence_Fast_ITEMS(given.ptr());
        if (languages.size() != count && languages.size() != 1) {
            throw std::invalid_argument("one language is needed, or one for each text");
        }
        held_.reserve(count);
        for (std::size_t i = 0; i < count; ++i) {
            if (i + kAhead < count) __builtin_prefetch(items[i + kAhead], 1);
            held_.push_back(py::reinterpret_borrow<py::object>(items[i]));
        }
        texts_.reserve(count);
        for (std::size_t i = 0; i < count; ++i) {
            if (i + kAhead < count) __builtin_prefetch(held_[i + kAhead].ptr());
            add(held_[i], static_cast<std::uint8_t>(languages[languages.size() == 1 ? 0 : i]));
        }
    }

    const std::vector<Text>& texts() const { return texts_; }

private:
    void add(const py::handle& text, std::uint8_t language) {
        if (!PyUnicode_Check(text.ptr())) throw std::invalid_argument("a text is not a string");
        if (PyUnicode_IS_COMPACT_ASCII(text.ptr())) {
            const std::string_view bytes = ascii_in(text);
            texts_.push_back({bytes.data(), bytes.size(), true, language});
            return;
        }
        encoded_.push_back(encoded(text));
        const std::string_view bytes = bytes_in(encoded_.back());
        texts_.push_back({bytes.data(), bytes.size(), false, language});
    }

    static constexpr std::size_t kAhead = 16;

    std::vector<py::object> held_;
    std::vector<py::bytes> encoded_;
    std::vector<Text> texts_;
};

using Scans = std::vector<Scan>;

// What Python holds between scanning and inverting.
struct PyScan {
    Scans scans;
};

// Splits the texts among threads, about equally by size. The first words of a lexicon are taken up
// by the first thread while the others still read, so it reads a fifth less.
Scans scan(Lexicon& lexicon, const py::sequence& texts, const std::string& languages,
           std::size_t threads, std::size_t known_languages) {
    for (const char code : languages) {
        if (static_cast<std::uint8_t>(code) >= known_languages) {
            throw std::invalid_argument("a language is not in the lexicon");
        }
    }
    const Gathered gathered(texts, languages);
    const std::vector<Text>& all = gathered.texts();
    py::gil_scoped_release released;
    std::size_t total = 0;
    for (const Text& text : all) total += text.size;
    const bool afresh = lexicon.empty() && threads > 1;
    const std::size_t spared = afresh ? total / threads / 5 : 0;
    std::vector<std::size_t> bounds{0};
    std::size_t sum = spared;
    for (std::size_t i = 0; i < all.size() && bounds.size() < threads; ++i) {
        sum += all[i].size;
        if (sum * threads >= total * bounds.size()) bounds.push_back(i + 1);
    }
    if (bounds.back() < all.size() || bounds.size() == 1) bounds.push_back(all.size());
    Scans scans(bounds.size() - 1);
    in_threads(scans.size(), [&](std::size_t p) {
        scans[p] = lexicon.scan(all.data() + bounds[p], bounds[p + 1] - bounds[p], afresh);
        if (afresh && p == 0) lexicon.absorb(scans[0]);
    });
    for (std::size_t p = afresh ? 1 : 0; p < scans.size(); ++p) lexicon.absorb(scans[p]);
    renumber(scans);
    return scans;
}

template <typename View>
py::list texts_of(const std::vector<std::uint32_t>& numbers, const View& view) {
    py::list result(numbers.size());
    for (std::size_t i = 0; i < numbers.size(); ++i) result[i] = decoded(view(numbers[i]));
    return result;
}

void set_stems(Lexicon& lexicon, const std::vector<std::uint32_t>& words, const py::list& stems) {
    if (stems.size() != words.size()) throw std::invalid_argument("one stem is needed a word");
    for (std::size_t i = 0; i < words.size(); ++i) {
        const py::handle stem = stems[i];
        if (PyUnicode_Check(stem.ptr()) && PyUnicode_IS_COMPACT_ASCII(stem.ptr())) {
            lexicon.set_stem(words[i], ascii_in(stem));
        } else {
            lexicon.set_stem(words[i], bytes_in(encoded(stem)));
        }
    }
}

// `chunks` hold (term, part, stop) triples for each waiting chunk.
void set_chunks(Lexicon& lexicon, std::size_t language, const py::list& chunks) {
    const auto& numbers = lexicon.unread().at(language);
    if (chunks.size() != numbers.size()) throw std::invalid_argument("each chunk needs its terms");
    for (std::size_t i = 0; i < numbers.size(); ++i) {
        std::vector<Piece> pieces;
        for (const py::handle& entry : py::cast<py::list>(chunks[i])) {
            const auto triple = py::cast<py::tuple>(entry);
            pieces.push_back({lexicon.term_number(bytes_in(encoded(triple[0]))),
                              py::cast<bool>(triple[1]), py::cast<bool>(triple[2])});
        }
        lexicon.set_chunk(numbers[i], pieces);
    }
}

py::tuple inverted(Lexicon& lexicon, Scans& scans) {
    Inverted found;
    {
        py::gil_scoped_release released;
        lexicon.settle();
        found = invert(lexicon, scans);
    }
    const bool large = !found.large_tfs.empty();
    return py::make_tuple(array_of(std::move(found.vocabulary)),
                          array_of(std::move(found.vocabulary_offsets)),
                          array_of(std::move(found.postings_offsets)),
                          array_of(std::move(found.rows)),
                          large ? py::object(array_of(std::move(found.large_tfs)))
                                : py::object(array_of(std::move(found.small_tfs))),
                          array_of(std::move(found.lengths)));
}

template <typename T>
using Array = py::array_t<T, py::array::c_style>;

void check_grouped(const Array<std::int64_t>& offsets, py::ssize_t rows, py::ssize_t tfs) {
    const std::int64_t* at = offsets.data();
    bool ascend = offsets.ndim() == 1 && offsets.size() > 0 && at[0] == 0;
    for (py::ssize_t i = 1; ascend && i < offsets.size(); ++i) ascend = at[i - 1] <= at[i];
    if (!ascend || at[offsets.size() - 1] != rows || rows != tfs) {
        throw std::invalid_argument("offsets do not fit the postings");
    }
}

template <typename Tf>
py::dict packed(const Array<std::int64_t>& offsets, const Array<std::uint32_t>& rows,
                const Array<Tf>& tfs, const Array<std::uint32_t>& lengths, const Codes& codes,
                const Windows& windows, std::size_t threads) {
    check_grouped(offsets, rows.size(), tfs.size());
    const bool sane = codes.classes.size() == codes.lengths.size() && !codes.firsts.empty() &&
                      codes.classes.size() <= 256 && windows.window > 0 &&
                      std::is_sorted(codes.classes.begin(), codes.classes.end());
    if (!sane) throw std::invalid_argument("the codes do not fit each other");
    const Grouped<Tf> given{offsets.data(),
                            static_cast<std::size_t>(offsets.size() - 1),
                            rows.data(),
                            tfs.data(),
                            lengths.data(),
                            static_cast<std::size_t>(lengths.size())};
    Packed found;
    {
        py::gil_scoped_release released;
        found = pack(given, codes, windows, std::max<std::size_t>(threads, 1));
    }
    py::dict result;
    const auto longs = static_cast<py::ssize_t>(found.long_terms.size());
    const auto groups = static_cast<py::ssize_t>(windows.groups.size());
    const auto count = (lengths.size() + windows.window - 1) / windows.window;
    result["term_runs"] = array_of(std::move(found.term_runs));
    result["run_blocks"] = array_of(std::move(found.run_blocks));
    result["run_starts"] = array_of(std::move(found.run_starts));
    result["rows"] = array_of(std::move(found.rows));
    result["codes"] = array_of(std::move(found.codes));
    result["large_at"] = array_of(std::move(found.large_at));
    result["large_tfs"] = array_of(std::move(found.large_tfs));
    result["long_terms"] = array_of(std::move(found.long_terms));
    result["window_starts"] =
        array_of(std::move(found.window_starts)).reshape({longs, static_cast<py::ssize_t>(count + 1)});
    result["window_codes"] = array_of(std::move(found.window_codes))
                                 .reshape({longs, static_cast<py::ssize_t>(count), groups});
    return result;
}

template <typename Tf>
void bind_pack(py::module_& module) {
    module.def(
        "pack_postings",
        [](const Array<std::int64_t>& offsets, const Array<std::uint32_t>& rows,
           const Array<Tf>& tfs, const Array<std::uint32_t>& lengths,
           const std::vector<std::uint32_t>& firsts, const std::vector<std::uint8_t>& classes,
           const std::vector<std::uint32_t>& code_lengths, std::uint32_t exact,
           std::uint32_t window, std::uint64_t long_term,
           const std::vector<std::pair<std::uint8_t, std::uint8_t>>& groups, std::uint8_t none,
           std::size_t threads) {
            return packed<Tf>(offsets, rows, tfs, lengths, {firsts, classes, code_lengths, exact},
                              {window, long_term, groups, none}, threads);
        },
        py::arg("offsets").noconvert(), py::arg("rows").noconvert(), py::arg("tfs").noconvert(),
        py::arg("lengths").noconvert(), py::kw_only(), py::arg("firsts"), py::arg("classes"),
        py::arg("code_lengths"), py::arg("exact"), py::arg("window"), py::arg("long_term"),
        py::arg("groups"), py::arg("none"), py::arg("threads"));
}

// The lexicon with what Python must not get wrong: languages that exist, one call at a time.
struct PyLexicon {
    Lexicon lexicon;
    std::size_t languages = 1;

    PyLexicon(const std::vector<std::string>& stops, std::size_t shortest, const py::bytes& marks)
        : lexicon(stops, shortest, std::string(bytes_in(marks))) {}

    std::size_t add_language(bool stemmed, bool porter) {
        if (languages == 256) throw std::invalid_argument("a lexicon holds 255 languages");
        lexicon.add_language(porter ? Stems::kPorter : stemmed ? Stems::kPython : Stems::kNone);
        return languages++;
    }
};

}  // namespace

void bind_build(py::module_& module) {
    bind_pack<std::uint8_t>(module);
    bind_pack<std::uint32_t>(module);
    module.def("porter_stem", &porter_stem, py::arg("word"));
    py::class_<PyScan>(module, "TextScan");
    py::class_<PyLexicon>(module, "Lexicon")
        .def(py::init<const std::vector<std::string>&, std::size_t, const py::bytes&>(),
             py::arg("stops"), py::arg("shortest"), py::arg("marks"))
        .def("add_language", &PyLexicon::add_language, py::arg("stemmed"),
             py::arg("porter"))
        .def("scan",
             [](PyLexicon& self, const py::sequence& texts, const py::bytes& languages,
                std::size_t threads) {
                 return PyScan{scan(self.lexicon, texts, std::string(bytes_in(languages)),
                                    std::max<std::size_t>(threads, 1), self.languages)};
             },
             py::arg("texts"), py::arg("languages"), py::arg("threads"))
        .def("unstemmed",
             [](const PyLexicon& self, std::size_t language) {
                 return texts_of(self.lexicon.unstemmed().at(language),
                                 [&](std::uint32_t n) { return self.lexicon.word(n); });
             },
             py::arg("language"))
        .def("unfolded",
             [](const PyLexicon& self, std::size_t language) {
                 return texts_of(self.lexicon.unfolded().at(language),
                                 [&](std::uint32_t n) { return self.lexicon.word(n); });
             },
             py::arg("language"))
        .def("unread",
             [](const PyLexicon& self, std::size_t language) {
                 return texts_of(self.lexicon.unread().at(language),
                                 [&](std::uint32_t n) { return self.lexicon.raw(n); });
             },
             py::arg("language"))
        .def("set_stems",
             [](PyLexicon& self, std::size_t language, const py::list& stems) {
                 set_stems(self.lexicon, self.lexicon.unstemmed().at(language), stems);
             },
             py::arg("language"), py::arg("stems"))
        .def("set_folded",
             [](PyLexicon& self, std::size_t language, const py::list& terms) {
                 set_stems(self.lexicon, self.lexicon.unfolded().at(language), terms);
             },
             py::arg("language"), py::arg("terms"))
        .def("set_chunks",
             [](PyLexicon& self, std::size_t language, const py::list& chunks) {
                 set_chunks(self.lexicon, language, chunks);
             },
             py::arg("language"), py::arg("chunks"))
        .def("inverted",
             [](PyLexicon& self, PyScan& found) { return inverted(self.lexicon, found.scans); },
             py::arg("scan"))
        .def_property_readonly("bytes", [](const PyLexicon& self) { return self.lexicon.bytes(); });
}

}  // namespace pincite

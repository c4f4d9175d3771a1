#pragma once

#include <pybind11/pybind11.h>

namespace pincite::bm25 {

// Adds KeywordSegment, keyword_search, document_frequency and Damaged to the module.
void bind(pybind11::module_& module);

}  // namespace pincite::bm25

// Adds the building of keyword segments to the Python module.
#pragma once

#include <pybind11/pybind11.h>

namespace pincite {

void bind_build(pybind11::module_& module);

}  // namespace pincite

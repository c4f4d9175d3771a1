// Sums of the rows of a static embedding table.
#pragma once

#include <pybind11/pybind11.h>

void bind_static(pybind11::module_& module);

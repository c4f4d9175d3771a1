// The Python face of rankings.
#pragma once

#include <pybind11/pybind11.h>

void bind_ranking(pybind11::module_& module);

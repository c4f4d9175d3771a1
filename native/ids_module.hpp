// The ids of a segment's rows as strings.
#pragma once

#include <pybind11/pybind11.h>

void bind_ids(pybind11::module_& module);

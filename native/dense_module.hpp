// The Python face of the dense kernels.
#pragma once

#include <pybind11/pybind11.h>

void bind_dense(pybind11::module_& module);

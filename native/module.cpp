// The Python face of the kernels; each room adds its own.
#include <pybind11/pybind11.h>

#include "bm25_binding.hpp"
#include "build_module.hpp"
#include "dense_module.hpp"

PYBIND11_MODULE(_native, module) {
    module.doc() = "Compiled kernels of Pincite; pincite.segments.kernels decides when they run.";
    module.attr("KERNEL_VERSION") = 5;
    pincite::bm25::bind(module);
    pincite::bind_build(module);
    bind_dense(module);
}

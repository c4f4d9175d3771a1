// The Python face of the kernels; each room adds its own.
#include <pybind11/pybind11.h>

#include <cstdint>
#include <stdexcept>

#include "bm25_binding.hpp"
#include "build_module.hpp"
#include "checksum.hpp"
#include "dense_module.hpp"
#include "ids_module.hpp"
#include "ranking_module.hpp"
#include "static.hpp"

namespace {

std::uint32_t checksum(const pybind11::buffer& bytes) {
    const pybind11::buffer_info info = bytes.request();
    if (info.ndim != 1 || info.itemsize != 1 || info.strides[0] != 1) {
        throw std::invalid_argument("a checksum is of contiguous bytes");
    }
    return pincite::crc32(static_cast<const std::uint8_t*>(info.ptr),
                          static_cast<std::size_t>(info.size));
}

}  // namespace

PYBIND11_MODULE(_native, module) {
    module.doc() = "Compiled kernels of Pincite; pincite.segments.kernels decides when they run.";
    module.attr("KERNEL_VERSION") = 14;
    module.def("crc32", &checksum, pybind11::arg("bytes"), "As zlib.crc32 has it.");
    pincite::bm25::bind(module);
    pincite::bind_build(module);
    bind_dense(module);
    bind_ids(module);
    bind_ranking(module);
    bind_static(module);
}

// The codes that a filter keeps, packed anew, so that searches with it read nothing else.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "dense.hpp"

namespace pincite {

struct Narrowed {
    std::vector<std::uint8_t> codes;
    std::vector<std::uint16_t> factors;
    std::vector<std::uint32_t> places, starts;
    CodedRows coded;  // of the above
};

// Null where codes are damaged. `coded` must outlive it.
std::shared_ptr<const Narrowed> narrowed(const CodedRows& coded, const Kept& kept);

}  // namespace pincite

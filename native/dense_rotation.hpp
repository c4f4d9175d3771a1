// A random rotation that is never stored: signs, Hadamard transforms and one mixing of halves.
#pragma once

#include <cstddef>
#include <vector>

namespace pincite {

// Dimensions are padded with zeros to a multiple of 32. The rotation depends on the padded
// dimension alone and is part of the format: another one needs another segment version.
class Rotation {
   public:
    explicit Rotation(std::size_t dimension);

    static std::size_t padded(std::size_t dimension) { return (dimension + 31) / 32 * 32; }
    std::size_t size() const { return size_; }

    // In place; `values` has `size()` numbers. Lengths and products stay.
    void apply(float* values) const;

   private:
    std::size_t size_;
    std::size_t power_;  // the largest power of two within size_
    std::vector<float> signs_;
};

}  // namespace pincite

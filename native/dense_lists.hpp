// Inverted lists: spherical k-means, the nearest centroids of a vector, and encoding by list.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "dense_codes.hpp"
#include "dense_top.hpp"

namespace pincite {

// Centroids as float16 rows of `padded` rotated dimensions, not owned, with codes of their own:
// the kernels find the few that are worth an exact product.
class Centroids {
   public:
    Centroids(const std::uint16_t* rows, std::size_t count, std::size_t padded);

    std::size_t count() const { return count_; }
    const std::uint16_t* row(std::size_t list) const { return rows_ + list * padded_; }
    float product_with(std::size_t list, const float* rotated) const;

    // Products of all centroids with a rotated vector; of many, estimates.
    void estimate_all(const CodedQuery& query, const float* rotated, std::vector<float>& out) const;

    // The list whose centroid has the largest product.
    std::size_t nearest(const float* rotated, CodedQuery& coded, std::vector<float>& scratch) const;

   private:
    const std::uint16_t* rows_;
    std::size_t count_, padded_;
    float scale_;
    std::vector<std::uint8_t> codes_;
    std::vector<std::uint16_t> factors_;
};

// Spherical k-means over `count` float16 rows; (lists, padded) float16 centroids of unit length.
std::vector<std::uint16_t> train_lists(const std::uint16_t* rows, std::size_t count,
                                       std::size_t dimension, std::size_t lists,
                                       std::size_t iterations);

struct Encoded {
    std::vector<std::uint8_t> codes;     // blocks of 16, see dense_codes.hpp
    std::vector<std::uint16_t> factors;  // 32 for each block
    std::vector<std::uint32_t> order;    // the row at each position, ascending in each list
    std::vector<std::uint32_t> starts;   // the first position of each list, and the end
};

Encoded encode_rows(const std::uint16_t* rows, std::size_t count, std::size_t dimension,
                    const std::uint16_t* centroids, std::size_t lists, float scale);

}  // namespace pincite

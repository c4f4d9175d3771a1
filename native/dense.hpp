// Which float16 rows could be among the k best dot products with a float32 query.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace pincite {

struct Candidates {
    std::vector<std::int64_t> rows;  // ascending
    bool finite;                     // false when a row within the mask holds inf or nan
};

// `rows` is (count, dimension), float16 bits; `mask` may be null. The result holds every row
// within twice the error of a float32 dot product from the k-th best, products being clipped to
// [-limit, limit].
Candidates dense_candidates(const std::uint16_t* rows, std::size_t count, std::size_t dimension,
                            const std::uint8_t* mask, const float* query, float limit,
                            std::size_t k);

}  // namespace pincite

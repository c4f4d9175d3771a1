// Two bits for each dimension of a rotated residual, in blocks of 16 documents, and the kernels
// that estimate products of a whole block with a query of 43 levels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace pincite {

constexpr std::size_t kBlockRows = 16;

// Bytes of a block: for each 16 dimensions 64 bytes; byte 4 * lane + j holds, at bits 2t and
// 2t + 1, dimension 4t + j of the document `lane`.
inline std::size_t block_bytes(std::size_t padded) { return 4 * padded; }

// One document: v is estimated as along * centroid + across * (2 * code - 3).
struct Factors {
    float along;
    float across;
};

// Writes the codes of `residual` (padded, rotated) into a lane of a zeroed block and returns
// `across`, which makes the estimate of a product unbiased (Gao and Long, "RaBitQ", SIGMOD 2024).
float encode(const float* residual, std::size_t padded, std::uint8_t* block, std::size_t lane);

// A rotated query, as the kernels read it.
struct CodedQuery {
    // So that two products with a code, and two such sums, fit into a byte.
    static constexpr int kLargest = 21;

    std::vector<std::int8_t> values;
    float step = 0.0F;       // a value stands for values[i] * step
    std::int32_t sum = 0;    // of values
    std::vector<std::uint8_t> tables;  // of the AVX2 kernel: see dense_codes.cpp
    std::int32_t raised = 0;           // what its sums exceed those of the values by
    void assign(const float* rotated, std::size_t padded);
};

// Factors of a block: 16 times `along`, then 16 times `across`, float16, in units of `scale`.
constexpr std::size_t kBlockFactors = 2 * kBlockRows;

struct Blocks {
    const std::uint8_t* codes;
    const std::uint16_t* factors;
    std::size_t count;
    std::size_t padded;
};

// Estimated products of all documents of the blocks, to `out` (16 a block); `centroid` is the
// query's product with the list's centroid. Every kernel gives the same bits.
void estimate(const Blocks& blocks, const CodedQuery& query, float centroid, float scale,
              float* out);

// The kernels that this machine can run, the best first, and one of them by its place.
std::vector<const char*> kernel_names();
void estimate_with(std::size_t kernel, const Blocks& blocks, const CodedQuery& query,
                   float centroid, float scale, float* out);

}  // namespace pincite

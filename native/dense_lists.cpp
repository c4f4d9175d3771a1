#include "dense_lists.hpp"

#include <algorithm>
#include <cmath>

#include "dense_half.hpp"
#include "dense_rotation.hpp"

namespace pincite {
namespace {

constexpr std::size_t kCloser = 6;      // centroids whose product is computed exactly
constexpr std::size_t kFewLists = 24;   // up to here every product is exact
constexpr std::uint64_t kStride = 0x9E3779B97F4A7C15ULL;

std::size_t blocks_for(std::size_t count) { return (count + kBlockRows - 1) / kBlockRows; }

// Rows rotated one by one into a buffer.
class Rotated {
   public:
    Rotated(const std::uint16_t* rows, std::size_t dimension)
        : rows_(rows), dimension_(dimension), rotation_(dimension), values_(rotation_.size()) {}

    std::size_t padded() const { return rotation_.size(); }

    float* row(std::size_t index) {
        widen(rows_ + index * dimension_, dimension_, values_.data());
        std::fill(values_.begin() + static_cast<std::ptrdiff_t>(dimension_), values_.end(), 0.0F);
        rotation_.apply(values_.data());
        return values_.data();
    }

   private:
    const std::uint16_t* rows_;
    std::size_t dimension_;
    Rotation rotation_;
    std::vector<float> values_;
};

// To unit length, as float16; false for a sum without a direction.
bool store_unit(const float* sum, std::size_t padded, std::uint16_t* out) {
    const float squared = dot(sum, sum, padded);
    if (!(squared > 0.0F) || !std::isfinite(squared)) return false;
    const float inverse = 1.0F / std::sqrt(squared);
    for (std::size_t i = 0; i < padded; ++i) out[i] = narrowed(sum[i] * inverse);
    return true;
}

// Rows spread over the sample, another set for each round.
std::size_t seed_row(std::size_t list, std::size_t round, std::size_t count) {
    return static_cast<std::size_t>(((list + 1) * kStride + round * 0xD1B54A32D192ED03ULL) %
                                    count);
}

class Training {
   public:
    Training(const std::uint16_t* rows, std::size_t count, std::size_t dimension,
             std::size_t lists)
        : rotated_(rows, dimension), count_(count), lists_(lists),
          unit_(count * rotated_.padded()), centroids_(lists * rotated_.padded()) {
        for (std::size_t i = 0; i < count; ++i) {
            store_unit(rotated_.row(i), rotated_.padded(), unit_.data() + i * rotated_.padded());
        }
        for (std::size_t list = 0; list < lists; ++list) restart(list, 0);
    }

    void round(std::size_t number) {
        const std::size_t padded = rotated_.padded();
        const Centroids centroids(centroids_.data(), lists_, padded);
        std::vector<float> sums(lists_ * padded), row(padded), scratch;
        CodedQuery coded;
        for (std::size_t i = 0; i < count_; ++i) {
            widen(unit_.data() + i * padded, padded, row.data());
            const std::size_t list = centroids.nearest(row.data(), coded, scratch);
            for (std::size_t d = 0; d < padded; ++d) sums[list * padded + d] += row[d];
        }
        for (std::size_t list = 0; list < lists_; ++list) {
            std::uint16_t* target = centroids_.data() + list * padded;
            if (!store_unit(sums.data() + list * padded, padded, target)) restart(list, number);
        }
    }

    std::vector<std::uint16_t> take() { return std::move(centroids_); }

   private:
    void restart(std::size_t list, std::size_t number) {
        const std::size_t padded = rotated_.padded();
        const std::uint16_t* from = unit_.data() + seed_row(list, number, count_) * padded;
        std::copy(from, from + padded, centroids_.data() + list * padded);
    }

    Rotated rotated_;
    std::size_t count_, lists_;
    std::vector<std::uint16_t> unit_, centroids_;
};

}  // namespace

Centroids::Centroids(const std::uint16_t* rows, std::size_t count, std::size_t padded)
    : rows_(rows), count_(count), padded_(padded), scale_(1.0F) {
    if (count <= kFewLists) return;
    codes_.resize(blocks_for(count) * block_bytes(padded));
    factors_.resize(blocks_for(count) * kBlockFactors);
    std::vector<float> row(padded);
    for (std::size_t list = 0; list < count; ++list) {
        widen(this->row(list), padded, row.data());
        const std::size_t block = list / kBlockRows, lane = list % kBlockRows;
        const float across =
            encode(row.data(), padded, codes_.data() + block * block_bytes(padded), lane);
        factors_[block * kBlockFactors + kBlockRows + lane] = narrowed(across);
    }
}

float Centroids::product_with(std::size_t list, const float* rotated) const {
    return half_dot(row(list), rotated, padded_);
}

void Centroids::estimate_all(const CodedQuery& query, const float* rotated,
                             std::vector<float>& out) const {
    if (count_ <= kFewLists) {
        out.resize(count_);
        for (std::size_t list = 0; list < count_; ++list) out[list] = product_with(list, rotated);
        return;
    }
    const std::size_t blocks = blocks_for(count_);
    out.resize(blocks * kBlockRows);
    estimate({codes_.data(), factors_.data(), blocks, padded_}, query, 0.0F, scale_, out.data());
    out.resize(count_);
}

std::size_t Centroids::nearest(const float* rotated, CodedQuery& coded,
                               std::vector<float>& scratch) const {
    std::uint32_t close[kCloser];
    std::size_t found = 0;
    if (count_ > kFewLists) {
        coded.assign(rotated, padded_);
        estimate_all(coded, rotated, scratch);
        float values[kCloser];
        for (std::size_t list = 0; list < count_; ++list) {
            if (found == kCloser && scratch[list] <= values[kCloser - 1]) continue;
            std::size_t place = found < kCloser ? found++ : kCloser - 1;
            for (; place > 0 && values[place - 1] < scratch[list]; --place) {
                values[place] = values[place - 1];
                close[place] = close[place - 1];
            }
            values[place] = scratch[list];
            close[place] = static_cast<std::uint32_t>(list);
        }
    }
    std::size_t best = 0;
    float largest = -std::numeric_limits<float>::infinity();
    const std::size_t candidates = count_ > kFewLists ? found : count_;
    for (std::size_t i = 0; i < candidates; ++i) {
        const std::size_t list = count_ > kFewLists ? close[i] : i;
        const float value = product_with(list, rotated);
        if (value > largest) {
            largest = value;
            best = list;
        }
    }
    return best;
}

std::vector<std::uint16_t> train_lists(const std::uint16_t* rows, std::size_t count,
                                       std::size_t dimension, std::size_t lists,
                                       std::size_t iterations) {
    Training training(rows, count, dimension, lists);
    for (std::size_t round = 1; round <= iterations; ++round) training.round(round);
    return training.take();
}

Encoded encode_rows(const std::uint16_t* rows, std::size_t count, std::size_t dimension,
                    const std::uint16_t* centroids, std::size_t lists, float scale) {
    Rotated rotated(rows, dimension);
    const std::size_t padded = rotated.padded(), blocks = blocks_for(count);
    const Centroids nearest(centroids, lists, padded);
    Encoded out;
    out.codes.resize(blocks * block_bytes(padded));
    out.factors.resize(blocks * kBlockFactors);
    out.order.resize(count);
    out.starts.assign(lists + 1, 0);
    std::vector<std::uint32_t> list_of(count);
    std::vector<float> centroid(padded), scratch;
    CodedQuery coded;
    for (std::size_t row = 0; row < count && lists > 1; ++row) {
        const std::size_t list = nearest.nearest(rotated.row(row), coded, scratch);
        list_of[row] = static_cast<std::uint32_t>(list);
        ++out.starts[list + 1];
    }
    if (lists == 1) out.starts[1] = static_cast<std::uint32_t>(count);
    for (std::size_t list = 0; list < lists; ++list) out.starts[list + 1] += out.starts[list];
    std::vector<std::uint32_t> next(out.starts.begin(), out.starts.end() - 1);
    for (std::size_t row = 0; row < count; ++row) {
        const std::uint32_t list = list_of[row];
        const std::uint32_t place = next[list]++;
        const std::size_t block = place / kBlockRows, lane = place % kBlockRows;
        out.order[place] = static_cast<std::uint32_t>(row);
        float* values = rotated.row(row);
        widen(nearest.row(list), padded, centroid.data());
        const float along = dot(values, centroid.data(), padded);
        for (std::size_t i = 0; i < padded; ++i) values[i] -= along * centroid[i];
        const float across =
            encode(values, padded, out.codes.data() + block * block_bytes(padded), lane);
        std::uint16_t* factors = out.factors.data() + block * kBlockFactors;
        factors[lane] = narrowed(along / scale);
        factors[kBlockRows + lane] = narrowed(across / scale);
    }
    return out;
}

}  // namespace pincite

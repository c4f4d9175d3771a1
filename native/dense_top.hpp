// The best of a stream of estimates: a buffer that is halved whenever it is full.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace pincite {

struct Estimate {
    float value;
    std::uint32_t place;
};

// Best first; equal ones by their place, so that the order of the stream does not matter.
inline bool better(const Estimate& a, const Estimate& b) {
    return a.value != b.value ? a.value > b.value : a.place < b.place;
}

class Top {
   public:
    void reset(std::size_t count) {
        count_ = count;
        limit_ = 2 * count + 64;
        bar_ = -std::numeric_limits<float>::infinity();
        kept_.clear();
        kept_.reserve(limit_);
    }

    // How many of the best are known, at least.
    std::size_t size() const { return kept_.size(); }

    // What is below the bar is not among the best.
    float bar() const { return bar_; }

    void offer(float value, std::uint32_t place) {
        if (value < bar_) return;
        kept_.push_back({value, place});
        if (kept_.size() >= limit_) cut();
    }

    const std::vector<Estimate>& finish() {
        cut();
        std::sort(kept_.begin(), kept_.end(), better);
        return kept_;
    }

   private:
    void cut() {
        if (kept_.size() <= count_) return;
        const auto last = kept_.begin() + static_cast<std::ptrdiff_t>(count_) - 1;
        std::nth_element(kept_.begin(), last, kept_.end(), better);
        bar_ = last->value;
        kept_.resize(count_);
    }

    std::size_t count_ = 1;
    std::size_t limit_ = 64;
    float bar_ = -std::numeric_limits<float>::infinity();
    std::vector<Estimate> kept_;
};

}  // namespace pincite

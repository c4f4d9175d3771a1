// The k best scores of a stream, with everything that may still tie or come within a slack.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <limits>
#include <queue>
#include <vector>

namespace pincite {

template <typename Row>
class Best {
   public:
    struct Entry {
        Row row;
        float score;
    };

    explicit Best(std::size_t k) : k_(k) {}

    // The k-th best score so far; below every score while fewer than k were seen.
    float kth() const {
        return heap_.size() < k_ ? -std::numeric_limits<float>::infinity() : heap_.top();
    }

    // Rows come in ascending order. A score below kth() - slack can not be among the best.
    void offer(Row row, float score, float slack) {
        if (score < kth() - slack) return;
        entries_.push_back({row, score});
        if (heap_.size() < k_) {
            heap_.push(score);
        } else if (score > heap_.top()) {
            heap_.pop();
            heap_.push(score);
        }
        if (entries_.size() >= limit_) shrink(slack);
    }

    // Everything that reaches kth() - slack, rows ascending.
    const std::vector<Entry>& finish(float slack) {
        shrink(slack);
        return entries_;
    }

   private:
    void shrink(float slack) {
        const float bar = kth() - slack;
        entries_.erase(std::remove_if(entries_.begin(), entries_.end(),
                                      [bar](const Entry& entry) { return entry.score < bar; }),
                       entries_.end());
        limit_ = std::max<std::size_t>(4096, 2 * entries_.size());
    }

    std::size_t k_;
    std::size_t limit_ = 4096;
    std::vector<Entry> entries_;
    std::priority_queue<float, std::vector<float>, std::greater<float>> heap_;
};

}  // namespace pincite

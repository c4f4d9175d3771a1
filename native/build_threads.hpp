// Work in several threads.
#pragma once

#include <cstddef>
#include <future>
#include <vector>

namespace pincite {

// Runs `work(0)` to `work(count - 1)`, each in a thread of its own, and throws what one of them
// threw once all are done.
template <typename Work>
void in_threads(std::size_t count, const Work& work) {
    std::vector<std::future<void>> others;
    for (std::size_t i = 1; i < count; ++i) {
        others.push_back(std::async(std::launch::async, [&work, i] { work(i); }));
    }
    if (count > 0) work(0);
    for (auto& other : others) other.get();
}

}  // namespace pincite

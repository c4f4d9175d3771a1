// Vectors for large tables: on huge pages where the system has them, because random access to
// small ones spends more time on addresses than on data.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <new>
#include <utility>
#include <vector>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace pincite {

template <typename T>
struct HugeAllocator {
    using value_type = T;

    HugeAllocator() = default;
    template <typename U>
    HugeAllocator(const HugeAllocator<U>&) {}

    static constexpr std::size_t kPage = std::size_t{1} << 21;

    T* allocate(std::size_t count) {
#if defined(__linux__)
        const std::size_t bytes = count * sizeof(T);
        if (bytes >= 2 * kPage) {
            void* data = nullptr;
            if (posix_memalign(&data, kPage, (bytes + kPage - 1) / kPage * kPage) != 0) {
                throw std::bad_alloc();
            }
            madvise(data, bytes, MADV_HUGEPAGE);
            return static_cast<T*>(data);
        }
#endif
        void* data = std::malloc(count * sizeof(T));
        if (!data && count) throw std::bad_alloc();
        return static_cast<T*>(data);
    }

    void deallocate(T* data, std::size_t) { std::free(data); }

    // A vector that is resized is not filled with zeros: who resizes it writes it.
    template <typename U>
    void construct(U* place) { ::new (static_cast<void*>(place)) U; }
    template <typename U, typename... Given>
    void construct(U* place, Given&&... given) {
        ::new (static_cast<void*>(place)) U(std::forward<Given>(given)...);
    }

    template <typename U>
    bool operator==(const HugeAllocator<U>&) const { return true; }
    template <typename U>
    bool operator!=(const HugeAllocator<U>&) const { return false; }
};

template <typename T>
using Large = std::vector<T, HugeAllocator<T>>;

}  // namespace pincite

#include "dense_checked.hpp"

#include <algorithm>

#include "checksum.hpp"

#if defined(__linux__)
#include <sys/mman.h>
#include <unistd.h>
#define PINCITE_ADVISE 1
#endif

namespace pincite {
namespace {

std::uint32_t little(const std::uint8_t* bytes) {
    return std::uint32_t(bytes[0]) | std::uint32_t(bytes[1]) << 8 | std::uint32_t(bytes[2]) << 16 |
           std::uint32_t(bytes[3]) << 24;
}

#ifdef PINCITE_ADVISE
// About the pages of some bytes; advice may be refused, which harms nothing.
void advise(const std::uint8_t* data, std::size_t size, int advice) {
    static const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
    const auto address = reinterpret_cast<std::uintptr_t>(data);
    const std::uintptr_t begin = address / page * page;
    (void)madvise(reinterpret_cast<void*>(begin), address + size - begin, advice);
}
#endif

}  // namespace

void Checked::ask(std::size_t begin, std::size_t end) const {
#ifdef PINCITE_ADVISE
    for (std::size_t at = begin; at < end;) {
        const std::size_t block = at / kBlock, next = std::min((block + 1) * kBlock, size);
        const bool known = crcs == nullptr || seen[block];
        const std::size_t from = known ? at : block * kBlock;
        const std::size_t to = known ? std::min(end, next) : next;
        advise(data + from, to - from, MADV_WILLNEED);
        at = next;
    }
#else
    (void)begin;
    (void)end;
#endif
}

void Checked::fetch() const {
#ifdef PINCITE_ADVISE
    advise(data, size, MADV_WILLNEED);
#endif
}

void Checked::scatter() const {
#ifdef PINCITE_ADVISE
    advise(data, size, MADV_RANDOM);
#endif
}

bool Checked::verify(std::size_t block) const {
    const std::size_t begin = block * kBlock;
    const std::size_t bytes = std::min(size - begin, kBlock);
    ask(begin, begin + bytes);
    if (crc32(data + begin, bytes) != little(crcs + 4 * block)) return false;
    seen[block] = 1;
    return true;
}

}  // namespace pincite

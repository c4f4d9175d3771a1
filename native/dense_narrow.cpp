#include "dense_narrow.hpp"

#include <cstring>

namespace pincite {
namespace {

constexpr std::size_t kLane = 4, kGroup = kLane * kBlockRows;  // bytes of a document, of all

void copy_code(const std::uint8_t* from, std::size_t lane, std::uint8_t* to, std::size_t at,
               std::size_t bytes) {
    for (std::size_t group = 0; group < bytes; group += kGroup) {
        std::memcpy(to + group + at * kLane, from + group + lane * kLane, kLane);
    }
}

}  // namespace

std::shared_ptr<const Narrowed> narrowed(const CodedRows& coded, const Kept& kept) {
    const std::size_t bytes = block_bytes(coded.rotation->size()), count = coded.rows.count;
    auto result = std::make_shared<Narrowed>();
    const std::size_t lists = coded.centroids->count();
    for (std::size_t list = 0; list < lists; ++list) {
        result->starts.push_back(static_cast<std::uint32_t>(result->places.size()));
        for (std::size_t place = coded.starts[list]; place < coded.starts[list + 1]; ++place) {
            if (kept.holds(place)) result->places.push_back(static_cast<std::uint32_t>(place));
        }
    }
    result->starts.push_back(static_cast<std::uint32_t>(result->places.size()));
    if (!coded.codes.holds(0, (count + kBlockRows - 1) / kBlockRows * bytes)) return nullptr;
    const std::size_t blocks = (result->places.size() + kBlockRows - 1) / kBlockRows;
    result->codes.resize(blocks * bytes);
    result->factors.resize(blocks * kBlockFactors);
    for (std::size_t i = 0; i < result->places.size(); ++i) {
        const std::size_t place = result->places[i];
        const std::size_t from = place / kBlockRows, lane = place % kBlockRows;
        const std::size_t to = i / kBlockRows, at = i % kBlockRows;
        copy_code(coded.codes.data + from * bytes, lane, result->codes.data() + to * bytes, at,
                  bytes);
        const std::uint16_t* factors = coded.factors + from * kBlockFactors;
        std::uint16_t* own = result->factors.data() + to * kBlockFactors;
        own[at] = factors[lane];
        own[kBlockRows + at] = factors[kBlockRows + lane];
    }
    result->coded = coded;
    result->coded.codes = {result->codes.data(), result->codes.size()};
    result->coded.factors = result->factors.data();
    result->coded.starts = result->starts.data();
    result->coded.places = result->places.data();
    return result;
}

}  // namespace pincite

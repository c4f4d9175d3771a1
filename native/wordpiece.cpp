#include "wordpiece.hpp"

#include <stdexcept>

namespace pincite {

namespace {

constexpr std::size_t kSlots = 1u << 17;
constexpr std::size_t kLongest = 100;
constexpr std::string_view kMark = "##";

// FNV-1a: the hash of a text is one step from that of the text without its last character.
std::uint32_t step(std::uint32_t hash, char c) {
    return (hash ^ static_cast<unsigned char>(c)) * 16777619u;
}

std::size_t slot_of(std::uint32_t hash) { return (hash ^ hash >> 15) & (kSlots - 1); }

bool goes_on(std::string_view piece) {
    return piece.size() > kMark.size() && piece.substr(0, kMark.size()) == kMark;
}

}  // namespace

WordPieces::WordPieces(std::string_view lines) : text_(lines), slots_(kSlots, 0) {
    bool known = false;
    for (std::size_t start = 0; start < text_.size();) {
        std::size_t end = text_.find('\n', start);
        if (end == std::string::npos) end = text_.size();
        if (pieces_.size() >= 65535) throw std::invalid_argument("too many pieces");
        const std::string_view piece = std::string_view(text_).substr(start, end - start);
        const auto id = static_cast<std::uint16_t>(pieces_.size());
        pieces_.push_back({static_cast<std::uint32_t>(start), static_cast<std::uint32_t>(end - start)});
        add(piece, id);
        if (piece == "[UNK]") {
            unknown_ = id;
            known = true;
        }
        start = end + 1;
    }
    if (!known) throw std::invalid_argument("the vocabulary has no [UNK]");
}

void WordPieces::add(std::string_view piece, std::uint16_t id) {
    const bool inside = goes_on(piece);
    std::uint32_t hash = inside ? kInside : kFirst;
    for (const char c : inside ? piece.substr(kMark.size()) : piece) hash = step(hash, c);
    std::size_t slot = slot_of(hash);
    while (slots_[slot] != 0) slot = (slot + 1) & (kSlots - 1);
    slots_[slot] = static_cast<std::uint16_t>(id + 1);
}

int WordPieces::find(std::uint32_t hash, bool inside, std::string_view text) const {
    for (std::size_t slot = slot_of(hash); slots_[slot] != 0; slot = (slot + 1) & (kSlots - 1)) {
        const int id = slots_[slot] - 1;
        std::string_view piece(text_.data() + pieces_[id].start, pieces_[id].size);
        if (goes_on(piece) != inside) continue;
        if (inside) piece.remove_prefix(kMark.size());
        if (piece == text) return id;
    }
    return -1;
}

void WordPieces::cut(std::string_view word, std::vector<std::uint16_t>& ids) {
    run_.clear();
    for (const char c : word) {
        if (c < 0x20 || c == 0x7f) continue;  // a control character
        if (c >= 'A' && c <= 'Z') {
            run_.push_back(static_cast<char>(c + 32));
        } else if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9')) {
            run_.push_back(c);
        } else {  // punctuation stands alone
            flush(ids);
            run_.push_back(c);
            flush(ids);
        }
    }
    flush(ids);
}

// The longest piece that begins the run, then the longest that goes on; the unknown piece alone
// when one cannot go on.
void WordPieces::flush(std::vector<std::uint16_t>& ids) {
    const std::string_view run = run_;
    const std::size_t before = ids.size();
    bool known = run.size() <= kLongest;
    for (std::size_t start = 0; known && start < run.size();) {
        const bool inside = start > 0;
        std::uint32_t hash = inside ? kInside : kFirst;
        hashes_.clear();
        for (const char c : run.substr(start)) hashes_.push_back(hash = step(hash, c));
        int id = -1;
        std::size_t size = run.size() - start;
        for (; size > 0; --size)
            if ((id = find(hashes_[size - 1], inside, run.substr(start, size))) >= 0) break;
        known = id >= 0;
        if (known) ids.push_back(static_cast<std::uint16_t>(id));
        start += size;
    }
    if (!known) {
        ids.resize(before);
        ids.push_back(unknown_);
    }
    run_.clear();
}

}  // namespace pincite

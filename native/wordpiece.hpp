// WordPiece over ASCII words, as pincite.embedding.wordpiece cuts them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace pincite {

class WordPieces {
   public:
    // One piece a line, in the order of their ids. Throws std::invalid_argument without "[UNK]" or
    // with more pieces than 16 bits count.
    explicit WordPieces(std::string_view lines);

    // Appends the ids of a word of ASCII characters other than white space.
    void cut(std::string_view word, std::vector<std::uint16_t>& ids);

   private:
    struct Piece {
        std::uint32_t start;
        std::uint32_t size;
    };

    static constexpr std::uint32_t kFirst = 2166136261u, kInside = 84696351u;

    void add(std::string_view piece, std::uint16_t id);
    void flush(std::vector<std::uint16_t>& ids);
    int find(std::uint32_t hash, bool inside, std::string_view text) const;

    std::string text_, run_;
    std::vector<Piece> pieces_;
    std::vector<std::uint16_t> slots_;  // id + 1, 0 where free
    std::vector<std::uint32_t> hashes_;
    std::uint16_t unknown_ = 0;
};

}  // namespace pincite

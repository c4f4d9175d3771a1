// From text to raw words, and from raw words to terms: the native half of pincite.text.analysis.
//
// A raw word is what the analyser looks at on its own: an ASCII word in lower case, an ASCII word or
// identifier as written (with its tail: ++, #, 's), a word of other letters as written, a pair of
// characters of a script without spaces, or, where none of these is enough, all that stands between
// white space. Each distinct one is taken apart once; stems, and the case and accents of what is not
// ASCII, come from Python, so that both paths give the same terms.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "build_memory.hpp"

namespace pincite {

// How a string is read: a byte of kind, a byte of language, the length up to 65,535. Strings of
// another tag are other strings.
using Tag = std::uint32_t;

// Distinct (tag, string) pairs, numbered from 0 in the order of their first appearance.
class Strings {
public:
    struct Key {
        std::uint64_t code, more;  // the bytes of up to sixteen, else two hashes
        std::uint64_t hash;
        const char* data;
        std::uint32_t size;
        Tag tag;

        bool exact() const { return size <= kExact; }  // `code` and `more` are the bytes
    };

    static constexpr std::size_t kExact = 16;
    static constexpr std::uint32_t kNone = 0xFFFFFFFFu;

    Strings();
    static Key key(std::string_view text, Tag tag);
    static Key short_key(std::uint64_t code, std::uint64_t more, const char* data,
                         std::uint32_t size, Tag tag);

    std::uint32_t find(const Key& key) const;
    std::uint32_t add(const Key& key);  // also when it is there
    std::uint32_t append(std::string_view text, Tag tag);  // never to be found, only by its number
    void prefetch(const Key& key) const { __builtin_prefetch(&slots_[key.hash & mask_]); }

    std::size_t size() const { return entries_.size(); }
    std::size_t bytes() const { return text_.size(); }
    std::string_view text(std::uint32_t number) const {
        return {text_.data() + entries_[number].at, entries_[number].size};
    }
    Tag tag(std::uint32_t number) const { return entries_[number].tag; }

private:
    struct Slot {
        std::uint64_t code, more;
        Tag tag;
        std::uint32_t number;
    };
    struct Entry {
        std::size_t at;
        std::uint32_t size;
        Tag tag;
    };
    bool same(const Slot& slot, const Key& key) const;
    std::size_t place(const Key& key) const;
    void grow();

    Large<Slot> slots_;
    std::size_t mask_, found_ = 0;
    std::vector<Entry> entries_;
    std::vector<char> text_;
};

enum class Kind : std::uint8_t { kWord, kItem, kLetters, kBigram, kChunk };

// One text to be read: UTF-8 with any surrogate encoded like another character.
struct Text {
    const char* data;
    std::size_t size;
    bool ascii;
    std::uint8_t language;
};

// The raw words of texts in order, by number. Until they are renumbered, numbers from
// `known` on are local: they count what the lexicon did not have when the scan began.
struct Scan {
    Large<std::uint32_t> words;
    std::vector<std::size_t> ends;  // of each text, in words
    Strings found;
    std::uint32_t known = 0;
    std::vector<std::uint32_t> global;  // the lexicon's number of each local one, if they differ
};

// One term of a raw word.
struct Piece {
    std::uint32_t term;
    bool part;  // of an identifier: does not count in the length
    bool stop;
    bool word = false;  // `term` is still the number of a word to be stemmed
};

// Who stems the words of a language: nobody, Python, or Porter's rules here.
enum class Stems : std::uint8_t { kNone, kPython, kPorter };

class Lexicon {
public:
    // `stops` are lower-case words; terms of fewer characters than `shortest` are left out.
    // `marks` has for each code point the ASCII character that means as much to the analyser,
    // kPaired for one of a script that is read in pairs, kLetter for a letter or digit that stands
    // for itself, kMark for such a mark, which no word begins with, or 0.
    static constexpr char kPaired = 1, kLetter = 2, kMark = 3;
    Lexicon(const std::vector<std::string>& stops, std::size_t shortest, std::string marks);

    // A number for a language; words that are stemmed get their terms through `set_stem`.
    std::uint8_t add_language(Stems stems);

    // Reads texts without changing the lexicon, so that several threads may; `afresh` without a look
    // at what it has, so that another thread may change it meanwhile.
    Scan scan(const Text* texts, std::size_t count, bool afresh) const;

    // Takes up what a scan found, and takes apart what can be without Python. The words of the scan
    // have its numbers until `renumber`.
    void absorb(Scan& scan);

    // ASCII words to be stemmed by Python, words of other letters to be folded and stemmed, and chunks to be
    // analysed, by language, since the last `settle`.
    const std::vector<std::vector<std::uint32_t>>& unstemmed() const { return unstemmed_; }
    const std::vector<std::vector<std::uint32_t>>& unfolded() const { return unfolded_; }
    const std::vector<std::vector<std::uint32_t>>& unread() const { return unread_; }
    std::string_view word(std::uint32_t number) const { return words_.text(number); }
    std::string_view raw(std::uint32_t number) const { return raws_.text(number); }
    void set_stem(std::uint32_t word, std::string_view term);
    void set_chunk(std::uint32_t raw, const std::vector<Piece>& pieces);
    std::uint32_t term_number(std::string_view term);
    void settle();

    bool empty() const { return raws_.size() == 0; }
    const Strings& terms() const { return terms_; }
    std::size_t bytes() const { return raws_.bytes() + words_.bytes() + terms_.bytes(); }

    // What a raw word is: its only term, when that is no part of an identifier, and kStop with a
    // stop word; else kSeveral and where its pieces are.
    static constexpr std::uint32_t kSeveral = 1u << 31;
    static constexpr std::uint32_t kStop = 1u << 30;
    std::uint32_t direct(std::uint32_t raw) const { return direct_[raw]; }
    void prefetch(std::uint32_t raw) const { __builtin_prefetch(&direct_[raw]); }
    struct Range {
        const Piece* first;
        const Piece* last;
        const Piece* begin() const { return first; }
        const Piece* end() const { return last; }
    };
    Range several(std::uint32_t direct) const {
        const Piece* const head = &pieces_[direct & ~kSeveral];
        return {head + 1, head + 1 + head->term};
    }
    void prefetch_several(std::uint32_t direct) const {
        __builtin_prefetch(&pieces_[direct & ~kSeveral]);
    }

private:
    void take_apart(std::uint32_t raw);
    std::uint32_t known_term(std::string_view word, std::uint8_t language);
    Piece waiting(std::uint32_t word, std::vector<std::uint32_t>& list);
    void word_piece(std::vector<Piece>& out, std::string_view text, std::uint8_t language,
                    bool part);
    void lower_piece(std::vector<Piece>& out, std::string_view text, std::uint8_t language,
                     bool part);
    void plain(std::vector<Piece>& out, std::string_view word, std::uint8_t language, bool part);
    void parts(std::vector<Piece>& out, std::string_view core, std::uint8_t language, bool part);
    void item(std::vector<Piece>& out, std::string_view core, std::string_view tail,
              std::uint8_t language);
    void keep(std::uint32_t raw, const Piece* begin, const Piece* end);
    bool is_stop(std::string_view text) const;

    std::unordered_set<std::string> stops_;
    std::size_t shortest_;
    std::string marks_;
    std::vector<Stems> stems_;  // by language
    Strings raws_, words_, terms_;
    std::vector<std::uint32_t> word_terms_;
    Large<std::uint32_t> direct_;
    std::vector<Piece> pieces_;  // of each raw word of several: how many, as a term, then they
    std::vector<std::vector<std::uint32_t>> unstemmed_, unfolded_, unread_;
    // Raw words taken apart, whose pieces may not have terms yet.
    std::vector<Piece> waiting_pieces_;
    std::vector<std::pair<std::uint32_t, std::size_t>> waiting_;  // raw, end of its pieces
};

// Gives the words of scans that were absorbed the lexicon's numbers, in two threads where there are
// several scans.
void renumber(std::vector<Scan>& scans);

// The tail of an item: how many bytes of `text` (which begins behind the core) belong to it.
std::size_t tail_size(std::string_view text);

}  // namespace pincite

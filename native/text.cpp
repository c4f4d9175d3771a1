#include "text.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <random>

#include "build_threads.hpp"
#include "porter.hpp"

namespace pincite {
namespace {

constexpr std::size_t kLongest = 256;  // bytes of a word that make its term

enum : std::uint8_t { kInside = 1, kUpper = 2, kLower = 4, kDigit = 8, kJoin = 16, kSpace = 32 };

constexpr std::array<std::uint8_t, 256> make_classes() {
    std::array<std::uint8_t, 256> classes{};
    for (int c = 'a'; c <= 'z'; ++c) classes[c] = kInside | kLower;
    for (int c = 'A'; c <= 'Z'; ++c) classes[c] = kInside | kUpper;
    for (int c = '0'; c <= '9'; ++c) classes[c] = kInside | kDigit;
    classes['_'] = kInside;
    for (const char c : {'-', '.', '@', '&'}) classes[static_cast<int>(c)] = kJoin;
    for (int c = 9; c <= 13; ++c) classes[c] = kSpace;
    for (int c = 28; c <= 32; ++c) classes[c] = kSpace;
    return classes;
}
constexpr auto kClasses = make_classes();

bool is(char c, std::uint8_t what) { return kClasses[static_cast<std::uint8_t>(c)] & what; }

bool inside_at(std::string_view text, std::size_t at) {
    return at < text.size() && is(text[at], kInside);
}

// Eight bytes at `data`, zeros behind `size`.
std::uint64_t load(const char* data, std::size_t size) {
    std::uint64_t block = 0;
    if (size >= 8) {
        std::memcpy(&block, data, 8);
    } else {
        std::memcpy(&block, data, size);
    }
    return block;
}

constexpr std::uint64_t kOnes = 0x0101010101010101u;
constexpr std::uint64_t kTops = 0x8080808080808080u;

// The high bit of each byte in [first, last]; every byte must be below 0x80.
constexpr std::uint64_t between(std::uint64_t block, char first, char last) {
    return (block + kOnes * (0x80u - first)) & ~(block + kOnes * (0x7Fu - last)) & kTops;
}

std::uint64_t mix(std::uint64_t value) {
    value ^= value >> 32;
    value *= 0xD6E8FEB86659FD93u;
    value ^= value >> 32;
    return value;
}

// Of the process, so that nobody can write texts whose words collide. Numbers do not depend on it.
const std::uint64_t kSeed = (std::uint64_t{std::random_device{}()} << 32) | std::random_device{}();

std::uint64_t hash_of(std::uint64_t code, std::uint64_t more, Tag tag) {
    return mix((code ^ kSeed) * 0x9E3779B97F4A7C15u + (more ^ tag) * 0xC2B2AE3D27D4EB4Fu);
}

Tag tag_of(Kind kind, std::uint8_t language) {
    return static_cast<Tag>(kind) << 24 | static_cast<Tag>(language) << 16;
}

Kind kind_of(Tag tag) { return static_cast<Kind>(tag >> 24); }
std::uint8_t language_of(Tag tag) { return static_cast<std::uint8_t>(tag >> 16); }

Tag sized(Tag tag, std::size_t size) {
    return tag | static_cast<Tag>(std::min<std::size_t>(size, 0xFFFF));
}

std::string lowered(std::string_view text) {
    std::string result(text);
    for (char& c : result) {
        if (is(c, kUpper)) c = static_cast<char>(c | 0x20);
    }
    return result;
}

// The bytes of white space at `data`, as str.split() has it; 0 when there is none.
std::size_t space_size(const unsigned char* data, std::size_t size) {
    if (data[0] < 0x80) return kClasses[data[0]] & kSpace ? 1 : 0;
    if (size >= 2 && data[0] == 0xC2) return data[1] == 0x85 || data[1] == 0xA0 ? 2 : 0;
    if (size < 3) return 0;
    const std::uint32_t code = (data[0] & 0x0Fu) << 12 | (data[1] & 0x3Fu) << 6 | (data[2] & 0x3Fu);
    if ((data[0] & 0xF0) != 0xE0) return 0;
    const bool space = code == 0x1680 || (code >= 0x2000 && code <= 0x200A) || code == 0x2028 ||
                       code == 0x2029 || code == 0x202F || code == 0x205F || code == 0x3000;
    return space ? 3 : 0;
}

// The character at `data` as a code point and its bytes; the bytes are UTF-8 from Python.
std::pair<std::uint32_t, std::size_t> character(const unsigned char* data) {
    if (data[0] < 0x80) return {data[0], 1};
    if (data[0] < 0xE0) return {(data[0] & 0x1Fu) << 6 | (data[1] & 0x3Fu), 2};
    if (data[0] < 0xF0) {
        return {(data[0] & 0x0Fu) << 12 | (data[1] & 0x3Fu) << 6 | (data[2] & 0x3Fu), 3};
    }
    return {0x10000, 4};
}

std::size_t characters(std::string_view text) {
    return static_cast<std::size_t>(std::count_if(text.begin(), text.end(),
                                                  [](char c) { return (c & 0xC0) != 0x80; }));
}

// Reads texts into a scan, looking words up in batches so that memory is fetched ahead.
class Reader {
public:
    Reader(const Strings& known, const std::string& marks, Scan& scan)
        : known_(known), marks_(marks), scan_(scan) {}

    void text(const Text& text) {
        language_ = text.language;
        if (text.ascii) {
            ascii(text.data, text.data + text.size);
        } else {
            chunks(text.data, text.data + text.size);
        }
        flush();
        scan_.ends.push_back(scan_.words.size());
    }

private:
    static constexpr std::size_t kBatch = 48;

    // Short words seen last, near at hand: most words of a text are few words. No word has tag 0.
    static constexpr std::size_t kRecent = 4096;
    struct Recent {
        std::uint64_t code = 0, more = 0;
        Tag tag = 0;
        std::uint32_t number = 0;
    };

    void chunks(const char* data, const char* end) {
        const char* at = data;
        while (const char* high = next_high(at, end)) {
            const std::size_t space = space_size(bytes(high), end - high);
            const char* begin = high;
            while (!space && begin > at && !is(begin[-1], kSpace)) --begin;
            ascii(at, begin);
            at = space ? high + space : chunk_end(high, end);
            if (!space) chunk({begin, static_cast<std::size_t>(at - begin)});
        }
        ascii(at, end);
    }

    static const unsigned char* bytes(const char* data) {
        return reinterpret_cast<const unsigned char*>(data);
    }

    // The first byte that is not ASCII; null when there is none.
    static const char* next_high(const char* at, const char* end) {
        while (end - at >= 8 && !(load(at, 8) & kTops)) at += 8;
        while (at < end && *bytes(at) < 0x80) ++at;
        return at < end ? at : nullptr;
    }

    static const char* chunk_end(const char* at, const char* end) {
        while (at < end && !space_size(bytes(at), end - at)) ++at;
        return at;
    }

    void chunk(std::string_view text) {
        if (!simplified(text) || (letters_ && !split())) {
            add(Strings::key(text, tag_of(Kind::kChunk, language_)));
            return;
        }
        if (!letters_) ascii(simple_.data(), simple_.data() + simple_.size());
        for (const auto& [run, high] : words_) {
            if (high) {
                add(Strings::key(run, tag_of(Kind::kLetters, language_)));
            } else {
                ascii(run.data(), run.data() + run.size());
            }
        }
        for (const std::string_view run : runs_) pairs(run);
    }

    // The chunk with ASCII in place of what means as much, and its runs that are read in pairs;
    // what is left beyond ASCII are letters, digits and their marks.
    bool simplified(std::string_view text) {
        char* const begin = room(text.size());
        char* to = begin;
        runs_.clear();
        words_.clear();
        letters_ = false;
        bool paired = false;
        for (std::size_t i = 0; i < text.size();) {
            const auto [code, size] = character(bytes(text.data()) + i);
            const char mark = code < 0x80 ? static_cast<char>(code)
                                          : code < marks_.size() ? marks_[code] : 0;
            if (!mark && code) return false;
            const bool high = code >= 0x80;
            if (high && mark == Lexicon::kMark && (to == begin || !inside(to[-1]))) return false;
            const bool pair = high && mark == Lexicon::kPaired;
            if (pair && paired) {
                runs_.back() = {runs_.back().data(), runs_.back().size() + size};
            } else if (pair) {
                runs_.push_back(text.substr(i, size));
            }
            paired = pair;
            if (high && (mark == Lexicon::kLetter || mark == Lexicon::kMark)) {
                std::memcpy(to, text.data() + i, size);
                to += size;
                letters_ = true;
            } else {
                *to++ = pair ? ' ' : mark;
            }
            i += size;
        }
        simple_ = {begin, static_cast<std::size_t>(to - begin)};
        return true;
    }

    // The words of a simplified chunk; false when some are joined or have a tail.
    bool split() {
        const char* const end = simple_.data() + simple_.size();
        const char* at = simple_.data();
        while (at < end) {
            if (!inside(*at)) {
                ++at;
                continue;
            }
            const char* const begin = at;
            bool high = false;
            for (; at < end && inside(*at); ++at) {
                high |= *bytes(at) >= 0x80;
                if (*at == '_') return false;
            }
            const bool joins = at + 1 < end && is(*at, kJoin) && inside(at[1]);
            if (joins || tail_size({at, static_cast<std::size_t>(end - at)}) > 0) return false;
            const std::string_view run(begin, at - begin);
            if (high && run.size() > kLongest) return false;
            words_.emplace_back(run, high);
        }
        return true;
    }

    static bool inside(char c) { return static_cast<std::uint8_t>(c) >= 0x80 || is(c, kInside); }

    // Memory that stays until the words found in it are looked up.
    char* room(std::size_t size) {
        if (used_ + size > arena_.size()) {
            flush();
            used_ = 0;
            if (size > arena_.size()) arena_.resize(size);
        }
        used_ += size;
        return arena_.data() + used_ - size;
    }

    // Neighbours of a run, or its only character.
    void pairs(std::string_view run) {
        std::size_t before = character(bytes(run.data())).second;
        if (before == run.size()) add(Strings::key(run, tag_of(Kind::kBigram, 0)));
        for (std::size_t at = 0; at + before < run.size();) {
            const std::size_t size = character(bytes(run.data()) + at + before).second;
            add(Strings::key(run.substr(at, before + size), tag_of(Kind::kBigram, 0)));
            at += before;
            before = size;
        }
    }

    void ascii(const char* at, const char* end) {
        while (at < end) {
            if (!is(*at, kInside)) {
                ++at;
            } else if (*at == '_') {
                at = item(at, end);
            } else {
                at = word(at, end);
            }
        }
    }

    // Letters and digits from some place on, eight bytes at most.
    struct Eight {
        std::uint64_t lower = 0, capitals = 0, others = 0;  // in lower case; their kinds, by byte
        std::size_t size = 0;

        Eight() = default;
        Eight(const char* at, const char* end) {
            const std::uint64_t block = load(at, end - at);
            const std::uint64_t letters = between(block | kOnes * 0x20, 'a', 'z');
            const std::uint64_t inside = letters | between(block, '0', '9');
            const std::uint64_t outside = ~inside & kTops;
            // The bits of the bytes before the first one outside.
            const std::uint64_t valid = outside ? (outside & -outside) / 0x80 - 1 : ~std::uint64_t{0};
            size = outside ? static_cast<std::size_t>(__builtin_ctzll(outside)) / 8 : 8;
            capitals = between(block, 'A', 'Z') & valid;
            others = inside & ~capitals & valid;
            lower = (block | (capitals >> 2)) & valid;
        }
    };

    // A run of letters and digits; in lower case when it has no humps and nothing joins it.
    const char* word(const char* begin, const char* end) {
        const Eight first(begin, end);
        const Eight second = first.size < 8 ? Eight() : Eight(begin + 8, end);
        if (second.size == 8) return long_word(begin, end);
        const char* const at = begin + first.size + second.size;
        if (at < end && joined(at, end)) return item(begin, end);
        const std::uint64_t humps = (first.capitals & ~std::uint64_t{0xFF}) | second.capitals;
        if (humps && (first.others | second.others)) return as_written(begin, at);
        char* const lower = lower_buffer();
        std::memcpy(lower, &first.lower, 8);
        std::memcpy(lower + 8, &second.lower, 8);
        add(Strings::short_key(first.lower, second.lower, lower,
                               static_cast<std::uint32_t>(at - begin),
                               tag_of(Kind::kWord, language_)));
        return at;
    }

    const char* long_word(const char* begin, const char* end) {
        char* const lower = lower_buffer();
        const char* at = begin;
        std::uint64_t humps = 0, others = 0;
        for (std::size_t size = 8; size == 8; at += size) {
            if (at - begin + 8 > static_cast<std::ptrdiff_t>(kLongest)) return item(begin, end);
            const Eight part(at, end);
            humps |= at == begin ? part.capitals & ~std::uint64_t{0xFF} : part.capitals;
            others |= part.others;
            std::memcpy(lower + (at - begin), &part.lower, 8);
            size = part.size;
        }
        if (at < end && joined(at, end)) return item(begin, end);
        if (humps && others) return as_written(begin, at);
        add(Strings::key({lower, static_cast<std::size_t>(at - begin)},
                         tag_of(Kind::kWord, language_)));
        return at;
    }

    const char* as_written(const char* begin, const char* end) {
        add(Strings::key({begin, static_cast<std::size_t>(end - begin)},
                         tag_of(Kind::kItem, language_)));
        return end;
    }

    char* lower_buffer() { return buffer_.data() + batch_ * kLongest; }

    static bool joined(const char* at, const char* end) {
        const std::string_view rest(at, end - at);
        if (*at == '_') return true;
        if (is(*at, kJoin)) return inside_at(rest, 1);
        return (*at == '\'' || *at == '+' || *at == '#') && tail_size(rest) > 0;
    }

    // A core with its tail, as written.
    const char* item(const char* begin, const char* end) {
        const char* at = begin;
        while (at < end && (is(*at, kInside) || (is(*at, kJoin) && at + 1 < end &&
                                                 is(at[1], kInside)))) {
            ++at;
        }
        at += tail_size({at, static_cast<std::size_t>(end - at)});
        return as_written(begin, at);
    }

    void add(const Strings::Key& key) {
        const Recent& recent = recent_[key.hash % kRecent];
        if (!((recent.code ^ key.code) | (recent.more ^ key.more) | (recent.tag ^ key.tag))) {
            scan_.words.push_back(recent.number);
            return;
        }
        if (known_.size()) {
            known_.prefetch(key);
        } else {
            scan_.found.prefetch(key);
        }
        places_[batch_] = scan_.words.size();
        scan_.words.push_back(0);
        keys_[batch_++] = key;
        if (batch_ == kBatch) flush();
    }

    void flush() {
        for (std::size_t i = 0; i < batch_; ++i) {
            const Strings::Key& key = keys_[i];
            std::uint32_t number = known_.size() ? known_.find(key) : Strings::kNone;
            if (number == Strings::kNone) number = scan_.known + scan_.found.add(key);
            scan_.words[places_[i]] = number;
            if (key.exact()) recent_[key.hash % kRecent] = {key.code, key.more, key.tag, number};
        }
        batch_ = 0;
    }

    const Strings& known_;
    const std::string& marks_;
    Scan& scan_;
    std::uint8_t language_ = 0;
    std::size_t batch_ = 0;
    std::array<Strings::Key, kBatch> keys_;
    std::array<std::size_t, kBatch> places_;  // of the keys among the scan's words
    std::vector<Recent> recent_{kRecent};
    std::array<char, kBatch * kLongest> buffer_;
    std::vector<char> arena_ = std::vector<char>(std::size_t{1} << 14);
    std::size_t used_ = 0;
    std::string_view simple_;
    bool letters_ = false;
    std::vector<std::pair<std::string_view, bool>> words_;  // whether they have other letters
    std::vector<std::string_view> runs_;
};

}  // namespace

std::size_t tail_size(std::string_view text) {
    std::size_t size = 0;
    if (text.substr(0, 2) == "++") {
        size = 2;
    } else if (!text.empty() && text[0] == '#') {
        size = 1;
    } else if (text.size() >= 2 && text[0] == '\'') {
        const std::string_view two = text.substr(1, 2);
        static constexpr std::string_view kPairs[] = {"ll", "LL", "re", "RE", "ve", "VE"};
        if (std::string_view("sStTdDmM").find(text[1]) != std::string_view::npos) {
            size = 2;
        } else if (std::find(std::begin(kPairs), std::end(kPairs), two) != std::end(kPairs)) {
            size = 3;
        }
    }
    return inside_at(text, size) ? 0 : size;
}

Strings::Strings() : slots_(1024, Slot{0, 0, 0, kNone}), mask_(1023) {}

Strings::Key Strings::short_key(std::uint64_t code, std::uint64_t more, const char* data,
                                std::uint32_t size, Tag tag) {
    tag = sized(tag, size);
    return {code, more, hash_of(code, more, tag), data, size, tag};
}

Strings::Key Strings::key(std::string_view text, Tag tag) {
    const auto size = static_cast<std::uint32_t>(text.size());
    if (size <= Strings::kExact) {
        return short_key(load(text.data(), size),
                         size > 8 ? load(text.data() + 8, size - 8) : 0, text.data(), size, tag);
    }
    std::uint64_t code = kSeed ^ size, more = size;
    for (std::size_t at = 0; at < size; at += 8) {
        const std::uint64_t block = load(text.data() + at, size - at);
        code = mix(code ^ block) + 0x9E3779B97F4A7C15u;
        more = (more ^ block) * 0xFF51AFD7ED558CCDu;
    }
    return short_key(code, more, text.data(), size, tag);
}

bool Strings::same(const Slot& slot, const Key& key) const {
    if (slot.code != key.code || slot.more != key.more || slot.tag != key.tag) return false;
    if (key.size <= Strings::kExact) return true;
    const Entry& entry = entries_[slot.number];
    return entry.size == key.size &&
           std::memcmp(text_.data() + entry.at, key.data, key.size) == 0;
}

std::size_t Strings::place(const Key& key) const {
    std::size_t at = key.hash & mask_;
    while (slots_[at].number != kNone && !same(slots_[at], key)) at = (at + 1) & mask_;
    return at;
}

std::uint32_t Strings::find(const Key& key) const { return slots_[place(key)].number; }

std::uint32_t Strings::add(const Key& key) {
    std::size_t at = place(key);
    if (slots_[at].number != kNone) return slots_[at].number;
    if (found_ * 3 >= slots_.size() * 2) {
        grow();
        at = place(key);
    }
    const auto number = static_cast<std::uint32_t>(entries_.size());
    entries_.push_back({text_.size(), key.size, key.tag});
    text_.insert(text_.end(), key.data, key.data + key.size);
    slots_[at] = {key.code, key.more, key.tag, number};
    ++found_;
    return number;
}

std::uint32_t Strings::append(std::string_view text, Tag tag) {
    entries_.push_back({text_.size(), static_cast<std::uint32_t>(text.size()), tag});
    text_.insert(text_.end(), text.begin(), text.end());
    return static_cast<std::uint32_t>(entries_.size() - 1);
}

void Strings::grow() {
    Large<Slot> old(slots_.size() * 2, Slot{0, 0, 0, kNone});
    old.swap(slots_);
    mask_ = slots_.size() - 1;
    for (const Slot& slot : old) {
        if (slot.number == kNone) continue;
        std::size_t at = hash_of(slot.code, slot.more, slot.tag) & mask_;
        while (slots_[at].number != kNone) at = (at + 1) & mask_;
        slots_[at] = slot;
    }
}

Lexicon::Lexicon(const std::vector<std::string>& stops, std::size_t shortest, std::string marks)
    : stops_(stops.begin(), stops.end()), shortest_(shortest), marks_(std::move(marks)) {
    add_language(Stems::kNone);  // number 0: what is never stemmed
}

std::uint8_t Lexicon::add_language(Stems stems) {
    stems_.push_back(stems);
    unstemmed_.emplace_back();
    unfolded_.emplace_back();
    unread_.emplace_back();
    return static_cast<std::uint8_t>(stems_.size() - 1);
}

Scan Lexicon::scan(const Text* texts, std::size_t count, bool afresh) const {
    static const Strings nothing;
    const Strings& known = afresh ? nothing : raws_;
    Scan scan;
    scan.known = static_cast<std::uint32_t>(known.size());
    scan.ends.reserve(count);
    std::size_t bytes = 0;
    for (std::size_t i = 0; i < count; ++i) bytes += texts[i].size;
    scan.words.reserve(bytes / 6);
    Reader reader(known, marks_, scan);
    for (std::size_t i = 0; i < count; ++i) reader.text(texts[i]);
    return scan;
}

void Lexicon::absorb(Scan& scan) {
    const auto found = static_cast<std::uint32_t>(scan.found.size());
    if (raws_.size() == 0) {
        raws_ = std::move(scan.found);
        scan.found = Strings();
        for (std::uint32_t raw = 0; raw < found; ++raw) take_apart(raw);
        return;
    }
    constexpr std::uint32_t kAhead = 16;
    const auto key_of = [&scan](std::uint32_t local) {
        return Strings::key(scan.found.text(local), scan.found.tag(local) & ~0xFFFFu);
    };
    bool moved = false;
    scan.global.reserve(found);
    for (std::uint32_t local = 0; local < found; ++local) {
        if (local + kAhead < found) raws_.prefetch(key_of(local + kAhead));
        const auto before = raws_.size();
        const std::uint32_t raw = raws_.add(key_of(local));
        moved |= raw != scan.known + local;
        scan.global.push_back(raw);
        if (raws_.size() > before) take_apart(raw);
    }
    if (!moved) scan.global.clear();
    scan.found = Strings();
}

void renumber(std::vector<Scan>& scans) {
    for (Scan& scan : scans) {
        if (scan.global.empty()) continue;
        const std::size_t half = scan.words.size() / 2;
        in_threads(scans.size() > 1 ? 2 : 1, [&](std::size_t part) {
            const auto middle = scan.words.begin() + static_cast<std::ptrdiff_t>(half);
            const auto end = part == 0 && scans.size() > 1 ? middle : scan.words.end();
            for (auto word = part == 0 ? scan.words.begin() : middle; word != end; ++word) {
                if (*word >= scan.known) *word = scan.global[*word - scan.known];
            }
        });
    }
}

void Lexicon::take_apart(std::uint32_t raw) {
    direct_.push_back(0);
    const Tag tag = raws_.tag(raw);
    const std::uint8_t language = language_of(tag);
    if (kind_of(tag) == Kind::kChunk) {
        unread_[language].push_back(raw);
        return;
    }
    const std::string_view text = raws_.text(raw);
    if (kind_of(tag) == Kind::kLetters) {
        waiting_pieces_.push_back(waiting(words_.append(text, tag), unfolded_[language]));
    } else if (kind_of(tag) == Kind::kBigram) {
        waiting_pieces_.push_back({term_number(text), false, false});
    } else if (kind_of(tag) == Kind::kWord && stems_[language] == Stems::kPython) {
        Piece piece = waiting(words_.append(text, tag), unstemmed_[language]);
        piece.stop = is_stop(text);
        waiting_pieces_.push_back(piece);
    } else if (kind_of(tag) == Kind::kWord) {
        waiting_pieces_.push_back({known_term(text, language), false, is_stop(text)});
    } else {
        std::size_t core = 0;
        while (core < text.size() && (is(text[core], kInside) ||
                                      (is(text[core], kJoin) && inside_at(text, core + 1)))) {
            ++core;
        }
        item(waiting_pieces_, text.substr(0, core), text.substr(core), language);
    }
    waiting_.emplace_back(raw, waiting_pieces_.size());
}

void Lexicon::item(std::vector<Piece>& out, std::string_view core, std::string_view tail,
                   std::uint8_t language) {
    if (core.find_first_not_of('_') == std::string_view::npos) return;
    const bool compound = std::any_of(core.begin(), core.end(), [](char c) {
        return !is(c, kUpper | kLower | kDigit);
    });
    const std::string whole = std::string(core) + std::string(tail);
    if (!tail.empty() && tail[0] != '\'') {
        word_piece(out, whole, 0, false);
        parts(out, core, language, true);
    } else if (!tail.empty() && !compound && lowered(tail) != "'s") {
        word_piece(out, whole, language, false);
    } else {
        parts(out, core, language, false);
    }
}

void Lexicon::parts(std::vector<Piece>& out, std::string_view core, std::uint8_t language,
                    bool part) {
    const bool compound = std::any_of(core.begin(), core.end(), [](char c) {
        return !is(c, kUpper | kLower | kDigit);
    });
    if (!compound) {
        plain(out, core, language, part);
        return;
    }
    word_piece(out, core, 0, part);
    const char* const marks = core.find_first_of(".@&") != std::string_view::npos ? ".@&" : "-_";
    std::size_t at = 0;
    while ((at = core.find_first_not_of(marks, at)) != std::string_view::npos) {
        const std::size_t end = std::min(core.find_first_of(marks, at), core.size());
        const std::string_view piece = core.substr(at, end - at);
        const bool word = piece.find_first_not_of('_') != std::string_view::npos;
        if (word && (piece.size() > 1 || is(piece[0], kDigit))) parts(out, piece, language, true);
        at = end;
    }
}

void Lexicon::plain(std::vector<Piece>& out, std::string_view word, std::uint8_t language,
                    bool part) {
    word_piece(out, word, language, part);
    std::size_t begin = 0;
    for (std::size_t i = 1; i <= word.size(); ++i) {
        bool hump = i == word.size() && begin > 0;
        if (i < word.size() && is(word[i], kUpper)) {
            const bool rises = is(word[i - 1], kLower | kDigit);
            const bool falls = is(word[i - 1], kUpper) && i + 2 < word.size() &&
                               is(word[i + 1], kLower) && is(word[i + 2], kLower);
            hump = rises || falls;
        }
        if (hump) {
            word_piece(out, word.substr(begin, i - begin), language, true);
            begin = i;
        }
    }
}

void Lexicon::word_piece(std::vector<Piece>& out, std::string_view text, std::uint8_t language,
                         bool part) {
    if (std::any_of(text.begin(), text.end(), [](char c) { return is(c, kUpper); })) {
        lower_piece(out, lowered(text), language, part);
    } else {
        lower_piece(out, text, language, part);
    }
}

void Lexicon::lower_piece(std::vector<Piece>& out, std::string_view text, std::uint8_t language,
                          bool part) {
    const std::string_view head = text.substr(0, kLongest);
    Piece piece{0, false, false};
    if (stems_[language] == Stems::kPython) {
        const Tag tag = tag_of(Kind::kWord, language);
        piece = waiting(words_.add(Strings::key(head, tag)), unstemmed_[language]);
    } else {
        piece.term = known_term(head, language);
    }
    piece.part = part;
    piece.stop = is_stop(text);
    out.push_back(piece);
}

// The term of a word that does not wait for Python.
std::uint32_t Lexicon::known_term(std::string_view word, std::uint8_t language) {
    if (stems_[language] == Stems::kNone || is(word.back(), kDigit)) return term_number(word);
    const std::string stem = porter_stem(word);
    return term_number(stem.empty() ? word : stem);
}

// A word that gets its term from Python; `list` tells of it once.
Piece Lexicon::waiting(std::uint32_t word, std::vector<std::uint32_t>& list) {
    if (word == word_terms_.size()) {
        word_terms_.push_back(Strings::kNone);
        list.push_back(word);
    }
    return {word, false, false, true};
}

bool Lexicon::is_stop(std::string_view text) const {
    return !stops_.empty() && stops_.count(std::string(text)) > 0;
}

std::uint32_t Lexicon::term_number(std::string_view term) { return terms_.add(Strings::key(term, 0)); }

void Lexicon::set_stem(std::uint32_t word, std::string_view term) {
    word_terms_[word] = term_number(term);
}

void Lexicon::set_chunk(std::uint32_t raw, const std::vector<Piece>& pieces) {
    keep(raw, pieces.data(), pieces.data() + pieces.size());
}

void Lexicon::settle() {
    std::size_t begin = 0;
    for (Piece& piece : waiting_pieces_) {
        if (piece.word) piece.term = word_terms_[piece.term];
    }
    for (const auto& [raw, end] : waiting_) {
        keep(raw, waiting_pieces_.data() + begin, waiting_pieces_.data() + end);
        begin = end;
    }
    waiting_pieces_.clear();
    waiting_.clear();
    for (auto& numbers : unstemmed_) numbers.clear();
    for (auto& numbers : unfolded_) numbers.clear();
    for (auto& numbers : unread_) numbers.clear();
}

void Lexicon::keep(std::uint32_t raw, const Piece* begin, const Piece* end) {
    const std::size_t head = pieces_.size();
    pieces_.push_back({0, false, false});
    for (const Piece* piece = begin; piece < end; ++piece) {
        if (characters(terms_.text(piece->term)) >= shortest_) pieces_.push_back(*piece);
    }
    const std::size_t count = pieces_.size() - head - 1;
    if (count == 1 && !pieces_.back().part) {
        direct_[raw] = pieces_.back().term | (pieces_.back().stop ? kStop : 0);
        pieces_.resize(head);
    } else {
        direct_[raw] = kSeveral | static_cast<std::uint32_t>(head);
        pieces_[head].term = static_cast<std::uint32_t>(count);
    }
}

}  // namespace pincite

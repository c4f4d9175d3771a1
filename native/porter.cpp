#include "porter.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace pincite {
namespace {

struct Rule {
    std::string_view suffix, stem;
};

// Of each step, longest suffixes first where one ends in another.
constexpr Rule kStep2[] = {
    {"ational", "ate"}, {"tional", "tion"}, {"ization", "ize"}, {"iveness", "ive"},
    {"fulness", "ful"}, {"ousness", "ous"}, {"biliti", "ble"},  {"alism", "al"},
    {"aliti", "al"},    {"iviti", "ive"},   {"entli", "ent"},   {"ousli", "ous"},
    {"ation", "ate"},   {"ator", "ate"},    {"izer", "ize"},    {"enci", "ence"},
    {"anci", "ance"},   {"abli", "able"},   {"alli", "al"},     {"eli", "e"},
};
constexpr Rule kStep3[] = {
    {"alize", "al"}, {"icate", "ic"}, {"iciti", "ic"}, {"ative", ""},
    {"ical", "ic"},  {"ness", ""},    {"ful", ""},
};
constexpr std::string_view kStep4[] = {
    "ement", "ance", "ence", "able", "ible", "ment", "ant", "ent", "ion", "ism",
    "ate",   "iti",  "ous",  "ive",  "ize",  "al",   "er",  "ic",  "ou",
};

bool is_vowel(char c) {
    return c == 'a' || c == 'e' || c == 'i' || c == 'o' || c == 'u' || c == 'y';
}

class Porter {
public:
    explicit Porter(std::string_view word) : word_(word) {
        mark_consonants();
        find_regions();
    }

    std::string stem() {
        step_1a();
        step_1b();
        step_1c();
        replace_in_r1(std::begin(kStep2), std::end(kStep2));
        replace_in_r1(std::begin(kStep3), std::end(kStep3));
        step_4();
        step_5();
        std::replace(word_.begin(), word_.end(), 'Y', 'y');
        return std::move(word_);
    }

private:
    // A y that is a consonant is written Y: the first letter, or behind a vowel.
    void mark_consonants() {
        for (std::size_t i = 0; i < word_.size(); ++i) {
            if (word_[i] == 'y' && (i == 0 || is_vowel(word_[i - 1]))) word_[i] = 'Y';
        }
    }

    // Each region begins behind the first consonant that follows a vowel of the one before.
    void find_regions() {
        r1_ = region_from(0);
        r2_ = region_from(r1_);
    }

    std::size_t region_from(std::size_t at) const {
        while (at < word_.size() && !is_vowel(word_[at])) ++at;
        while (at < word_.size() && is_vowel(word_[at])) ++at;
        return std::min(at + 1, word_.size());
    }

    bool ends(std::string_view suffix) const {
        return word_.size() >= suffix.size() &&
               word_.compare(word_.size() - suffix.size(), suffix.size(), suffix) == 0;
    }

    bool vowel_before(std::size_t end) const {
        return std::any_of(word_.begin(), word_.begin() + static_cast<std::ptrdiff_t>(end), is_vowel);
    }

    // Ends in consonant, vowel, consonant, the last not w, x or Y.
    bool short_syllable(std::size_t end) const {
        if (end < 3) return false;
        const char last = word_[end - 1];
        return !is_vowel(last) && last != 'w' && last != 'x' && last != 'Y' &&
               is_vowel(word_[end - 2]) && !is_vowel(word_[end - 3]);
    }

    void cut(std::size_t count) { word_.resize(word_.size() - count); }

    void step_1a() {
        if (ends("sses") || ends("ies")) {
            cut(2);
        } else if (ends("s") && !ends("ss")) {
            cut(1);
        }
    }

    void step_1b() {
        if (ends("eed")) {
            if (r1_ <= word_.size() - 3) cut(1);
            return;
        }
        const std::size_t size = ends("ed") ? 2 : ends("ing") ? 3 : 0;
        if (size == 0 || !vowel_before(word_.size() - size)) return;
        cut(size);
        if (ends("at") || ends("bl") || ends("iz")) {
            word_ += 'e';
        } else if (doubled()) {
            cut(1);
        } else if (word_.size() == r1_ && short_syllable(word_.size())) {
            word_ += 'e';
        }
    }

    bool doubled() const {
        const std::size_t size = word_.size();
        return size >= 2 && word_[size - 1] == word_[size - 2] &&
               std::string_view("bdfgmnprt").find(word_[size - 1]) != std::string_view::npos;
    }

    void step_1c() {
        if ((ends("y") || ends("Y")) && vowel_before(word_.size() - 1)) word_.back() = 'i';
    }

    void replace_in_r1(const Rule* rule, const Rule* last) {
        rule = std::find_if(rule, last, [this](const Rule& each) { return ends(each.suffix); });
        if (rule == last || r1_ > word_.size() - rule->suffix.size()) return;
        cut(rule->suffix.size());
        word_ += rule->stem;
    }

    void step_4() {
        for (const std::string_view suffix : kStep4) {
            if (!ends(suffix)) continue;
            const std::size_t rest = word_.size() - suffix.size();
            const bool fits = suffix != "ion" ||
                              (rest > 0 && (word_[rest - 1] == 's' || word_[rest - 1] == 't'));
            if (r2_ <= rest && fits) cut(suffix.size());
            return;
        }
    }

    void step_5() {
        if (ends("e")) {
            const std::size_t rest = word_.size() - 1;
            if (r2_ <= rest || (r1_ <= rest && !short_syllable(rest))) cut(1);
        }
        if (ends("ll") && r2_ <= word_.size() - 1) cut(1);
    }

    std::string word_;
    std::size_t r1_ = 0, r2_ = 0;
};

}  // namespace

std::string porter_stem(std::string_view word) { return Porter(word).stem(); }

}  // namespace pincite

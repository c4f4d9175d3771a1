// Porter's stemmer of English ("An algorithm for suffix stripping", 1980), in the form that Snowball
// publishes as "porter".
#pragma once

#include <string>
#include <string_view>

namespace pincite {

// The stem of a word in lower case; what is not a vowel counts as a consonant.
std::string porter_stem(std::string_view word);

}  // namespace pincite

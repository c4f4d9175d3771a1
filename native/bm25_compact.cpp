#include "bm25_compact.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <stdexcept>

#include "bm25_near.hpp"
#include "clones.hpp"

namespace pincite::bm25 {
namespace {

constexpr std::uint8_t kSkip = 255;     // so many rows without a posting
constexpr std::uint32_t kCounted = 4;   // the first frequency that two bits do not tell
constexpr std::size_t kBitmap = kWindowRows / 8;

// Bytes that are read one by one, and no further.
struct Bytes {
    const std::uint8_t* at;
    const std::uint8_t* end;

    std::uint32_t varint() {
        std::uint64_t value = 0;
        for (unsigned shift = 0; shift < 35; shift += 7) {
            if (at == end) break;
            const std::uint8_t byte = *at++;
            value |= std::uint64_t{byte & 0x7FU} << shift;
            if (byte < 0x80 && value <= 0xFFFFFFFFU) return static_cast<std::uint32_t>(value);
        }
        throw Damaged("a packed number does not end");
    }
};

inline std::uint64_t word_at(const std::uint8_t* bytes) {
    std::uint64_t word = 0;
    for (std::size_t i = 0; i < 8; ++i) word |= std::uint64_t{bytes[i]} << (8 * i);
    return word;
}

inline std::size_t lowest(std::uint64_t word) {
#if defined(__GNUC__)
    return static_cast<std::size_t>(__builtin_ctzll(word));
#else
    std::size_t bit = 0;
    while (!(word >> bit & 1U)) ++bit;
    return bit;
#endif
}

inline std::uint32_t ones(std::uint64_t word) {
#if defined(__GNUC__)
    return static_cast<std::uint32_t>(__builtin_popcountll(word));
#else
    std::uint32_t count = 0;
    for (; word; word &= word - 1) ++count;
    return count;
#endif
}

PINCITE_CLONES std::uint32_t ones_below(const std::uint8_t* bits, std::size_t end) {
    std::uint32_t count = 0;
    for (std::size_t i = 0; i < end / 64; ++i) count += ones(word_at(bits + 8 * i));
    const std::uint64_t below = (std::uint64_t{1} << (end % 64)) - 1;
    return count + ones(word_at(bits + 8 * (end / 64)) & below);
}

void check_bits(Bytes bytes, std::uint32_t count) {
    if (static_cast<std::size_t>(bytes.end - bytes.at) < kBitmap || count > kWindowRows) {
        throw Damaged("a packed window ends too early");
    }
}

void put_varint(std::string& out, std::uint32_t value) {
    for (; value >= 0x80; value >>= 7) out.push_back(static_cast<char>(value | 0x80));
    out.push_back(static_cast<char>(value));
}

// Gives `use` the place and frequency of each of `count` postings.
template <typename Use>
void unpack_frequencies(Bytes bytes, std::uint32_t count, Use use) {
    const std::uint8_t* packed = bytes.at;
    const std::size_t size = (std::size_t{count} + 3) / 4;
    if (static_cast<std::size_t>(bytes.end - bytes.at) < size) {
        throw Damaged("packed frequencies end too early");
    }
    bytes.at += size;
    for (std::uint32_t i = 0; i < count; ++i) {
        const std::uint32_t two = (packed[i / 4] >> (i % 4 * 2)) & 3U;
        if (two + 1 < kCounted) {
            use(i, two + 1);
            continue;
        }
        const std::uint64_t tf = std::uint64_t{bytes.varint()} + kCounted;
        if (tf > 0xFFFFFFFFU) throw Damaged("a frequency is beyond 32 bits");
        use(i, static_cast<std::uint32_t>(tf));
    }
    if (bytes.at != bytes.end) throw Damaged("a term's packed postings are too long");
}

void pack_frequencies(std::string& out, const std::uint32_t* tfs, std::size_t count) {
    const std::size_t first = out.size();
    out.append((count + 3) / 4, '\0');
    for (std::size_t i = 0; i < count; ++i) {
        const std::uint32_t two = std::min(tfs[i], kCounted) - 1;
        out[first + i / 4] = static_cast<char>(out[first + i / 4] | (two << (i % 4 * 2)));
        if (tfs[i] >= kCounted) put_varint(out, tfs[i] - kCounted);
    }
}

// The rows of a window, with its high bits, out of a bit for each.
void unpack_bits(const std::uint8_t* bits, std::uint32_t count, std::uint16_t high,
                 std::uint16_t* out) {
    std::uint32_t done = 0;
    for (std::size_t i = 0; i < kBitmap; i += 8) {
        for (std::uint64_t word = word_at(bits + i); word; word &= word - 1) {
            if (done == count) throw Damaged("a packed window has too many rows");
            out[done++] = static_cast<std::uint16_t>(high | (i * 8 + lowest(word)));
        }
    }
    if (done != count) throw Damaged("a packed window does not have its rows");
}

// The same out of gaps, and where the frequencies begin. `size` is the number of rows that the
// window has.
Bytes unpack_gaps(Bytes bytes, std::uint32_t count, std::size_t size, std::uint16_t high,
                  std::uint16_t* out) {
    std::size_t done = 0, row = 0;
    const std::uint8_t* at = bytes.at;
    while (done < count && at != bytes.end) {
        const std::size_t gap = *at++, there = gap != kSkip;
        out[done] = static_cast<std::uint16_t>(high | (row + gap));
        row += gap + there;
        done += there;
    }
    bytes.at = at;
    if (done != count || row > size) throw Damaged("a packed window does not have its rows");
    return bytes;
}

// The rows of a window either way.
Bytes unpack_rows(Bytes bytes, std::uint32_t count, std::size_t size, std::uint16_t* out) {
    if (count < kDenseWindow) return unpack_gaps(bytes, count, size, 0, out);
    check_bits(bytes, count);
    unpack_bits(bytes.at, count, 0, out);
    if (out[count - 1] >= size) throw Damaged("a packed window does not have its rows");
    return {bytes.at + kBitmap, bytes.end};
}

void pack_rows(std::string& out, const std::uint32_t* rows, std::size_t count) {
    if (count >= kDenseWindow) {
        const std::size_t first = out.size();
        out.append(kBitmap, '\0');
        for (std::size_t i = 0; i < count; ++i) {
            const std::uint32_t local = rows[i] % kWindowRows;
            out[first + local / 8] = static_cast<char>(out[first + local / 8] | (1 << local % 8));
        }
        return;
    }
    std::uint32_t next = 0;
    for (std::size_t i = 0; i < count; ++i) {
        const std::uint32_t local = rows[i] % kWindowRows;
        for (; local - next >= kSkip; next += kSkip) out.push_back(static_cast<char>(kSkip));
        out.push_back(static_cast<char>(local - next));
        next = local + 1;
    }
}

Bytes bytes_of(const KeywordData& data, std::uint32_t begin, std::uint32_t end) {
    const std::uint8_t* first = data.arrays().packed.range(begin, end);
    return {first, first + (end - begin)};
}

Bytes bytes_of(const KeywordData& data, std::size_t term) {
    const std::uint32_t* ends = data.arrays().packed_starts.range(term, term + 2);
    return bytes_of(data, ends[0], ends[1]);
}

// Rows of a term without windows, and where its frequencies begin.
Bytes unpack_wide(const KeywordData& data, std::size_t term, std::vector<std::uint32_t>& rows) {
    Bytes bytes = bytes_of(data, term);
    const std::uint32_t count = bytes.varint();
    if (count == 0 || count > data.rows()) throw Damaged("a term has no such number of postings");
    rows.resize(count);
    std::uint64_t next = 0;
    for (std::uint32_t& row : rows) {
        next += bytes.varint();
        if (next >= data.rows()) throw Damaged("a posting names a row that is not there");
        row = static_cast<std::uint32_t>(next++);
    }
    return bytes;
}

std::size_t rows_of_window(const KeywordData& data, std::size_t window) {
    return std::min(kWindowRows, data.rows() - (window << kWindowBits));
}

}  // namespace

std::uint32_t Unpacked::large_frequency(std::uint32_t place) const {
    const auto found = std::lower_bound(large.begin(), large.end(),
                                        std::make_pair(place, std::uint32_t{0}));
    if (found == large.end() || found->first != place) {
        throw Damaged("a large frequency is missing");
    }
    return found->second;
}

std::uint32_t compact_count(const KeywordData& data, std::size_t term) {
    std::size_t place;
    if (!data.long_place(term, &place)) return bytes_of(data, term).varint();
    return data.arrays().window_starts[place * (data.windows() + 1) + data.windows()];
}

void unpack(const KeywordData& data, std::size_t term, Postings& out) {
    std::size_t place;
    if (!data.long_place(term, &place)) {
        const Bytes rest = unpack_wide(data, term, out.rows);
        const auto count = static_cast<std::uint32_t>(out.rows.size());
        out.tfs.resize(count);
        unpack_frequencies(rest, count, [&](std::uint32_t i, std::uint32_t tf) { out.tfs[i] = tf; });
        return;
    }
    const KeywordArrays& a = data.arrays();
    const std::size_t windows = data.windows(), first = place * (windows + 1);
    const std::uint32_t* starts = a.window_starts.range(first, first + windows + 1);
    const std::uint32_t* packed = a.packed_windows.range(first, first + windows + 1);
    std::vector<std::uint16_t> locals(kWindowRows + 64);
    out.rows.clear();
    out.tfs.clear();
    for (std::size_t w = 0; w < windows; ++w) {
        if (starts[w] > starts[w + 1]) throw Damaged("its windows go backwards");
        const std::uint32_t count = starts[w + 1] - starts[w];
        if (count == 0) continue;
        const Bytes rest = unpack_rows(bytes_of(data, packed[w], packed[w + 1]), count,
                                       rows_of_window(data, w), locals.data());
        for (std::uint32_t i = 0; i < count; ++i) {
            out.rows.push_back(static_cast<std::uint32_t>((w << kWindowBits) | locals[i]));
        }
        unpack_frequencies(rest, count, [&](std::uint32_t, std::uint32_t tf) {
            out.tfs.push_back(tf);
        });
    }
}

void Unpacked::note(std::uint32_t place, std::uint32_t tf, std::uint8_t code) {
    codes[place] = code;
    if (tf > kExact) large.emplace_back(place, tf);
}

void Unpacked::open_term(const KeywordData& data, std::size_t term,
                         std::vector<std::uint32_t>& wide) {
    const Bytes rest = unpack_wide(data, term, wide);
    const auto count = static_cast<std::uint32_t>(wide.size());
    const std::uint8_t* lengths = data.arrays().length_codes.range(0, data.rows());
    const CodeTable& table = data.code_table();
    rows.resize(count);
    codes.resize(count);
    large.clear();
    unpack_frequencies(rest, count, [&](std::uint32_t i, std::uint32_t tf) {
        rows[i] = static_cast<std::uint16_t>(wide[i]);
        note(i, tf, table.code(tf, lengths[wide[i]]));
    });
}

void Unpacked::open_window(const KeywordData& data, std::uint32_t begin, std::uint32_t end,
                           std::size_t window, std::uint32_t count) {
    const std::size_t first = window << kWindowBits;
    Bytes bytes = bytes_of(data, begin, end);
    table_ = &data.code_table();
    size_ = rows_of_window(data, window);
    lengths_ = data.arrays().length_codes.range(first, first + size_);
    high_ = static_cast<std::uint16_t>(first);
    count_ = count;
    complete_ = false;
    rows.resize(kWindowRows + 64);
    bits_ = nullptr;
    if (count < kDenseWindow) {
        bytes = unpack_gaps(bytes, count, size_, high_, rows.data());
    } else {
        check_bits(bytes, count);
        bits_ = bytes.at;
        bytes.at += kBitmap;
    }
    twos_ = bytes.at;
    const std::size_t size = (std::size_t{count} + 3) / 4;
    if (static_cast<std::size_t>(bytes.end - bytes.at) < size) {
        throw Damaged("packed frequencies end too early");
    }
    rest_ = twos_ + size;
    end_ = bytes.end;
}

void Unpacked::complete() {
    if (complete_) return;
    if (bits_ != nullptr) {
        unpack_bits(bits_, count_, high_, rows.data());
        if (rows[count_ - 1] % kWindowRows >= size_) {
            throw Damaged("a packed window does not have its rows");
        }
    }
    codes.resize(kWindowRows + 64);
    large.clear();
    const CodeTable& table = *table_;
    const std::uint16_t* const own = rows.data();
    const std::uint8_t* const lengths = lengths_;
    std::uint8_t* const out = codes.data();
    std::uint16_t counted[kWindowRows + 64];  // places of frequencies that two bits do not tell
    std::size_t many = 0;
    const auto one = [&](std::uint32_t i, std::uint32_t own_two) {
        out[i] = table.near(own_two, lengths[own[i] % kWindowRows]);
        counted[many] = static_cast<std::uint16_t>(i);
        many += own_two + 1 == kCounted;
    };
    for (std::uint32_t i = 0; i + 4 <= count_; i += 4) {
        const std::uint32_t four = twos_[i / 4];
        one(i, four & 3U);
        one(i + 1, four >> 2 & 3U);
        one(i + 2, four >> 4 & 3U);
        one(i + 3, four >> 6);
    }
    for (std::uint32_t i = count_ / 4 * 4; i < count_; ++i) one(i, two(i));
    Bytes bytes{rest_, end_};
    for (std::size_t i = 0; i < many; ++i) {
        const std::uint32_t place = counted[i];
        const std::uint64_t tf = std::uint64_t{bytes.varint()} + kCounted;
        if (tf > 0xFFFFFFFFU) throw Damaged("a frequency is beyond 32 bits");
        note(place, static_cast<std::uint32_t>(tf),
             table.code(static_cast<std::uint32_t>(tf), lengths_[own[place] % kWindowRows]));
    }
    if (bytes.at != bytes.end) throw Damaged("a term's packed postings are too long");
    complete_ = true;
}

std::uint32_t Unpacked::find(std::uint16_t row) const {
    const std::size_t local = row % kWindowRows;
    if (bits_ == nullptr) {
        const std::size_t at = find_near(rows.data(), count_, row);
        return at < count_ && rows[at] == row ? static_cast<std::uint32_t>(at) : count_;
    }
    if (local >= size_ || !(bits_[local / 8] >> (local % 8) & 1U)) return count_;
    const std::uint32_t before = ones_below(bits_, local);
    if (before >= count_) throw Damaged("a packed window has too many rows");
    return before;
}

std::uint32_t Unpacked::two(std::uint32_t place) const {
    return (twos_[place / 4] >> (place % 4 * 2)) & 3U;
}

std::uint8_t Unpacked::bounding_code(std::uint32_t place, std::uint16_t row) const {
    const std::uint8_t length = lengths_[row % kWindowRows];
    const std::uint32_t own = two(place);
    return own + 1 < kCounted ? table_->near(own, length) : table_->most(length);
}

std::uint32_t Unpacked::frequency(std::uint32_t place) const {
    const std::uint32_t own = two(place);
    if (own + 1 < kCounted) return own + 1;
    std::uint32_t before = 0;  // frequencies of the same kind
    for (std::uint32_t i = 0; i < place / 4; ++i) before += ones(twos_[i] & (twos_[i] >> 1) & 0x55U);
    for (std::uint32_t i = place / 4 * 4; i < place; ++i) before += two(i) + 1 == kCounted;
    Bytes bytes{rest_, end_};
    for (std::uint32_t i = 0; i < before; ++i) bytes.varint();
    const std::uint64_t tf = std::uint64_t{bytes.varint()} + kCounted;
    if (tf > 0xFFFFFFFFU) throw Damaged("a frequency is beyond 32 bits");
    return static_cast<std::uint32_t>(tf);
}

Compacted compacted(const KeywordData& data) {
    Compacted out;
    Postings postings;
    const auto mark = [&](std::vector<std::uint32_t>& marks) {
        if (out.packed.size() > std::numeric_limits<std::uint32_t>::max()) {
            throw std::overflow_error("packed postings take more than 4 GiB");
        }
        marks.push_back(static_cast<std::uint32_t>(out.packed.size()));
    };
    for (std::size_t term = 0; term < data.terms(); ++term) {
        mark(out.packed_starts);
        data.postings(term, postings.rows, &postings.tfs);
        const std::uint32_t* rows = postings.rows.data();
        std::size_t place, at = 0;
        const std::size_t count = postings.rows.size();
        if (!data.long_place(term, &place)) {
            put_varint(out.packed, static_cast<std::uint32_t>(count));
            for (std::uint32_t next = 0; at < count; next = rows[at++] + 1) {
                put_varint(out.packed, rows[at] - next);
            }
            pack_frequencies(out.packed, postings.tfs.data(), count);
            continue;
        }
        for (std::size_t w = 0; w < data.windows(); ++w) {
            mark(out.packed_windows);
            const std::size_t first = at;
            while (at < count && rows[at] >> kWindowBits == w) ++at;
            if (at == first) continue;
            pack_rows(out.packed, rows + first, at - first);
            pack_frequencies(out.packed, postings.tfs.data() + first, at - first);
        }
        mark(out.packed_windows);
        if (at != count) throw Damaged("postings do not ascend");
    }
    mark(out.packed_starts);
    return out;
}

}  // namespace pincite::bm25

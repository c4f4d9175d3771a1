"""The native analysis equals the analyser, text by text, whatever the text."""

from __future__ import annotations

import sys
import threading
from itertools import pairwise

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from pincite.errors import InvalidArgument
from pincite.segments.kernels import native
from pincite.text.analysis import Analyzer, default_analyzer
from pincite.text.kernels import TextKernel, TextRules, _stems_alike
from pincite.text.stemming import PORTER_LANGUAGE, stem_words

pytestmark = pytest.mark.skipif(native() is None, reason="needs the native kernels")

PIECES = [
    "word", "Word", "WORD", "wOrd", "parseHTTPResponse", "iPhone", "x", "X1", "a1B2", "HTMLDoc",
    "_", "__", "_x", "x_", "foo_bar", "foo_bar.baz", "a.b", "e.g.", "U.S.", "v2.10.3", "ERR-4021",
    "state-of-the-art", "C++", "C#", "F#x", "a++b", "++", "#", "don't", "user's", "USER'S", "we'll",
    "we'LL", "they'rex", "x'd-y", "foo_bar's", "a@b.com", "R&D", "A-_-B", "_-_", "1.5", "-5", "5-",
    "the", "The", "not", "running", "relational", "x" * 8, "y" * 9, "z" * 255, "q" * 256, "Q" * 257,
    "w" * 300, "a-" * 200, "don’t", "user’s", "“quoted”", "a—b", "1990–2000", "«x»", "…", "‘x’",
    "é", "naïve", "Häuser", "STRASSE", "straße", "日本語", "日", "ไทย", "한국어", "कि", "ﬁne",
    "\u00ad", "co\u00adop", "x\u0301", "\u0301x", "Ａ１", "٣", "Привет", "й", "i\u0307", "\u200b",
    "x\u200by", "\ud800", "a\ud800b", "\x00", "a\x00b", "·", "l·l", "\u2010", "x\u2010y",
    "\U0001f600",
    "ǅ", "\x7f", "a\x7fb", "Straße-x", "l’été", "été's", "été++", "x'sé", "a'é", "é'a", "foo.é",
    "é_", "ى", "ـ", "نَص", "हिन्दी", "\u0939\u093f", "x\u093f", "\u093fx", "'\u093f", "ΐΰ",
    "İstanbul", "ǰ", "\u212a", "\ufb00", "Ⅷ", "ß" * 128, "é" * 129, "日é", "é日x", "ñandú",
    "Ångström", "ＡＢé", "५x", "café1",
]  # fmt: skip
SPACES = [
    " ", "  ", "\n", "\t", "\x0b", "\x0c", "\r\n", "\x1c", "\x1f", "\x85", "\xa0", "\u1680",
    "\u2000", "\u200a", "\u2028", "\u2029", "\u202f", "\u205f", "\u3000", "", ",", "/", "(", "-",
]  # fmt: skip

mixed = st.lists(st.sampled_from(PIECES + SPACES), max_size=12).map("".join)
borders = st.builds(
    lambda before, letters, size, after: " " * before + letters[:1] + letters[1:] * size + after,
    st.integers(0, 17),
    st.sampled_from(["ab", "aB", "Ab", "AB", "a1", "é1", "aé", "_a"]),
    st.sampled_from([*range(5, 19), 30, 31, 32, 33, 246, 247, 248, *range(254, 259)]),
    st.sampled_from(["", " ", "é", "\x00", "\x7f", "-", "-x", "'s", "++", "_", "\u0301", "日"]),
)
"""Words that end at, before or behind the borders of the blocks in which they are read."""

texts = st.lists(
    mixed
    | borders
    | st.text(max_size=40)
    | st.text(st.sampled_from("abAB1é ßÑжЖदिक日ーاً'’-_.+#\u200b\u0301\u0307"), max_size=30)
    | st.text(st.characters(max_codepoint=0x7F), max_size=40)
    | st.text(st.characters(), max_size=40),
    max_size=6,
)
languages = st.sampled_from(["", "en", "de", "fr", "tr", "ar", "zh", "ja"])


def unpacked(found) -> tuple[list[dict[str, int]], list[int]]:
    """Terms and frequencies by row, and the lengths."""
    rows: list[dict[str, int]] = [{} for _ in found.lengths]
    blob, ends = found.vocabulary.tobytes(), found.vocabulary_offsets.tolist()
    starts = found.postings_offsets.tolist()
    terms = [blob[a:b].decode("utf-8", "surrogatepass") for a, b in pairwise(ends)]
    for number, term in enumerate(terms):
        for at in range(starts[number], starts[number + 1]):
            rows[found.rows[at]][term] = int(found.tfs[at])
    encoded = [term.encode("utf-8", "surrogatepass") for term in terms]
    assert encoded == sorted(set(encoded))
    return rows, found.lengths.tolist()


def kernel(**rules) -> TextKernel:
    module = native()
    assert module is not None
    return TextKernel(module, TextRules(default_analyzer(), **rules))


@pytest.fixture(scope="module")
def warm() -> TextKernel:
    """One kernel for all examples, so that words are also met again."""
    return kernel()


@given(given_texts=texts, codes=st.lists(languages, min_size=6, max_size=6))
@settings(max_examples=150)
@example(given_texts=[" ".join(PIECES)], codes=["en"] * 6)
@example(given_texts=["".join(PIECES)], codes=["de"] * 6)
@example(given_texts=PIECES[:6], codes=["en", "", "de", "en", "", "de"])
def test_terms_and_lengths_are_the_analysers(warm, given_texts, codes):
    analyzer = default_analyzer()
    codes = [codes[n % 6] for n in range(len(given_texts))]
    wanted = [analyzer.document_terms(t, code) for t, code in zip(given_texts, codes, strict=True)]

    for threads in (1, 3):
        rows, lengths = unpacked(warm.inverted(given_texts, codes, threads=threads))
        assert rows == [terms for terms, _ in wanted]
        assert lengths == [length for _, length in wanted]


@pytest.mark.parametrize("piece", PIECES)
@pytest.mark.parametrize("code", ["", "en", "fr"])
def test_each_odd_piece_alone(piece, code):
    wanted = default_analyzer().document_terms(piece, code)

    [terms], [length] = unpacked(kernel().inverted([piece], [code]))

    assert (terms, length) == wanted


@pytest.mark.parametrize("code", ["en", "ar"])
def test_each_letter_and_mark_of_the_plane_alone_and_between_others(code):
    codes = [*range(0x80, 0x3400), *range(0xA4D0, 0xAC00), *range(0xFB00, 0x10000)]
    given_texts = [
        f"{chr(c)} x{chr(c)} é{chr(c)}y {chr(c)}d" for c in codes if c % 2 == (code == "en")
    ]
    analyzer = default_analyzer()

    rows, lengths = unpacked(kernel().inverted(given_texts, [code] * len(given_texts)))

    wanted = [analyzer.document_terms(text, code) for text in given_texts]
    assert list(zip(rows, lengths, strict=True)) == wanted


@given(
    words=st.lists(st.text(st.sampled_from("aéßİñΣςжЙъالдi"), min_size=1, max_size=9), max_size=9),
    code=languages,
    accents=st.sampled_from(["fold", "keep"]),
)
def test_many_words_at_once_are_folded_like_each_alone(words, code, accents):
    words = [word for word in words if not word.isascii()]
    analyzer = Analyzer(accents=accents)

    assert analyzer.word_terms(words, code) == [
        token.term for word in words for token in analyzer.tokens(word, code)
    ]


SUFFIXES = """
sses ies ss s eed ed ing at bl iz bb dd y tional enci anci abli entli eli izer ization ational
ation ator alli alism aliti fulness ousli ousness iveness iviti biliti alize icate iciti ical
ative ful ness al ance ence er ic able ible ant ement ment ent ou ism ate iti ous ive ize ion e
l ll 's 1
""".split()  # noqa: SIM905


@given(
    heads=st.lists(st.text("abcdeiouylstwxz01'_", max_size=7), min_size=20, max_size=20),
    tails=st.lists(st.lists(st.sampled_from(SUFFIXES), max_size=3).map("".join), min_size=20),
)
@settings(max_examples=300)
def test_native_code_stems_like_the_stemmer(heads, tails):
    words = [head + tail for head, tail in zip(heads, tails, strict=False)]
    module = native()
    assert module is not None
    assert _stems_alike(module)

    assert [module.porter_stem(word) for word in words] == stem_words(words, PORTER_LANGUAGE)


def test_another_stemmer_is_asked_itself(monkeypatch):
    monkeypatch.setattr("pincite.text.kernels._stems_alike", lambda _: False)

    rows, _ = unpacked(kernel().inverted(["running parseHTTP's relational"], ["en"]))

    assert rows == [default_analyzer().document_terms("running parseHTTP's relational", "en")[0]]


def test_every_white_space_of_python_splits():
    spaces = [chr(c) for c in range(sys.maxunicode + 1) if chr(c).isspace()]
    given_texts = [f"éa{space}éb" for space in spaces] + [f"a{space}b" for space in spaces]

    _, lengths = unpacked(kernel().inverted(given_texts, [""] * len(given_texts)))

    assert set(lengths) == {2}


def test_common_punctuation_beside_words():
    marks = [chr(c) for c in [*range(0xA0, 0xC0), *range(0x2010, 0x2070)]]
    given_texts = [f"Ab{m}cd {m}x y{m} {m}s don{m}t" for m in marks]
    analyzer = default_analyzer()

    rows, lengths = unpacked(kernel().inverted(given_texts, ["en"] * len(given_texts)))

    wanted = [analyzer.document_terms(text, "en") for text in given_texts]
    assert list(zip(rows, lengths, strict=True)) == wanted


def test_frequencies_beyond_a_byte():
    text = "a " * 70_000 + "b " * 255 + "c " * 254

    [terms], [length] = unpacked(kernel().inverted([text], [""]))

    assert terms == {"a": 70_000, "b": 255, "c": 254}
    assert length == 70_509


def test_stop_words_and_short_terms_are_left_out():
    found = kernel(stops=frozenset({"the", "don't", "é"}), shortest=2).inverted(
        ["The cat don't x", "the THE é", "don’t the_end", "é"], [""] * 4
    )

    rows, lengths = unpacked(found)
    assert rows == [
        {"cat": 1},
        {"the": 2},  # nothing else: kept whole, but for what is too short
        {"the_end": 1, "end": 1},
        {},
    ]
    assert lengths == [1, 2, 1, 0]


def test_a_language_of_the_rules_is_that_of_every_text():
    rows, _ = unpacked(kernel(language="en").inverted(["running"], ["de"]))

    assert rows == [{"run": 1}]


def test_another_analyzer_is_another_kernel():
    module = native()
    assert module is not None
    keeping = TextKernel(module, TextRules(Analyzer(accents="keep")))

    rows, _ = unpacked(keeping.inverted(["résumé"], [""]))

    assert rows == [{"résumé": 1}]


def test_more_languages_than_a_lexicon_holds():
    codes = [f"{a}{b}" for a in "abcdefghijklmnop" for b in "abcdefghijklmnopq"][:250]
    made = kernel()
    made.inverted(["word"] * 250, codes)
    made.inverted(["word"] * 250, [code + "x" for code in codes])

    rows, _ = unpacked(made.inverted(["running"], ["en"]))
    assert rows == [{"run": 1}]


def test_a_full_kernel_starts_afresh(monkeypatch):
    monkeypatch.setattr("pincite.text.kernels._MOST_BYTES", 10)
    made = kernel()

    for _ in range(3):
        rows, _ = unpacked(made.inverted(["running over many words"], ["en"]))
        assert rows == [{"run": 1, "over": 1, "mani": 1, "word": 1}]


def test_a_bad_language_is_refused_and_leaves_the_kernel_usable():
    made = kernel()
    with pytest.raises(InvalidArgument):
        made.inverted(["x"], ["not a language"])

    assert unpacked(made.inverted(["x"], [""]))[0] == [{"x": 1}]


def test_no_texts():
    found = kernel().inverted([], [])

    assert unpacked(found) == ([], [])


def test_eight_threads_share_a_kernel():
    made = kernel()
    given_texts = [f"word{n} shared Häuser_{n}" for n in range(50)]
    wanted = unpacked(made.inverted(given_texts, ["de"] * 50))
    wrong: list[object] = []

    def work(seed: int) -> None:
        for n in range(10):
            made.inverted([f"fresh{seed} x{n}"], ["en"])
            if unpacked(made.inverted(given_texts, ["de"] * 50, threads=2)) != wanted:
                wrong.append(n)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []

"""Terms, identifiers, offsets, queries and highlights of the analyser."""

from __future__ import annotations

import unicodedata

import pytest

from pincite.errors import InvalidArgument
from pincite.text.analysis import Analyzer, default_analyzer
from pincite.text.stopwords import STOPWORDS
from pincite.text.tokens import Token

ANALYZER = Analyzer()


def terms(text: str, language: str = "") -> list[str]:
    return [token.term for token in ANALYZER.tokens(text, language)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ERR-4021", ["err-4021", "err", "4021"]),
        ("foo_bar.baz", ["foo_bar.baz", "foo_bar", "foo", "bar", "baz"]),
        ("C++", ["c++", "c"]),
        ("C#", ["c#", "c"]),
        ("v2.10.3", ["v2.10.3", "v2", "10", "3"]),
        ("state-of-the-art", ["state-of-the-art", "state", "of", "the", "art"]),
        ("camelCase", ["camelcase", "camel", "case"]),
        ("XMLHttpRequest", ["xmlhttprequest", "xml", "http", "request"]),
        ("__init__", ["__init__", "init"]),
        ("user@example.com", ["user@example.com", "user", "example", "com"]),
        ("non\u2011breaking", ["non-breaking", "non", "breaking"]),
        ("U.S. e.g.", ["u.s", "e.g"]),
        ("URLs PDFs", ["urls", "pdfs"]),
        ("i++;", ["i++", "i"]),
    ],
)  # fmt: skip
def test_identifiers_are_found_whole_first_then_by_parts(text: str, expected: list[str]) -> None:
    assert terms(text) == expected


@pytest.mark.parametrize(
    "text", ["___", "", "   ", "-- ... ++ #", "\u0301\u0301", "🎉 ✓", "\ud800"]
)
def test_text_without_words_has_no_terms(text: str) -> None:
    assert terms(text) == []
    assert ANALYZER.document_terms(text) == ({}, 0)
    assert ANALYZER.query_groups(text, ["en", "de"]) == ()


def test_parts_do_not_count_in_the_length() -> None:
    frequencies, length = ANALYZER.document_terms("ERR-4021 again and again")

    assert frequencies == {"err-4021": 1, "err": 1, "4021": 1, "again": 2, "and": 1}
    assert length == 4


def test_clitics_stay_with_their_word() -> None:
    assert terms("the user's dog doesn’t bark") == ["the", "user", "dog", "doesn't", "bark"]


def test_elided_articles_are_words_of_their_own() -> None:
    assert terms("l’homme dell'arte", "fr")[1] == "homm"
    assert terms("dell'arte") == ["dell", "arte"]


def test_combining_marks_belong_to_their_word() -> None:
    assert terms("हिन्दी में खोज") == ["हिन्दी", "में", "खोज"]


def test_decimal_digits_of_all_scripts_are_one() -> None:
    assert terms("٢٠٢٤ २०२४ ๒๐๒๔ 2024") == ["2024"] * 4


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("会議", ["会議"]),
        ("会", ["会"]),
        ("大阪で会議", ["大阪", "阪で", "で会", "会議"]),
        ("GPU温度", ["gpu", "温度"]),
        ("회의실 예약", ["회의", "의실", "예약"]),
        ("กินข้าว", ["กิน", "นข้", "ข้า", "าว"]),
        ("กิ", ["กิ"]),
        ("ﾃｽﾄ", ["テス", "スト"]),
    ],
)
def test_scripts_without_spaces_give_bigrams(text: str, expected: list[str]) -> None:
    assert terms(text) == expected


def test_composed_decomposed_and_unaccented_are_one_term() -> None:
    composed = "résumé"

    assert terms(composed) == terms(unicodedata.normalize("NFD", composed)) == ["resume"]
    assert terms("RÉSUMÉ") == terms("resume") == ["resume"]


def test_accents_can_be_kept() -> None:
    keep = Analyzer(accents="keep")

    assert [token.term for token in keep.tokens("Re\u0301sumé resume")] == ["résumé", "resume"]
    assert keep.fingerprint != ANALYZER.fingerprint


def test_case_folds_fully() -> None:
    assert terms("STRASSE straße Straße") == ["strasse"] * 3


def test_letters_that_are_not_accents_stay() -> None:
    assert terms("йод мой") == ["йод", "мой"]
    assert terms("ёлка") == terms("елка")
    assert terms("Łódź København") == ["lodz", "kobenhavn"]


def test_optional_vowel_signs_are_dropped() -> None:
    assert terms("كِتَاب") == terms("كتاب")


def test_offsets_point_into_the_raw_text() -> None:
    raw = "\ufeffThe co\u00adopera\u00adtive  ﬁeld, Re\u0301sume\u0301!"

    found = [raw[token.start : token.end] for token in ANALYZER.tokens(raw)]

    assert found == ["The", "co\u00adopera\u00adtive", "ﬁeld", "Re\u0301sume\u0301"]


def test_token_names_its_place() -> None:
    assert ANALYZER.tokens("a foo_x1")[1:] == [
        Token("foo_x1", 2, 8, part=False),
        Token("foo", 2, 5, part=True),
        Token("x1", 6, 8, part=True),
    ]


def test_documents_are_stemmed_in_their_language() -> None:
    assert ANALYZER.document_terms("Häuser", "de")[0] == {"haus": 1}
    assert ANALYZER.document_terms("Häuser", "")[0] == {"hauser": 1}
    assert ANALYZER.document_terms("running", "en-GB")[0] == {"run": 1}


def test_query_words_become_groups_of_stems_over_languages() -> None:
    groups = ANALYZER.query_groups("running Häuser", ["en", "de"])

    assert groups == (("run", "running"), ("hauser", "haus"))


def test_query_groups_appear_once_unless_repeats_are_wanted() -> None:
    assert ANALYZER.query_groups("gear, gear and box") == (("gear",), ("box",))
    assert ANALYZER.query_groups("gear, gear and box", repeats=True) == (
        ("gear",),
        ("gear",),
        ("box",),
    )


def test_stop_words_are_indexed_and_dropped_from_queries_with_other_terms() -> None:
    assert "the" in ANALYZER.document_terms("the engine", "en")[0]
    assert ANALYZER.query_groups("what is the engine", ["en"]) == (("engin",),)
    assert ANALYZER.query_groups("the of and") == (("the",), ("of",), ("and",))


@pytest.mark.parametrize(
    ("query", "language", "kept"),
    [
        ("to be or not to be", "en", "not"),
        ("there is no road", "en", "no"),
        ("ich bin nicht der Fahrer", "de", "nicht"),
        ("il ne vient pas", "fr", "pas"),
        ("no es la casa", "es", "no"),
    ],
)
def test_words_that_negate_stay_in_a_query(query: str, language: str, kept: str) -> None:
    assert (kept,) in ANALYZER.query_groups(query, [language])


def test_capitals_make_a_stop_word_a_name() -> None:
    assert ("who",) in ANALYZER.query_groups("WHO guidelines", ["en"])
    assert ("who",) not in ANALYZER.query_groups("WHO WROTE THE GUIDELINES", ["en"])


def test_highlights_are_joined_raw_spans() -> None:
    text = "Die Häuser: 大阪で会議, foo_bar and Haus"
    groups = ANALYZER.query_groups("haus 大阪で foo_bar", ["de"])

    found = [text[start:end] for start, end in ANALYZER.highlights(text, groups, "de")]

    assert found == ["Häuser", "大阪で", "foo_bar", "Haus"]
    assert ANALYZER.highlights(text, [], "de") == []


def test_very_long_words_are_known_by_their_beginning() -> None:
    word = "x" * 100_000

    (token,) = ANALYZER.tokens(word)

    assert token == Token("x" * 256, 0, 100_000, part=False)


def test_hostile_text_ends() -> None:
    frequencies, length = ANALYZER.document_terms("a.b-" * 50_000 + "会" * 50_000)

    assert length > 1
    assert len(frequencies) < 10


def test_unknown_options_and_languages_are_refused() -> None:
    with pytest.raises(InvalidArgument, match="use 'fold' or 'keep'"):
        Analyzer(accents="strip")  # type: ignore[arg-type]
    with pytest.raises(InvalidArgument, match="give an ISO 639-1 code"):
        ANALYZER.tokens("text", "klingon")
    with pytest.raises(InvalidArgument, match="give an ISO 639-1 code"):
        ANALYZER.query_groups("text", ["12"])


def test_fingerprint_is_stable_and_says_what_it_covers(monkeypatch: pytest.MonkeyPatch) -> None:
    before = Analyzer().fingerprint
    assert before == default_analyzer().fingerprint

    monkeypatch.setattr("pincite.text.analysis.stemmer_version", lambda: "0")
    assert Analyzer().fingerprint != before
    monkeypatch.undo()
    monkeypatch.setattr("pincite.text.analysis.UNICODE_TABLE_VERSION", 0)
    assert Analyzer().fingerprint != before
    monkeypatch.undo()
    monkeypatch.setattr(Analyzer, "version", 0)
    assert Analyzer().fingerprint != before


def test_caches_stay_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pincite.text.analysis._CACHED_CHUNKS", 10)
    monkeypatch.setattr("pincite.text._terms._CACHED_WORDS", 10)
    analyzer = Analyzer()
    text = " ".join(f"word{i}" for i in range(100))

    frequencies, length = analyzer.document_terms(text)
    analyzer.tokens(text)

    assert (len(frequencies), length) == (100, 100)
    assert all(len(cache) <= 10 for cache in analyzer._counts.values())
    assert all(len(cache) <= 10 for cache in analyzer._tokens.values())
    assert all(len(cache) <= 10 for cache in analyzer._maker._known.values())


def test_default_analyzer_is_shared() -> None:
    assert default_analyzer() is default_analyzer()


def test_english_stop_words_are_lower_case_words() -> None:
    assert {"the", "of", "i'm"} <= STOPWORDS
    assert not {"no", "not", "nor", "without"} & STOPWORDS

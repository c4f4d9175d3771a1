"""The analyser's laws on random Unicode."""

from __future__ import annotations

import unicodedata
from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from pincite.text._items import read_items
from pincite.text.analysis import Analyzer
from pincite.text.languages import detect_language
from pincite.text.normalize import align, normalize_text

ANALYZER = Analyzer()
KEEP = Analyzer(accents="keep")

# What normalisation, identifiers and scripts stumble over, far more often than chance brings it.
TRICKY = st.sampled_from(
    list("abXYZ019_-.@&·+#'’ \n\u00ad\u200b\u200d\ufeff\u0301\u0323\u0345éßİıŉǰﬁ½㎏℃⑴…№㍿Å각가각")
    + list("会かが゙ーｶﾞกำิສាကहिंدأَـяйёςΐᾳ٣๓Ⅷ\u2010\u2011ʼ\u0378🎉\ufe0f")
)
TEXTS = st.lists(st.one_of(TRICKY, TRICKY, st.characters(codec="utf-8")), max_size=30).map("".join)
LANGUAGES = st.sampled_from(["", "en", "de", "tr", "ar", "hi", "th", "fi"])


@given(TEXTS)
@settings(max_examples=100, deadline=None)
def test_alignment_is_normalisation_with_places(text: str) -> None:
    aligned = align(text)

    assert aligned.text == normalize_text(text)
    if aligned.starts is not None and aligned.ends is not None:
        assert len(aligned.starts) == len(aligned.ends) == len(aligned.text)
        assert all(
            0 <= a < b <= len(text) for a, b in zip(aligned.starts, aligned.ends, strict=True)
        )


@given(TEXTS, LANGUAGES)
@settings(max_examples=150, deadline=None)
def test_a_token_s_raw_slice_gives_its_term(text: str, language: str) -> None:
    for term, start, end, part in ANALYZER.tokens(text, language):
        again = [token.term for token in ANALYZER.tokens(text[start:end], language)]

        # A hump can end inside one raw character: Ⅷaa is VIIIaa is VII, Iaa.
        assert term in again or (part and any(term in other for other in again))


@given(TEXTS, LANGUAGES)
@settings(max_examples=100, deadline=None)
def test_document_terms_count_the_tokens(text: str, language: str) -> None:
    tokens = ANALYZER.tokens(text, language)

    frequencies, length = ANALYZER.document_terms(text, language)

    assert frequencies == Counter(token.term for token in tokens)
    assert length == sum(not token.part for token in tokens)
    assert all(frequencies)


@given(TEXTS, LANGUAGES)
@settings(max_examples=100, deadline=None)
def test_composed_and_decomposed_text_have_the_same_terms(text: str, language: str) -> None:
    composed = unicodedata.normalize("NFC", text)
    decomposed = unicodedata.normalize("NFD", text)

    assert ANALYZER.document_terms(composed, language) == ANALYZER.document_terms(
        decomposed, language
    )


@given(TEXTS)
@settings(max_examples=100, deadline=None)
def test_normalising_first_changes_no_term(text: str) -> None:
    plain = normalize_text(text)

    assert normalize_text(plain) == plain
    assert ANALYZER.document_terms(plain) == ANALYZER.document_terms(text)


@given(TEXTS)
@settings(max_examples=150, deadline=None)
def test_an_unstemmed_term_is_its_own_first_term(text: str) -> None:
    for analyzer in (ANALYZER, KEEP):
        for token in analyzer.tokens(text):
            assert analyzer.tokens(token.term)[0].term == token.term


@given(TEXTS, LANGUAGES)
@settings(max_examples=100, deadline=None)
def test_a_text_matches_itself_as_a_query(text: str, language: str) -> None:
    frequencies, _ = ANALYZER.document_terms(text, language)
    groups = ANALYZER.query_groups(text, [language])

    assert bool(groups) == bool(frequencies)
    assert {term for group in groups for term in group} <= set(frequencies)
    assert len(set(groups)) == len(groups)


@given(TEXTS, LANGUAGES)
@settings(max_examples=100, deadline=None)
def test_highlights_are_ordered_spans_apart(text: str, language: str) -> None:
    spans = ANALYZER.highlights(text, ANALYZER.query_groups(text, [language]), language)

    flat = [place for span in spans for place in span]
    assert flat == sorted(flat)
    assert all(0 <= start < end <= len(text) for start, end in spans)


@given(TEXTS)
@settings(max_examples=100, deadline=None)
def test_detection_never_fails_and_never_changes_its_mind(text: str) -> None:
    assert detect_language(text) == detect_language(text)


@given(st.text("aB9xYz_-.,'+#@&s t\"()/", max_size=8))
@settings(max_examples=300, deadline=None)
def test_the_short_cut_for_plain_words_changes_nothing(text: str) -> None:
    for chunk in text.split():
        items = list(read_items(chunk))
        tokens = ANALYZER.tokens(chunk)

        assert [(i.text.lower(), i.start, i.end, i.part) for i in items] == [
            tuple(t) for t in tokens
        ]

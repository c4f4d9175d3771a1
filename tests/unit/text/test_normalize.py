"""``normalize_text`` as promised, and offsets that lead back."""

from __future__ import annotations

import sys
import unicodedata

import pytest

from pincite.text.normalize import align, normalize_text


@pytest.mark.parametrize(
    ("raw", "plain"),
    [
        ("co\u00adoperate", "cooperate"),
        ("zero\u200bwidth\u200c\u200d\u2060\ufeff", "zerowidth"),
        ("a\u00a0b\u2003c\u2009d\u3000e", "a b c d e"),
        ("ﬁnd the ﬂow", "find the flow"),
        ("ＡＢＣ１２３", "ABC123"),
        ("x²", "x2"),
        ("non\u2011breaking", "non\u2010breaking"),
        ("em — and en –", "em — and en –"),
        ("Re\u0301sume\u0301", "Résumé"),
        ("e\u200b\u0301", "é"),
        ("plain ASCII\n\tstays  as it is", "plain ASCII\n\tstays  as it is"),
        ("", ""),
    ],
)
def test_artifacts_become_plain_text(raw: str, plain: str) -> None:
    assert normalize_text(raw) == plain


def test_normalising_twice_changes_no_character() -> None:
    for code in range(sys.maxunicode + 1):
        once = normalize_text(chr(code))

        assert normalize_text(once) == once, hex(code)


def test_a_lone_surrogate_passes_through() -> None:
    assert normalize_text("a\ud800b") == "a\ud800b"


def test_unchanged_text_needs_no_map() -> None:
    aligned = align("déjà vu")

    assert (aligned.starts, aligned.ends) == (None, None)
    assert aligned.span(1, 3) == (1, 3)


def test_spans_lead_back_over_what_was_dropped_merged_and_expanded() -> None:
    raw = "\ufeffﬁn\u00adal e\u0301t\u200b ½"

    aligned = align(raw)

    assert aligned.text == "final ét 1⁄2"
    assert raw[slice(*aligned.span(0, 5))] == "ﬁn\u00adal"
    assert raw[slice(*aligned.span(6, 8))] == "e\u0301t"
    assert raw[slice(*aligned.span(9, 10))] == "½"


def test_alignment_has_one_place_for_every_character() -> None:
    raw = unicodedata.normalize("NFD", "Ångström 각 이 ﷺ") + "\u0301\u00ad"

    aligned = align(raw)

    assert aligned.text == normalize_text(raw)
    assert aligned.starts is not None
    assert aligned.ends is not None
    assert len(aligned.text) == len(aligned.starts) == len(aligned.ends)
    assert aligned.starts == sorted(aligned.starts)

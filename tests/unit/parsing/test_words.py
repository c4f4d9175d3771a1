"""Characters to words: ligatures of Arabic, accents of TeX, shadows, gaps."""

from __future__ import annotations

from pincite.parsing.pdf.page import Box
from pincite.parsing.pdf.words import Glyph, Style, words_of

PLAIN = Style(10.0, bold=False, font="Serif", angle=0)


def glyphs(text: str, boxes: list[tuple[float, float]], style: Style = PLAIN) -> list[Glyph]:
    return [
        Glyph(char, Box(x0, 0.0, x1, 10.0), style)
        for char, (x0, x1) in zip(text, boxes, strict=True)
    ]


def row(text: str, *, start: float = 0.0, style: Style = PLAIN) -> list[Glyph]:
    return glyphs(text, [(start + 5 * i, start + 5 * i + 5) for i in range(len(text))], style)


def texts(items: list[Glyph]) -> list[str]:
    return [word.text for word in words_of(items)]


def test_white_space_and_wide_gaps_end_words() -> None:
    assert texts(row("ab cd")) == ["ab", "cd"]
    assert texts([*row("ab"), *row("cd", start=30)]) == ["ab", "cd"]
    assert [w.spaced for w in words_of([*row("ab"), *row("cd", start=30)])] == [True, False]


def test_a_lam_alef_ligature_is_put_in_logical_order() -> None:
    turned = glyphs("سالم", [(30, 35), (20, 30), (20, 30), (15, 20)])

    assert texts(turned) == ["سلام"]


def test_letters_in_visual_order_are_turned() -> None:
    assert texts(row("ملاس")) == ["سالم"]


def test_a_script_change_ends_a_word() -> None:
    assert texts([*row("Go"), *row("ضع", start=10)])[0] == "Go"


def test_an_accent_over_a_letter_is_composed() -> None:
    assert texts(glyphs("na¨ıve", [(0, 5), (5, 10), (10, 14), (10, 14), (14, 19), (19, 24)])) == [
        "naïve"
    ]


def test_a_backtick_beside_a_letter_stays() -> None:
    assert texts(row("`a`")) == ["`a`"]


def test_a_shadow_is_dropped_and_a_repeated_word_stays() -> None:
    shadow = [*row("bold"), Glyph(" ", Box(0, 0, 0, 0), None), *row("bold", start=0.4)]
    twice = [*row("very"), Glyph(" ", Box(0, 0, 0, 0), None), *row("very", start=25)]

    assert texts(shadow) == ["bold"]
    assert texts(twice) == ["very", "very"]


def test_control_and_direction_characters_are_dropped() -> None:
    places = [(0, 5), (5, 5), (5, 10), (10, 10), (10, 15), (15, 15), (15, 20)]

    assert texts(glyphs("a\x00b\u200fc\ufeffd", places)) == ["abcd"]

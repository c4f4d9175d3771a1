"""Which language a text is in, offline and deterministically."""

from __future__ import annotations

from typing import Final

__all__ = ["detect_language"]

_ENOUGH: Final = 20
# Scripts that one language has to itself here; kana before Han, as Japanese mixes both.
_SCRIPTS: Final = (
    ("ja", 0x3040, 0x30FF), ("ko", 0xAC00, 0xD7AF), ("zh", 0x4E00, 0x9FFF), ("th", 0x0E00, 0x0E7F),
    ("lo", 0x0E80, 0x0EFF), ("km", 0x1780, 0x17FF), ("my", 0x1000, 0x109F), ("el", 0x370, 0x3FF),
    ("he", 0x590, 0x5FF), ("hy", 0x530, 0x58F), ("ta", 0xB80, 0xBFF),
)  # fmt: skip


def detect_language(text: str) -> str:
    """The ISO 639-1 code of the text's language, "" when unsure."""
    letters = [ord(c) for c in text[:4000] if c.isalpha()]
    for code, first, last in _SCRIPTS:
        if 4 * sum(first <= c <= last for c in letters) > len(letters) > _ENOUGH:
            return code
    return ""

"""Which blocks are headings, and of which level: by the outline, else by the fonts."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence

from pincite.parsing.pdf.draft import Draft
from pincite.parsing.pdf.page import OutlineEntry

__all__ = ["mark_headings"]

_LARGER = 1.1  # times the body's size
_CAPTION = re.compile(
    r"(?:table|figure|fig|listing|algorithm|tabelle|abbildung|abb|tableau|tabla|figura)\.?\s*\d",
    re.IGNORECASE,
)
_NUMBERED = re.compile(r"(?:(\d{1,2}(?:\.\d{1,2})*)\.?|[A-Z]\.|[IVX]{1,5}\.)\s+\S")
_CONTENTS = re.compile(r"[.·…]\s+[\divxl]{1,5}$")
_LONGEST = 200
_LONGEST_BOLD = 110


def mark_headings(
    drafts: Sequence[Draft], outline: Sequence[OutlineEntry], body_size: float
) -> None:
    """Turn headings among ``drafts`` into such, in place; whatever is in doubt stays text."""
    by_outline = _match_outline(drafts, outline)
    candidates = [
        i
        for i, draft in enumerate(drafts)
        if i not in by_outline and _is_candidate(drafts, i, body_size)
    ]
    classes = {i: _class_of(drafts[i], body_size) for i in (*candidates, *by_outline)}
    for i, level in _levels(drafts, candidates, classes, by_outline).items():
        draft = drafts[i]
        draft.kind, draft.level, draft.marker, draft.depth = "heading", level, "", 0
        draft.continues = False
        if i + 1 < len(drafts):
            drafts[i + 1].continues = False


_Class = tuple[float, bool]  # the size in half points, bold


def _class_of(draft: Draft, body_size: float) -> _Class:
    size = round(draft.size * 2) / 2
    return (size, False) if draft.size >= _LARGER * body_size else (round(body_size * 2) / 2, True)


def _match_outline(drafts: Sequence[Draft], outline: Sequence[OutlineEntry]) -> dict[int, int]:
    """The drafts whose text is an entry's title on its page, with the entry's level."""
    levels: dict[tuple[str, int], int] = {}
    for entry in outline:
        levels.setdefault((_letters(entry.title), entry.page), min(entry.level, 6))
    matched: dict[int, int] = {}
    for i, draft in enumerate(drafts):
        if draft.kind not in ("paragraph", "list_item") or len(draft.lines) > 4:
            continue
        text = _letters(draft.text)
        level = levels.get((text, draft.page)) or levels.get((_unnumbered(text), draft.page))
        if level and text:
            matched[i] = level
    return matched


def _letters(text: str) -> str:
    folded = unicodedata.normalize("NFKC", text).casefold()
    return "".join(char for char in folded if char.isalnum())


def _unnumbered(letters: str) -> str:
    return letters.lstrip("0123456789")


def _is_candidate(drafts: Sequence[Draft], i: int, body_size: float) -> bool:
    draft = drafts[i]
    if draft.kind not in ("paragraph", "list_item") or (
        draft.marker and not draft.marker[0].isdigit()
    ):
        return False
    text = draft.text
    if len(draft.lines) > 3 or not 2 <= len(text) <= _LONGEST or _CAPTION.match(text):
        return False
    if _CONTENTS.search(text):
        return False
    if sum(map(str.isalpha, text)) < max(2, 0.5 * len(text.replace(" ", ""))):
        return False
    if draft.size >= _LARGER * body_size:
        return not text.endswith((",", ";"))
    return draft.bold and draft.size >= 0.95 * body_size and _is_bold_heading(drafts, i, text)


def _is_bold_heading(drafts: Sequence[Draft], i: int, text: str) -> bool:
    """A bold line of its own, above text that is not bold."""
    draft = drafts[i]
    if len(draft.lines) > 2 or len(text) > _LONGEST_BOLD or text.endswith((".", ",", ";", ":")):
        return False
    if not (text[0].isupper() or text[0].isdigit() or not text[0].isascii()):
        return False
    following = drafts[i + 1] if i + 1 < len(drafts) else None
    if following is None or following.page > draft.page + 1:
        return False
    return following.kind in ("table", "code", "list_item") or not following.bold


def _levels(
    drafts: Sequence[Draft],
    candidates: Sequence[int],
    classes: dict[int, _Class],
    by_outline: dict[int, int],
) -> dict[int, int]:
    levels = dict(by_outline)
    known: dict[_Class, int] = {}
    for i, level in by_outline.items():
        known[classes[i]] = min(level, known.get(classes[i], level))
    allowed = [i for i in candidates if not _too_common(drafts, classes, classes[i])]
    if len(by_outline) >= 3:
        largest = max(size for size, _ in known)
        for i in allowed:
            if classes[i] in known:
                levels[i] = known[classes[i]]
            elif classes[i][0] > 1.05 * largest:
                levels[i] = 1
        return levels
    ranks = _ranks(Counter(classes[i] for i in allowed))
    for i in allowed:
        levels[i] = min(ranks[classes[i]] + _extra_depth(drafts, allowed, classes, i), 6)
    return levels


def _ranks(counts: Counter[_Class]) -> dict[_Class, int]:
    """Larger first, bold text of the body's size last; sizes within 6 % share a level.

    A class that occurs once (a title, the lines of a cover) opens no level of its own: above all
    others it is level 1, else it shares the level of the next smaller class that recurs.
    """
    ordered = sorted(counts, key=lambda c: (c[1], -c[0]))
    recurring = [one for one in ordered if counts[one] > 1] or ordered
    ranks: dict[_Class, int] = {}
    level, last = 0, 0.0
    pending: list[_Class] = []
    for one in ordered:
        if one not in recurring:
            pending.append(one)
            continue
        if pending and not ranks:
            level = 1
        if one[1] or not last or one[0] < 0.94 * last:
            level, last = level + 1, one[0]
        ranks.update(dict.fromkeys(pending, level if ranks else 1))
        ranks[one] = level
        pending = []
    return ranks | dict.fromkeys(pending, level + 1)


def _extra_depth(
    drafts: Sequence[Draft], allowed: Sequence[int], classes: dict[int, _Class], i: int
) -> int:
    """How much deeper "2.1" is numbered than the shallowest number of its class."""
    depth = _number_depth(drafts[i].text)
    if not depth:
        return 0
    depths = [_number_depth(drafts[j].text) for j in allowed if classes[j] == classes[i]]
    return depth - min(d for d in depths if d)


def _number_depth(text: str) -> int:
    found = _NUMBERED.match(text)
    return found[1].count(".") + 1 if found and found[1] else 0


def _too_common(drafts: Sequence[Draft], classes: dict[int, _Class], one: _Class) -> bool:
    """Whether this class of text is too much of the document to be its headings."""
    mine = sum(len(drafts[i].text) for i, other in classes.items() if other == one)
    total = sum(len(draft.text) for draft in drafts)
    return total > 2000 and mine > 0.2 * total

"""Title, authors, year, DOI, journal and keywords of a document, each with where it was found."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from pincite.model.layout import MarkdownParseResult
from pincite.text.normalize import normalize_text

__all__ = ["BIBLIOGRAPHIC_KEYS", "DoiLookup", "Extracted", "extract_metadata", "plain_values"]

BIBLIOGRAPHIC_KEYS: Final = ("title", "authors", "year", "doi", "journal", "keywords")
"""The keys of ``extract_metadata``, in their order."""

DoiLookup = Callable[[str], Mapping[str, Any] | None]
"""Tells the values of a DOI by these keys, or None when it is unknown or gives no answer."""

INFO, HEADINGS, FIRST_PAGE, LOOKUP = "file info", "headings", "first page", "DOI lookup"

_HEAD = 6_000  # characters taken for the first page where a format has no pages
_LONGEST_TITLE = 300
_FILE_NAME = re.compile(
    r"^Microsoft (?:Word|PowerPoint|Excel) - "
    r"|^[\w.-]+\.(?:docx?|tex|dvi|pdf|indd|rtf|pptx?|qxd)$",
    re.IGNORECASE,
)
_NO_TITLE = re.compile(
    r"^(?:\d+(?:\.\d+)*\.?\s|(?:abstract|zusammenfassung|r[ée]sum[ée]|introduction|contents|"
    r"table of contents|front cover|preface|references|keywords|references)\W*$)",
    re.IGNORECASE,
)
_ABSTRACT = re.compile(r"^\W*(?:abstract|r[ée]sum[ée]|zusammenfassung|resumen)\b", re.IGNORECASE)
_HEADING = re.compile(r"^(#{1,6})\s+(.*?)\s*#*$")
_DOI = re.compile(r"\b10\.\d{4,9}/[-._;()/:\w]*\w", re.IGNORECASE)
_FUNDER = "10.13039/"
_ARXIV = re.compile(r"\barXiv:(\d{4}\.\d{4,5})(?:v\d+)?")
_YEAR = r"(1[5-9]\d\d|20\d\d)"
_MONTH = (
    r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec|janv|f[ée]vr|mars|avr|mai|juin|juil|ao[uû]t"
    r"|M[äa]r|Dez|Okt)[a-zéû]*\.?"
)
_NOTICE_PAGES = 4
_SHORT = 200  # a longer line is prose, and a date in it is what it tells of
_YEARS: Final = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"(?:©|\(c\)|copyright)[ ]*(?:©|\(c\)|c\b|copyright)?[^\d\n]{{0,40}}?\b{_YEAR}\b",
        rf"\barXiv:\S+.{{0,30}}?\b{_YEAR}\b",
        rf"\b{_MONTH}\s+\d{{1,2}}(?:\s*[-–]\s*(?:{_MONTH}\s+)?\d{{1,2}})?,?\s+{_YEAR}\b",
        rf"\b\d{{1,2}}\.?\s+{_MONTH}\s+{_YEAR}\b",
        rf"\b(?:published|received|accepted|online)\b[^\n]{{0,40}}?\b{_YEAR}\b",
    )
)
_JOURNALS: Final = (
    re.compile(
        r"\b((?:Proceedings of|Proc\. of|Journal of|Transactions on|Annals of|Revue"
        r"|Zeitschrift f[üu]r)\s[^\n.,;:|]{3,120})"
    ),
    re.compile(rf"\b([A-Z][A-Za-z]+\s?[’'‘]\d\d)(?=,\s+{_MONTH})"),
)
_KEYWORDS = re.compile(
    r"^\W*(?:keywords?(?: and phrases)?|key words|index terms|mots[- ]cl[ée]s|schl[üu]sselw[öo]rter"
    r"|palabras clave)\b\s*[:.—–-]*\s*(.*)$",
    re.IGNORECASE,
)
_LISTED = re.compile(r"\s*[,;·•|]\s*")
_MARKS = re.compile(r"[∗*†‡§¶#$+^`´\d⋆★✉⊥‖]|(?:^|\s)[\u0300-\u036f]+|\(\s*\)|\{[^}]*\}|\S+@\S+")
_DATE = re.compile(rf"\b{_MONTH}\s+\d{{1,2}},?\s+{_YEAR}\b", re.IGNORECASE)
_AND = re.compile(r"\s*(?:[,;]|\band\b|\bund\b|\bet\b|&|\by\b)\s*")
_PARTICLES = frozenset(
    {"van", "von", "der", "den", "de", "del", "della", "di", "da", "dos", "du", "la", "le", "el"}
    | {"al", "bin", "ibn", "ten", "ter", "zu"}
)
_NAME_WORD = re.compile(r"[^\W\d_][\w’'.-]*\.?")
_PLACES = re.compile(
    r"\b(?:Universit|Institut|Corporation|Inc\b|Ltd|GmbH|Department|Laborato|School|College|Research"
    r"|Cent(?:er|re)|Company|Google|Facebook|Microsoft|Abstract|Technolog|Acad[eé]m|Hospital|"
    r"Ministry|Group|Team|California|USA|Germany|China|France|Report|Corporate|Journal|Conference)",
)


@dataclass(frozen=True, slots=True)
class Extracted:
    """A value and where it was found: "file info", "headings", "first page", another page such as
    "page 2", or "DOI lookup"."""

    value: Any
    source: str


def extract_metadata(
    parsed: MarkdownParseResult, *, lookup: DoiLookup | None = None
) -> dict[str, Extracted]:
    """What can be told of a document, by ``BIBLIOGRAPHIC_KEYS``; what is not found is left out.

    ``authors`` and ``keywords`` are lists of strings, ``year`` is a number. The file's own
    information comes first where it can be trusted, then headings and the first page. ``lookup``
    asks for the DOI that was found, such as ``CrossrefLookup``; what it answers goes over the
    rest. Nothing leaves the machine without it.
    """
    page = _first_page(parsed)
    info = {key: " ".join(value.split()) for key, value in parsed.metadata.items()}
    title = _title(info, page)
    found = {
        "title": title,
        "authors": _authors(info, page, title),
        "year": _year(info, page) or _copyright(parsed),
        "doi": _doi(info, page),
        "journal": _journal(info, page),
        "keywords": _keywords(info, page),
    }
    kept = {key: value for key, value in found.items() if value is not None}
    if lookup is not None and "doi" in kept:
        answer = lookup(kept["doi"].value) or {}
        kept |= {k: Extracted(answer[k], LOOKUP) for k in BIBLIOGRAPHIC_KEYS if answer.get(k)}
    return {key: kept[key] for key in BIBLIOGRAPHIC_KEYS if key in kept}


def plain_values(extracted: Mapping[str, Extracted]) -> dict[str, Any]:
    """The values alone."""
    return {key: found.value for key, found in extracted.items()}


def _first_page(parsed: MarkdownParseResult) -> list[str]:
    """The lines of the first page, without blank ones."""
    end = parsed.page_ranges[0][1] if parsed.page_ranges else _HEAD
    return [line.strip() for line in parsed.markdown[:end].splitlines() if line.strip()]


def _title(info: Mapping[str, str], page: list[str]) -> Extracted | None:
    told = info.get("title", "")
    if 3 < len(told) <= _LONGEST_TITLE and not _FILE_NAME.search(told):
        return Extracted(told, INFO)
    found = [match for match in _opening_headings(page) if not _NO_TITLE.match(match[2])]
    if not found:
        return None
    best = min(found, key=lambda match: len(match[1]))  # of equal levels the first
    return Extracted(_plain(best[2]), HEADINGS)


def _opening_headings(page: list[str]) -> Iterator[re.Match[str]]:
    """The headings before the first paragraph of running text."""
    for line in page:
        match = _HEADING.match(line)
        if match and len(match[2]) <= _LONGEST_TITLE:
            if _ABSTRACT.match(match[2]):
                return
            yield match
        elif len(line) > 200 and _is_prose(line):
            return


def _is_prose(line: str) -> bool:
    return bool(re.search(r"[^\W\d_]{3,}[.!?] [A-ZÀ-Ý]", line))


def _authors(info: Mapping[str, str], page: list[str], title: Extracted | None) -> Extracted | None:
    told = _names(info.get("author", ""))
    if told and title is not None and title.source == INFO:
        return Extracted(told, INFO)
    for line in _between_title_and_abstract(page, title):
        names = _names(_HEADING.sub(r"\2", line))
        if names:
            return Extracted(names, FIRST_PAGE)
    return Extracted(told, INFO) if told else None


def _between_title_and_abstract(page: list[str], title: Extracted | None) -> Iterator[str]:
    after = False
    for line in page:
        text = _plain(_HEADING.sub(r"\2", line))
        if _ABSTRACT.match(text):
            return
        if after and not text.startswith("|"):
            yield line
        after = after or (title is not None and text == title.value)


def _names(text: str) -> list[str]:
    """The names in a line of authors; [] for a line of anything else."""
    clean = _MARKS.sub(" ", _DATE.sub(" ", normalize_text(text)))
    pieces = [" ".join(piece.split()).strip(" .") for piece in _AND.split(clean)]
    pieces = [piece for piece in pieces if piece]
    names = [piece for piece in pieces if _is_name(piece)]
    return names if names and 2 * len(names) > len(pieces) else []


def _is_name(text: str) -> bool:
    words = text.split()
    if not 2 <= len(words) <= 6 or _PLACES.search(text) or len(text) > 60:
        return False
    return all(
        word.lower() in _PARTICLES or (_NAME_WORD.fullmatch(word) and word[0].isupper())
        for word in words
    )


def _year(info: Mapping[str, str], page: list[str]) -> Extracted | None:
    told = re.search(rf"\b{_YEAR}\b", info.get("date", ""))
    if told:
        return Extracted(int(told[1]), INFO)
    text = "\n".join(line for line in page if len(line) <= _SHORT)
    for pattern in _YEARS:
        match = pattern.search(text)
        if match:
            return Extracted(int(match[1]), FIRST_PAGE)
    return None


def _copyright(parsed: MarkdownParseResult) -> Extracted | None:
    """The year of a copyright notice on the pages after the first, where books have it."""
    for start, end, number in parsed.page_ranges[1:_NOTICE_PAGES]:
        match = _YEARS[0].search(parsed.markdown, start, end)
        if match:
            return Extracted(int(match[1]), f"page {number}")
    return None


def _doi(info: Mapping[str, str], page: list[str]) -> Extracted | None:
    for source, text in ((INFO, " ".join(info.values())), (FIRST_PAGE, "\n".join(page))):
        for match in _DOI.finditer(text):
            if not match[0].startswith(_FUNDER):
                return Extracted(match[0], source)
    arxiv = _ARXIV.search("\n".join(page))
    return Extracted(f"10.48550/arXiv.{arxiv[1]}", FIRST_PAGE) if arxiv else None


def _journal(info: Mapping[str, str], page: list[str]) -> Extracted | None:
    if told := info.get("journal"):
        return Extracted(told, INFO)
    text = "\n".join(page)
    for pattern in _JOURNALS:
        match = pattern.search(text)
        if match:
            return Extracted(_plain(match[1]), FIRST_PAGE)
    return None


def _keywords(info: Mapping[str, str], page: list[str]) -> Extracted | None:
    told = _listed(info.get("keywords", ""))
    if told:
        return Extracted(told, INFO)
    for at, line in enumerate(page):
        match = _KEYWORDS.match(_HEADING.sub(r"\2", line))
        if match:
            rest = match[1] or next(iter(page[at + 1 : at + 2]), "")
            listed = _listed(rest)
            if listed:
                return Extracted(listed, FIRST_PAGE)
    return None


def _listed(text: str) -> list[str]:
    pieces = (_plain(piece).strip(" .") for piece in _LISTED.split(text))
    return [piece for piece in pieces if piece and len(piece) <= 80]


def _plain(text: str) -> str:
    """Words without Markdown's marks, one blank between them."""
    return " ".join(re.sub(r"[*_`]+|\\(?=\W)", "", normalize_text(text)).split())

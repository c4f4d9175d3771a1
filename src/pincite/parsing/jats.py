"""What a journal article in JATS says of itself, read from its front matter."""

from __future__ import annotations

import html
import re
from typing import Final

__all__ = ["jats_metadata"]

_LONGEST = 1_000_000  # characters of front matter that are looked at
_CONTRIB = re.compile(r"<contrib(?=[\s>])([^>]*)>(.*?)</contrib>", re.DOTALL)
_AUTHOR: Final = re.compile(r"""contrib-type\s*=\s*["']author["']""")
_TAG = re.compile(r"<[^>]*>")
_FIELDS: Final = {
    "title": re.compile(r"<article-title(?=[\s>])[^>]*>(.*?)</article-title>", re.DOTALL),
    "journal": re.compile(r"<journal-title(?=[\s>])[^>]*>(.*?)</journal-title>", re.DOTALL),
    "doi": re.compile(
        r"""<article-id(?=[\s>])[^>]*pub-id-type\s*=\s*["']doi["'][^>]*>(.*?)</article-id>""",
        re.DOTALL,
    ),
    "date": re.compile(r"<pub-date(?=[\s>]).*?<year(?=[\s>])[^>]*>(.*?)</year>", re.DOTALL),
}
_KEYWORD = re.compile(r"<kwd(?=[\s>])[^>]*>(.*?)</kwd>", re.DOTALL)
_NAME_PARTS: Final = (
    re.compile(r"<given-names(?=[\s>])[^>]*>(.*?)</given-names>", re.DOTALL),
    re.compile(r"<surname(?=[\s>])[^>]*>(.*?)</surname>", re.DOTALL),
)


def jats_metadata(text: str) -> dict[str, str]:
    """``title, author, keywords, journal, doi, date`` (the year), as far as they are there.

    Authors, "given names, surname" each, and keywords are joined with "; ".
    """
    start = text.find("<front")
    end = text.find("</front>", start)
    if start < 0 or end < 0 or end - start > _LONGEST:
        return {}
    front = text[start:end]
    found = {key: _first(pattern, front) for key, pattern in _FIELDS.items()}
    found["author"] = "; ".join(_authors(front))
    found["keywords"] = "; ".join(filter(None, map(_plain, _KEYWORD.findall(front))))
    return {key: value for key, value in found.items() if value}


def _authors(front: str) -> list[str]:
    """The names of contributors of type author; editors and collaborations are others."""
    names = []
    for attributes, body in _CONTRIB.findall(front):
        parts = [_first(pattern, body) for pattern in _NAME_PARTS]
        if _AUTHOR.search(attributes) and any(parts):
            names.append(" ".join(filter(None, parts)))
    return names


def _first(pattern: re.Pattern[str], text: str) -> str:
    match = pattern.search(text)
    return _plain(match[1]) if match else ""


def _plain(markup: str) -> str:
    return " ".join(html.unescape(_TAG.sub("", markup)).split())

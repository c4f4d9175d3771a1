"""What a DOI registry in Crossref's form knows of a DOI. Nothing asks it unless it is passed in."""

from __future__ import annotations

from collections.abc import Mapping
from logging import Logger, getLogger
from typing import Any, Final
from urllib.parse import quote

from pincite.errors import InvalidArgument

__all__ = ["CrossrefLookup"]

_MOST_BYTES: Final = 4_000_000


class CrossrefLookup:
    """Asks ``<url>/works/<doi>`` once for each DOI; a ``DoiLookup`` for ``extract_metadata``.

    ``mailto`` is sent along, as Crossref asks of polite callers. A registry that is not there,
    knows no such DOI or answers something else is a warning and None.
    """

    def __init__(
        self,
        url: str = "https://api.crossref.org",
        *,
        mailto: str = "",
        timeout: float = 10.0,
        logger: Logger | None = None,
    ) -> None:
        """Raises ``InvalidArgument`` for a URL that is not HTTP."""
        if not url.startswith(("http://", "https://")):
            raise InvalidArgument(f"{url!r} is no HTTP address; write https://HOST.")
        self._url = url.rstrip("/")
        self._mailto = mailto
        self._timeout = timeout
        self._logger = logger or getLogger("pincite")
        self._known: dict[str, Mapping[str, Any] | None] = {}

    def __call__(self, doi: str) -> Mapping[str, Any] | None:
        """Title, authors, year, DOI, journal and keywords, as far as the registry has them."""
        if doi not in self._known:
            self._known[doi] = self._ask(doi)
        return self._known[doi]

    def _ask(self, doi: str) -> Mapping[str, Any] | None:
        import httpx

        parameters = {"mailto": self._mailto} if self._mailto else {}
        try:
            response = httpx.get(
                f"{self._url}/works/{quote(doi, safe='')}",
                params=parameters,
                timeout=self._timeout,
                follow_redirects=True,
            )
            response.raise_for_status()
            if len(response.content) > _MOST_BYTES:
                raise ValueError("the answer is too long")
            return _values(response.json()["message"])
        except (httpx.HTTPError, ValueError, TypeError, LookupError, AttributeError) as error:
            self._logger.warning(
                "%s tells nothing of the DOI %s (%s).", self._url, doi, type(error).__name__
            )
            return None


def _values(message: Mapping[str, Any]) -> dict[str, Any]:
    """Crossref's ``message`` by our keys."""
    authors = [
        " ".join(part for part in (person.get("given"), person.get("family")) if part)
        or person.get("name", "")
        for person in message.get("author") or []
    ]
    found = {
        "title": _first(message.get("title")),
        "authors": [name for name in authors if name],
        "year": _year(message),
        "doi": message.get("DOI"),
        "journal": _first(message.get("container-title")),
        "keywords": [str(word) for word in message.get("subject") or []],
    }
    return {key: value for key, value in found.items() if value}


def _first(values: Any) -> str:
    return " ".join(str(values[0]).split()) if values else ""


def _year(message: Mapping[str, Any]) -> int | None:
    for key in ("published", "issued", "published-print", "published-online"):
        parts = (message.get(key) or {}).get("date-parts") or [[None]]
        if parts[0] and isinstance(parts[0][0], int):
            return parts[0][0]
    return None

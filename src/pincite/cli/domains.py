"""``pincite search --domain``: all stores of a domain at once."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

import click

from pincite.cli.terminal import escape, paint, warn, write, write_json
from pincite.errors import InvalidArgument

if TYPE_CHECKING:
    from pincite.model.geometry import BboxRect
    from pincite.model.hits import Chunk, Hit, LegScore, Results
    from pincite.retrieval.managers import BaseRetriever
    from pincite.retrieval.orchestrator import DomainResults

__all__ = ["search_domain"]

_LEGS: Final = {"vector store": "vector", "BM25": "keyword"}
_UNFIT: Final = {
    "where": "--where",
    "alpha": "--alpha",
    "words": "--words",
    "store": "--store",
    "collection": "--collection",
    "subject": "--subject",
}


def search_domain(
    text: str,
    *,
    domain: str,
    config: str | None,
    k: int,
    offset: int,
    mode: str,
    explain: bool,
    partial: bool,
    embedder: str | None,
    as_json: bool,
) -> int:
    """Search the stores of a domain and print the fused passages; the exit status."""
    from pincite.cli.passages import write_hit
    from pincite.cli.shapes import results_shape

    _refuse_unfit()
    if config is None:
        raise InvalidArgument("--domain needs --domains-config FILE, which lists its stores.")
    results = _search(text, domain, config, k, offset, mode, partial, embedder)
    if as_json:
        write_json(results_shape(text, mode, results))
        return 0
    for hit in results:
        write_hit(_NoPlaces(), hit, tail=_explained(hit) if explain else _sources(hit.chunk))
    for warning in results.warnings:
        warn(f"warning: {escape(warning)}")
    if not results.hits:
        warn("No passage found; try other words, or check the stores of the domain.")
        return 0
    many = "passage" if len(results) == 1 else "passages"
    write(paint(f"{len(results)} {many} in {results.took_ms:.0f} ms", "dim"))
    return 0


class _NoPlaces:
    """A domain's stores are searched by their vectors and words; rectangles are their blocks'."""

    def locate(self, document: str, start: int, end: int) -> list[BboxRect]:  # noqa: ARG002
        return []


def _refuse_unfit() -> None:
    """Options of one collection, which a domain with many stores does not have."""
    context = click.get_current_context()
    for name, option in _UNFIT.items():
        if context.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE:
            raise InvalidArgument(f"{option} is for one collection; leave it out with --domain.")


def _search(
    text: str,
    domain: str,
    config: str,
    k: int,
    offset: int,
    mode: str,
    partial: bool,
    embedder: str | None,
) -> Results:
    from pincite.model.hits import Results
    from pincite.retrieval.orchestrator import Orchestrator
    from pincite.stores.checks import check_limit, check_offset, check_query

    check_limit(k, name="k")
    check_offset(offset)
    check_query(text)
    if not text.strip():
        raise InvalidArgument("The query is empty; say what to look for.")
    heard = _Heard()
    retrievers = _retrievers(config, mode, embedder, heard.logger)
    given = click.get_current_context().get_parameter_source("k")
    depth = k + offset if given is click.core.ParameterSource.COMMANDLINE else None
    started = time.perf_counter()
    try:
        found = Orchestrator(retrievers).retrieve(
            domain, text, k=depth, num_refs_max=k + offset, partial_results=partial
        )
    finally:
        for retriever in retrievers:
            retriever.close()
    took = (time.perf_counter() - started) * 1000
    return Results(_hits(found, text, offset), [*heard.lines, *found.warnings], took)


def _retrievers(
    config: str, mode: str, embedder: str | None, logger: logging.Logger
) -> list[BaseRetriever]:
    from pincite.embedding.client import DEFAULT_ENDPOINT
    from pincite.retrieval.domains import RetrieverConfig
    from pincite.retrieval.managers import BM25RetrieverManager, VSRetriever

    stores = RetrieverConfig.load(config)
    chosen: list[BaseRetriever] = []
    if mode != "keyword":
        chosen.append(VSRetriever(stores, logger, embedder or DEFAULT_ENDPOINT))
    if mode != "vector":
        chosen.append(BM25RetrieverManager(stores, logger))
    return chosen


def _hits(found: DomainResults, text: str, offset: int) -> list[Hit]:
    from pincite.model.hits import Hit
    from pincite.text.analysis import default_analyzer

    analyzer = default_analyzer()
    hits = []
    for rank, (chunk, score) in enumerate(found.results[offset:], start=offset + 1):
        groups = analyzer.query_groups(text, [chunk.language] if chunk.language else ())
        lit = analyzer.highlights(chunk.content, groups, chunk.language)
        spans = [(chunk.start_char + start, chunk.start_char + end) for start, end in lit]
        legs = _legs(chunk.metadata)
        hits.append(Hit(chunk, score, rank, legs=legs, highlights=lit, spans=spans))
    return hits


def _legs(metadata: Mapping[str, Any]) -> dict[str, LegScore]:
    """What each kind of store gave: its better score and rank, and its part in the sum."""
    from pincite.model.hits import LegScore
    from pincite.retrieval.merge import PROVENANCES_KEY, RRF_K

    places: dict[str, list[Mapping[str, Any]]] = {}
    for place in metadata.get(PROVENANCES_KEY, ()):
        name = place["source_label"]
        places.setdefault(_LEGS.get(name, name), []).append(place)
    return {
        name: LegScore(
            raw=max(place["score"] for place in found),
            rank=min(place["rank"] for place in found),
            contribution=sum(1 / (RRF_K + place["rank"]) for place in found),
        )
        for name, found in places.items()
    }


def _sources(chunk: Chunk) -> str:
    from pincite.retrieval.merge import format_source_scores

    return format_source_scores(chunk) or ""


def _explained(hit: Hit) -> str:
    parts = [
        f"{name}: raw {leg.raw:.4f}, rank {leg.rank}, contribution {leg.contribution:.4f}"
        for name, leg in hit.legs.items()
    ]
    return "; ".join(parts)


class _Heard(logging.Handler):
    """Keeps what the retrievers warn of, for the user."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.lines: list[str] = []
        self.logger = logging.Logger("pincite.domains")  # noqa: LOG001 - for this call alone
        self.logger.addHandler(self)

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(record.getMessage())

"""All retrievers of a domain at once: their lists fused, their failures told."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial

import anyio
from anyio.from_thread import start_blocking_portal

from pincite.errors import InvalidArgument
from pincite.retrieval.managers import BaseRetriever, RankedList, StoreOutcome
from pincite.retrieval.merge import rrf_merge

__all__ = ["DomainFailure", "DomainResults", "Orchestrator"]


@dataclass(frozen=True, slots=True)
class DomainFailure:
    """A retriever, or one of its stores, that gave no answer."""

    source_label: str
    store: str
    error: Exception

    def __str__(self) -> str:
        where = f"{self.source_label} {self.store!r}" if self.store else self.source_label
        return f"The {where} failed ({type(self.error).__name__}: {self.error})."


@dataclass(frozen=True, slots=True)
class DomainResults:
    """Fused documents, best first; each store's own list; and who failed."""

    results: RankedList
    lists: list[tuple[str, RankedList]] = field(default_factory=list)
    failures: list[DomainFailure] = field(default_factory=list)

    @property
    def warnings(self) -> list[str]:
        """A sentence for each failure."""
        return [str(failure) for failure in self.failures]


class Orchestrator:
    """Runs several retrievers over a domain in parallel and fuses each store's own list."""

    def __init__(self, retrievers: Sequence[BaseRetriever]) -> None:
        """Raises ``InvalidArgument`` without a retriever."""
        if not retrievers:
            raise InvalidArgument("There is no retriever; pass one or more.")
        self.retrievers = tuple(retrievers)

    def retrieve(
        self,
        domain_name: str,
        query: str,
        *,
        k: int | None = None,
        num_refs_max: int = 10,
        partial_results: bool = False,
    ) -> DomainResults:
        """The ``num_refs_max`` best documents of a domain, by ``rrf_merge``.

        ``k`` is the depth in every store for this call. A retriever or store that fails raises
        its error; with ``partial_results`` it is listed in ``failures`` instead, unless all fail.
        An unknown domain is ``InvalidQueryError``.
        """
        work = partial(
            self.aretrieve,
            domain_name,
            query,
            k=k,
            num_refs_max=num_refs_max,
            partial_results=partial_results,
        )
        with start_blocking_portal() as portal:
            return portal.call(work)

    async def aretrieve(
        self,
        domain_name: str,
        query: str,
        *,
        k: int | None = None,
        num_refs_max: int = 10,
        partial_results: bool = False,
    ) -> DomainResults:
        """``retrieve`` without blocking the event loop."""
        outcomes = await self._outcomes(domain_name, query, k)
        failures = [
            DomainFailure(outcome.label, outcome.store, outcome.error)
            for outcome in outcomes
            if outcome.error is not None
        ]
        if failures and (not partial_results or len(failures) == len(outcomes)):
            raise failures[0].error
        lists = [(o.label, o.results) for o in outcomes if o.error is None]
        return DomainResults(rrf_merge(lists, num_refs_max), lists, failures)

    async def _outcomes(self, domain_name: str, query: str, k: int | None) -> list[StoreOutcome]:
        """The outcomes of all retrievers, in their order."""
        found: list[list[StoreOutcome]] = [[] for _ in self.retrievers]

        async def ask(at: int, retriever: BaseRetriever) -> None:
            try:
                found[at] = await retriever.aretrieve_outcomes(domain_name, query, k)
            except Exception as error:  # noqa: BLE001 - reported, or raised by the caller
                found[at] = [StoreOutcome(retriever.source_label, "", error=error)]

        async with anyio.create_task_group() as group:
            for at, retriever in enumerate(self.retrievers):
                group.start_soon(ask, at, retriever)
        return [outcome for outcomes in found for outcome in outcomes]

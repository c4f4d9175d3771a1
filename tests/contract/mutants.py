"""Stores that are wrong in one way each, and the contract tests that find them out."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pincite.errors import Unconfigured
from pincite.model.filters import AllOf, AnyOf, DeclaredFilter, Not, Nothing
from pincite.model.hits import Hit
from pincite.stores.memory import MemoryReader, MemoryStore
from pincite.stores.threaded import Threaded
from pincite.testing import SinkContract, VectorStoreContract
from pincite.testing.contract import Contract


@dataclass(frozen=True)
class Mutant:
    """``build`` makes a wrong store; each of ``caught_by`` fails on it."""

    name: str
    build: Callable[[], Any]
    contract: type[Contract]
    caught_by: tuple[str, ...]


MUTANTS: list[Mutant] = []


def mutant(contract: type[Contract], *caught_by: str) -> Callable[[type], type]:
    def register(store: type) -> type:
        MUTANTS.append(Mutant(store.__name__, lambda: Threaded(store()), contract, caught_by))
        return store

    return register


class Wrapped(MemoryStore):
    """A memory store whose readers are of another class."""

    reader_class: type[MemoryReader] = MemoryReader

    def reader(self, subject: str, collections: Sequence[str]) -> MemoryReader:
        made = super().reader(subject, collections)
        return self.reader_class(made._state_of, made._collections)


def reading(
    *caught_by: str, contract: type[Contract] = VectorStoreContract
) -> Callable[[type], type]:
    """Register a store whose readers are of the decorated class."""

    def register(reader: type) -> type:
        store = type(reader.__name__, (Wrapped,), {"reader_class": reader})
        mutant(contract, *caught_by)(store)
        return reader

    return register


@reading("test_where_restricts_before_scoring", "test_every_operator_restricts_every_method")
class IgnoresWhere(MemoryReader):
    def near_vector(self, target, *, vector, limit, where=None):
        super().near_vector(target, vector=vector, limit=limit, where=where)
        return super().near_vector(target, vector=vector, limit=limit)


@reading("test_every_operator_restricts_every_method")
class IgnoresWhereOnTheKeywordLeg(MemoryReader):
    def bm25(self, target, *, query, limit, where=None):
        super().bm25(target, query=query, limit=limit, where=where)
        return super().bm25(target, query=query, limit=limit)


@reading("test_where_restricts_before_scoring")
class FiltersAfterwards(MemoryReader):
    def near_vector(self, target, *, vector, limit, where=None):
        kept = {c.id for c in self.fetch(target, where=where, limit=10**6)}
        found = super().near_vector(target, vector=vector, limit=limit)
        return [hit for hit in found if hit.chunk.id in kept]


@reading("test_chunks_without_a_term_are_not_returned", "test_a_blank_query_matches_nothing")
class PadsBm25(MemoryReader):
    def bm25(self, target, *, query, limit, where=None):
        found = super().bm25(target, query=query, limit=limit, where=where)
        have = {hit.chunk.id for hit in found}
        more = [c for c in self.fetch(target, where=where, limit=limit) if c.id not in have]
        return [*found, *(Hit(chunk, 0.0) for chunk in more)][:limit]


@reading("test_every_operator_restricts_every_method")
class DropsUnder(MemoryReader):
    def _drop(self, where):
        if isinstance(where, DeclaredFilter) and where.operator == "under":
            return None
        return where

    def fetch(self, target, *, where=None, limit, order_by=None, descending=False):
        where = self._drop(where)
        return super().fetch(
            target, where=where, limit=limit, order_by=order_by, descending=descending
        )

    def bm25(self, target, *, query, limit, where=None):
        return super().bm25(target, query=query, limit=limit, where=self._drop(where))


@reading("test_every_operator_restricts_every_method")
class TakesUnderForAPrefix(MemoryReader):
    def bm25(self, target, *, query, limit, where=None):
        if isinstance(where, DeclaredFilter) and where.operator == "under":
            super().bm25(target, query=query, limit=limit, where=where)
            found = super().bm25(target, query=query, limit=10**6)
            return [
                hit
                for hit in found
                if str(hit.chunk.metadata.get(where.field, "")).startswith(where.value)
            ][:limit]
        return super().bm25(target, query=query, limit=limit, where=where)


@reading("test_missing_keys_follow_two_valued_logic")
class ThreeValuedNot(MemoryReader):
    """As in SQL: ``Not`` and ``ne`` do not hold where the field is absent."""

    def bm25(self, target, *, query, limit, where=None):
        found = super().bm25(target, query=query, limit=limit, where=where)
        inner = where.term if isinstance(where, Not) else where
        if not isinstance(inner, DeclaredFilter) or inner.operator not in ("eq", "ne"):
            return found
        return [hit for hit in found if inner.field in hit.chunk.metadata]


@reading("test_hits_come_best_first", "test_vectors_rank_by_cosine")
class ReturnsWorstFirst(MemoryReader):
    def near_vector(self, target, *, vector, limit, where=None):
        found = super().near_vector(target, vector=vector, limit=10**6, where=where)
        return [replace(hit, rank=i) for i, hit in enumerate(found[::-1][:limit], 1)]


@reading("test_vectors_rank_by_cosine")
class ReturnsDistances(MemoryReader):
    def near_vector(self, target, *, vector, limit, where=None):
        found = super().near_vector(target, vector=vector, limit=limit, where=where)
        return [replace(hit, score=1 - hit.score) for hit in found]


@reading("test_a_search_returns_at_most_limit_hits")
class ForgetsTheLimitOfHybrid(MemoryReader):
    def hybrid(self, target, *, query, vector=None, limit, where=None, alpha=None, offset=0):
        super().hybrid(target, query=query, vector=vector, limit=limit, where=where, alpha=alpha)
        return super().hybrid(
            target, query=query, vector=vector, limit=limit + 5, where=where, alpha=alpha
        )


@reading("test_equal_scores_are_ordered_by_chunk_id")
class BreaksTiesByAge(MemoryReader):
    def bm25(self, target, *, query, limit, where=None):
        found = super().bm25(target, query=query, limit=10**6, where=where)
        order = {row.chunk.id: i for i, row in enumerate(self._target(target).rows)}
        found.sort(key=lambda hit: (-hit.score, order[hit.chunk.id]))
        return found[:limit] if limit >= 1 else super().bm25(target, query=query, limit=limit)


@reading("test_alpha_one_is_the_vector_side_alone", "test_alpha_moves_weight_to_the_vector_side")
class TurnsAlphaAround(MemoryReader):
    def hybrid(self, target, *, query, vector=None, limit, where=None, alpha=None, offset=0):
        alpha = 1 - alpha if isinstance(alpha, float | int) and 0 <= alpha <= 1 else alpha
        return super().hybrid(
            target, query=query, vector=vector, limit=limit, where=where, alpha=alpha
        )


@reading("test_hybrid_without_a_vector_embeds_or_is_unconfigured")
class AnswersWithKeywordsAlone(MemoryReader):
    def hybrid(self, target, *, query, vector=None, limit, where=None, alpha=None, offset=0):
        try:
            return super().hybrid(
                target, query=query, vector=vector, limit=limit, where=where, alpha=alpha
            )
        except Unconfigured:
            return self.bm25(target, query=query, limit=limit, where=where)


@reading("test_a_blank_query_leaves_the_vector_side")
class DropsTheVectorSideOfABlankQuery(MemoryReader):
    def hybrid(self, target, *, query, vector=None, limit, where=None, alpha=None, offset=0):
        found = super().hybrid(
            target, query=query, vector=vector, limit=limit, where=where, alpha=alpha
        )
        return found if query.strip() else []


@reading("test_what_cannot_be_served_is_refused_by_name")
class SkipsBranchesThatFoldAway(MemoryReader):
    def fetch(self, target, *, where=None, limit, order_by=None, descending=False):
        if isinstance(where, AllOf) and any(isinstance(term, Nothing) for term in where.terms):
            return []
        return super().fetch(
            target, where=where, limit=limit, order_by=order_by, descending=descending
        )


@reading("test_what_cannot_be_served_is_refused_by_name")
class IgnoresUnknownFields(MemoryReader):
    def bm25(self, target, *, query, limit, where=None):
        if isinstance(where, DeclaredFilter) and where.field == "nofield":
            where = None
        return super().bm25(target, query=query, limit=limit, where=where)


@reading("test_checks_keep_their_order")
class ChecksTheLimitFirst(MemoryReader):
    def bm25(self, target, *, query, limit, where=None):
        super().bm25(self._collections[0], query=query, limit=limit)
        return super().bm25(target, query=query, limit=limit, where=where)


@reading("test_nothing_is_answered_empty", "test_every_operator_restricts_every_method")
class TakesNothingForNone(MemoryReader):
    def near_vector(self, target, *, vector, limit, where=None):
        where = None if isinstance(where, AnyOf) and not where.terms else where
        where = None if isinstance(where, DeclaredFilter) and where.value == [] else where
        return super().near_vector(target, vector=vector, limit=limit, where=where)


@reading("test_fetch_orders_by_a_stored_field")
class OrdersAfterTheLimit(MemoryReader):
    def fetch(self, target, *, where=None, limit, order_by=None, descending=False):
        found = super().fetch(target, where=where, limit=limit)
        kept = {chunk.id for chunk in found}
        ordered = super().fetch(
            target, where=where, limit=10**6, order_by=order_by, descending=not descending
        )
        return [chunk for chunk in ordered if chunk.id in kept]


@reading("test_an_unknown_target_is_refused")
class KnowsEveryTarget(MemoryReader):
    def _target(self, target):
        return self._state_of(target)


@reading("test_highlights_are_spans_of_matched_words")
class LosesHighlights(MemoryReader):
    def bm25(self, target, *, query, limit, where=None):
        found = super().bm25(target, query=query, limit=limit, where=where)
        return [replace(hit, highlights=(), spans=()) for hit in found]


@mutant(SinkContract, "test_delete_removes_from_rows_and_both_legs")
class ForgetsDeletes(MemoryStore):
    def delete(self, subject, collection, documents):
        return sum(
            info.chunks
            for info in self.documents(subject, collection)
            if info.document in documents
        )


@mutant(SinkContract, "test_delete_stays_in_its_own_collection")
class DeletesForEverybody(MemoryStore):
    def delete(self, subject, collection, documents):
        gone = super().delete(subject, collection, documents)
        for owner, name in builtins.list(self._states):
            super().delete(owner, name, documents)
        return gone


@mutant(SinkContract, "test_upsert_replaces_the_chunks_that_the_document_had")
class KeepsTheOldTail(MemoryStore):
    def commit(self, subject, collection, documents):
        known = self._state(subject, collection).documents
        before = {document.document: known.get(document.document) for document in documents}
        super().commit(subject, collection, documents)
        state = self._state(subject, collection)
        for name, old in before.items():
            new = state.documents[name]
            if old is not None and len(old.rows) > len(new.rows):
                rows = (*new.rows, *old.rows[len(new.rows) :])
                merged = {**state.documents, name: replace(new, rows=rows)}
                self._states[subject, collection] = replace(state, documents=merged)


@mutant(
    VectorStoreContract,
    "test_subjects_do_not_see_each_other",
    "test_collections_keep_their_own_statistics",
)
class MixesTenants(MemoryStore):
    """One index for all; the rows of others are cut out after scoring."""

    def reader(self, subject, collections):
        made = super().reader(subject, collections)
        store = self

        class Mixed(MemoryReader):
            def bm25(self, target, *, query, limit, where=None):
                own = {_key(row.chunk) for row in self._target(target).rows}
                super().bm25(target, query=query, limit=limit, where=where)
                everything = [row for s in store._states.values() for row in s.rows]
                counted = replace(self._target(target))
                vars(counted)["rows"] = everything
                other = MemoryReader(lambda _: counted, self._collections)
                found = other.bm25(target, query=query, limit=10**6, where=where)
                mine = [hit for hit in found if _key(hit.chunk) in own]
                return [replace(hit, rank=i) for i, hit in enumerate(mine[:limit], 1)]

        return Mixed(made._state_of, made._collections)


def _key(chunk):
    return (chunk.subject, chunk.collection, chunk.id)


@mutant(SinkContract, "test_a_commit_is_all_or_nothing")
class CommitsOneByOne(MemoryStore):
    def commit(self, subject, collection, documents):
        for document in documents:
            super().commit(subject, collection, [document])


@mutant(SinkContract, "test_the_first_write_fixes_endpoint_and_length")
class ComparesLengthsAlone(MemoryStore):
    def commit(self, subject, collection, documents):
        known = self.model(subject, collection)
        if known is not None:
            documents = [replace(document, endpoint=known[0]) for document in documents]
        super().commit(subject, collection, documents)


@mutant(SinkContract, "test_what_was_given_stays_the_callers")
class WritesIntoMetadata(MemoryStore):
    def commit(self, subject, collection, documents):
        super().commit(subject, collection, documents)
        for document in documents:
            for value in document.metadata.values():
                if isinstance(value, builtins.list):
                    value.append("mark")


@mutant(SinkContract, "test_rename_keeps_vectors_and_leaves_an_alias")
class ForgetsAliases(MemoryStore):
    def rename(self, subject, collection, document, new):
        super().rename(subject, collection, document, new)
        state = self._state(subject, collection)
        self._states[subject, collection] = replace(state, aliases={})


@mutant(SinkContract, "test_list_names_the_collections_that_hold_chunks")
class ListsEverySubject(MemoryStore):
    def list(self, subject):
        owners = {owner for owner, _ in self._states}
        return [found for owner in sorted(owners) for found in super(type(self), self).list(owner)]

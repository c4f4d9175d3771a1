"""What an adapter of a database translates: points, records, and filters on tokens."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = [
    "Backend",
    "Compare",
    "Every",
    "Has",
    "Held",
    "Native",
    "Negated",
    "OneOf",
    "Point",
    "Record",
    "Scored",
    "Some",
    "Space",
]

Scored = tuple[str, float]
"""A point's id and its score, higher is better."""


class Space(NamedTuple):
    """The points of one target. ``tenant`` is unique to (subject, collection); ``normalized`` says
    that vectors are of unit length, so that their dot product is the cosine."""

    tenant: str
    subject: str
    collection: str
    dimension: int
    normalized: bool


class Point(NamedTuple):
    """One chunk as a database keeps it.

    ``id`` is a UUID; ``tokens`` and ``numbers`` (by hashed field) are what filters read; ``row`` is
    ASCII JSON; ``vector`` has float16 precision; ``terms`` maps a term's number, below 2**32 - 1,
    to its weight.
    """

    id: str
    tokens: Sequence[str]
    numbers: Mapping[str, float]
    row: str
    vector: NDArray[np.float32]
    terms: Mapping[int, float]


class Held(NamedTuple):
    """What is read of a point; ``vector`` is None unless asked for."""

    row: str
    vector: NDArray[np.float32] | None


class Record(NamedTuple):
    """A short ASCII text under a key, on a shelf that is read as a whole."""

    key: str
    shelf: str
    text: str


@dataclass(frozen=True, slots=True)
class Has:
    """The point has the token."""

    token: str


@dataclass(frozen=True, slots=True)
class Compare:
    """The point has a number of that name, and it is "gt", "gte", "lt" or "lte" ``value``."""

    name: str
    operator: str
    value: float


@dataclass(frozen=True, slots=True)
class OneOf:
    """The point's id is listed; it stands alone, never inside another filter."""

    ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Every:
    """Every term holds; at least one term."""

    terms: tuple[Native, ...]


@dataclass(frozen=True, slots=True)
class Some:
    """A term holds; at least one term."""

    terms: tuple[Native, ...]


@dataclass(frozen=True, slots=True)
class Negated:
    """The point lacks the token."""

    term: Has


Native = Has | Compare | OneOf | Every | Some | Negated
"""A filter that every database here can serve exactly; it negates tokens only."""


class Backend(Protocol):
    """A database. Calls are made in the caller's thread and raise errors of ``pincite.errors``.

    ``exclusive``: no other process can write, so what was read once stays true. ``parallel``: reads
    may run at the same time. ``approximate``: ``near`` can miss points. ``keeps_terms``: ``match``
    works. ``batch`` is how many points or records one call takes, ``longest_row`` how long the text
    of a point may be. ``place`` names the database in messages.
    """

    @property
    def exclusive(self) -> bool: ...
    @property
    def parallel(self) -> bool: ...
    @property
    def approximate(self) -> bool: ...
    @property
    def keeps_terms(self) -> bool: ...
    @property
    def batch(self) -> int: ...
    @property
    def longest_row(self) -> int: ...
    @property
    def place(self) -> str: ...

    def setup(self) -> None:
        """Create what records need; safe to call again."""
        ...

    def read(self, keys: Sequence[str]) -> dict[str, str]:
        """The texts of the records that are there, by key."""
        ...

    def shelf(self, shelf: str) -> dict[str, str]:
        """The texts of every record of a shelf, by key."""
        ...

    def write(self, records: Sequence[Record]) -> None:
        """Write records, each in place of the one under its key; durable on return."""
        ...

    def drop(self, keys: Sequence[str]) -> None:
        """Remove records; unknown keys are passed over."""
        ...

    def open(self, space: Space) -> None:
        """Create what the points of a target need; safe to call again."""
        ...

    def put(self, space: Space, points: Sequence[Point]) -> None:
        """Write points, each in place of the one with its id; durable on return."""
        ...

    def remove(self, space: Space, ids: Sequence[str]) -> None:
        """Remove points; unknown ids are passed over."""
        ...

    def clear(self, space: Space) -> None:
        """Remove every point of a target, so that points of another dimension can come."""
        ...

    def get(self, space: Space, ids: Sequence[str], *, vectors: bool) -> dict[str, Held]:
        """The points that are there, by id."""
        ...

    def select(self, space: Space, where: Native | None, most: int | None = None) -> list[str]:
        """The ids of the target's points that a filter keeps, in any order; with ``most`` it may
        stop when it has that many."""
        ...

    def near(
        self, space: Space, vector: NDArray[np.float32], limit: int, where: Native | None
    ) -> list[Scored]:
        """The best kept points by dot product (cosine where ``normalized``), best first."""
        ...

    def match(
        self, space: Space, weights: Mapping[int, float], limit: int, where: Native | None
    ) -> list[Scored]:
        """The best kept points by the dot product of terms, best first; only those above 0."""
        ...

    def close(self) -> None:
        """Release what the client holds."""
        ...

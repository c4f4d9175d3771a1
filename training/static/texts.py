"""From runs to what the fit takes: passages for the teacher, and pairs that belong together."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from pathlib import Path

import sources

__all__ = ["pairs_of", "runs_of", "to_teach"]

CHUNKS = 150_000
OF_EACH = 30_000
SEED = 7
TAUGHT = {
    "wordnet": 15_000,
    "prose": 10_000,
    "dictionaries": 12_500,
    "chunks": 15_000,
    "fortunes": 2_500,
}
"""How many passages of each group the teacher reads."""
COMMON = frozenset(
    [
        "a",
        "an",
        "and",
        "are",
        "as",
        "at",
        "be",
        "by",
        "for",
        "from",
        "in",
        "is",
        "it",
        "of",
        "on",
        "or",
        "that",
        "the",
        "this",
        "to",
        "with",
    ]
)
LIMITS = {"chunks": (16, 48)}
"""The most words of a query and of a passage, by group; else ``LIMIT``."""
LIMIT = (24, 100)

Run = list[str]


def runs_of(group: str, data: Path) -> list[Run]:
    """A group's runs: at most ``OF_EACH`` of a package, every one of the dictionaries."""
    if group == "chunks":
        return list(sources.runs_of_chunks(data / "chunks.txt", CHUNKS))
    kept: list[Run] = []
    for name in sources.GROUPS[group]:
        runs = list(sources.runs_of(data / "packages", group, name))
        random.Random(name).shuffle(runs)
        kept += runs if group in {"wordnet", "dictionaries"} else runs[:OF_EACH]
    return kept


def pairs_of(group: str, runs: Iterable[Run], rng: random.Random) -> Iterator[tuple[str, str]]:
    """One pair from each run: a member as the query, the rest of the run as the passage.

    A run of two keeps its order, the heading, word or sentence before what it is about.
    """
    longest, words = LIMITS.get(group, LIMIT)
    for run in runs:
        if len(run) == 2:
            yield run[0], run[1]
        elif len(run) > 2:
            at = rng.randrange(len(run))
            rest = " ".join(run[:at] + run[at + 1 :]).split()
            query = run[at].split()
            start = rng.randrange(max(1, len(query) - 12))
            yield " ".join(query[start : start + rng.randint(3, longest)]), " ".join(rest[:words])


def to_teach(group: str, runs: Iterable[Run], rng: random.Random) -> list[str]:
    """Passages for the teacher, in random order: short ones, one of each run, no repeats.

    Of documentation only what reads like English sentences, with common words among its own.
    """
    found: dict[str, None] = {}
    for run in runs:
        passage = rng.choice(run)
        words = passage.split()[: rng.choice((6, 9, 12, 16, 24, 32))]
        share = sum(word.lower() in COMMON for word in words) / max(1, len(words))
        if len(words) >= 3 and (share >= 0.2 or group not in {"chunks", "prose"}):
            found[" ".join(words)] = None
    texts = list(found)
    rng.shuffle(texts)
    return texts[: TAUGHT.get(group, 0)]

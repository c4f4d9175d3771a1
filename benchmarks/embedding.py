"""What does the bundled static model cost: size, load, memory, passages a second?

    python benchmarks/embedding.py --data FOLDER [--documents FOLDER] [--json OUT]

--data holds chunks.txt (benchmarks/corpus.py), passages of about 100 words. The contender is the
plain loader of the wordllama table: `tokenizers` and `safetensors` on that package's files, texts
lower-cased, `encode_batch`, the NumPy mean of each text's rows. One thread each, contenders
interleaved, the best of the rounds; a cold model has met no word yet. Load and memory are those of
fresh processes that have NumPy already, memory in private pages and with shared ones by share
(PSS). --documents is a folder of files whose text both our WordPiece and that of `tokenizers` cut.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Any

os.environ.update(TOKENIZERS_PARALLELISM="false", OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")

import numpy as np
from report import require_kernels, write_report

import pincite.embedding
from pincite.embedding.static import StaticModel
from pincite.embedding.wordpiece import WordPiece

MODEL = Path(pincite.embedding.__file__).parent / "model"
PASSAGES = 20_000
ROUNDS = 3
FRESH = """
import importlib, json, sys, time
import numpy
def memory():
    rows = dict(line.split(":") for line in open("/proc/self/smaps_rollup").readlines()[1:])
    kb = {k: int(v.split()[0]) for k, v in rows.items()}
    return kb["Pss"], kb["Private_Clean"] + kb["Private_Dirty"]
def go(load):
    before, start = memory(), time.perf_counter()
    encode = load()
    encode(["one short text"])
    seconds = time.perf_counter() - start
    after = memory()
    with open(sys.argv[1], encoding="utf-8") as lines:
        encode([next(lines) for _ in range(2000)])
    used = memory()
    print(json.dumps({"load_ms": round(1000 * seconds, 1),
        "pss_mb": round((after[0] - before[0]) / 1024, 1),
        "private_mb": round((after[1] - before[1]) / 1024, 1),
        "private_mb_after_2000_passages": round((used[1] - before[1]) / 1024, 1)}))
"""
OURS = "from pincite.embedding.static import StaticModel\ngo(lambda: StaticModel().encode)"
THEIRS = "sys.path.insert(0, {here!r})\ngo(lambda: importlib.import_module('embedding').plain())"


def plain() -> Callable[[list[str]], Any]:
    """The plain loader of the wordllama table."""
    import importlib.util

    from safetensors.numpy import load_file
    from tokenizers import Tokenizer

    spec = importlib.util.find_spec("wordllama")
    if spec is None or spec.origin is None:
        sys.exit("The contender's files are missing: pip install 'pincite[wordllama]'")
    root = Path(spec.origin).parent
    table = load_file(root / "weights" / "l2_supercat_256.safetensors")["embedding.weight"]
    table = table.astype(np.float32)
    file = root / "tokenizers" / "l2_supercat_tokenizer_config.json"
    tokenizer = Tokenizer.from_file(str(file))

    def encode(texts: list[str]) -> Any:
        rows = np.empty((len(texts), table.shape[1]), np.float32)
        batch = tokenizer.encode_batch([text.lower() for text in texts], add_special_tokens=False)
        for place, encoding in enumerate(batch):
            rows[place] = table[encoding.ids].mean(axis=0)
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)

    return encode


def rates(texts: list[str]) -> dict[str, float]:
    """Passages a second of each contender."""
    warm, theirs = StaticModel(), plain()
    warm.encode(texts)
    seconds: dict[str, list[float]] = {"ours, cold": [], "ours, warm": [], "plain loader": []}
    for _ in range(ROUNDS):
        cold = StaticModel()
        cold.encode(["load"])
        for name, encode in (
            ("ours, cold", cold.encode),
            ("ours, warm", warm.encode),
            ("plain loader", theirs),
        ):
            start = time.perf_counter()
            for first in range(0, len(texts), 512):
                encode(texts[first : first + 512])
            seconds[name].append(time.perf_counter() - start)
    return {name: round(len(texts) / min(found)) for name, found in seconds.items()}


def fresh(chunks: Path) -> dict[str, Any]:
    """Load and memory of new processes; the best load of the rounds."""
    found = {}
    for name, program in (("ours", OURS), ("plain loader", THEIRS)):
        code = FRESH + program.format(here=str(Path(__file__).parent))
        runs = [
            json.loads(
                subprocess.run(
                    [sys.executable, "-c", code, str(chunks)],
                    check=True, capture_output=True, text=True,
                ).stdout
            )
            for _ in range(2 * ROUNDS)
        ]  # fmt: skip
        found[name] = min(runs, key=lambda run: run["load_ms"])
    return found


def agreement(folder: Path) -> dict[str, int]:
    """Texts and words of the documents, and how many texts the reference cuts otherwise."""
    from tokenizers import Tokenizer
    from tokenizers.models import WordPiece as Reference
    from tokenizers.normalizers import BertNormalizer
    from tokenizers.pre_tokenizers import BertPreTokenizer

    from pincite.errors import PinciteError
    from pincite.parsing.registry import parse
    from pincite.text.normalize import normalize_text

    pieces = (MODEL / "vocabulary.txt").read_text(encoding="utf-8").split("\n")[:-1]
    theirs = Tokenizer(Reference({p: n for n, p in enumerate(pieces)}, unk_token="[UNK]"))
    theirs.normalizer, theirs.pre_tokenizer = BertNormalizer(), BertPreTokenizer()
    ours, model = WordPiece(pieces), StaticModel()
    counts = {"texts": 0, "words": 0, "pieces": 0, "texts that differ": 0}
    for path in sorted(p for p in folder.rglob("*") if p.is_file()):
        try:
            markdown = parse(path.read_bytes(), filename=path.name).markdown
        except (PinciteError, OSError):
            continue
        words = normalize_text(markdown).split()
        if not words:
            continue
        expected = theirs.encode(" ".join(words), add_special_tokens=False).ids
        found = np.frombuffer(model._ids(markdown), np.uint16).tolist()
        pure = [number for word in words for number in ours(word)]
        counts["texts"] += 1
        counts["words"] += len(words)
        counts["pieces"] += len(found)
        counts["texts that differ"] += not found == pure == expected
    return counts


def main() -> None:
    require_kernels()
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--data", type=Path, required=True, help="folder with chunks.txt")
    parser.add_argument("--documents", type=Path, help="folder of files to cut")
    parser.add_argument("--json", type=Path, help="write the figures there")
    arguments = parser.parse_args()
    with (arguments.data / "chunks.txt").open(encoding="utf-8") as lines:
        texts = [line.rstrip("\n") for line in islice(lines, PASSAGES)]
    speed = rates(texts)
    figures: dict[str, Any] = {
        "what": "the bundled static model beside the plain loader of the wordllama table",
        "package_data_mb": round(sum(p.stat().st_size for p in MODEL.iterdir()) / 1e6, 2),
        "fresh_process": fresh(arguments.data / "chunks.txt"),
        "passages_per_second": speed,
        "times_plain_loader": {
            name: round(rate / speed["plain loader"], 2) for name, rate in speed.items()
        },
    }
    if arguments.documents:
        figures["agreement_with_tokenizers"] = agreement(arguments.documents)
    print(json.dumps(figures, indent=1))
    write_report(arguments.json, figures, packages=["tokenizers", "safetensors", "wordllama"])


if __name__ == "__main__":
    main()

"""What the package ships: the table as int8 rows with a scale each, and the vocabulary."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import save_file
from teacher import package_folder
from tokenizers import Tokenizer

__all__ = ["MODEL", "ids_of", "plain_tokenizer", "quantised", "write"]

MODEL = Path(__file__).parents[2] / "src" / "pincite" / "embedding" / "model"
NAME = "pincite-static-256"


def plain_tokenizer() -> Tokenizer:
    """The teacher's tokenizer, neither cutting nor padding."""
    tokenizer = Tokenizer.from_file(str(package_folder() / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


def ids_of(tokenizer: Tokenizer, texts: list[str]) -> list[list[int]]:
    """The piece ids of each text, without special ones."""
    found: list[list[int]] = []
    for first in range(0, len(texts), 10_000):
        batch = tokenizer.encode_batch_fast(texts[first : first + 10_000], add_special_tokens=False)
        found += [encoding.ids for encoding in batch]
    return found


def quantised(table: NDArray[np.float32]) -> tuple[NDArray[np.int8], NDArray[np.float16]]:
    """int8 rows and the float16 scale of each: a row is ``scale * ints``, and the scale of a row
    without numbers is 0."""
    longest = np.linalg.norm(table, axis=1).max()
    peaks = np.abs(table / longest).max(axis=1)
    scales = np.maximum(peaks / 127, np.finfo(np.float16).tiny).astype(np.float16)
    rows = np.rint(table / longest / scales[:, None].astype(np.float32))
    return np.clip(rows, -127, 127).astype(np.int8), np.where(peaks > 0, scales, np.float16(0))


def write(table: NDArray[np.float32], folder: Path = MODEL) -> str:
    """Write the table and the vocabulary; the SHA-256 of the table's file."""
    folder.mkdir(parents=True, exist_ok=True)
    rows, scales = quantised(table)
    path = folder / "static.safetensors"
    save_file({"rows": rows, "scales": scales}, path, metadata={"name": NAME})
    vocabulary = plain_tokenizer().get_vocab()
    pieces = sorted(vocabulary, key=vocabulary.__getitem__)
    (folder / "vocabulary.txt").write_text("\n".join(pieces) + "\n", encoding="utf-8")
    return hashlib.sha256(path.read_bytes()).hexdigest()

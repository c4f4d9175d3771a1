"""Counting tokens: with a tokenizer, with a function, or by a rule of thumb."""

from __future__ import annotations

import hashlib
import re
from array import array
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Protocol, TypeAlias, cast

from pincite.errors import InvalidArgument
from pincite.text.normalize import normalize_text

if TYPE_CHECKING:
    from tokenizers import Tokenizer

    TokenizerLike: TypeAlias = Tokenizer | Callable[[str], int] | None

__all__ = ["TokenCounter", "approximate_tokens", "token_counter"]

_PIECE = re.compile(r"[A-Za-z]{1,6}|[^\sA-Za-z]")
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")
_SLICE = 1 << 15


class TokenCounter(Protocol):
    """Counts tokens, and says about where in a text they begin."""

    @property
    def fingerprint(self) -> str:
        """Equal fingerprints count equally."""
        ...

    def count(self, text: str) -> int:
        """The number of tokens of the whole text, with the model's special tokens."""
        ...

    def starts(self, text: str) -> array[int]:
        """Ascending offsets, one for each token: a close estimate for any part of the text."""
        ...


def token_counter(tokenizer: TokenizerLike) -> TokenCounter:
    """The counter for a ``tokenizers.Tokenizer``, a function from text to a count, or None."""
    if tokenizer is None:
        return _Approximate()
    if hasattr(tokenizer, "encode_batch"):
        return _ByTokenizer(cast("Tokenizer", tokenizer))
    if callable(tokenizer):
        return _ByFunction(tokenizer)
    raise InvalidArgument(
        f"tokenizer is a {type(tokenizer).__name__}; give a tokenizers.Tokenizer, a function "
        "that counts the tokens of a text, or None."
    )


def approximate_tokens(text: str) -> int:
    """A fast and rather high estimate: one token for up to six ASCII letters of a word, and one for
    every other character that is not blank."""
    return sum(1 for _ in _PIECE.finditer(text))


class _Approximate:
    fingerprint = "approximate-1"

    def count(self, text: str) -> int:
        return approximate_tokens(text)

    def starts(self, text: str) -> array[int]:
        return array("q", (match.start() for match in _PIECE.finditer(text)))


class _ByFunction:
    """A function knows no offsets: the tokens of a line count as evenly spread over it."""

    def __init__(self, function: Callable[[str], int]) -> None:
        self._function = function

    @property
    def fingerprint(self) -> str:
        named = self._function if hasattr(self._function, "__qualname__") else type(self._function)
        owner = getattr(getattr(self._function, "__self__", None), "name", "")
        return f"function:{named.__module__}.{named.__qualname__}" + (f":{owner}" if owner else "")

    def count(self, text: str) -> int:
        return int(self._function(text))

    def starts(self, text: str) -> array[int]:
        found = array("q")
        for at, end in _slices(text):
            tokens = self.count(text[at:end])
            found.extend(at + (end - at) * k // tokens for k in range(tokens))
        return found


class _ByTokenizer:
    """Counts what the model would see, padding and truncation switched off. A text counts as the
    larger of itself and its normalised form, since the latter is what an embedder sends."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = _unlimited(tokenizer)

    @cached_property
    def fingerprint(self) -> str:
        digest = hashlib.sha256(self._tokenizer.to_str().encode()).hexdigest()
        return f"tokenizer:{digest[:16]}"

    def count(self, text: str) -> int:
        clean = _encodable(text)
        normal = normalize_text(clean)
        forms = [clean] if normal == clean else [clean, normal]
        return max(len(found) for found in self._tokenizer.encode_batch_fast(forms))

    def starts(self, text: str) -> array[int]:
        clean = _encodable(text)
        spans = list(_slices(clean))
        slices = [clean[at:end] for at, end in spans]
        found = array("q")
        for first in range(0, len(slices), 16):
            encodings = self._tokenizer.encode_batch(
                slices[first : first + 16], add_special_tokens=False
            )
            for (at, _), encoding in zip(spans[first : first + 16], encodings, strict=True):
                found.extend(at + start for start, _ in encoding.offsets)
        return found


def _unlimited(tokenizer: Tokenizer) -> Tokenizer:
    if tokenizer.truncation is None and tokenizer.padding is None:
        return tokenizer
    from tokenizers import Tokenizer as Copy

    copy = Copy.from_str(tokenizer.to_str())
    copy.no_truncation()
    copy.no_padding()
    return copy


def _slices(text: str) -> Iterator[tuple[int, int]]:
    """The text in whole lines, or in parts of a line that is very long."""
    for match in _LINE.finditer(text):
        for at in range(match.start(), match.end(), _SLICE):
            yield at, min(at + _SLICE, match.end())


def _encodable(text: str) -> str:
    """The text with "?" for lone surrogates, which have no UTF-8 form; of the same length."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()

"""From texts to the keyword part of a segment."""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Protocol

from pincite.bm25.packing import pack_arrays
from pincite.bm25.segment import build_arrays
from pincite.segments.kernels import native
from pincite.text.analysis import Analyzer
from pincite.text.kernels import TextKernel, TextRules

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Analysis", "build_threads", "keyword_arrays"]

_KERNELS_KEPT: Final = 4
_WORTH_THREADS: Final = 20_000


class Analysis(Protocol):
    """What an index needs of an analyser; ``pincite.text.analysis.Analyzer`` is one.

    ``fingerprint`` changes whenever the same text could give other terms. An analysis that is the
    default analyser under rules may have ``rules``, a ``TextRules``, to be run in native code.
    """

    @property
    def fingerprint(self) -> str: ...

    def document_terms(self, text: str, language: str = "") -> tuple[Mapping[str, int], int]: ...

    def query_groups(
        self, text: str, languages: Iterable[str] = ()
    ) -> tuple[tuple[str, ...], ...]: ...


def keyword_arrays(
    analysis: Analysis,
    texts: Sequence[str],
    languages: Sequence[str],
    *,
    threads: int | None = None,
) -> dict[str, NDArray[Any]]:
    """The arrays of a segment with a row for each text, analysed in its language.

    ``threads`` is for native code; None takes two for many texts where there are two processors.
    The result does not depend on it.
    """
    kernel = _kernel(analysis)
    if kernel is None:
        pairs = zip(texts, languages, strict=True)
        return build_arrays(analysis.document_terms(text, language) for text, language in pairs)
    count = build_threads(len(texts), threads)
    return pack_arrays(*kernel.inverted(texts, languages, threads=count), threads=count)


def build_threads(texts: int, threads: int | None) -> int:
    """``threads``, or where it is None as many as building an index of ``texts`` is worth."""
    if threads is not None:
        return threads
    return min(2, os.cpu_count() or 1) if texts >= _WORTH_THREADS else 1


_kernels: OrderedDict[str, TextKernel] = OrderedDict()
_kernels_lock = threading.Lock()


def _kernel(analysis: Analysis) -> TextKernel | None:
    """The kernel of an analysis, kept for its words; None when only Python can do it."""
    module = native()
    if type(analysis) is Analyzer:  # a subclass may analyse otherwise
        rules: TextRules | None = TextRules(analysis)
    else:
        rules = getattr(analysis, "rules", None)
    if module is None or rules is None:
        return None
    key = analysis.fingerprint
    with _kernels_lock:
        kernel = _kernels.pop(key, None) or TextKernel(module, rules)
        _kernels[key] = kernel
        while len(_kernels) > _KERNELS_KEPT:
            _kernels.popitem(last=False)
    return kernel

"""Which kernels run: the compiled extension, or the same results in NumPy.

``PINCITE_PURE=1`` asks for NumPy. An extension of another version than this code counts as absent.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any

__all__ = ["KERNEL_VERSION", "PURE_COMFORT", "kernels_in_use", "native", "warn_when_slow"]

KERNEL_VERSION = 14

_FOUND: list[ModuleType | None] = []

# Every search asks: the dictionary beneath os.environ, where there is one, saves it a tenth of a
# selective search.
_ENVIRONMENT: Any = getattr(os.environ, "_data", os.environ)
_PURE = os.environ.encodekey("PINCITE_PURE") if hasattr(os.environ, "_data") else "PINCITE_PURE"
_NOT_PURE = ("", "0", b"", b"0")

PURE_COMFORT = 100_000
"""Rows up to which the pure path answers without a warning."""


def native() -> ModuleType | None:
    """The compiled extension, or None when the pure path runs."""
    if _ENVIRONMENT.get(_PURE, "") not in _NOT_PURE:
        return None
    return _FOUND[0] if _FOUND else _extension()


def kernels_in_use() -> str:
    """``"native"`` or ``"pure"``."""
    return "pure" if native() is None else "native"


def warn_when_slow(rows: int) -> None:
    """Warn when the pure path is about to search more rows than it is comfortable with."""
    if rows > PURE_COMFORT and native() is None:
        import warnings

        warnings.warn(
            f"Searching {rows:,} chunks without the native kernels is slow; install Pincite where "
            "a C++ compiler is found, and leave PINCITE_PURE unset.",
            RuntimeWarning,
            stacklevel=3,
        )


def _extension() -> ModuleType | None:
    if not _FOUND:
        _FOUND.append(_imported())
    return _FOUND[0]


def _imported() -> ModuleType | None:
    try:
        # What ``importlib.import_module`` does, without importing ``importlib``.
        module: ModuleType = __import__("pincite._native", fromlist=["KERNEL_VERSION"])
    except ImportError:
        return None
    return module if getattr(module, "KERNEL_VERSION", None) == KERNEL_VERSION else None

"""JSON as segments hold it, read without the ``json`` package.

That package imports ``re``, which takes a process longer than its first search. CPython's scanner,
which it wraps, is used alone; elsewhere the package reads.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    JSON = Any
    """None, bool, int, float, str, lists and string-keyed mappings of them."""

__all__ = ["read_json"]


class _Rules:
    """What the scanner asks of its decoder."""

    strict = True
    object_hook = object_pairs_hook = None
    parse_float, parse_int = float, int
    memo: dict[str, str]

    def __init__(self) -> None:
        self.memo = {}

    @staticmethod
    def parse_constant(constant: str) -> JSON:
        raise ValueError(f"{constant} is not JSON")


def read_json(text: str) -> JSON:
    """The value of a text without white space around it; ``ValueError`` when it is none."""
    try:
        from _json import make_scanner
    except ImportError:
        import json

        return json.loads(text, parse_constant=_Rules.parse_constant)
    try:
        value, end = make_scanner(_Rules())(text, 0)  # type: ignore[arg-type] # typed as a copy
    except StopIteration:
        raise ValueError("it is not JSON") from None
    if end != len(text):
        raise ValueError("it is more than one JSON value")
    return value

"""One import and one message for backends that are extras."""

from __future__ import annotations

import importlib
from typing import Any

from pincite.errors import MissingExtra

__all__ = ["require"]


def require(module: str, *, extra: str) -> Any:
    """The module; raises ``MissingExtra`` with the install command when it is not there."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] != module.partition(".")[0]:
            raise
        raise MissingExtra(
            f'The package {module} is not installed; run: pip install "pincite[{extra}]"',
            name=module,
        ) from error

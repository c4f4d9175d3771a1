"""How every benchmark writes its figures: with the versions and the machine's size beside them."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Iterable, Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from pincite.segments.kernels import kernels_in_use

__all__ = ["machine", "require_kernels", "versions", "write_report"]


def require_kernels() -> None:
    """Every benchmark begins with this: figures of the pure path could pass for the native ones.

    An extension of another version than the code falls back to it silently.
    """
    if kernels_in_use() != "native":
        raise SystemExit(
            "The compiled kernels are not in use: unset PINCITE_PURE and build the extension of "
            "this tree, `python setup.py build_ext --inplace` (or `pip install -e .`)."
        )


def machine() -> dict[str, Any]:
    """Cores, memory, processor and the load when this is called."""
    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return {
        "cores": os.cpu_count(),
        "memory_gb": round(pages / 2**30),
        "processor": _processor(),
        "system": platform.system(),
        "architecture": platform.machine(),
        "load": round(os.getloadavg()[0], 2),
    }


def versions(packages: Iterable[str]) -> dict[str, str]:
    """Python's version and those of the packages that are installed."""
    found = {"python": platform.python_version()}
    for name in ("pincite", "numpy", *packages):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def write_report(
    path: Path | None, figures: Mapping[str, Any], *, packages: Iterable[str] = ()
) -> None:
    """Write ``figures`` as JSON unless ``path`` is None."""
    if path is None:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    body = {"versions": versions(packages), "machine": machine(), **figures}
    path.write_text(json.dumps(body, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.processor())

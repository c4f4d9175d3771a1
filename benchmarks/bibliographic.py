"""How much of what a reader sees on papers does ``extract_metadata`` find?

Data: a folder with the papers, and a JSON file ``{file: {key: value, ...}}`` with what a reader
finds on them by the keys of ``extract_metadata``; ``"password"`` opens a file. A key that is not
there is not on the paper: finding something for it is an error. Names and titles are compared
without accents, case and punctuation.

Run: python benchmarks/bibliographic.py --data FOLDER --expected FILE [--json OUT]
"""

from __future__ import annotations

import argparse
import json
import re
import unicodedata
from pathlib import Path
from typing import Any

from report import require_kernels, write_report

from pincite.indexing.bibliographic import BIBLIOGRAPHIC_KEYS, extract_metadata
from pincite.parsing.registry import parse


def normal(value: Any) -> Any:
    """The form in which values are compared."""
    if isinstance(value, list):
        return [normal(item) for item in value]
    if isinstance(value, str):
        plain = unicodedata.normalize("NFKD", value)
        return re.sub(
            r"[\W_]+", "", "".join(c for c in plain if not unicodedata.combining(c))
        ).lower()
    return value


def verdict(expected: Any, found: Any) -> str:
    """``right``, ``wrong``, ``missed``, ``invented`` or ``none`` (rightly nothing)."""
    if expected is None:
        return "none" if found is None else "invented"
    if found is None:
        return "missed"
    return "right" if normal(expected) == normal(found) else "wrong"


def main() -> int:
    """Print a line for each field of each file and the counts."""
    require_kernels()
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--expected", type=Path, required=True)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    wanted = json.loads(arguments.expected.read_text(encoding="utf-8"))
    rows: list[dict[str, Any]] = []
    for name, values in wanted.items():
        data = (arguments.data / name).read_bytes()
        extracted = extract_metadata(parse(data, name, password=values.get("password")))
        for key in BIBLIOGRAPHIC_KEYS:
            found = extracted[key].value if key in extracted else None
            source = extracted[key].source if key in extracted else ""
            row = {"file": name, "field": key, "verdict": verdict(values.get(key), found)}
            rows.append({**row, "expected": values.get(key), "found": found, "source": source})
            print(f"{row['verdict']:<8} {name:<48.48} {key:<8} {source:<10} {str(found)[:60]}")
    counts = {
        key: {v: sum(r["verdict"] == v for r in rows if r["field"] == key) for v in VERDICTS}
        for key in BIBLIOGRAPHIC_KEYS
    }
    for key, count in counts.items():
        print(f"{key:<8} " + "  ".join(f"{v} {n}" for v, n in count.items()))
    told = [{k: row[k] for k in ("file", "field", "verdict", "source")} for row in rows]
    figures = {"counts": counts, "files": len(wanted), "fields": told}
    write_report(arguments.json, figures, packages=["pypdfium2", "kreuzberg"])
    return 0


VERDICTS = ("right", "wrong", "missed", "invented", "none")

if __name__ == "__main__":
    raise SystemExit(main())

"""How many of a folder's files yield the fact that their manifest names?

Data: a folder with ``manifest.tsv`` (columns "file", "fact a correct parse contains", "password",
"fact checked in") and the files in ``files/``. Facts are compared after NFKC, with white space
squeezed, line-end hyphens joined and Arabic tatweel removed.

Run: python benchmarks/facts.py --data FOLDER [--backend pdfium] [--json OUT]
"""

from __future__ import annotations

import argparse
import csv
import re
import sys
import time
import unicodedata
from pathlib import Path

from report import require_kernels, write_report

from pincite.errors import PinciteError
from pincite.parsing.registry import parse


def normal(text: str) -> str:
    """The form in which facts are compared."""
    text = unicodedata.normalize("NFKC", text).replace("\u0640", "")
    text = re.sub(r"(\w)[-\u2010\u00ad]\n\s*(\w)", r"\1\2", text)
    return " ".join(text.split())


def look(folder: Path, row: dict[str, str], backend: str) -> tuple[bool, str, float]:
    """Whether the fact is found, what else happened, and the seconds it took."""
    name = row["file"]
    start = time.perf_counter()
    try:
        data = (folder / "files" / name).read_bytes()
        result = parse(data, name, backend=backend, password=row.get("password") or None)
    except PinciteError as error:
        return False, f"{type(error).__name__}: {error}", time.perf_counter() - start
    seconds = time.perf_counter() - start
    found = normal(row["fact a correct parse contains"]) in normal(result.markdown)
    return found, f"{len(result.markdown)} characters", seconds


def main() -> int:
    """Print a line for each file and the sum; the exit status is 0 when the run completes."""
    require_kernels()
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--backend", default="pdfium")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    with (arguments.data / "manifest.tsv").open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream, delimiter="\t", quoting=csv.QUOTE_NONE))
    files: list[dict[str, object]] = []
    for row in rows:
        found, note, seconds = look(arguments.data, row, arguments.backend)
        files.append({"file": row["file"], "found": found, "note": note, "seconds": seconds})
        print(f"{'found ' if found else 'MISSED'} {seconds:6.3f} s  {row['file']}  ({note})")
    total = sum(bool(item["found"]) for item in files)
    spent = sum(float(str(item["seconds"])) for item in files)
    print(f"{total} of {len(files)} facts found in {spent:.2f} s")
    figures = {"backend": arguments.backend, "found": total, "of": len(files), "files": files}
    write_report(arguments.json, figures, packages=["pypdfium2", "kreuzberg"])
    return 0


if __name__ == "__main__":
    sys.exit(main())

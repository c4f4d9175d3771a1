"""A reader process: every answer must be that of some committed state.

Prints the number of answers, or what was wrong with one.
"""

from __future__ import annotations

import hashlib
import json
import sys
import time
from pathlib import Path

from pincite.stores.local.store import LocalStore

QUERY = "salt quartz river version1 lemon"


def answers(reader: object, collection: str) -> dict[str, str]:
    """A digest of what each way of asking says."""
    keyword = reader.bm25(collection, query=QUERY, limit=500)  # type: ignore[attr-defined]
    near = reader.near_vector(collection, vector=[1.0] * 16, limit=500)  # type: ignore[attr-defined]
    rows = reader.all_chunks()  # type: ignore[attr-defined]
    return {
        "keyword": digest([(h.chunk.id, h.chunk.content, h.score) for h in keyword]),
        "vector": digest(sorted((h.chunk.id, h.chunk.content) for h in near)),
        "rows": digest([(c.id, c.content, c.metadata) for c in rows]),
    }


def digest(answer: object) -> str:
    return hashlib.sha256(repr(answer).encode()).hexdigest()


def main(path: str, seconds: str, allowed_file: str) -> None:
    allowed = {k: set(v) for k, v in json.loads(Path(allowed_file).read_text()).items()}
    store = LocalStore(path, read_only=True)
    reader = store.reader("s", ["c"])
    seen: set[str] = set()
    count = 0
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    deadline = time.monotonic() + float(seconds)
    while time.monotonic() < deadline:
        for way, answer in answers(reader, "c").items():
            if answer not in allowed[way]:
                sys.stdout.write(f"{way} answered with no committed state\n")
                return
            seen.add(answer)
            count += 1
    store.close()
    sys.stdout.write(json.dumps({"answers": count, "states": len(seen)}) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])

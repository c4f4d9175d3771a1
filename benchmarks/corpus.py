"""Harvest a million chunks of real text for the benchmarks: one recipe, the same text every time.

The text is that of Debian documentation packages (HTML, plain text, reStructuredText, Markdown,
manual pages), cut into chunks of about 100 words, exact repeats dropped. If the packages hold less
than was asked, the rest is made by walking the bigrams of the real text.

    python benchmarks/corpus.py --data FOLDER [--chunks 1000000]

needs `apt-get download` and `dpkg-deb`, and about 5 GB in FOLDER while it runs. It writes

    chunks.txt    one chunk a line, in a fixed shuffled order
    headings.txt  the headings of the pages, for queries
    corpus.json   what was harvested: packages with versions, counts, a hash of chunks.txt
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import html
import json
import random
import re
import shutil
import subprocess
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import Path

PACKAGES = [
    "apache2-doc", "cppreference-doc-en-html", "debian-handbook", "debian-policy",
    "debian-reference-en", "developers-reference", "dcmtk-doc", "dpdk-doc", "emacs-common",
    "erlang-doc", "freebsd-manpages", "ghc-doc", "gimp-help-en", "gnome-user-docs",
    "gnuradio-doc", "groovy-doc", "lazarus-doc-2.2", "libboost1.81-doc", "libgtk-3-doc",
    "libgtk-4-doc", "libreoffice-help-en-us", "libstdc++-12-doc", "lilypond-doc-html",
    "linux-doc-6.1", "lammps-doc", "manpages", "manpages-dev", "octave-doc", "openjdk-17-doc",
    "opengl-4-man-doc", "petsc3.18-doc", "pike8.0-doc", "postgresql-doc-15",
    "python-astropy-doc", "python-matplotlib-doc", "python-networkx-doc", "python-numpy-doc",
    "python-pandas-doc", "python-scipy-doc", "python-sklearn-doc", "python-sqlalchemy-doc",
    "python-statsmodels-doc", "python-sympy-doc", "python-django-doc", "python3.11-doc",
    "qtbase5-doc-html", "qtdeclarative5-doc-html", "racket-doc", "rust-doc", "sagemath-doc",
    "scala-doc", "singular-doc", "sqlite3-doc", "tcl8.6-doc", "tk8.6-doc", "texlive-doc-en",
    "twisted-doc", "valgrind", "wx3.2-doc", "maxima-doc", "r-base-html", "r-doc-html",
    "perl-doc", "php-doc", "git-doc", "gdb-doc", "samba", "mercurial-common", "bash-doc",
    "debootstrap",
]  # fmt: skip

WORDS = 100
SEED = 20260101
_TEXT = {
    ".html",
    ".htm",
    ".xhtml",
    ".txt",
    ".rst",
    ".md",
    ".text",
    ".1",
    ".2",
    ".3",
    ".5",
    ".7",
    ".8",
}
_DROP = re.compile(
    rb"<(script|style|head|nav|footer)\b.*?</\1\s*>|<!--.*?-->", re.DOTALL | re.IGNORECASE
)
_HEADING = re.compile(rb"<h[1-6]\b[^>]*>(.*?)</h[1-6]\s*>", re.DOTALL | re.IGNORECASE)
_TAG = re.compile(rb"<[^>]{0,2000}>", re.DOTALL)
_ROFF = re.compile(r"^[.'].*$|\\f[A-Z]|\\[-&|^]", re.MULTILINE)
_WS = re.compile(r"\s+")


def download(folder: Path, packages: Iterable[str] = PACKAGES) -> dict[str, str]:
    """Fetch and unpack those packages that exist; name -> version."""
    folder.mkdir(parents=True, exist_ok=True)
    versions = {}
    for package in packages:
        target = folder / package
        if not target.exists():
            run = subprocess.run(
                ["apt-get", "download", package], cwd=folder, capture_output=True, check=False
            )
            archives = sorted(folder.glob(f"{package}_*.deb"))
            if run.returncode or not archives:
                print(f"not there: {package}")
                continue
            half = folder / f"{package}.part"
            shutil.rmtree(half, ignore_errors=True)
            subprocess.run(["dpkg-deb", "-x", archives[0], half], check=True)
            versions[package] = archives[0].name.split("_")[1].replace("%3a", ":")
            (half / "VERSION").write_text(versions[package])
            archives[0].unlink()
            half.rename(target)
        versions[package] = (target / "VERSION").read_text()
    return versions


def pages(folder: Path) -> Iterator[tuple[str, list[str]]]:
    """Text and headings of every page, in path order."""
    for path in sorted(p for p in folder.rglob("*") if p.is_file() and not p.is_symlink()):
        zipped = path.suffix == ".gz"
        suffix = (path.with_suffix("").suffix if zipped else path.suffix).lower()
        if suffix not in _TEXT or path.stat().st_size > 4_000_000:
            continue
        try:
            data = gzip.decompress(path.read_bytes()) if zipped else path.read_bytes()
        except OSError:
            continue
        if suffix in {".html", ".htm", ".xhtml"}:
            yield _html(data)
        else:
            text = data.decode("utf-8", "replace")
            yield (_ROFF.sub(" ", text) if len(suffix) == 2 else text), []


def _html(data: bytes) -> tuple[str, list[str]]:
    data = _DROP.sub(b" ", data)
    headings = [_plain(_TAG.sub(b" ", h)) for h in _HEADING.findall(data)]
    return _plain(_TAG.sub(b" ", data)), [h for h in headings if h]


def _plain(data: bytes) -> str:
    return _WS.sub(" ", html.unescape(data.decode("utf-8", "replace"))).strip()


def chunks_of(text: str) -> Iterator[str]:
    """Pieces of about WORDS words; a short rest is dropped."""
    words = text.split()
    for start in range(0, len(words), WORDS):
        piece = [w for w in words[start : start + WORDS] if len(w) < 60]
        if len(piece) >= WORDS // 2 and sum(w.isalpha() for w in piece) >= len(piece) // 2:
            yield " ".join(piece)


def top_up(real: list[str], count: int) -> Iterator[str]:
    """Chunks that walk the bigrams of a sample of the real ones."""
    rng = random.Random(SEED)
    follow: defaultdict[str, list[str]] = defaultdict(list)
    for chunk in rng.sample(real, min(len(real), 20_000)):
        words = chunk.split()
        for a, b in pairwise(words):
            follow[a].append(b)
    starts = sorted(follow)
    for _ in range(count):
        word = rng.choice(starts)
        made = [word]
        while len(made) < WORDS:
            word = rng.choice(follow[word]) if follow[word] else rng.choice(starts)
            made.append(word)
        yield " ".join(made)


def harvest(root: Path, packages: Iterable[str]) -> tuple[list[str], list[str], Counter[str]]:
    """Distinct chunks, distinct headings, chunks by package."""
    seen: set[bytes] = set()
    chunks: list[str] = []
    headings: dict[str, None] = {}
    counts: Counter[str] = Counter()
    for package in packages:
        for text, found in pages(root / package):
            headings.update(dict.fromkeys(h for h in found if 2 <= len(h.split()) <= 8))
            for chunk in chunks_of(text):
                key = hashlib.blake2b(chunk.encode(), digest_size=12).digest()
                if key not in seen:
                    seen.add(key)
                    chunks.append(chunk)
                    counts[package] += 1
        print(f"{package}: {counts[package]:,} chunks, {len(chunks):,} in all", flush=True)
    return chunks, list(headings), counts


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--data", type=Path, required=True, help="the folder to write to")
    parser.add_argument("--chunks", type=int, default=1_000_000)
    options = parser.parse_args()
    versions = download(options.data / "packages")
    real, headings, counts = harvest(options.data / "packages", sorted(versions))
    rng = random.Random(SEED)
    rng.shuffle(real)
    real = real[: options.chunks]
    made = list(top_up(real, options.chunks - len(real)))
    everything = real + made
    rng.shuffle(everything)
    body = "\n".join(everything) + "\n"
    (options.data / "chunks.txt").write_text(body, encoding="utf-8")
    rng.shuffle(headings)
    (options.data / "headings.txt").write_text("\n".join(headings) + "\n", encoding="utf-8")
    facts = {
        "chunks": len(everything),
        "resampled": len(made),
        "bytes": len(body.encode()),
        "sha256": hashlib.sha256(body.encode()).hexdigest(),
        "packages": {p: {"version": versions[p], "chunks": counts[p]} for p in sorted(versions)},
    }
    (options.data / "corpus.json").write_text(json.dumps(facts, indent=1) + "\n")
    print({k: v for k, v in facts.items() if k != "packages"})


if __name__ == "__main__":
    main()

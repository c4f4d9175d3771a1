"""The texts: which Debian packages, and what is read from each.

Every reader yields runs: lists of passages that stood one after the other in a chunk, an entry or
a function. What stood together belongs together; that is all the fit is told. Documentation comes
as the chunks of ``benchmarks/corpus.py``; the other packages are fetched and read with its means.
"""

from __future__ import annotations

import ast
import gzip
import hashlib
import random
import re
import warnings
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import corpus

__all__ = ["GROUPS", "download", "licences", "runs_of", "runs_of_chunks"]

Run = list[str]

CODE = (
    "libpython3.11-stdlib", "python3-numpy", "python3-scipy", "python3-pandas", "python3-django",
    "python3-sklearn", "python3-networkx", "python3-matplotlib", "python3-nltk",
    "python3-biopython", "python3-requests", "python3-flask", "python3-tornado",
    "python3-docutils", "python3-pil", "python3-skimage", "python3-gensim", "python3-bs4",
    "python3-boto3", "python3-openpyxl", "python3-seaborn", "python3-paramiko",
    "python3-dateutil",
)  # fmt: skip
DICTIONARIES = (
    "dict-gcide", "dict-jargon", "dict-foldoc", "dict-devil", "dict-elements", "dict-vera",
)  # fmt: skip
PROSE = (
    "anarchism", "gnumed-doc", "xapian-doc", "idzebra-2.0-doc", "yaz-doc", "harden-doc",
    "ada-reference-manual-2012", "hol88-doc", "grass-doc", "linuxcnc-doc-en", "gpsbabel-doc",
    "golly", "nco", "exim4-doc-html", "postfix-doc", "psychtoolbox-3-common", "gnucash-docs",
    "installation-guide-amd64", "debian-faq", "debian-history", "emboss-doc",
)  # fmt: skip
GROUPS: dict[str, tuple[str, ...]] = {
    "code": CODE,
    "wordnet": ("wordnet-base",),
    "dictionaries": DICTIONARIES,
    "fortunes": ("fortunes",),
    "prose": PROSE,
}
"""What is read how."""

LEAST, MOST = 4, 48
_LENGTHS = (6, 8, 12, 16, 24, 32, 48)
_SENTENCE = re.compile(r"(?<=[.!?:;])\s+")
_DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
_GCIDE = re.compile(r"\[[^\]]{0,80}\]|\\[^\\\n]{0,80}\\|[{}]|--[A-Z][\w. ]{0,30}\.")


def download(folder: Path) -> dict[str, str]:
    """Fetch and unpack every package of ``GROUPS``; name -> version."""
    versions = corpus.download(folder, [name for names in GROUPS.values() for name in names])
    missing = {name for names in GROUPS.values() for name in names} - set(versions)
    if missing:
        raise SystemExit(f"These packages cannot be had: {', '.join(sorted(missing))}")
    return versions


def runs_of(folder: Path, group: str, package: str) -> Iterator[Run]:
    """The runs of one package."""
    root = folder / package
    rng = random.Random(int.from_bytes(hashlib.sha256(package.encode()).digest()[:8], "big"))
    match group:
        case "code":
            yield from _code(root)
        case "wordnet":
            yield from _wordnet(root)
        case "dictionaries":
            yield from _dictionary(root)
        case "prose":
            for text, _ in corpus.pages(root):
                for chunk in corpus.chunks_of(text):
                    if len(run := passages(chunk, rng)) > 1:
                        yield run
        case _:
            yield from _fortunes(root, rng)


def licences(folder: Path, package: str) -> list[str]:
    """The licence names in the package's copyright file, as machine-readable files give them."""
    names: dict[str, None] = {}
    for path in sorted(folder.glob(f"{package}/usr/share/doc/*/copyright")):
        text = path.read_text("utf-8", "replace")
        names.update(
            dict.fromkeys(re.findall(r"^License:[ \t]*(\S.*?)[ \t]*$", text, re.MULTILINE))
        )
        if not names:
            common = re.findall(r"/usr/share/common-licenses/([\w.+-]*\w)", text)
            names.update(dict.fromkeys(common or ["stated in prose"]))
    return list(names)


def passages(text: str, rng: random.Random) -> Run:
    """A page's sentences joined and cut to passages of 4 to 48 words."""
    found: Run = []
    words: list[str] = []
    limit = rng.choice(_LENGTHS)
    for sentence in _SENTENCE.split(text):
        more = [word for word in sentence.split() if len(word) < 60]
        if words and len(words) + len(more) > limit:
            found.append(" ".join(words[:MOST]))
            words, limit = [], rng.choice(_LENGTHS)
        words += more
    found.append(" ".join(words[:MOST]))
    return [passage for passage in found if _prose(passage)]


def _prose(passage: str) -> bool:
    words = passage.split()
    return len(words) >= LEAST and 2 * sum(w.strip(".,;:()").isalpha() for w in words) >= len(words)


def _code(root: Path) -> Iterator[Run]:
    """[first sentence of the docstring, the function without it]."""
    for path in sorted(root.rglob("*.py")):
        if "tests" in path.parts or path.is_symlink():
            continue
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                tree = ast.parse(path.read_text("utf-8"))
        except (SyntaxError, UnicodeDecodeError, ValueError):
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                yield from _function(node)


def _function(node: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[Run]:
    text = ast.get_docstring(node)
    if not text or len(node.body) < 2:
        return
    node.body = node.body[1:]
    node.decorator_list = []
    says = " ".join(text.split("\n\n")[0].split()[:MOST])
    code = " ".join(ast.unparse(node)[:600].split()[: 2 * MOST])
    if len(says.split()) >= LEAST:
        yield [says, code]


def _wordnet(root: Path) -> Iterator[Run]:
    """[the words of a synset, its gloss, their sentence]."""
    for path in sorted(root.glob("usr/share/wordnet/data.*")):
        for line in path.read_text("latin-1").splitlines():
            head, _, gloss = line.partition(" | ")
            if line.startswith(" ") or not gloss:
                continue
            fields = head.split()
            names = [fields[4 + 2 * at].replace("_", " ") for at in range(int(fields[3], 16))]
            words = ", ".join(re.sub(r"\([a-z]+\)$", "", name) for name in names)
            meaning, *uses = gloss.strip().split('; "')
            yield [words, meaning, *(use.strip('"; ') for use in uses)]


def _dictionary(root: Path) -> Iterator[Run]:
    """[headword, then each paragraph of the entry]."""
    (index,) = root.glob("usr/share/dictd/*.index")
    data = gzip.decompress(index.with_suffix(".dict.dz").read_bytes())
    seen: set[str] = set()
    for line in index.read_text("utf-8").splitlines():
        word, start, size = line.split("\t")[:3]
        if word.startswith("00-database") or start in seen:
            continue
        seen.add(start)
        first = _number(start)
        entry = data[first : first + _number(size)].decode("utf-8", "replace")
        parts = [
            " ".join(_GCIDE.sub(" ", part).split()[:MOST]) for part in re.split(r"\n\s*\n", entry)
        ]
        if run := [part for part in parts if _prose(part)]:
            yield [word, *run]


def _number(digits: str) -> int:
    value = 0
    for digit in digits:
        value = value * 64 + _DIGITS.index(digit)
    return value


def _fortunes(root: Path, rng: random.Random) -> Iterator[Run]:
    for path in sorted(root.glob("usr/share/games/fortunes/*")):
        if path.suffix or path.is_symlink():
            continue
        for saying in path.read_text("utf-8", "replace").split("\n%\n"):
            if run := passages(" ".join(saying.split()), rng):
                yield run


def runs_of_chunks(path: Path, most: int) -> Iterator[Run]:
    """The runs of the first chunks of a harvest, which stand in random order."""
    rng = random.Random(corpus.SEED)
    with path.open(encoding="utf-8") as lines:
        for line in islice(lines, most):
            if len(run := passages(line, rng)) > 1:
                yield run

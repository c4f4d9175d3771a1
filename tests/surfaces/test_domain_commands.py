"""``search --domain`` and ``map-lint``: what they print, refuse and return."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from pincite.bm25.chunk_store import write_chunk_store
from pincite.cli import main
from pincite.model.geometry import BboxRect
from pincite.model.hits import Chunk

Call = Callable[..., tuple[int, str, str]]

CONFIG = """
[[domains.sea.vector_stores]]
name = "default"
path = "local:.pincite"
[[domains.sea.bm25_stores]]
name = "words"
path = "kw"
[[domains.sea.bm25_stores]]
name = "missing"
path = "gone"
[domains.dry]
"""


@pytest.fixture
def call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Call:
    """Run a command in an empty folder: its exit status, output and errors."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PINCITE_STORE", raising=False)
    monkeypatch.setenv("NO_COLOR", "1")

    def run(*arguments: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as stopped:
            main(list(arguments))
        out, err = capsys.readouterr()
        return int(stopped.value.code or 0), out, err

    return run


@pytest.fixture
def sea(tmp_path: Path, call: Call) -> Call:
    """A domain of an index, a BM25 store and one that is missing."""
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "ropes.md").write_text("# Ropes\n\nA bowline knot holds the ferry.\n")
    assert call("index", "docs")[0] == 0
    chunk = Chunk(
        "The bowline is a knot.",
        document="knots.pdf",
        pages=(3,),
        bboxes=(BboxRect(3, 1.0, 2.0, 30.0, 40.0),),
        start_char=100,
        language="en",
    )
    write_chunk_store(tmp_path / "kw", [chunk], [chunk.content])
    (tmp_path / "domains.toml").write_text(CONFIG)
    return call


def search(call: Call, *options: str) -> tuple[int, str, str]:
    return call("search", "bowline knot", "--domain", "sea", *options)


def test_a_domain_prints_fused_passages_with_the_scores_of_their_sources(sea: Call) -> None:
    status, out, err = search(sea, "--domains-config", "domains.toml")
    lines = out.splitlines()

    assert status == 0
    assert lines[0] == " 1  0.0164  knots.pdf  page 3 (1,2 - 30,40)"
    assert lines[1:3] == ["    The bowline is a knot.", f"    {lines[2].strip()}"]
    assert lines[2].strip().startswith("BM25 0.")
    assert any(line.startswith(" 2  0.0164  ropes.md") for line in lines)
    assert "warning: BM25 store 'missing' is not at gone and is skipped" in err


def test_the_configuration_may_come_from_the_environment(
    sea: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PINCITE_DOMAINS", "domains.toml")
    status, out, _ = search(sea, "--mode", "keyword", "--json")
    found = json.loads(out)
    (hit,) = found["hits"]

    assert status == 0
    assert (found["mode"], hit["id"], hit["rank"]) == ("keyword", "knots.pdf-0", 1)
    assert list(hit["legs"]) == ["keyword"]
    assert hit["legs"]["keyword"]["contribution"] == pytest.approx(1 / 61)
    assert [hit["content"][start:end] for start, end in hit["highlights"]] == ["bowline", "knot"]
    assert "'missing'" in found["warnings"][0]


def test_a_mode_asks_one_kind_of_store_and_offset_skips(sea: Call) -> None:
    config = ("--domains-config", "domains.toml", "--json")
    vector = json.loads(search(sea, *config, "--mode", "vector")[1])
    second = json.loads(search(sea, *config, "--offset", "1", "-k", "1")[1])

    assert [hit["document"] for hit in vector["hits"]] == ["ropes.md"]
    assert vector["warnings"] == []
    assert [(hit["rank"], hit["document"]) for hit in second["hits"]] == [(2, "ropes.md")]


def test_explain_shows_each_leg(sea: Call) -> None:
    out = search(sea, "--domains-config", "domains.toml", "--explain")[1]

    assert "rank 1, contribution 0.0164" in out


def test_a_store_that_fails_is_an_error_or_with_partial_a_warning(
    sea: Call, tmp_path: Path
) -> None:
    (tmp_path / "domains.toml").write_text(CONFIG.replace("local:.pincite", "local:nothing"))
    status, _, err = search(sea, "--domains-config", "domains.toml")
    assert status == 2
    assert "nothing" in err

    status, out, err = search(sea, "--domains-config", "domains.toml", "--partial")
    assert status == 0
    assert "knots.pdf" in out
    assert "The vector store 'default' failed" in err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ((), "--domain needs --domains-config FILE"),
        (("--domains-config", "gone.toml"), "gone.toml cannot be read"),
        (("--domains-config", "domains.toml", "--where", "a = 1"), "--where is for one collection"),
        (("--domains-config", "domains.toml", "--store", "memory:"), "--store is for one"),
        (("--domains-config", "domains.toml", "-k", "0"), "k"),
        (("--domains-config", "domains.toml", "--embedder", "bge"), "ollama:<model>[:tag]"),
    ],
)
def test_what_a_domain_cannot_do_is_said(sea: Call, options: tuple[str, ...], message: str) -> None:
    status, out, err = search(sea, *options)

    assert (status, out) == (2, "")
    assert message in err


def test_an_unknown_domain_names_the_known_ones(sea: Call) -> None:
    status, _, err = sea("search", "x", "--domain", "sky", "--domains-config", "domains.toml")

    assert status == 2
    assert "'sea', 'dry'" in err


def test_a_domain_without_stores_finds_nothing(sea: Call) -> None:
    status, out, err = sea("search", "x", "--domain", "dry", "--domains-config", "domains.toml")

    assert (status, out) == (0, "")
    assert "No passage found" in err


def test_a_map_is_held_against_the_collection_or_a_folder(sea: Call, tmp_path: Path) -> None:
    (tmp_path / "map.json").write_text(
        '{"ropes.md": {"Ropes": {"year": 2024}, "Rops": {"year": "2024"}}, "*.txt": {}}'
    )
    (tmp_path / "docs" / "a.txt").write_text("Only text.")
    status, out, _ = sea("map-lint", "map.json")
    assert status == 1
    assert out.splitlines() == [
        "*.txt: it fits no file; correct the name or remove it [no-file]",
        "ropes.md | Rops: no passage is below this heading; correct or remove it [no-heading]",
        (
            "ropes.md | Rops: 'year' is keyword here and integer at ropes.md | Ropes;"
            " write both alike [type]"
        ),
        "3 faults in 2 entries for 1 files",
    ]
    status, out, _ = sea("map-lint", "map.json", "docs", "--json")
    found = json.loads(out)
    assert (status, found["files"]) == (1, 2)
    assert [fault["kind"] for fault in found["faults"]] == ["no-heading", "type"]


def test_a_map_without_faults_exits_with_0(sea: Call, tmp_path: Path) -> None:
    (tmp_path / "map.json").write_text('{"ropes.md": {"Ropes": {"year": 2024}, "Other": {}}}')

    assert sea("map-lint", "map.json") == (0, "no faults in 1 entries for 1 files\n", "")
    status, _, err = sea("map-lint", "gone.json")
    assert status == 2
    assert "gone.json cannot be used" in err


def test_a_file_that_cannot_be_read_is_named(sea: Call, tmp_path: Path) -> None:
    (tmp_path / "docs" / "broken.pdf").write_bytes(b"%PDF-1.4 nothing")
    (tmp_path / "map.json").write_text("{}")
    status, out, err = sea("map-lint", "map.json", "docs")

    assert (status, out) == (0, "no faults in 0 entries for 1 files\n")
    assert "broken.pdf is left out" in err


def test_index_takes_a_map_and_an_edit_of_it(sea: Call, tmp_path: Path) -> None:
    for year in (2023, 2024):
        (tmp_path / "map.json").write_text(f'{{"ropes.md": {{"Ropes": {{"year": {year}}}}}}}')
        assert sea("index", "docs", "--metadata-map", "map.json")[0] == 0
    _, out, _ = sea("search", "ferry", "--where", "year = 2024", "--json")
    assert [hit["document"] for hit in json.loads(out)["hits"]] == ["ropes.md"]
    assert sea("search", "ferry", "--where", "year = 2023", "--json")[1].count('"rank"') == 0

    (tmp_path / "map.json").write_text("[]")
    status, _, err = sea("index", "docs", "--metadata-map", "map.json")
    assert status == 2
    assert "the shape is" in err

"""Every command as a process: what it prints, what it leaves and how it exits."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from .conftest import Ferry, Run, environment

HIT_KEYS = [
    "rank",
    "score",
    "id",
    "document",
    "title",
    "source",
    "pages",
    "bboxes",
    "context_header",
    "content",
    "highlights",
    "legs",
]


def test_demo_answers_from_a_table_of_a_pdf_page(ferry: Ferry) -> None:
    assert len(ferry.demo["report"]["added"]) == 8
    assert ferry.demo["report"]["failed"] == []
    questions = ferry.demo["questions"]
    assert len(questions) == 3
    top = [hit for hit in questions[0]["hits"] if "1.6 m" in hit["content"]]

    assert top, "the cell of the table is in no passage"
    assert top[0]["document"] == "operations-handbook.pdf"
    assert 1 in top[0]["pages"]
    place = top[0]["words"]["Petrel"][0]
    assert place["page"] == 1
    assert 300 < place["x0"] < place["x1"] < 560  # the right-hand column
    assert questions[1]["hits"][0]["document"] == "operations-handbook.pdf"
    assert "eleven hours" in questions[1]["hits"][0]["content"]
    assert questions[2]["hits"][0]["document"] == "passenger-questions.html"
    assert "3 euro" in questions[2]["hits"][0]["content"]
    assert ferry.outside() == [".pincite"]


def test_demo_leaves_nothing_behind(run: Run, tmp_path: Path) -> None:
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    empty = tmp_path / "empty"
    empty.mkdir()
    # The store of the environment is somebody's own: samples must not end up there.
    own = str(tmp_path / "own")
    done = run("demo", cwd=empty, TMPDIR=str(temporary), PINCITE_STORE=f"local:{own}")

    assert done.returncode == 0, done.stderr
    assert list(empty.iterdir()) == list(temporary.iterdir()) == []
    assert not Path(own).exists()
    assert "operations-handbook.pdf  page 1 (" in done.stdout
    assert "Petrel at page 1 (" in done.stdout
    assert "pincite index PATH/TO/YOUR/FOLDER" in done.stdout
    assert "\x1b" not in done.stdout + done.stderr


def test_search_json_has_the_documented_shape(run: Run, ferry: Ferry) -> None:
    done = run("search", "weather", "limits", "-k", "3", "--json", cwd=ferry.folder)
    found = json.loads(done.stdout)

    assert done.returncode == 0
    assert list(found) == ["query", "mode", "hits", "warnings", "took_ms"]
    assert (found["query"], found["mode"]) == ("weather limits", "hybrid")
    assert [hit["rank"] for hit in found["hits"]] == [1, 2, 3]
    for hit in found["hits"]:
        assert list(hit) == HIT_KEYS
        assert set(hit["legs"]) <= {"keyword", "vector"}
        for leg in hit["legs"].values():
            assert list(leg) == ["raw", "rank", "weight", "contribution"]
        for box in hit["bboxes"]:
            assert list(box) == ["page", "x0", "y0", "x1", "y1"]
    first = found["hits"][0]
    words = {first["content"][start:end].casefold() for start, end in first["highlights"]}
    assert words & {"weather", "limits"}


def test_search_for_people_in_a_pipe(run: Run, ferry: Ferry) -> None:
    options = ("--mode", "keyword", "--explain", "--where", 'file_name = "radio.md"')
    done = run("search", "channel 16", *options, cwd=ferry.folder)

    assert done.returncode == 0, done.stderr
    assert " 1  " in done.stdout
    assert "radio.md" in done.stdout
    assert "operations-handbook.pdf" not in done.stdout
    assert "keyword  raw" in done.stdout
    assert "\x1b" not in done.stdout


def test_a_bad_filter_shows_where(run: Run, ferry: Ferry) -> None:
    done = run("search", "x", "--where", "year >> 3", cwd=ferry.folder)

    assert (done.returncode, done.stdout) == (2, "")
    lines = done.stderr.splitlines()
    assert lines[0].startswith("pincite: cannot read the filter at character 7")
    assert lines[2].index("^") == lines[1].index("> 3")


def test_an_unknown_field_is_named(run: Run, ferry: Ferry) -> None:
    done = run("search", "x", "--where", "colour = 3", "--json", cwd=ferry.folder)

    assert (done.returncode, done.stdout) == (2, "")
    assert "colour" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_missing_store(run: Run, tmp_path: Path) -> None:
    done = run("search", "x", "--store", "local:nowhere", cwd=tmp_path)

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("pincite: ")
    assert "nowhere" in done.stderr
    assert done.stderr.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_a_run_with_hostile_names_and_a_broken_file(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    hostile = "\x1b]0;owned\x07\x1b[2J\u202egnp.md"
    (folder / hostile).write_text("# Tides\n\nHigh water is at noon.", encoding="utf-8")
    (folder / "torn.pdf").write_bytes(b"%PDF-1.7\nnothing")
    done = run("index", "in", cwd=tmp_path)

    assert done.returncode == 1
    assert "1 added" in done.stdout
    assert "1 failed" in done.stdout
    failures = done.stderr[done.stderr.index("Failed:") :].splitlines()
    assert len(failures) == 2
    assert "torn.pdf: " in failures[1]

    listed = run("list", cwd=tmp_path)
    assert listed.stdout.split()[:4] == ["DOCUMENT", "TITLE", "CHUNKS", "SOURCE"]
    assert "\\x1b]0;owned\\x07\\x1b[2J\\u202egnp.md" in listed.stdout
    found = run("search", "high water", cwd=tmp_path)
    assert "noon" in found.stdout
    for text in (done.stdout, done.stderr, listed.stdout, found.stdout):
        assert not set(text) & set("\x1b\x07\u202e")


def test_standard_input_get_and_rm(run: Run, tmp_path: Path) -> None:
    text = "# Årsplan\n\nThe pier is painted in May.\n"
    given = ("--document", "plan.md", "--metadata", "year=2024", "--json")
    made = run("index", "-", *given, cwd=tmp_path, stdin=text)
    events = [json.loads(line) for line in made.stdout.splitlines()]

    assert made.returncode == 0, made.stderr
    assert events[-1]["event"] == "report"
    assert events[-1]["added"] == ["plan.md"]
    assert run("get", "plan.md", cwd=tmp_path).stdout == text

    got = json.loads(run("get", "plan.md", "--chunks", "--json", cwd=tmp_path).stdout)
    assert got["metadata"] == {"year": 2024}
    assert got["passages"][0]["content"] == text[: got["passages"][0]["end_char"]]

    gone = run("rm", "plan.md", "ghost.md", cwd=tmp_path)
    assert gone.returncode == 1
    assert gone.stdout == "removed plan.md (1 chunk)\n"
    assert "ghost.md" in gone.stderr
    assert "pincite list" in gone.stderr
    assert run("get", "plan.md", cwd=tmp_path).returncode == 2


def test_index_tells_each_step_as_json(run: Run, tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("# A\n\nalpha", encoding="utf-8")
    (tmp_path / "b.md").write_text("# B\n\nbeta", encoding="utf-8")
    done = run("index", "a.md", "b.md", "--json", cwd=tmp_path)
    events = [json.loads(line) for line in done.stdout.splitlines()]

    assert [event["event"] for event in events] == ["progress", "progress", "report"]
    assert events[0]["source"].endswith("a.md")
    assert events[-1]["added"] == ["a.md", "b.md"]
    assert events[-1]["chunks"] == 2


def test_fields_and_status(run: Run, tmp_path: Path) -> None:
    done = run("fields", "year=integer", "tags=keyword,many", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    shapes = {shape.pop("field"): shape for shape in json.loads(done.stdout)}

    assert shapes["tags"] == {
        "type": "keyword",
        "many": True,
        "filterable": True,
        "reserved": False,
    }
    assert shapes["title"]["reserved"] is True
    again = run("fields", "year=boolean", cwd=tmp_path)
    assert again.returncode == 2
    assert "year" in again.stderr

    status = json.loads(run("status", "--json", cwd=tmp_path).stdout)
    assert status["store"] == "local:.pincite"
    assert status["documents"] == 0


def test_a_long_list_is_cut_to_a_few_lines(run: Run, tmp_path: Path) -> None:
    (tmp_path / "words.md").write_text("\n".join(f"- word{i}" for i in range(200)), "utf-8")
    run("index", "words.md", cwd=tmp_path)
    done = run("search", "word3", "-k", "1", cwd=tmp_path)

    assert done.stdout.splitlines()[8] == "    \u2026"
    assert len(done.stdout.splitlines()) == 11


def test_a_search_without_a_hit_says_why(run: Run, ferry: Ferry) -> None:
    nothing = run("search", "zzqqxx", "--mode", "keyword", cwd=ferry.folder)
    empty = run("search", "wave", "--collection", "other", cwd=ferry.folder)

    assert (nothing.returncode, nothing.stdout) == (empty.returncode, empty.stdout) == (0, "")
    assert nothing.stderr.startswith("No passage found")
    assert empty.stderr == (
        "warning: Collection 'other' is empty; this store has 'default'. `pincite index` or "
        "`Library.add` fills it.\n"
    )


def test_a_collection_that_is_misspelt_is_told_of_in_json(run: Run, ferry: Ferry) -> None:
    done = run("search", "wave", "--collection", "defalt", "--json", cwd=ferry.folder)

    found = json.loads(done.stdout)
    assert (done.returncode, found["hits"]) == (0, [])
    assert [w.partition(".")[2] for w in found["warnings"]] == [
        " Did you mean 'default'? `pincite index` or `Library.add` fills it."
    ]


@pytest.mark.parametrize(
    "arguments",
    [
        ["index", "gone.md"],
        ["index", ""],
        ["index", "-"],
        ["index", "a.md", "b.md", "--document", "x"],
        ["index", "a.md", "--metadata", "year"],
        ["search", "x", "--frobnicate"],
        ["serach"],
    ],
)
def test_usage_errors_write_nothing(
    arguments: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    from pincite.cli import main

    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.md").touch()
    with pytest.raises(SystemExit) as exit_:
        main(arguments)

    out, err = capsys.readouterr()
    assert (exit_.value.code, out) == (2, "")
    assert err
    assert not (tmp_path / ".pincite").exists()


def test_a_reader_that_goes_away(ferry: Ferry) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    command = [sys.executable, "-m", "pincite", "get", "operations-handbook.pdf"]
    done = subprocess.run(
        command, cwd=ferry.folder, env=environment(), stdout=writing, stderr=subprocess.PIPE
    )
    os.close(writing)

    assert (done.returncode, done.stderr) == (141, b"")


def test_help_stays_light() -> None:
    script = (
        "import sys\n"
        "from pincite.cli import main\n"
        "try: main(['search', '--help'])\n"
        "except SystemExit as end: assert end.code == 0\n"
        "heavy = {'numpy', 'pydantic', 'anyio', 'rich', 'httpx'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    done = subprocess.run([sys.executable, "-c", script], env=environment(), capture_output=True)

    assert done.returncode == 0, done.stderr.decode()


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    from pincite.cli import main

    with pytest.raises(SystemExit) as exit_:
        main(["--version"])

    assert exit_.value.code == 0
    assert capsys.readouterr().out.startswith("pincite ")

"""The rules of a metadata map as tables of cases, its shapes, and its faults."""

from __future__ import annotations

import doctest
import json
from pathlib import Path
from typing import Any

import pytest

from pincite.errors import InvalidArgument
from pincite.indexing import metadata_map
from pincite.indexing.map_lint import lint_metadata_map
from pincite.indexing.metadata_map import MetadataMap, load_metadata_map


def resolve(entries: dict[str, Any], file: str, *headings: str) -> dict[str, Any]:
    return MetadataMap(entries).rules(file).metadata(headings)


RULES = {
    "DEFAULT": {"v": "default", "d": 1},
    "A > B > C": {"v": "abc"},
    "B > C": {"v": "bc"},
    "C": {"v": "c"},
    "A > B": {"v": "ab"},
    "B": {"v": "b"},
    "A": {"v": "a"},
}


@pytest.mark.parametrize(
    ("dropped", "expected"),
    [
        ((), "abc"),
        (("A > B > C",), "bc"),
        (("A > B > C", "B > C"), "c"),
        (("A > B > C", "B > C", "C"), "ab"),
        (("A > B > C", "B > C", "C", "A > B"), "b"),
        (("A > B > C", "B > C", "C", "A > B", "B"), "a"),
        (("A > B > C", "B > C", "C", "A > B", "B", "A"), "default"),
    ],
)
@pytest.mark.parametrize("emptied", [True, False])
def test_the_first_entry_that_is_not_empty_goes_over_default(
    dropped: tuple[str, ...], expected: str, emptied: bool
) -> None:
    entries = {
        key: {} if key in dropped else value
        for key, value in RULES.items()
        if emptied or key not in dropped
    }

    assert resolve({"f.md": entries}, "f.md", "A", "B", "C") == {"v": expected, "d": 1}


@pytest.mark.parametrize(
    ("entries", "headings", "expected"),
    [
        ({"A": {"v": 1}}, (), {}),
        ({"DEFAULT": {"v": 1}}, (), {"v": 1}),
        ({"B": {"v": 1}}, ("A",), {}),
        ({"B > A": {"v": 1}}, ("A", "B"), {}),
        ({"A > C": {"v": 1}}, ("A", "B", "C"), {}),  # a gap is no suffix
        ({"A>B": {"v": 1}}, ("A", "B"), {"v": 1}),
        ({"  A   >  B ": {"v": 1}}, ("A", "B"), {"v": 1}),
        ({"de\u00adfi\ufb01": {"v": 1}}, ("defifi",), {"v": 1}),
        ({"caf\u00e9": {"v": 1}}, ("cafe\u0301",), {"v": 1}),
        ({"a": {"v": 1}}, ("A",), {}),  # case counts
        ({"x > y": {"v": 1}}, ("a", "x > y"), {"v": 1}),  # a heading that holds the sign
        ({"DEFAULT": {"v": 1}}, ("DEFAULT",), {"v": 1}),
    ],
)
def test_headings_are_compared_by_their_words(
    entries: dict[str, Any], headings: tuple[str, ...], expected: dict[str, Any]
) -> None:
    assert resolve({"f.md": entries}, "f.md", *headings) == expected


@pytest.mark.parametrize(
    ("key", "file", "fits"),
    [
        ("a.md", "a.md", True),
        ("a.md", "sub/a.md", True),
        ("sub/a.md", "sub/a.md", True),
        ("./sub/a.md", "sub/a.md", True),
        ("sub\\a.md", "sub/a.md", True),
        ("sub/a.md", "other/sub/a.md", False),
        ("*.md", "a.md", True),
        ("*.md", "sub/a.md", True),
        ("*.md", "a.mdx", False),
        ("sub/*.md", "sub/a.md", True),
        ("sub/*.md", "sub/deep/a.md", False),
        ("sub/**/*.md", "sub/deep/er/a.md", True),
        ("sub/**/*.md", "sub/a.md", True),
        ("**/*.md", "a.md", True),
        ("sub/**", "sub/deep/a.pdf", True),
        ("a?.md", "ab.md", True),
        ("a?.md", "a.md", False),
        ("[ab].md", "b.md", True),
        ("[!ab].md", "b.md", False),
        ("a[1].md", "a[1].md", True),  # a name is a name before it is a pattern
        ("a.d", "a+d", False),
        ("(*", "(x", True),
        ("r\u00e9sum\u00e9.md", "re\u0301sume\u0301.md", True),
    ],
)
def test_which_files_a_key_fits(key: str, file: str, fits: bool) -> None:
    assert resolve({key: {"DEFAULT": {"v": 1}}}, file) == ({"v": 1} if fits else {})


def test_the_closer_name_of_a_file_goes_over_the_looser() -> None:
    entries = {
        "sub/a.md": {"DEFAULT": {"path": 3, "v": "path"}},
        "a.md": {"DEFAULT": {"name": 2, "v": "name"}, "H": {"v": "heading of name"}},
        "*.md": {"DEFAULT": {"first": 1, "v": "first", "w": "first"}},
        "**": {"DEFAULT": {"second": 1, "v": "second", "w": "second"}},
    }

    assert resolve(entries, "sub/a.md") == {
        "first": 1,
        "second": 1,
        "name": 2,
        "path": 3,
        "v": "path",
        "w": "second",
    }
    assert resolve(entries, "other/a.md", "H")["v"] == "heading of name"
    assert resolve(entries, "b.md") == {"first": 1, "second": 1, "v": "second", "w": "second"}


@pytest.mark.parametrize(
    "wrong",
    [
        [],
        "map",
        None,
        {"a.md": []},
        {"a.md": "x"},
        {"a.md": {"DEFAULT": 1}},
        {"a.md": {"H": ["x"]}},
        {1: {}},
        {"a.md": {1: {}}},
        {"a.md": {"H": {1: 2}}},
    ],
)
def test_wrong_shapes_are_value_errors_that_show_the_right_one(wrong: Any) -> None:
    with pytest.raises(ValueError, match=r'the shape is \{file: \{"DEFAULT"'):
        MetadataMap(wrong)


def test_a_map_is_read_from_a_file(tmp_path: Path) -> None:
    entries = {"a.md": {"DEFAULT": {"year": 2024}, "H": {}}}
    (tmp_path / "map.json").write_text("\ufeff" + json.dumps(entries), encoding="utf-8")

    assert load_metadata_map(tmp_path / "map.json") == entries


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "cannot be used"),
        ("[]", "the map is a list"),
        ('{"a": {}, "a": {}}', "'a' twice"),
        ('{"a": {"H": {"x": 1, "x": 2}}}', "'x' twice"),
        ('{"a": {"H": {"x": NaN}}}', "NaN is not a JSON value"),
        ("[" * 100_000, "cannot be used"),
    ],
)
def test_a_file_that_cannot_be_used_is_named(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "map.json").write_text(text, encoding="utf-8")
    with pytest.raises(InvalidArgument, match=message) as raised:
        load_metadata_map(tmp_path / "map.json")
    assert "map.json" in str(raised.value)
    with pytest.raises(InvalidArgument, match="gone"):
        load_metadata_map(tmp_path / "gone.json")


FILES = {
    "a.md": [(), ("Intro",), ("Methods", "Data")],
    "sub/b.md": [("Results",)],
}


@pytest.mark.parametrize(
    ("entries", "faults"),
    [
        ({"a.md": {"DEFAULT": {"year": 1}, "Intro": {"x": 1}, "Data": {}}}, []),
        ({"b.md": {"Results": {"year": 1}}, "**/*": {"Methods": {"x": "m"}}}, []),
        ({"c.md": {"DEFAULT": {"year": 1}}}, [("no-file", "c.md", "")]),
        ({"x/*.md": {}}, [("no-file", "x/*.md", "")]),
        ({"a.md": {"Introo": {"x": 1}}}, [("no-heading", "a.md", "Introo")]),
        ({"a.md": {"Results": {"x": 1}}}, [("no-heading", "a.md", "Results")]),
        (
            {"a.md": {"Methods": {"x": 1}, "Data": {"x": 2}}},
            [("shadowed", "a.md", "Methods")],
        ),
        (
            {"a.md": {"Intro": {"x": 1}, " Intro ": {"x": 2}}},
            [("twice", "a.md", "Intro"), ("twice", "a.md", " Intro ")],
        ),
        ({"a.md": {"DEFAULT": {"text": "x"}}}, [("reserved", "a.md", "DEFAULT")]),
        ({"a.md": {"DEFAULT": {"_x": "x"}}}, [("reserved", "a.md", "DEFAULT")]),
        ({"a.md": {"DEFAULT": {"title": "x"}}}, []),
        ({"a.md": {"Intro": {"title": "x"}}}, [("reserved", "a.md", "Intro")]),
        (
            {"a.md": {"DEFAULT": {"year": 2024}}, "b.md": {"DEFAULT": {"year": "2024"}}},
            [("type", "b.md", "DEFAULT")],
        ),
        (
            {"a.md": {"DEFAULT": {"by": "x"}, "Intro": {"by": ["x"]}}},
            [("type", "a.md", "Intro")],
        ),
        ({"a.md": {"DEFAULT": {"n": 1}, "Intro": {"n": 1.5}}}, []),
        ({"a.md": {"DEFAULT": {"n": None}, "Intro": {"n": "x"}}}, []),
        ({"a.md": {"DEFAULT": {"n": {"deep": 1}}}}, [("unfilterable", "a.md", "DEFAULT")]),
        ({"a.md": {"DEFAULT": {"n": [1, "x"]}}}, [("unfilterable", "a.md", "DEFAULT")]),
    ],
)
def test_lint_finds_each_planted_fault_and_nothing_else(
    entries: dict[str, Any], faults: list[tuple[str, str, str]]
) -> None:
    found = lint_metadata_map(entries, FILES)

    assert [(fault.kind, fault.file, fault.heading) for fault in found] == faults


def test_faults_say_what_to_do() -> None:
    entries = {"a.md": {"Results": {"x": 1}}, "c.md": {}}
    lines = [str(fault) for fault in lint_metadata_map(entries, FILES)]

    assert lines == [
        "c.md: it fits no file; correct the name or remove it [no-file]",
        (
            "a.md | Results: no passage is below this heading; it is in another file;"
            " correct or remove it [no-heading]"
        ),
    ]


def test_the_examples_run() -> None:
    assert doctest.testmod(metadata_map).failed == 0

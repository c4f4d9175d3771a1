"""Values keep their type: text is no number, true is not 1, dates have a zone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pincite import F, Field, FieldType, InvalidArgument, InvalidQueryError, Library

from .conftest import MODES, found

TYPED = {"k": "007", "y": "2024_123", "n": 7, "b": True, "l": ["a", "b"]}
DATES = ["2025-01-01", "2025-01-01T00:00:00", "2025-01-01T01:00:00+01:00"]


def fill_types(library: Library) -> Library:
    library.declare({"d": Field(FieldType.DATETIME)})
    library.add(b"Quartz typed.", filename="a.md", document="typed", metadata=TYPED)
    for number, date in enumerate(DATES):
        library.add(
            b"Quartz dated.", filename="a.md", document=f"date{number}", metadata={"d": date}
        )
    return library


@pytest.fixture(scope="module")
def typed(shared: Library) -> Library:
    return fill_types(shared)


@pytest.mark.parametrize(
    ("where", "kept"),
    [
        (F("k") == "007", ["typed"]),
        (F("k") == "7", []),
        (F("n") == 7, ["typed"]),
        (F("n").in_([7, 8]), ["typed"]),
        (F("n") == 2**70, []),
        (F("y") == "2024_123", ["typed"]),
        (F("b") == True, ["typed"]),  # noqa: E712 - an operator of the filter
        (F("l").contains_any(["a"]), ["typed"]),
        ('d >= "2025-01-01"', ["date0", "date1", "date2"]),
        ('d < "2025-01-01"', []),
        ('d = "2025-01-01T00:00:00Z"', ["date0", "date1", "date2"]),
    ],
)
def test_an_operand_of_the_type_matches(typed: Library, where: Any, kept: list[str]) -> None:
    for mode in MODES:
        assert sorted(found(typed, "quartz", mode=mode, where=where)) == kept


@pytest.mark.parametrize(
    ("where", "field"),
    [
        ({"n": "7"}, "n"),
        ({"n": True}, "n"),
        ({"n": 7.5}, "n"),
        ({"n": float("nan")}, "n"),
        ({"b": 1}, "b"),
        ({"k": 7}, "k"),
        ({"l": "a"}, "l"),
        ({"d": "soon"}, "d"),
    ],
)
def test_an_operand_of_another_type_is_refused_by_name(
    typed: Library, where: Any, field: str
) -> None:
    for mode in MODES:
        with pytest.raises(InvalidQueryError, match=f"'{field}'") as caught:
            typed.search("quartz", mode=mode, where=where)
        assert caught.value.field == field


def test_a_value_that_does_not_fit_is_refused_naming_document_field_and_types(
    typed: Library,
) -> None:
    with pytest.raises(InvalidArgument, match=r"late.*'n'.*integer") as caught:
        typed.add(b"Quartz late.", filename="a.md", document="late", metadata={"n": "n.d."})
    assert "str" in str(caught.value) or "keyword" in str(caught.value)
    assert "late" not in [info.document for info in typed.documents()]


def test_in_a_folder_it_is_kept_with_a_warning_and_not_filterable(
    lib: Library, folder: Path
) -> None:
    typed = fill_types(lib)
    (folder / "late.md").write_text("Quartz late.")
    report = typed.add(folder, metadata={"n": "n.d."})

    assert any("'n'" in warning for warning in report.warnings)
    assert typed.get("late.md").metadata == {"n": "n.d."}
    assert found(typed, "quartz", where=F("n").exists()) == ["typed"]
    assert "late.md" in found(typed, "quartz late")

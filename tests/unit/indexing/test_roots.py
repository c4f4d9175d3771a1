from __future__ import annotations

import os
from pathlib import Path

import pytest

from pincite.errors import InvalidArgument
from pincite.indexing.roots import Roots, walk
from pincite.model.documents import DocumentInfo


def _stored(*pairs: tuple[str, Path]) -> Roots:
    return Roots(DocumentInfo(name, name, str(path), "", 1) for name, path in pairs)


def _touch(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("text")
    return path


def test_a_file_alone_and_through_its_folder_is_one_document(tmp_path: Path) -> None:
    file = _touch(tmp_path / "papers" / "a.md")
    empty = Roots(())
    alone = empty.document_id(file, empty.root_of(file))
    roots = _stored((alone, file))

    assert alone == "a.md"
    assert roots.document_id(file, roots.root_of(file.parent)) == "a.md"


def test_a_second_folder_is_prefixed_with_its_name(tmp_path: Path) -> None:
    first = _touch(tmp_path / "papers" / "README.md")
    second = _touch(tmp_path / "notes" / "README.md")
    roots = _stored(("README.md", first))
    document = roots.document_id(second, roots.root_of(second.parent))
    later = _stored(("README.md", first), (document, second))

    assert document == "notes/README.md"
    assert later.document_id(second, later.root_of(second.parent)) == document
    assert later.document_id(first, later.root_of(first.parent)) == "README.md"


def test_the_parent_of_a_known_folder_leaves_its_ids_alone(tmp_path: Path) -> None:
    inner = _touch(tmp_path / "papers" / "a.md")
    outer = _touch(tmp_path / "b.md")
    roots = _stored(("a.md", inner))
    root = roots.root_of(tmp_path)

    assert roots.document_id(inner, root) == "a.md"
    assert roots.document_id(outer, root) == f"{tmp_path.name}/b.md"


def test_an_id_that_belongs_to_another_file_is_refused(tmp_path: Path) -> None:
    first = _touch(tmp_path / "x" / "notes" / "a.md")
    base = _touch(tmp_path / "papers" / "a.md")
    other = _touch(tmp_path / "y" / "notes" / "a.md")
    roots = _stored(("a.md", base), ("notes/a.md", first))

    with pytest.raises(InvalidArgument, match="--document"):
        roots.document_id(other, roots.root_of(other.parent))


def test_ids_are_composed_unicode(tmp_path: Path) -> None:
    file = _touch(tmp_path / "re\u0301sume\u0301.md")
    empty = Roots(())

    assert empty.document_id(file, empty.root_of(file)) == "r\u00e9sum\u00e9.md"


def test_the_walk_passes_over_what_is_never_a_source(tmp_path: Path) -> None:
    for name in ("b.md", "a/c.md", ".hidden.md", ".git/x.md", ".pincite/s.md", "store/s.md"):
        _touch(tmp_path / name)
    _touch(tmp_path / "metadata_map.template.json")

    found = [
        str(f.path.relative_to(tmp_path)) for f in walk(tmp_path, exclude=[tmp_path / "store"])
    ]

    assert found == ["b.md", os.path.join("a", "c.md")]


def test_links_out_of_the_folder_are_named_and_not_read(tmp_path: Path) -> None:
    secret = _touch(tmp_path / "secret.md")
    inside = _touch(tmp_path / "papers" / "a.md")
    (tmp_path / "papers" / "out.md").symlink_to(secret)
    (tmp_path / "papers" / "in.md").symlink_to(inside)
    (tmp_path / "papers" / "gone.md").symlink_to(tmp_path / "papers" / "nowhere.md")

    reasons = {f.path.name: f.reason for f in walk(tmp_path / "papers")}

    assert reasons["a.md"] == reasons["in.md"] == ""
    assert "out of the folder" in reasons["out.md"]
    assert "not a regular file" in reasons["gone.md"]

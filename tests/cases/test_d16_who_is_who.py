"""One file is one document, two files are two, and one subject never meets another."""

from __future__ import annotations

from pathlib import Path

from .conftest import MODES, Open, found


def test_a_file_alone_and_through_its_folder_is_one_document(open_lib: Open, folder: Path) -> None:
    library = open_lib()
    (folder / "a.md").write_text("Quartz.")
    library.add(folder / "a.md")
    report = library.add(folder)

    assert report.unchanged == ("a.md",)
    (folder / "a.md").write_text("Chalk.")
    assert library.add(folder / "a.md").updated == ("a.md",)
    assert [info.document for info in library.documents()] == ["a.md"]
    assert found(library, "quartz", mode="keyword") == []
    assert found(library, "chalk", mode="keyword") == ["a.md"]


def test_the_way_to_a_file_does_not_matter(open_lib: Open, folder: Path, tmp_path: Path) -> None:
    library = open_lib()
    (folder / "a.md").write_text("Quartz.")
    (tmp_path / "link").symlink_to(folder)
    library.add(folder)

    for way in (folder / ".." / "docs" / "a.md", tmp_path / "link" / "a.md", tmp_path / "link"):
        assert library.add(way).unchanged == ("a.md",)


def test_two_folders_with_a_readme_are_two_documents(open_lib: Open, tmp_path: Path) -> None:
    library = open_lib()
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "README.md").write_text(f"Quartz {name}.")
        library.add(tmp_path / name)

    assert [info.document for info in library.documents()] == ["README.md", "two/README.md"]
    assert library.add(tmp_path / "one").unchanged == ("README.md",)
    assert library.add(tmp_path / "two").unchanged == ("two/README.md",)


def test_adding_one_folder_touches_nothing_of_another(open_lib: Open, tmp_path: Path) -> None:
    library = open_lib()
    for name in ("papers", "notes"):
        (tmp_path / name).mkdir()
        (tmp_path / name / f"{name}.md").write_text(f"Quartz {name}.")
        library.add(tmp_path / name)
    (tmp_path / "notes" / "notes.md").unlink()
    report = library.add(tmp_path / "papers")

    assert (report.removed, report.warnings) == ((), ())
    assert len(library.documents()) == 2


def test_two_subjects_neither_see_nor_move_each_other(open_lib: Open) -> None:
    ann, bob = open_lib(subject="ann"), open_lib(subject="bob")
    ann.add(b"Quartz is hard.", filename="a.md", document="a")
    ann.add(b"Chalk is soft.", filename="b.md", document="b")
    before = {mode: [h.score for h in ann.search("quartz", mode=mode)] for mode in MODES}
    for number in range(5):
        bob.add(b"Quartz quartz quartz.", filename="a.md", document=f"{number}")
    bob.add(b"Other words.", filename="a.md", document="a")

    assert {mode: [h.score for h in ann.search("quartz", mode=mode)] for mode in MODES} == before
    assert ann.markdown("a") == "Quartz is hard."
    assert bob.markdown("a") == "Other words."
    assert found(ann, "quartz", mode="keyword") == ["a"]
    assert "b" not in found(bob, "chalk soft")
    assert bob.remove("a") == 1
    assert [info.document for info in ann.documents()] == ["a", "b"]


def test_two_collections_of_a_subject_are_as_apart(open_lib: Open) -> None:
    one, two = open_lib(collection="one"), open_lib(collection="two")
    one.add(b"Quartz.", filename="a.md", document="a")
    two.add(b"Chalk.", filename="a.md", document="a")

    assert (found(one, "chalk", mode="keyword"), found(two, "chalk", mode="keyword")) == ([], ["a"])
    assert [c.name for c in one.collections()] == ["one", "two"]

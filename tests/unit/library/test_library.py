"""The library over both stores that run in process."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pincite
from pincite import (
    CollectionMismatch,
    Embedder,
    F,
    Field,
    FieldType,
    InvalidArgument,
    InvalidQueryError,
    Library,
    ParseError,
    Progress,
    StoreNotFound,
)
from pincite.embedding.wordllama import WordllamaModel
from pincite.testing import HashEmbedder

Open = Callable[..., Library]
MODES = ("keyword", "vector", "hybrid")


@pytest.fixture(params=["memory:", "local:"])
def open_lib(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Open]:
    opened: list[Library] = []

    def make(**options: Any) -> Library:
        uri = request.param + (str(tmp_path / "store") if request.param == "local:" else "")
        options.setdefault("embedder", Embedder(HashEmbedder(dimension=64), "test--hash"))
        opened.append(pincite.open(uri, **options))
        return opened[-1]

    yield make
    for library in opened:
        library.close()


@pytest.fixture
def papers(tmp_path: Path) -> Path:
    folder = tmp_path / "papers"
    (folder / "deep").mkdir(parents=True)
    (folder / "ferry.md").write_text("# Ferry\n\nThe ferry leaves the north quay at nine.\n")
    (folder / "deep" / "tides.txt").write_text("Tides turn twice a day; the quay floods.\n")
    (folder / "blank.txt").write_text(" \n")
    (folder / "broken.pdf").write_bytes(b"%PDF-1.7 and then nothing")
    (folder / "blob.bin").write_bytes(bytes(range(256)))
    return folder


def test_a_folder_is_indexed_and_every_file_accounted_for(open_lib: Open, papers: Path) -> None:
    seen: list[Progress] = []
    report = open_lib().add(papers, progress=seen.append)

    assert report.added == ("ferry.md", "deep/tides.txt")
    assert {Path(f.source).name for f in report.skipped} == {"blank.txt", "blob.bin"}
    assert {Path(f.source).name for f in report.failed} == {"broken.pdf"}
    assert all(f.reason for f in report.failed)
    assert [p.done for p in seen] == [1, 2, 3, 4, 5]
    assert {p.total for p in seen} == {5}


def test_a_hit_names_its_document_and_the_place_in_it(open_lib: Open, papers: Path) -> None:
    library = open_lib()
    library.add(papers)
    hit = library.search("when does the ferry leave", k=1)[0]
    markdown = library.markdown("ferry.md")

    assert hit.chunk.document == "ferry.md"
    assert hit.chunk.content == markdown[hit.chunk.start_char : hit.chunk.end_char]
    assert {markdown[s:e].lower() for s, e in hit.spans} >= {"ferry", "leaves"}
    assert [hit.chunk.content[s:e] for s, e in hit.highlights] == [
        markdown[s:e] for s, e in hit.spans
    ]


def test_unchanged_files_cost_no_embedding(open_lib: Open, papers: Path) -> None:
    counting = CountingEmbedder()
    library = open_lib(embedder=Embedder(counting, "test--hash"))
    library.add(papers)
    before = counting.texts
    report = library.add(papers)

    assert set(report.unchanged) == {"ferry.md", "deep/tides.txt"}
    assert (report.added, report.updated) == ((), ())
    assert counting.texts == before


def test_an_edit_replaces_and_leaves_no_ghost(open_lib: Open, papers: Path) -> None:
    library = open_lib()
    library.add(papers)
    (papers / "ferry.md").write_text("# Ferry\n\nThe boat sails from the south pier.\n")
    report = library.add(papers / "ferry.md")

    assert report.updated == ("ferry.md",)
    assert [h.chunk.document for h in library.search("leaves nine", mode="keyword")] == []
    assert len(library.documents()) == 2


def test_a_file_that_lost_its_text_is_skipped_and_its_chunks_go(
    open_lib: Open, papers: Path
) -> None:
    library = open_lib()
    library.add(papers)
    (papers / "ferry.md").write_text("")
    report = library.add(papers)

    assert report.removed == ("ferry.md",)
    assert [info.document for info in library.documents()] == ["deep/tides.txt"]


def test_an_unreadable_new_version_keeps_the_old_one(open_lib: Open, papers: Path) -> None:
    library = open_lib()
    (papers / "note.txt").write_text("A note about lighthouses.")
    library.add(papers)
    (papers / "note.txt").write_bytes(b"%PDF-1.7 and then nothing")
    report = library.add(papers)

    assert "note.txt" in {Path(f.source).name for f in report.failed}
    assert library.search("lighthouses", mode="keyword")[0].chunk.document == "note.txt"


def test_bytes_get_the_hash_of_their_content_or_the_id_given(open_lib: Open) -> None:
    library = open_lib()
    (digest,) = library.add(b"Plain words.", filename="a.txt").added

    assert len(digest) == 64
    assert library.add(b"Other words.", filename="a.txt", document="mine").added == ("mine",)
    assert library.add(b"Newer words.", filename="a.txt", document="mine").updated == ("mine",)
    assert library.add(b"Newer words.", filename="a.txt", document="mine").unchanged == ("mine",)
    assert library.get("mine").title == "a.txt"


def test_a_file_that_was_named_must_be_of_a_known_kind(open_lib: Open, papers: Path) -> None:
    report = open_lib().add(papers / "blob.bin")

    assert [Path(f.source).name for f in report.failed] == ["blob.bin"]


def test_an_unknown_backend_is_refused_before_any_work(open_lib: Open, papers: Path) -> None:
    library = open_lib()

    with pytest.raises(InvalidArgument, match="pdfium"):
        library.add(papers, backend="acrobat")
    assert library.documents() == []


@pytest.mark.parametrize(
    ("source", "options", "error"),
    [
        (b"words", {}, InvalidArgument),
        (b"", {"filename": "a.txt"}, ParseError),
        (b"%PDF-1.7 nothing", {"filename": "a.pdf"}, ParseError),
        ("nowhere/at/all", {}, InvalidArgument),
        (".", {"document": "x"}, InvalidArgument),
        (".", {"filename": "x"}, InvalidArgument),
    ],
)
def test_a_source_that_cannot_be_used_is_refused(
    open_lib: Open, source: Any, options: dict[str, Any], error: type[Exception]
) -> None:
    library = open_lib()

    with pytest.raises(error):
        library.add(source, **options)
    assert library.documents() == []


def test_remove_takes_a_document_out_of_both_legs(open_lib: Open, papers: Path) -> None:
    library = open_lib()
    library.add(papers)

    assert library.remove("ferry.md") == 1
    assert library.remove("ferry.md") == 0
    for mode in MODES:
        found = library.search("the ferry leaves the quay", mode=mode)
        assert "ferry.md" not in {h.chunk.document for h in found}


# D2: nothing to search


@pytest.mark.parametrize("mode", MODES)
def test_an_empty_collection_answers_empty_and_says_so(open_lib: Open, mode: Any) -> None:
    found = open_lib().search("anything", mode=mode)

    assert list(found) == []
    assert [w for w in found.warnings if "Collection 'default' is empty" in w]


def test_a_collection_with_documents_is_not_called_empty(open_lib: Open) -> None:
    library = open_lib()
    library.add(b"# Salt\n\nThe Dead Sea.", filename="salt.md")

    assert library.search("zeppelin", mode="keyword").warnings == []


@pytest.mark.parametrize("mode", MODES)
def test_a_collection_whose_only_file_is_blank_answers_empty(
    open_lib: Open, tmp_path: Path, mode: Any
) -> None:
    library = open_lib()
    (tmp_path / "blank.txt").write_text("  \n")
    library.add(tmp_path / "blank.txt")

    assert list(library.search("anything", mode=mode)) == []


@pytest.mark.parametrize("query", ["", "   ", "\n\t"])
def test_a_blank_query_is_refused(open_lib: Open, papers: Path, query: str) -> None:
    library = open_lib()
    library.add(papers)

    with pytest.raises(InvalidQueryError, match="empty"):
        library.search(query)


def test_a_query_without_terms_gives_the_vector_side_and_says_so(
    open_lib: Open, papers: Path
) -> None:
    library = open_lib()
    library.add(papers)
    hybrid = library.search("???")
    vector = library.search("???", mode="vector")

    assert [h.chunk.id for h in hybrid] == [h.chunk.id for h in vector]
    assert any("no words" in warning for warning in hybrid.warnings)
    assert list(library.search("???", mode="keyword")) == []


def test_a_query_of_stop_words_still_finds(open_lib: Open, papers: Path) -> None:
    library = open_lib()
    library.add(papers)

    assert len(library.search("the of and", mode="keyword")) > 0


@pytest.mark.parametrize("mode", MODES)
def test_more_asked_than_there_is_gives_what_there_is(
    open_lib: Open, papers: Path, mode: Any
) -> None:
    library = open_lib()
    library.add(papers)

    assert 0 < len(library.search("quay", k=50, mode=mode)) <= 2


@pytest.mark.parametrize(
    "options",
    [{"k": 0}, {"k": True}, {"offset": -1}, {"mode": "both"}, {"alpha": 1.5}, {"alpha": "x"}],
)
def test_arguments_out_of_range_are_refused(open_lib: Open, options: dict[str, Any]) -> None:
    with pytest.raises(InvalidQueryError):
        open_lib().search("quay", **options)


@pytest.mark.parametrize("mode", MODES)
def test_pages_follow_each_other(open_lib: Open, mode: Any) -> None:
    library = open_lib()
    for i in range(7):
        library.add(f"quay number {i} {'quay ' * i}".encode(), filename="a.txt", document=f"d{i}")
    whole = [h.chunk.id for h in library.search("quay", k=7, mode=mode)]
    pages = [
        h.chunk.id for at in (0, 3, 6) for h in library.search("quay", k=3, offset=at, mode=mode)
    ]

    assert pages == whole
    assert [h.rank for h in library.search("quay", k=3, offset=3, mode=mode)] == [4, 5, 6]


def test_a_page_past_the_depth_is_empty_and_says_so(open_lib: Open) -> None:
    library = open_lib()
    library.add(b"quay", filename="a.txt")
    results = library.search("quay", k=5, offset=200)

    assert list(results) == []
    assert any("k" in warning for warning in results.warnings)


# metadata


def test_filters_hold_on_every_mode(open_lib: Open) -> None:
    library = open_lib()
    for year in (2019, 2020, 2021):
        library.add(b"quay", filename="a.txt", document=str(year), metadata={"year": year})

    for mode in MODES:
        found = library.search("quay", where=F("year") >= 2020, mode=mode)
        assert {h.chunk.document for h in found} == {"2020", "2021"}
    assert [i.document for i in library.documents(F("year") < 2020)] == ["2019"]


def test_a_value_that_does_not_fit_is_refused_for_one_and_kept_in_a_folder(
    open_lib: Open, papers: Path
) -> None:
    library = open_lib(fields={"n": Field(FieldType.INTEGER)})
    with pytest.raises(InvalidArgument, match=r"n.*integer"):
        library.add(b"quay", filename="a.txt", document="d", metadata={"n": "n.d."})
    assert library.documents() == []

    report = library.add(papers, metadata={"n": "n.d."})

    assert any("not filterable" in warning for warning in report.warnings)
    assert library.get("ferry.md").metadata == {"n": "n.d."}
    assert list(library.search("quay", where=F("n").exists())) == []


def test_new_metadata_costs_no_embedding(open_lib: Open, papers: Path) -> None:
    counting = CountingEmbedder()
    library = open_lib(embedder=Embedder(counting, "test--hash"))
    library.add(papers, metadata={"lang": "en"})
    before = counting.texts
    report = library.add(papers, metadata={"lang": "de"})

    assert set(report.updated) == {"ferry.md", "deep/tides.txt"}
    assert counting.texts == before
    assert len(library.documents(F("lang") == "de")) == 2


# models


def test_another_model_is_refused_before_any_write(open_lib: Open, tmp_path: Path) -> None:
    library = pincite.open(
        f"local:{tmp_path / 'm'}", embedder=Embedder(HashEmbedder(dimension=64), "test--m1")
    )
    library.add(b"quay", filename="a.txt", document="d")
    library.close()
    other = pincite.open(
        f"local:{tmp_path / 'm'}", embedder=Embedder(HashEmbedder(dimension=32), "test--m2")
    )
    with pytest.raises(CollectionMismatch, match=r"64.*32"):
        other.add(b"pier", filename="b.txt", document="e")
    with pytest.raises(CollectionMismatch):
        other.search("quay")

    assert len(other.search("quay", mode="keyword")) == 1
    assert [info.document for info in other.documents()] == ["d"]
    other.close()


# D7: a failing leg


def test_a_failing_embedder_is_an_error_or_a_warning_never_a_silent_half(
    open_lib: Open, papers: Path
) -> None:
    client = CountingEmbedder()
    library = open_lib(embedder=Embedder(client, "test--hash"))
    library.add(papers)
    client.broken = True

    with pytest.raises(ConnectionError):
        library.search("ferry")
    results = library.search("ferry", partial=True)
    assert [h.chunk.document for h in results] == ["ferry.md"]
    assert any("vector side failed" in warning for warning in results.warnings)
    with pytest.raises(ConnectionError):
        library.search("ferry", mode="vector", partial=True)


# places


def test_what_is_not_there_is_named(open_lib: Open) -> None:
    library = open_lib()

    for call in (library.get, library.markdown, lambda d: library.locate(d, 0, 1)):
        with pytest.raises(InvalidQueryError, match="'nothing'"):
            call("nothing")


def test_a_store_that_is_not_there_is_not_made_by_a_reader(tmp_path: Path) -> None:
    with pytest.raises(StoreNotFound):
        pincite.open(f"local:{tmp_path / 'none'}", create=False)
    assert not (tmp_path / "none").exists()


def test_uploads_are_kept_beside_the_store(tmp_path: Path, papers: Path) -> None:
    embedder = Embedder(HashEmbedder(dimension=64), "test--hash")
    with pincite.open(f"local:{tmp_path / 's'}", embedder=embedder) as library:
        library.add(b"Plain words.", filename="a.txt")
        library.add(papers)
    kept = [p for p in (tmp_path / "s" / "originals").rglob("*") if p.is_file()]

    assert [p.read_bytes() for p in kept] == [b"Plain words."]


def test_two_threads_search_while_one_writes(open_lib: Open) -> None:
    from concurrent.futures import ThreadPoolExecutor

    library = open_lib()
    library.add(b"quay zero", filename="a.txt", document="d0")

    def write() -> None:
        for i in range(1, 8):
            library.add(f"quay {i}".encode(), filename="a.txt", document=f"d{i}")

    def read() -> int:
        return min(len(library.search("quay", k=20)) for _ in range(30))

    with ThreadPoolExecutor(3) as pool:
        writing = pool.submit(write)
        least = [future.result() for future in [pool.submit(read), pool.submit(read)]]
        writing.result()

    assert min(least) >= 1
    assert len(library.search("quay", k=20)) == 8


class CountingEmbedder(HashEmbedder):
    """Counts the texts it embeds, and can be broken."""

    def __init__(self) -> None:
        super().__init__(dimension=64)
        self.texts = 0
        self.broken = False

    def encode(self, endpoint: str, texts: Sequence[str]) -> np.ndarray[Any, Any]:
        if self.broken:
            raise ConnectionError("no answer")
        self.texts += len(texts)
        return super().encode(endpoint, texts)


@pytest.mark.parametrize("mode", MODES)
def test_explanations_sum_to_the_keyword_score(open_lib: Open, papers: Path, mode: Any) -> None:
    library = open_lib()
    library.add(papers)
    results = library.search("the quay, the ferry and the quay", mode=mode, explain=True)

    assert set(results.explanations) == {hit.chunk.id for hit in results}
    for hit in results:
        how = results.explanations[hit.chunk.id]
        keyword = hit.legs.get("keyword")
        assert how.score == (keyword.raw if keyword else pytest.approx(how.score))
        assert how.score == pytest.approx(sum(t.contribution for t in how.terms), rel=1e-6)
        assert {t.count for t in how.terms} == {1, 2}
    assert library.search("quay", mode=mode).explanations == {}


# what a second run does


def test_metadata_stays_unless_it_is_given(open_lib: Open, papers: Path) -> None:
    library = open_lib()
    library.add(papers / "ferry.md", metadata={"year": 2020})
    (papers / "ferry.md").write_text("# Ferry\n\nThe boat sails from the pier.\n")
    library.add(papers / "ferry.md")
    library.add(b"words", filename="a.txt", document="b", metadata={"year": 1999})
    library.add(b"other words", filename="a.txt", document="b")
    assert library.get("ferry.md").metadata == {"year": 2020}
    assert library.get("b").metadata == {"year": 1999}

    library.add(papers / "ferry.md", metadata={"lang": "en"})

    assert library.get("ferry.md").metadata == {"lang": "en"}


def test_documents_whose_file_is_gone_are_named(open_lib: Open, papers: Path) -> None:
    library = open_lib()
    library.add(papers)
    (papers / "ferry.md").unlink()
    report = library.add(papers)

    assert any("ferry.md" in w and "pincite rm" in w for w in report.warnings)
    assert library.add(papers / "deep").warnings == ()


def test_pages_that_are_pictures_are_named(open_lib: Open, tmp_path: Path) -> None:
    import pypdfium2

    pdf = pypdfium2.PdfDocument.new()
    pdf.new_page(200, 200)
    pdf.save(tmp_path / "scan.pdf")
    pdf.close()
    report = open_lib().add(tmp_path / "scan.pdf")

    assert "OCR" in report.skipped[0].reason


def test_filters_may_be_written_as_text_or_as_a_dict(open_lib: Open) -> None:
    library = open_lib()
    library.add(b"quay", filename="a.txt", document="d", metadata={"year": 2020})

    for where in ("year >= 2020", {"year": {"$gte": 2020}}, F("year") >= 2020):
        assert len(library.search("quay", where=where)) == 1
        assert len(library.documents(where)) == 1


def test_a_closed_library_says_so(open_lib: Open) -> None:
    library = open_lib()
    library.close()
    library.close()

    for call in (lambda: library.search("quay"), library.documents, library.stats):
        with pytest.raises(InvalidArgument, match="closed"):
            call()


@pytest.mark.parametrize("source", [["a.md"], 7, None])
def test_a_source_of_another_type_is_named(open_lib: Open, source: Any) -> None:
    with pytest.raises(InvalidArgument, match="source is"):
        open_lib().add(source)


def test_collections_are_listed_and_a_near_name_is_proposed(open_lib: Open) -> None:
    library = open_lib(collection="papers")
    library.add(b"quay", filename="a.txt", document="harbour.md")

    assert [c.name for c in library.collections()] == ["papers"]
    with pytest.raises(InvalidQueryError, match=r"did you mean 'harbour\.md'"):
        library.get("harbor.md")


class FormerClient:
    """The client of the time when that table was served as ``local--static``."""

    model = WordllamaModel()

    async def embed(self, endpoint: str, texts: Sequence[str]) -> Any:
        return self.model.encode(texts)

    def model_name(self, endpoint: str) -> str:
        return self.model.name


def test_a_collection_of_the_former_default_names_its_way_out(tmp_path: Path) -> None:
    pytest.importorskip("wordllama", reason="needs the extra [wordllama]")
    uri = f"local:{tmp_path / 's'}"
    former = Embedder(FormerClient(), "local--static")
    with pincite.open(uri, embedder=former) as library:
        library.add(b"The ferry leaves at noon.", filename="a.txt")

    with pincite.open(uri) as library, pytest.raises(CollectionMismatch) as caught:
        library.add(b"The ferry arrives at one.", filename="b.txt")
    with pincite.open(uri, embedder="local--wordllama") as library:
        library.add(b"The ferry arrives at one.", filename="b.txt")
        found = library.search("when does the ferry arrive", mode="vector")

    assert "pincite-static-256" in str(caught.value)
    assert "--embedder local--wordllama" in str(caught.value)
    assert found[0].chunk.title == "b.txt"

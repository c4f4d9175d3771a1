"""``StoresBuilder``: each name, default and promise of its page, on a real store."""

from __future__ import annotations

import inspect
import json
import logging
import shutil
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from pincite.bm25.chunk_store import ChunkStore
from pincite.embedding.blocking import BlockingEmbedder
from pincite.embedding.embedder import Embedder
from pincite.errors import CollectionMismatch, InvalidArgument
from pincite.indexing import converting
from pincite.indexing.builder import TEMPLATE_NAME, StoresBuilder
from pincite.indexing.cache import CACHE_FOLDER
from pincite.model.hits import Chunk
from pincite.retrieval.domains import RetrieverConfig
from pincite.retrieval.managers import BM25RetrieverManager, VSRetriever
from pincite.retrieval.merge import format_source_scores
from pincite.retrieval.orchestrator import Orchestrator
from pincite.retrieval.serialize import serialize_vs_retrieval
from pincite.stores.uri import open_sync_store
from pincite.testing import HashEmbedder

LOGGER = logging.getLogger("test")
ROPES = "# Ropes\n\nA bowline knot holds the ferry.\n\n## Care\n\nDry it well, or it rots.\n"
TIDES = "# Tides\n\nThe ferry sails at high tide.\n"


@dataclass
class Document:
    """A document of another library: known by its attributes alone."""

    page_content: str
    metadata: dict[str, Any] = field(default_factory=dict)


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    folder = tmp_path / "docs"
    (folder / "sub").mkdir(parents=True)
    (folder / "ropes.md").write_text(ROPES)
    (folder / "sub" / "tides.md").write_text(TIDES)
    return folder


def builder(client: HashEmbedder | None = None, **options: Any) -> StoresBuilder:
    made = StoresBuilder("local--static", LOGGER, **options)
    made.embedder = BlockingEmbedder(Embedder(client or HashEmbedder(32), "test--hash"))
    return made


def stored(uri: str, collection: str = "ships") -> dict[str, list[Chunk]]:
    store = open_sync_store(uri)
    found: dict[str, list[Chunk]] = {}
    for chunk in store.reader("local", [collection]).all_chunks():
        found.setdefault(chunk.document, []).append(chunk)
    store.close()
    return found


def test_the_signatures_are_those_of_the_page() -> None:
    def defaults(call: Any) -> dict[str, Any]:
        parameters = inspect.signature(call).parameters.values()
        return {p.name: p.default for p in parameters if p.name != "self"}

    empty = inspect.Parameter.empty
    assert StoresBuilder.DEFAULT_EMBED_BATCH_SIZE == 256
    assert defaults(StoresBuilder) == {
        "embedding_model": empty,
        "logger": empty,
        "max_tokens": 450,
        "merge_peers": True,
        "tokenizer_model": "BAAI/bge-m3",
        "do_ocr": True,
        "embed_batch_size": 256,
    }
    assert defaults(StoresBuilder.build) == {
        "source_dir": empty,
        "store_uri": empty,
        "collection_name": empty,
        "force": False,
        "metadata_map_path": None,
        "bm25_path": None,
    }
    assert defaults(StoresBuilder.chunk_all) == {
        "source_path": empty,
        "metadata_map": None,
        "force": False,
    }
    assert defaults(StoresBuilder.store_all) == {
        "results": empty,
        "store_uri": empty,
        "collection_name": empty,
        "force": False,
        "bm25_path": None,
    }
    assert defaults(StoresBuilder.write_bm25_store) == {"results": empty, "bm25_path": empty}
    assert defaults(StoresBuilder.write_heading_template) == {
        "file_headings": empty,
        "source_dir": empty,
    }


def test_wrong_options_are_value_errors() -> None:
    with pytest.raises(ValueError, match=r"ollama:<model>\[:tag\]"):
        StoresBuilder("bge-m3", LOGGER)
    with pytest.raises(InvalidArgument, match="embed_batch_size is 0"):
        StoresBuilder("local--static", LOGGER, embed_batch_size=0)
    with pytest.raises(InvalidArgument, match="is no folder"):
        builder().chunk_all(Path("/nowhere/at/all"))


# -- chunk_all


def test_chunks_come_with_hash_path_and_metadata(docs: Path) -> None:
    results, headings = builder().chunk_all(docs)
    (file_hash, chunks, path), (_, other, _) = results

    assert path == docs / "ropes.md"
    assert len(file_hash) == 64
    assert [chunk.content for chunk in chunks] == [
        "# Ropes\n\nA bowline knot holds the ferry.",
        "## Care\n\nDry it well, or it rots.",
    ]
    assert chunks[1].metadata == {
        "file_hash": file_hash,
        "headings": ["Ropes", "Care"],
        "file_name": "ropes.md",
    }
    assert (chunks[1].id, chunks[1].title, chunks[1].source) == (
        "ropes.md-1",
        "ropes.md",
        str(path),
    )
    assert all(ROPES[c.start_char : c.end_char] == c.content for c in chunks)
    assert other[0].document == "sub/tides.md"
    assert headings == {
        "ropes.md": {"DEFAULT": {"title": "Ropes"}, "Ropes": {}, "Ropes > Care": {}},
        "sub/tides.md": {"DEFAULT": {"title": "Tides"}, "Tides": {}},
    }


def test_the_map_gives_each_chunk_its_metadata(docs: Path) -> None:
    entries = {
        "ropes.md": {
            "DEFAULT": {"title": "All about rope", "year": 2024},
            "Care": {"topic": "care"},
        },
        "*.md": {"DEFAULT": {"kind": "note", "year": 1999}},
    }
    results, _ = builder().chunk_all(docs, entries)
    first, second = results[0][1]

    assert {k: first.metadata.get(k) for k in ("year", "topic", "kind")} == {
        "year": 2024,
        "topic": None,
        "kind": "note",
    }
    assert second.metadata["topic"] == "care"
    assert "title" not in second.metadata
    assert second.title == "All about rope"
    assert results[1][1][0].metadata["year"] == 1999
    with pytest.raises(ValueError, match="the shape is"):
        builder().chunk_all(docs, {"a.md": []})  # type: ignore[dict-item]


def test_a_file_in_the_cache_is_not_converted_again_unless_forced(
    docs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = builder().chunk_all(docs)
    runs: list[str] = []
    run = converting.Converter._run

    def counted(self: Any, data: bytes, filename: str) -> Any:
        runs.append(filename)
        return run(self, data, filename)

    monkeypatch.setattr(converting.Converter, "_run", counted)

    assert builder().chunk_all(docs) == first
    assert runs == []
    assert builder().chunk_all(docs, force=True) == first
    assert runs == ["ropes.md", "tides.md"]
    runs.clear()
    (docs / "ropes.md").write_text(ROPES + "\nMore.\n")
    builder().chunk_all(docs)
    assert runs == ["ropes.md"]
    runs.clear()
    builder(max_tokens=60).chunk_all(docs)  # another pipeline
    assert runs == ["ropes.md", "tides.md"]


def test_a_damaged_cache_is_rebuilt_with_a_message(
    docs: Path, caplog: pytest.LogCaptureFixture
) -> None:
    first = builder().chunk_all(docs)
    for file in (docs / CACHE_FOLDER).iterdir():
        file.write_bytes(file.read_bytes()[:-5])
    with caplog.at_level(logging.WARNING):
        assert builder().chunk_all(docs) == first
    assert caplog.text.count("is parsed again") == 2
    caplog.clear()
    with caplog.at_level(logging.WARNING):
        assert builder().chunk_all(docs) == first
    assert "parsed again" not in caplog.text


def test_equal_files_of_two_names_are_two_documents(docs: Path) -> None:
    shutil.copy(docs / "ropes.md", docs / "sub" / "ropes.md")
    results, headings = builder().chunk_all(docs)

    assert [chunks[0].document for _, chunks, _ in results] == [
        "ropes.md",
        "sub/ropes.md",
        "sub/tides.md",
    ]
    assert results[0][0] == results[1][0]
    assert results[1][1][0].source == str(docs / "sub" / "ropes.md")
    assert len(headings) == 3


def test_files_that_cannot_be_used_are_named_and_the_others_go_on(
    docs: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (docs / "broken.pdf").write_bytes(b"%PDF-1.4 nothing")
    (docs / "blank.md").write_text("  \n")
    (docs / "what.xyz").write_bytes(b"\x00\x01")
    (docs / "metadata_map.json").write_text("{}")
    made = builder()
    with caplog.at_level(logging.ERROR):
        results, _ = made.chunk_all(docs)

    assert [path.name for _, _, path in results] == ["ropes.md", "tides.md"]
    assert [Path(f.source).name for f in made.failed] == ["broken.pdf"]
    assert sorted((Path(f.source).name, f.reason) for f in made.skipped) == [
        ("blank.md", "no text"),
        ("what.xyz", "no parser reads this kind of file"),
    ]
    assert "broken.pdf is left out" in caplog.text


def test_blocks_stay_apart_without_merge_peers(docs: Path) -> None:
    (docs / "ropes.md").write_text("# A\n\nOne.\n\nTwo.\n")
    (_, merged, _), *_ = builder().chunk_all(docs)[0]
    (_, apart, _), *_ = builder(merge_peers=False).chunk_all(docs)[0]

    assert [len(merged), len(apart)] == [1, 2]


# -- OCR and tokenizer


def scan(path: Path) -> None:
    """A page without text."""
    import pypdfium2

    document = pypdfium2.PdfDocument.new()
    document.new_page(200, 200)
    document.save(str(path))
    document.close()


@pytest.mark.parametrize("do_ocr", [True, False])
def test_pages_that_need_ocr_are_listed_once(
    docs: Path, do_ocr: bool, caplog: pytest.LogCaptureFixture
) -> None:
    scan(docs / "scan.pdf")
    made = builder(do_ocr=do_ocr)
    with caplog.at_level(logging.WARNING):
        made.chunk_all(docs)
        caplog.clear()
        made.chunk_all(docs)  # from the cache

    assert caplog.text.count("scan.pdf 1") == int(do_ocr)


def test_the_named_tokenizer_counts_when_it_is_in_the_local_cache(
    docs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    from tokenizers import Tokenizer, models, pre_tokenizers

    tokenizer = Tokenizer(models.WordLevel({"[UNK]": 0}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Split("", "isolated")  # each character is a token
    folder = tmp_path / "hub" / "models--BAAI--bge-m3" / "snapshots" / "abc"
    folder.mkdir(parents=True)
    tokenizer.save(str(folder / "tokenizer.json"))
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    with caplog.at_level(logging.WARNING):
        (_, chunks, _), *_ = builder(max_tokens=30).chunk_all(docs)[0]
    assert "tokenizer" not in caplog.text
    assert max(len(chunk.content) for chunk in chunks) <= 30

    (folder / "tokenizer.json").write_text("{")
    with caplog.at_level(logging.WARNING):
        made = builder()
        made.chunk_all(docs)
        made.chunk_all(docs)
    assert "cannot be read" in caplog.text
    assert caplog.text.count("not in the local cache; the embedding model's own counts") == 1


# -- store_all


def test_stored_chunks_have_vectors_geometry_and_metadata(docs: Path, tmp_path: Path) -> None:
    uri = f"local:{tmp_path}/store"
    client = HashEmbedder(32)
    made = builder(client)
    results, _ = made.chunk_all(docs, {"ropes.md": {"Care": {"topic": "care"}}})
    made.store_all(results, uri, "ships")
    found = stored(uri)

    assert {name: len(chunks) for name, chunks in found.items()} == {
        "ropes.md": 2,
        "sub/tides.md": 1,
    }
    care = found["ropes.md"][1]
    assert dict(care.metadata) == {"topic": "care", "file_hash": results[0][0]}
    assert (care.content, care.context_header) == (
        "## Care\n\nDry it well, or it rots.",
        "Ropes > Care",
    )
    store = open_sync_store(uri)
    geometry = store.geometry("local", "ships", "ropes.md")
    assert geometry is not None
    assert geometry.markdown == ROPES
    assert store.model("local", "ships") is not None
    store.close()


def test_what_is_stored_is_not_embedded_again_unless_forced(docs: Path, tmp_path: Path) -> None:
    uri = f"local:{tmp_path}/store"
    builder().build(str(docs), uri, "ships")
    client = HashEmbedder(32)
    builder(client).build(str(docs), uri, "ships")
    assert client.calls == 0

    (docs / "sub" / "tides.md").write_text(TIDES + "\n## Ebb\n\nThen it waits.\n")
    builder(client).build(str(docs), uri, "ships")
    assert client.texts == 3 + 2  # three sentences identify the model
    assert len(stored(uri)["sub/tides.md"]) == 2

    forced = HashEmbedder(32)
    builder(forced).build(str(docs), uri, "ships", force=True)
    assert forced.texts == 3 + 4


def test_texts_are_embedded_in_batches(docs: Path, tmp_path: Path) -> None:
    for number in range(7):
        (docs / f"{number}.md").write_text(f"# Note {number}\n\nOne.\n\n## Sub\n\nTwo.\n")
    sizes: list[int] = []

    class Counting(HashEmbedder):
        def encode(self, endpoint: str, texts: Any) -> Any:
            sizes.append(len(texts))
            return super().encode(endpoint, texts)

    uri = f"local:{tmp_path}/store"
    builder(Counting(32), embed_batch_size=4).build(str(docs), uri, "ships")

    assert max(sizes[1:]) <= 4
    assert sum(sizes[1:]) == 17
    assert sum(map(len, stored(uri).values())) == 17


def test_a_moved_file_keeps_its_vectors(docs: Path, tmp_path: Path) -> None:
    uri = f"local:{tmp_path}/store"
    builder().build(str(docs), uri, "ships")
    (docs / "ropes.md").rename(docs / "sub" / "knots.md")
    client = HashEmbedder(32)
    builder(client).build(str(docs), uri, "ships")

    assert client.calls == 0
    found = stored(uri)
    assert sorted(found) == ["sub/knots.md", "sub/tides.md"]
    assert found["sub/knots.md"][0].source == str(docs / "sub" / "knots.md")


def test_another_model_is_refused_before_anything_is_written(docs: Path, tmp_path: Path) -> None:
    uri = f"local:{tmp_path}/store"
    builder().build(str(docs), uri, "ships")
    before = stored(uri)
    (docs / "new.md").write_text("# New\n\nText.\n")
    with pytest.raises(CollectionMismatch):
        builder(HashEmbedder(32, seed=1)).build(str(docs), uri, "ships")

    assert stored(uri) == before


def test_the_subject_of_the_uri_owns_what_is_written(docs: Path, tmp_path: Path) -> None:
    uri = f"local:{tmp_path}/store?subject=ann"
    builder().build(str(docs), uri, "ships")
    store = open_sync_store(uri)

    assert [c.name for c in store.list("ann")] == ["ships"]
    assert store.list("local") == []
    store.close()


def test_stores_inside_the_folder_are_no_sources(docs: Path) -> None:
    uri, corpus = f"local:{docs}/store", str(docs / "corpus")
    for _ in range(2):
        made = builder()
        made.build(str(docs), uri, "ships", bm25_path=corpus)
        assert made.failed == []
        assert made.skipped == []

    assert sorted(stored(uri)) == ["ropes.md", "sub/tides.md"]


# -- edits of the map


def test_a_map_edit_over_a_thousand_chunks_embeds_nothing(tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    for number in range(10):
        sections = "".join(f"## Part {n}\n\nText {number} {n}.\n\n" for n in range(100))
        (docs / f"{number}.md").write_text(sections)
    uri = f"local:{tmp_path}/store"
    path = tmp_path / "map.json"
    path.write_text(json.dumps({"*.md": {"DEFAULT": {"year": 2023}, "Part 7": {"seven": False}}}))
    builder().build(str(docs), uri, "ships", metadata_map_path=str(path))
    client = HashEmbedder(32)
    path.write_text(
        json.dumps({"*.md": {"DEFAULT": {"year": 2024}, "Part 7": {"seven": True}}, "3.md": {}})
    )
    builder(client).build(str(docs), uri, "ships", metadata_map_path=str(path))

    found = [chunk for chunks in stored(uri).values() for chunk in chunks]
    assert client.calls == 0
    assert len(found) == 1000
    assert {chunk.metadata["year"] for chunk in found} == {2024}
    assert sum(chunk.metadata.get("seven") is True for chunk in found) == 10
    store = open_sync_store(uri)
    vector = HashEmbedder(32).vector("Part 7\n\n## Part 7\n\nText 3 7.")
    best = store.reader("local", ["ships"]).near_vector("ships", vector=vector, limit=1)[0]
    store.close()
    assert best.chunk.document == "3.md"
    assert best.score == pytest.approx(1.0, abs=1e-3)


def test_a_map_that_cannot_be_used_writes_nothing(docs: Path, tmp_path: Path) -> None:
    path = tmp_path / "map.json"
    path.write_text("[]")
    with pytest.raises(ValueError, match=r"map\.json cannot be used"):
        builder().build(str(docs), f"local:{tmp_path}/store", "ships", metadata_map_path=str(path))
    assert not (tmp_path / "store").exists()


# -- templates


def test_the_template_is_written_beside_the_sources(docs: Path) -> None:
    made = builder()
    _, headings = made.chunk_all(docs)
    made.write_heading_template(headings, docs)

    assert TEMPLATE_NAME == "metadata_map.template.json"
    assert json.loads((docs / TEMPLATE_NAME).read_text("utf-8")) == headings
    assert made.chunk_all(docs)[1] == headings  # a template is no source


def test_no_headings_leave_a_template_byte_for_byte(
    docs: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (docs / TEMPLATE_NAME).write_bytes(b"{ mine }\r\n")
    with caplog.at_level(logging.WARNING):
        builder().write_heading_template({}, docs)
        builder().write_heading_template({}, tmp_path)

    assert (docs / TEMPLATE_NAME).read_bytes() == b"{ mine }\r\n"
    assert not (tmp_path / TEMPLATE_NAME).exists()
    assert "no template is written" in caplog.text


# -- documents of another library, and the whole flow


def test_documents_of_another_library_are_stored_by_attribute(tmp_path: Path) -> None:
    given = [
        Document("A bowline holds.", {"headings": ["Ropes"], "file_name": "r.pdf", "page": 3}),
        Document("Dry it.", {"headings": "Care", "page": 4}),
    ]
    results = [("0" * 64, given, Path("/docs/r.pdf"))]
    uri = f"local:{tmp_path}/store"
    builder().store_all(results, uri, "ships", bm25_path=str(tmp_path / "kw"))  # type: ignore[arg-type]
    first, second = stored(uri)["r.pdf"]

    assert (first.content, first.context_header) == ("A bowline holds.", "Ropes")
    assert dict(second.metadata) == {"page": 4, "file_hash": "0" * 64}
    ((hit, _),) = ChunkStore.open(tmp_path / "kw").search("bowline", 5)
    assert (hit.id, hit.content) == (first.id, first.content)
    with pytest.raises(InvalidArgument, match="of one file each"):
        builder().store_all([("0" * 64, [], Path("x"))], uri, "ships")


def test_the_bm25_store_holds_the_chunks_of_the_vector_store(docs: Path, tmp_path: Path) -> None:
    uri = f"local:{tmp_path}/store"
    made = builder()
    results, _ = made.chunk_all(docs, {"**": {"DEFAULT": {"year": 2024}}})
    made.store_all(results, uri, "ships")
    made.write_bm25_store(results, str(tmp_path / "kw"))
    corpus = ChunkStore.open(tmp_path / "kw")
    for chunk in (c for chunks in stored(uri).values() for c in chunks):
        kept = {c.id: c for c, _ in corpus.search("ferry rope tides care", 10)}[chunk.id]
        for name in ("content", "document", "source", "context_header", "start_char", "title"):
            assert getattr(kept, name) == getattr(chunk, name)
        assert {k: kept.metadata[k] for k in chunk.metadata} == dict(chunk.metadata)


def test_both_stores_stem_in_the_language_of_the_document(tmp_path: Path) -> None:
    docs, uri = tmp_path / "docs", f"local:{tmp_path}/store"
    docs.mkdir()
    prose = "Die Fähren liegen im Hafen, weil der Sturm die Wellen über die Mauer wirft. "
    (docs / "a.md").write_text(f"# Wetter\n\n{prose * 3}\n\n## Kurz\n\nFährschiffe.\n")
    made = builder()
    results, _ = made.chunk_all(docs)
    made.store_all(results, uri, "ships", bm25_path=str(tmp_path / "kw"))
    corpus = ChunkStore.open(tmp_path / "kw")
    store = open_sync_store(uri)
    reader = store.reader("local", ["ships"])
    for query in ("fährschiff", "hafens", "wellen"):
        hits = reader.bm25("ships", query=query, limit=5)
        assert [(c.id, pytest.approx(s, rel=1e-5)) for c, s in corpus.search(query, 5)] == [
            (hit.chunk.id, hit.score) for hit in hits
        ]
        assert hits
    store.close()


def test_build_load_by_domain_retrieve_fuse_and_serialise(docs: Path, tmp_path: Path) -> None:
    uri, corpus = f"local:{tmp_path}/store", str(tmp_path / "kw")
    (tmp_path / "map.json").write_text(json.dumps({"ropes.md": {"DEFAULT": {"url": "https://r"}}}))
    made = StoresBuilder("local--static", LOGGER)
    made.build(
        str(docs), uri, "ships", metadata_map_path=str(tmp_path / "map.json"), bm25_path=corpus
    )
    made.close()
    shutil.rmtree(docs)  # the cache and the sources are gone
    config = RetrieverConfig.model_validate(
        {
            "domains": {
                "sea": {
                    "vector_stores": [{"name": "ships", "path": uri}],
                    "bm25_stores": [{"name": "ships", "path": corpus}],
                }
            }
        }
    )
    vectors = VSRetriever(config, LOGGER, "local--static")
    keywords = BM25RetrieverManager(config, LOGGER)
    found = Orchestrator([vectors, keywords]).retrieve("sea", "which knot is a bowline")
    vectors.close()

    best, score = found.results[0]
    assert best.id == "ropes.md-0"
    assert score == pytest.approx(2 / 61)
    assert len({chunk.id for chunk, _ in found.results}) == len(found.results) == 3
    text = serialize_vs_retrieval({"sea": found.results})
    assert text.startswith(
        f"## sea\n\n[1] ropes.md | Ropes | score 0.0328 ({format_source_scores(best)})\n"
        "url: https://r\n\n# Ropes\n\nA bowline knot holds the ferry.\n\n[2] "
    )

"""What a store writes down of its targets, as records: heads, documents, aliases, geometry."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from pincite.errors import StoreCorrupt
from pincite.model.documents import DocumentInfo, ModelIdentity
from pincite.model.fields import FieldSpec, full_spec
from pincite.model.hits import chunk_id
from pincite.stores.codec import model_of, model_text, spec_of, spec_text, value_of
from pincite.stores.points.backend import Backend, Record, Space
from pincite.stores.points.keys import digest, point_id, tenant_of

__all__ = [
    "Document",
    "Head",
    "Records",
    "aliases_shelf",
    "alias_key",
    "change_key",
    "document_key",
    "documents_shelf",
    "geometry_key",
]

_PIECE: Final = 48_000
_HEADS: Final = "heads"


@dataclass(frozen=True, slots=True)
class Head:
    """A target's own record: model, fields, the changes that make up its counts.

    ``stamp`` is another one after every commit. ``average`` is the mean length that the weights
    of stored terms were made with. ``log`` names changes of the counts, with the number of terms
    in each. ``loose`` are fields that ``tokens`` cannot serve. ``pending`` are documents whose
    writing has begun: after a crash their points may be old, new or both. ``renamed`` is another
    one after every change of the aliases.
    """

    subject: str
    collection: str
    stamp: str = ""
    endpoint: str = ""
    dimension: int = 0
    model: ModelIdentity | None = None
    alpha: float | None = None
    analyzer: str = ""
    spec: FieldSpec = field(default_factory=lambda: full_spec({}))
    average: float = 0.0
    log: tuple[tuple[str, int], ...] = ()
    loose: frozenset[str] = frozenset()
    pending: tuple[str, ...] = ()
    renamed: str = ""

    @property
    def tenant(self) -> str:
        return tenant_of(self.subject, self.collection)

    @property
    def stored_model(self) -> tuple[str, ModelIdentity | None] | None:
        """Endpoint and identity, None before the first write of vectors."""
        return (self.endpoint, self.model) if self.dimension else None

    @property
    def normalized(self) -> bool:
        """Whether vectors are of unit length and scores are cosines."""
        return self.model is None or self.model.normalized

    @property
    def space(self) -> Space:
        """Where its points are; there are none while there is no dimension."""
        return Space(self.tenant, self.subject, self.collection, self.dimension, self.normalized)

    def point(self, chunk: str) -> str:
        """The id of a chunk's point."""
        return point_id(self.subject, self.collection, chunk)

    def text(self) -> str:
        return json.dumps(
            {
                "version": 1,
                "subject": self.subject,
                "collection": self.collection,
                "stamp": self.stamp,
                "endpoint": self.endpoint,
                "dimension": self.dimension,
                "model": model_text(self.model),
                "alpha": self.alpha,
                "analyzer": self.analyzer,
                "fields": spec_text(self.spec),
                "average": self.average,
                "log": self.log,
                "loose": sorted(self.loose),
                "pending": self.pending,
                "renamed": self.renamed,
            }
        )

    @classmethod
    def read(cls, text: str, place: str) -> Head:
        """What ``text`` wrote; ``StoreCorrupt`` naming ``place`` otherwise."""
        try:
            held = json.loads(text)
            if held["version"] != 1:
                raise StoreCorrupt(
                    f"{place} was written by a newer version ({held['version']});"
                    " open it with that one."
                )
            return cls(
                subject=held["subject"],
                collection=held["collection"],
                stamp=held["stamp"],
                endpoint=held["endpoint"],
                dimension=held["dimension"],
                model=model_of(held["model"]),
                alpha=held["alpha"],
                analyzer=held["analyzer"],
                spec=spec_of(held["fields"]),
                average=held["average"],
                log=tuple((stamp, terms) for stamp, terms in held["log"]),
                loose=frozenset(held["loose"]),
                pending=tuple(held["pending"]),
                renamed=held["renamed"],
            )
        except (ValueError, KeyError, TypeError) as error:
            raise StoreCorrupt(
                f"A record in {place} cannot be read ({error}); restore a backup, or remove the"
                " store and index again."
            ) from error


@dataclass(frozen=True, slots=True)
class Document:
    """A stored document; ``indexes`` are those of its chunks, in order."""

    document: str
    title: str
    source: str
    content_hash: str
    fingerprint: str
    language: str
    metadata: str
    digest: str
    indexes: Sequence[int]
    geometry: bool = False

    @property
    def info(self) -> DocumentInfo:
        return DocumentInfo(
            self.document,
            self.title,
            self.source,
            self.content_hash,
            len(self.indexes),
            value_of(self.metadata),
            self.language,
            self.fingerprint,
        )

    def points(self, head: Head) -> list[str]:
        """The ids of its points, in chunk order."""
        return [head.point(chunk_id(self.document, index)) for index in sorted(self.indexes)]

    def text(self) -> str:
        plain = list(self.indexes)
        return json.dumps(
            [
                self.document,
                self.title,
                self.source,
                self.content_hash,
                self.fingerprint,
                self.language,
                self.metadata,
                self.digest,
                len(plain) if plain == list(range(len(plain))) else plain,
                self.geometry,
            ]
        )

    @classmethod
    def read(cls, text: str, place: str) -> Document:
        """What ``text`` wrote; ``StoreCorrupt`` naming ``place`` otherwise."""
        try:
            *about, indexes, geometry = json.loads(text)
            document, title, source, content_hash, fingerprint, language, metadata, mark = about
        except (ValueError, TypeError) as error:
            raise StoreCorrupt(
                f"A document's record in {place} cannot be read ({error}). Run doctor with repair."
            ) from error
        return cls(
            document,
            title,
            source,
            content_hash,
            fingerprint,
            language,
            metadata,
            mark,
            range(indexes) if isinstance(indexes, int) else indexes,
            geometry,
        )


def documents_shelf(tenant: str) -> str:
    """Where a target's documents are."""
    return f"documents-{tenant}"


def aliases_shelf(tenant: str) -> str:
    """Where a target's old document ids are."""
    return f"aliases-{tenant}"


class Records:
    """Records of any length over a backend's short ones."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    # -- any text

    def read(self, keys: Iterable[str]) -> dict[str, str]:
        """The texts that are there, by key."""
        found = self._read(list(keys))
        return {key: self._whole(key, text) for key, text in found.items()}

    def shelf(self, shelf: str) -> dict[str, str]:
        """The texts of a shelf, by key."""
        found = self._backend.shelf(shelf)
        return {key: self._whole(key, text) for key, text in found.items()}

    def write(self, records: Iterable[Record]) -> None:
        """Write texts; the pieces of a long one come before what names them."""
        heads, pieces = [], []
        for record in records:
            head, *more = _pieces(record)
            heads.append(head)
            pieces += more
        before = self._read([head.key for head in heads])
        stale = {name for key, text in before.items() for name in _piece_keys(key, text)}
        for group in (pieces, heads):
            for start in range(0, len(group), self._backend.batch):
                self._backend.write(group[start : start + self._backend.batch])
        self._drop([*stale.difference(piece.key for piece in pieces)])

    def drop(self, keys: Iterable[str]) -> None:
        """Remove texts with their pieces."""
        wanted = list(keys)
        if not wanted:
            return
        found = self._read(wanted)
        pieces = [name for key, text in found.items() for name in _piece_keys(key, text)]
        self._drop([*found, *pieces])

    def _drop(self, keys: Sequence[str]) -> None:
        for start in range(0, len(keys), self._backend.batch):
            self._backend.drop(keys[start : start + self._backend.batch])

    def _read(self, keys: Sequence[str]) -> dict[str, str]:
        found: dict[str, str] = {}
        for start in range(0, len(keys), self._backend.batch):
            found.update(self._backend.read(keys[start : start + self._backend.batch]))
        return found

    def _whole(self, key: str, text: str) -> str:
        names = _piece_keys(key, text)
        if not names:
            return text[text.index(":") + 1 :]
        found = self._read(names)
        missing = [name for name in names if name not in found]
        if missing:
            raise StoreCorrupt(
                f"{self._backend.place} lacks a piece of the record {key}. Run doctor with repair,"
                " or index the documents again."
            )
        return "".join(found[name] for name in names)

    # -- heads

    def head(self, subject: str, collection: str) -> Head:
        """A target's head, an empty one when nothing was written."""
        key = _head_key(tenant_of(subject, collection))
        text = self.read([key]).get(key)
        return Head(subject, collection) if text is None else Head.read(text, self._backend.place)

    def heads(self) -> list[Head]:
        """Every target's head, in the order of subject and collection."""
        place = self._backend.place
        found = [Head.read(text, place) for text in self.shelf(_HEADS).values()]
        return sorted(found, key=lambda head: (head.subject, head.collection))

    def head_record(self, head: Head) -> Record:
        """The record of a head."""
        return Record(_head_key(head.tenant), _HEADS, head.text())

    # -- documents

    def document(self, head: Head, name: str) -> Document | None:
        """One document."""
        return self.named(head, [name]).get(name)

    def named(self, head: Head, names: Iterable[str]) -> dict[str, Document]:
        """Those documents that are there, by id."""
        keys = {document_key(head.tenant, name): name for name in names}
        place = self._backend.place
        found = self.read(keys)
        return {keys[key]: Document.read(text, place) for key, text in found.items()}

    def documents(self, head: Head) -> list[Document]:
        """Every document, by id."""
        texts = self.shelf(documents_shelf(head.tenant)).values()
        found = [Document.read(text, self._backend.place) for text in texts]
        return sorted(found, key=lambda document: document.document)

    def document_record(self, head: Head, document: Document) -> Record:
        """The record of a document."""
        key = document_key(head.tenant, document.document)
        return Record(key, documents_shelf(head.tenant), document.text())

    # -- aliases

    def aliases(self, head: Head) -> dict[str, str]:
        """Old document ids and what they are called now."""
        found = self.shelf(aliases_shelf(head.tenant)).values()
        return dict(json.loads(text) for text in found)

    def alias_records(self, head: Head, aliases: Mapping[str, str]) -> list[Record]:
        """The records of aliases."""
        shelf = aliases_shelf(head.tenant)
        return [
            Record(alias_key(head.tenant, old), shelf, json.dumps([old, new]))
            for old, new in aliases.items()
        ]

    # -- geometry

    def geometry(self, head: Head, name: str) -> bytes | None:
        """What ``geometry_record`` wrote."""
        key = geometry_key(head.tenant, name)
        text = self.read([key]).get(key)
        return None if text is None else base64.b64decode(text)

    def geometry_record(self, head: Head, name: str, data: bytes) -> Record:
        """The record of a document's geometry."""
        text = base64.b64encode(data).decode("ascii")
        return Record(geometry_key(head.tenant, name), f"geometry-{head.tenant}", text)


def document_key(tenant: str, name: str) -> str:
    """The key of a document's record."""
    return f"document-{tenant}-{digest(name)}"


def alias_key(tenant: str, name: str) -> str:
    """The key of an alias's record."""
    return f"alias-{tenant}-{digest(name)}"


def geometry_key(tenant: str, name: str) -> str:
    """The key of the record of a document's geometry."""
    return f"geometry-{tenant}-{digest(name)}"


def change_key(tenant: str, stamp: str) -> str:
    """The key of a change of the counts."""
    return f"change-{tenant}-{stamp}"


def _head_key(tenant: str) -> str:
    return f"head-{tenant}"


def _pieces(record: Record) -> list[Record]:
    """The record itself, or one that names a version and how many pieces it has, and these."""
    if len(record.text) <= _PIECE:
        return [record._replace(text=f"0:{record.text}")]
    text, key = record.text, record.key
    version = digest(text)
    parts = [text[start : start + _PIECE] for start in range(0, len(text), _PIECE)]
    head = record._replace(text=f"{len(parts)}:{version}")
    pieces = (
        Record(f"{key}-{version}-{number}", "pieces", part) for number, part in enumerate(parts)
    )
    return [head, *pieces]


def _piece_keys(key: str, text: str) -> list[str]:
    count, _, version = text[:60].partition(":")
    return [f"{key}-{version}-{number}" for number in range(int(count))]

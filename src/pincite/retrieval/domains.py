"""Which stores a domain searches: the configuration, and its files."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from pincite.errors import InvalidArgument, MissingExtra

__all__ = [
    "BM25StoreInfo",
    "PerDomainConfig",
    "RetrieverConfig",
    "StoreInfo",
    "VectorStoreInfo",
]


class StoreInfo(BaseModel):
    """Information about a single store used by a retriever manager.

    ``default_k``, ``k_max`` and ``k_inc`` are the store's own retrieval depth; None falls back to
    the manager's. ``loaded_object`` holds what the manager opened; one that is set beforehand is
    used as it is.
    """

    model_config = ConfigDict(extra="forbid", arbitrary_types_allowed=True)

    name: str = Field(min_length=1)
    path: str = Field(min_length=1)
    default_k: int | None = Field(default=None, ge=1)
    k_max: int | None = Field(default=None, ge=1)
    k_inc: int | None = Field(default=None, ge=0)
    loaded_object: Any | None = Field(default=None, exclude=True, repr=False)

    @model_validator(mode="after")
    def _check_depths(self) -> Self:
        if self.default_k is not None and self.k_max is not None and self.default_k > self.k_max:
            raise ValueError(f"default_k {self.default_k} is above k_max {self.k_max}; raise k_max")
        return self


class VectorStoreInfo(StoreInfo):
    """Information about a single vector store.

    ``path`` is a store URI such as ``chroma:/path``, ``qdrant:http://host:6333`` or
    ``pgvector:postgresql://host/db``, with ``?subject=NAME`` for another subject than "local";
    ``name`` is the collection.
    """


class BM25StoreInfo(StoreInfo):
    """Information about a single BM25 store; ``path`` is the folder that ``write_bm25_store`` of
    ``StoresBuilder``, or ``save`` of ``BM25Retriever``, wrote."""


class PerDomainConfig(BaseModel):
    """Configuration for a single domain."""

    model_config = ConfigDict(extra="forbid")

    vector_stores: list[VectorStoreInfo] = []
    bm25_stores: list[BM25StoreInfo] = []


class RetrieverConfig(BaseModel):
    """The stores of each domain, for all retriever managers."""

    model_config = ConfigDict(extra="forbid")

    domains: dict[str, PerDomainConfig]

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a ``.yaml``, ``.yml`` (extra [yaml]), ``.toml`` or ``.json`` file.

        Raises ``InvalidArgument`` naming the file and the place in it, ``MissingExtra`` for YAML
        without its extra. Paths in the file are taken as they are written.
        """
        file = Path(path)
        read = _READERS.get(file.suffix.lower())
        if read is None:
            raise InvalidArgument(
                f"{file} is no configuration by its ending; name it {', '.join(_READERS)}."
            )
        try:
            return cls.model_validate(read(file.read_text(encoding="utf-8-sig")))
        except ValidationError as error:
            raise InvalidArgument(f"{file}: {_explained(error)}; correct it.") from error
        except (OSError, ValueError, RecursionError) as error:
            if isinstance(error, InvalidArgument):
                raise
            raise InvalidArgument(f"{file} cannot be read: {error}; correct it.") from error


def _read_yaml(text: str) -> Any:
    try:
        import yaml
    except ImportError as error:
        raise MissingExtra(
            "YAML needs the extra [yaml]: pip install 'pincite[yaml]'; or write TOML or JSON."
        ) from error
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ValueError(" ".join(str(error).split())) from error


def _explained(error: ValidationError) -> str:
    """The first fault, with where it is."""
    fault = error.errors(include_url=False)[0]
    place = ".".join(map(str, fault["loc"]))
    more = error.error_count() - 1
    rest = f" (and {more} more)" if more else ""
    return f"{place}: {fault['msg']}{rest}" if place else f"{fault['msg']}{rest}"


_READERS: Final[Mapping[str, Callable[[str], Any]]] = MappingProxyType(
    {".yaml": _read_yaml, ".yml": _read_yaml, ".toml": tomllib.loads, ".json": json.loads}
)

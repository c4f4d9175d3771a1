"""A leg that finds nothing, and a leg that fails."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from pincite import Embedder
from pincite.testing import HashEmbedder

from .conftest import Open, fill, found

TEXTS = {"a": "Quartz is hard.", "b": "Chalk is soft.", "c": "Gold in quartz."}


class Breakable(HashEmbedder):
    """Answers until it is broken."""

    error: Exception | None = None

    def encode(self, endpoint: str, texts: Sequence[str]) -> np.ndarray[Any, Any]:
        if self.error is not None:
            raise self.error
        return super().encode(endpoint, texts)


def test_when_keyword_finds_nothing_hybrid_has_the_vector_order(open_lib: Open) -> None:
    library = open_lib()
    fill(library, TEXTS)

    assert found(library, "zircon", mode="keyword") == []
    assert found(library, "zircon") == found(library, "zircon", mode="vector")
    assert len(found(library, "zircon")) == 3


@pytest.mark.parametrize("error", [ConnectionError("no answer"), TimeoutError("slow")])
def test_a_failing_embedder_is_an_error_or_named_in_the_warnings(
    open_lib: Open, error: Exception
) -> None:
    client = Breakable(64)
    library = open_lib(embedder=Embedder(client, "hash"))
    fill(library, TEXTS)
    client.error = error

    with pytest.raises(type(error)):
        library.search("quartz")
    with pytest.raises(type(error)):
        library.search("quartz", mode="vector", partial=True)
    results = library.search("quartz", partial=True)
    assert sorted(hit.chunk.document for hit in results) == ["a", "c"]
    assert "vector side failed" in results.warnings[0]
    assert sorted(found(library, "quartz", mode="keyword")) == ["a", "c"]

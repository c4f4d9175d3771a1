"""``local--wordllama``: the table that was the default before ours, behind the extra ``wordllama``.

The table and its tokenizer are files of the ``wordllama`` package (MIT; the table is derived from
the token table of a Llama 2 model). Only the files are read; the package is never imported.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pincite.embedding.static import Parts, StaticModel, Words
from pincite.errors import MissingExtra

if TYPE_CHECKING:
    from pincite.embedding.pooling import Table

__all__ = ["WordllamaModel"]

_WEIGHTS = Path("weights", "l2_supercat_256.safetensors")
_TOKENIZER = Path("tokenizers", "l2_supercat_tokenizer_config.json")


class WordllamaModel(StaticModel):
    """Unit vectors from the plain mean of the vectors of a text's tokens, lower-cased first.

    Raises ``MissingExtra`` at first use when the ``wordllama`` files are not installed.
    """

    name = "wordllama-l2-supercat-256"
    share = 1.0

    def _open(self) -> Parts:
        from tokenizers import Tokenizer

        root = _package_folder()
        tokenizer = Tokenizer.from_file(str(root / _TOKENIZER))
        # A text that spells "<s>" is text.
        tokenizer.encode_special_tokens = True

        def ids_of_word(word: str) -> list[int]:
            # Lone surrogates cannot be tokenised.
            clean = word.lower().encode("utf-8", "replace").decode()
            ids: list[int] = tokenizer.encode(clean, add_special_tokens=False).ids
            return ids

        return Parts(_open_table(root), Words(ids_of_word).ids)


def _package_folder() -> Path:
    spec = importlib.util.find_spec("wordllama")
    for folder in (spec.submodule_search_locations if spec else None) or ():
        if all((Path(folder) / file).is_file() for file in (_WEIGHTS, _TOKENIZER)):
            return Path(folder)
    raise MissingExtra(
        "The table of local--wordllama is not installed; run: pip install 'pincite[wordllama]'"
    )


def _open_table(root: Path) -> Table:
    import numpy as np
    from safetensors import safe_open

    from pincite.embedding.pooling import Table

    with safe_open(str(root / _WEIGHTS), framework="np") as file:
        table: Any = file.get_tensor("embedding.weight")
    rows = np.ascontiguousarray(table, dtype=np.float32)
    return Table(rows, np.ones(len(rows), dtype=np.float32))

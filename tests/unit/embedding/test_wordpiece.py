"""Our WordPiece against the reference tokenizer."""

from __future__ import annotations

import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer
from tokenizers.models import WordPiece as ReferenceModel
from tokenizers.normalizers import BertNormalizer
from tokenizers.pre_tokenizers import BertPreTokenizer

import pincite.embedding
from pincite.embedding.wordpiece import WordPiece

VOCABULARY = Path(pincite.embedding.__file__).parent / "model" / "vocabulary.txt"
PIECES = VOCABULARY.read_text(encoding="utf-8").split("\n")[:-1]
OURS = WordPiece(PIECES)


def reference() -> Tokenizer:
    ids = {piece: number for number, piece in enumerate(PIECES)}
    made = Tokenizer(ReferenceModel(ids, unk_token="[UNK]", max_input_chars_per_word=100))
    made.normalizer = BertNormalizer(lowercase=True)
    made.pre_tokenizer = BertPreTokenizer()
    return made


THEIRS = reference()


@pytest.mark.parametrize(
    "word",
    [
        "unaffable", "Don't", "(a-b)", "12,345.67", "naïve", "ÉCOLE", "東京タワー", "mañana",
        "ΟΔΟΣ", "İstanbul", "ẞtraße", "a\x00b", "\ufffd", "x" * 100, "x" * 101, "😀",
        "مرحبا", "กรุงเทพ", "हिन्दी", "foo_bar.baz()", "C++",
        "£5", "$5", "½", "ǅ", "\u0301", "[UNK]", "##ing", "한국어",
    ],
)  # fmt: skip
def test_a_word_has_the_reference_pieces(word: str) -> None:
    assert OURS(word) == THEIRS.encode(word, add_special_tokens=False).ids


SETTLED = [
    c
    for c in map(chr, range(0x3000))
    if unicodedata.ucd_3_2_0.category(c) == unicodedata.category(c)
    and unicodedata.category(c) not in {"Cs", "Cn"}
    and not c.isspace()
]
"""Characters that no Unicode version since 3.2 sees differently: the reference has its own."""


@given(st.text(st.sampled_from(SETTLED)))
def test_any_word_has_the_reference_pieces(word: str) -> None:
    assert OURS(word) == THEIRS.encode(word, add_special_tokens=False).ids

"""Token counters."""

from __future__ import annotations

import pytest
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

from pincite.chunking.tokens import approximate_tokens, token_counter
from pincite.embedding.static import StaticModel
from pincite.errors import InvalidArgument


def word_tokenizer() -> Tokenizer:
    tokenizer = Tokenizer(models.WordLevel({"[UNK]": 0, "[CLS]": 1, "a": 2}, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.post_processor = processors.TemplateProcessing("[CLS] $A", None, [("[CLS]", 1)])
    return tokenizer


def test_the_approximation() -> None:
    assert approximate_tokens("") == 0
    assert approximate_tokens("The information, 42!") == 1 + 2 + 1 + 2 + 1
    assert approximate_tokens("天气 é") == 3
    assert token_counter(None).starts("a information").tolist() == [0, 2, 8]


def test_special_tokens_count_and_truncation_does_not() -> None:
    tokenizer = word_tokenizer()
    tokenizer.enable_truncation(4)
    tokenizer.enable_padding(length=16)
    counter = token_counter(tokenizer)

    assert counter.count("a b c d e f") == 7
    assert counter.starts("a b\nc").tolist() == [0, 2, 4]
    assert tokenizer.truncation is not None


def test_the_normalised_form_counts_where_it_is_longer() -> None:
    assert token_counter(word_tokenizer()).count("ﷺ") == 1 + 4


def test_lone_surrogates_are_counted() -> None:
    counter = token_counter(word_tokenizer())

    assert counter.count("a \ud800 b") == 4
    assert counter.starts("\ud800 b").tolist() == [0, 2]


def test_a_function_counts_and_is_spread_over_lines() -> None:
    counter = token_counter(lambda text: len(text.split()))

    assert counter.count("one two three") == 3
    assert counter.starts("ab cd\n\nef").tolist() == [0, 3, 7]


def test_fingerprints_tell_tokenizers_apart() -> None:
    other = word_tokenizer()
    other.normalizer = normalizers.Sequence([])
    found = [token_counter(t).fingerprint for t in (None, len, word_tokenizer(), other)]

    assert len(set(found)) == 4
    assert token_counter(word_tokenizer()).fingerprint == found[2]
    assert found[1] == "function:builtins.len"


def test_the_model_behind_a_function_is_part_of_its_fingerprint() -> None:
    found = token_counter(StaticModel().count_tokens).fingerprint

    assert found.endswith("StaticModel.count_tokens:pincite-static-256")


def test_anything_else_is_refused() -> None:
    with pytest.raises(InvalidArgument, match=r"tokenizer is a str.*None"):
        token_counter("bert")  # type: ignore[arg-type]

"""The forms of a model's name."""

from __future__ import annotations

import pytest

from pincite.embedding.names import MODEL_FORMS, ModelName, parse_model
from pincite.errors import InvalidArgument


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("local--static", ModelName("endpoint", "local--static")),
        (" open_ai--text-3.large ", ModelName("endpoint", "open_ai--text-3.large")),
        ("ollama:bge-m3", ModelName("ollama", "bge-m3")),
        ("ollama:library/bge-m3:latest", ModelName("ollama", "library/bge-m3:latest")),
        ("Ollama:BGE", ModelName("ollama", "BGE")),
        (
            "custom:org/e5:large:http://h:80/v1/",
            ModelName("custom", "org/e5:large", "http://h:80/v1"),
        ),
        ("custom:m:HTTPS://host", ModelName("custom", "m", "HTTPS://host")),
        ("huggingface:BAAI/bge-m3:local", ModelName("huggingface", "BAAI/bge-m3")),
    ],
)
def test_every_form_is_read(text: str, expected: ModelName) -> None:
    assert parse_model(text) == expected
    assert parse_model(expected.endpoint) == expected


@pytest.mark.parametrize(
    "text",
    [
        "", "   ", "static", "local-static", "--x", "local--", "ollama:", "ollama:a:b:c",
        "ollama:a b", "custom:m", "custom::http://h", "custom:m:ftp://h", "custom:m:http://",
        "huggingface:m", "huggingface:m:remote", "huggingface::local", "openai:m", "a--b\nc",
        "../../x--y",
    ],
)  # fmt: skip
def test_anything_else_lists_the_forms(text: str) -> None:
    with pytest.raises(InvalidArgument) as caught:
        parse_model(text)

    assert isinstance(caught.value, ValueError)
    assert all(form in str(caught.value) for form in MODEL_FORMS)

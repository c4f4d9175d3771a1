from __future__ import annotations

import pytest

from pincite import errors

BUILTINS = {
    "CollectionMismatch": ValueError,
    "EmbeddingError": ValueError,
    "InvalidArgument": ValueError,
    "InvalidQueryError": ValueError,
    "MissingExtra": ImportError,
    "ParseError": ValueError,
    "StoreNotFound": FileNotFoundError,
    "StoreUnavailable": ConnectionError,
    "UnsupportedFormat": ValueError,
}


@pytest.mark.parametrize("name", errors.__all__)
def test_every_error_is_one_of_ours_and_the_builtin_that_callers_expect(name: str) -> None:
    error = getattr(errors, name)

    assert issubclass(error, errors.PinciteError)
    assert issubclass(error, BUILTINS.get(name, Exception))
    assert name in (errors.__doc__ or "")


def test_an_invalid_query_names_its_field_or_none() -> None:
    assert errors.InvalidQueryError("no").field is None
    assert errors.InvalidQueryError("no", field="year").field == "year"

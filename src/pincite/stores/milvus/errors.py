"""Milvus's errors as ours."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import grpc
from pymilvus import exceptions as milvus

from pincite.errors import (
    InvalidArgument,
    PinciteError,
    StoreLocked,
    StoreNotFound,
    StoreUnavailable,
)

__all__ = ["translated"]

_AWAY: Final = (
    milvus.ConnectError,
    milvus.MilvusUnavailableException,
    milvus.ConnectionNotExistException,
    milvus.SchemaMismatchRetryableException,
)
_REFUSED: Final = (
    milvus.ParamError,
    milvus.DataTypeNotMatchException,
    milvus.DataTypeNotSupportException,
    milvus.DataNotMatchException,
    milvus.PrimaryKeyException,
    milvus.FieldTypeException,
    milvus.FieldsTypeException,
    milvus.InvalidConsistencyLevel,
)
_NOT_FOUND: Final = 100
_INVALID: Final = frozenset({1, 1100, 1101, 1802, 2000, 2200})


@contextmanager
def translated(place: str) -> Iterator[None]:
    """Raise every error of the client as one of ours that names ``place``."""
    try:
        yield
    except PinciteError:
        raise
    except _AWAY as error:
        raise StoreUnavailable(
            f"{place} gave no answer ({error}); check that it runs, and try again."
        ) from error
    except _REFUSED as error:
        raise InvalidArgument(f"{place} refused the call: {error}. Change the call.") from error
    except milvus.CollectionNotExistException as error:
        raise _missing(place, error) from error
    except milvus.MilvusException as error:
        raise _answered(place, error) from error
    except (grpc.RpcError, OSError) as error:
        raise StoreUnavailable(
            f"{place} gave no answer ({error}); check that it runs, and try again."
        ) from error


def _answered(place: str, error: milvus.MilvusException) -> PinciteError:
    if error.code == _NOT_FOUND:
        return _missing(place, error)
    if "lock" in str(error).lower():
        return StoreLocked(f"{place} is in use by another program ({error}); close it there.")
    if error.code in _INVALID:
        return InvalidArgument(f"{place} refused the call: {error}. Change the call.")
    return StoreUnavailable(f"{place} could not answer: {error}. Try again.")


def _missing(place: str, error: milvus.MilvusException) -> StoreNotFound:
    return StoreNotFound(f"{place} lacks a collection of this store ({error}); write to it first.")

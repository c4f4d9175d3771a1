"""Whatever psycopg and its pool raise, as an error of ours that says what to do."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import psycopg
import psycopg_pool
from psycopg import errors as server

from pincite.errors import (
    InvalidArgument,
    PinciteError,
    StoreCorrupt,
    StoreNotFound,
    StoreUnavailable,
    Unconfigured,
)

__all__ = ["is_connection_lost", "mapped", "translated"]

_RULES: Final[tuple[tuple[tuple[type[Exception], ...], type[PinciteError], str], ...]] = (
    (
        (psycopg_pool.PoolTimeout, psycopg_pool.TooManyRequests),
        StoreUnavailable,
        (
            "No connection of the pool came free in time; try again, raise the pool's max_size or"
            " timeout, and check that the server runs."
        ),
    ),
    (
        (psycopg_pool.PoolClosed,),
        Unconfigured,
        (
            "The connection pool is not open; open it (`async with pool:`) before the store is"
            " used, and close it afterwards."
        ),
    ),
    (
        (server.InsufficientPrivilege,),
        Unconfigured,
        (
            "The database role lacks a right. Readers need USAGE on the schema and SELECT on its"
            " tables, writers own the tables; `CREATE EXTENSION vector` may need a superuser, once."
        ),
    ),
    (
        (server.InvalidPassword, server.InvalidAuthorizationSpecification),
        Unconfigured,
        "The server refused the role or its password; correct the store's URI.",
    ),
    (
        (server.InvalidCatalogName,),
        Unconfigured,
        "The database is not there; create it (`createdb NAME`), or correct the store's URI.",
    ),
    (
        (server.UndefinedTable, server.InvalidSchemaName),
        StoreNotFound,
        "The schema holds no Pincite store; call `await store.setup()` once, or correct schema=.",
    ),
    (
        (server.UndefinedFile, server.FeatureNotSupported, server.UndefinedObject),
        Unconfigured,
        (
            "The server offers no pgvector 0.7 or later; install it there"
            " (https://github.com/pgvector/pgvector) and run `CREATE EXTENSION vector`."
        ),
    ),
    (
        (server.ReadOnlySqlTransaction,),
        Unconfigured,
        "The server takes no writes (a standby, or a read-only role); connect to the primary.",
    ),
    (
        (server.QueryCanceled,),
        StoreUnavailable,
        (
            "The server ended the statement (statement_timeout, or a cancel); try again, or raise"
            " the role's statement_timeout."
        ),
    ),
    (
        (
            server.DeadlockDetected,
            server.SerializationFailure,
            server.LockNotAvailable,
            server.UniqueViolation,
        ),
        StoreUnavailable,
        "Another writer was in the way and nothing was written; try again.",
    ),
    (
        (server.DataCorrupted, server.IndexCorrupted),
        StoreCorrupt,
        "The server found damaged data; restore a backup, or REINDEX.",
    ),
    (
        (psycopg.DataError,),
        InvalidArgument,
        "The server refused a value; shorten or correct it.",
    ),
    (
        (psycopg.NotSupportedError,),
        Unconfigured,
        "The server, or a proxy before it, cannot do this; connect to PostgreSQL 14 or later.",
    ),
    (
        (psycopg.OperationalError, psycopg.InterfaceError),
        StoreUnavailable,
        (
            "The connection failed or the server stopped; what was not committed was not written."
            " Try again, and check that the server runs."
        ),
    ),
    (
        (psycopg.Error,),
        StoreCorrupt,
        (
            "The tables are not those that this version of Pincite writes; call `await"
            " store.setup()`, use another schema, or restore a backup."
        ),
    ),
)
"""The first rule that an error belongs to decides."""

_REFUSED: Final = re.compile(
    r"password authentication failed|no password supplied|role .* does not exist"
    r"|database .* does not exist|no pg_hba.conf entry|invalid connection option|invalid URI"
    r"|missing \"=\" after",
)


def translated(error: psycopg.Error) -> PinciteError:
    """The error of ours for one of psycopg's."""
    for kinds, ours, advice in _RULES:
        if isinstance(error, kinds):
            return _refused(error) or ours(f"PostgreSQL: {_reason(error)}. {advice}")
    raise AssertionError("unreachable: the last rule takes every error of psycopg")


def is_connection_lost(error: psycopg.Error) -> bool:
    """Whether other idle connections of the pool may be broken too."""
    if isinstance(error, psycopg_pool.PoolTimeout | psycopg_pool.PoolClosed):
        return False
    lost = isinstance(error, psycopg.OperationalError | psycopg.InterfaceError)
    return lost and (error.sqlstate is None or error.sqlstate.startswith(("08", "57P")))


@contextmanager
def mapped() -> Iterator[None]:
    """Raise errors of psycopg as errors of ours, from the original."""
    try:
        yield
    except psycopg.Error as error:
        raise translated(error) from error


def _refused(error: psycopg.Error) -> PinciteError | None:
    """A connection that no retry will bring about: libpq tells the reason in words alone."""
    if error.sqlstate is None and _REFUSED.search(str(error)):
        return Unconfigured(
            f"PostgreSQL: {_reason(error)}. Correct the store's URI: role, password and database."
        )
    return None


def _reason(error: psycopg.Error) -> str:
    message = error.diag.message_primary or str(error) or type(error).__name__
    return " ".join(message.split()).rstrip(".")

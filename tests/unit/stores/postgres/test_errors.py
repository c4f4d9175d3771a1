"""Every error of psycopg and its pool has one of ours, of the right class, that says what to do."""

from __future__ import annotations

import inspect

import psycopg
import psycopg_pool
import pytest
from psycopg import errors as server

from pincite.errors import (
    InvalidArgument,
    PinciteError,
    StoreCorrupt,
    StoreNotFound,
    StoreUnavailable,
    Unconfigured,
)
from pincite.stores.postgres.errors import is_connection_lost, mapped, translated

EVERY = sorted(
    {
        kind
        for module in (psycopg, psycopg_pool, server)
        for kind in vars(module).values()
        if inspect.isclass(kind) and issubclass(kind, psycopg.Error)
    },
    key=lambda kind: kind.__name__,
)

RIGHT = {
    psycopg_pool.PoolTimeout: StoreUnavailable,
    psycopg_pool.TooManyRequests: StoreUnavailable,
    psycopg_pool.PoolClosed: Unconfigured,
    server.AdminShutdown: StoreUnavailable,
    server.CrashShutdown: StoreUnavailable,
    server.CannotConnectNow: StoreUnavailable,
    server.ConnectionFailure: StoreUnavailable,
    server.TooManyConnections: StoreUnavailable,
    server.DiskFull: StoreUnavailable,
    server.OutOfMemory: StoreUnavailable,
    server.QueryCanceled: StoreUnavailable,
    server.DeadlockDetected: StoreUnavailable,
    server.SerializationFailure: StoreUnavailable,
    server.UniqueViolation: StoreUnavailable,
    server.InsufficientPrivilege: Unconfigured,
    server.InvalidPassword: Unconfigured,
    server.InvalidCatalogName: Unconfigured,
    server.ReadOnlySqlTransaction: Unconfigured,
    server.UndefinedFile: Unconfigured,
    server.UndefinedTable: StoreNotFound,
    server.InvalidSchemaName: StoreNotFound,
    server.UndefinedColumn: StoreCorrupt,
    server.IndexCorrupted: StoreCorrupt,
    server.StringDataRightTruncation: InvalidArgument,
    psycopg.InterfaceError: StoreUnavailable,
    psycopg.OperationalError: StoreUnavailable,
}


def test_there_are_many() -> None:
    assert len(EVERY) > 200


@pytest.mark.parametrize("kind", EVERY, ids=lambda kind: kind.__name__)
def test_every_error_is_mapped(kind: type[psycopg.Error]) -> None:
    with pytest.raises(PinciteError) as caught, mapped():
        raise kind("the reason")

    assert isinstance(caught.value.__cause__, kind)
    assert "the reason" in str(caught.value)
    assert len(str(caught.value)) > len("PostgreSQL: the reason.") + 20, "it says what to do"


@pytest.mark.parametrize(("kind", "ours"), RIGHT.items(), ids=lambda kind: kind.__name__)
def test_an_error_becomes_the_right_one(
    kind: type[psycopg.Error], ours: type[PinciteError]
) -> None:
    assert type(translated(kind("why"))) is ours


@pytest.mark.parametrize(
    "message",
    [
        'connection failed: FATAL:  password authentication failed for user "ann"',
        'connection failed: FATAL:  database "nowhere" does not exist',
        'connection failed: FATAL:  role "nobody" does not exist',
        "connection failed: fe_sendauth: no password supplied",
    ],
)
def test_a_connection_that_no_retry_brings_about_is_unconfigured(message: str) -> None:
    assert type(translated(psycopg.OperationalError(message))) is Unconfigured


def test_what_is_no_error_of_psycopg_passes() -> None:
    with pytest.raises(KeyError), mapped():
        raise KeyError("mine")


def test_only_a_lost_connection_makes_others_suspect() -> None:
    assert is_connection_lost(server.AdminShutdown("x"))
    assert is_connection_lost(psycopg.OperationalError("server closed the connection"))
    assert not is_connection_lost(server.QueryCanceled("x"))
    assert not is_connection_lost(psycopg_pool.PoolTimeout("x"))

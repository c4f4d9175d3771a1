"""What the contract classes share: how a test runs, and that none is replaced in silence."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from typing import Any, Protocol

import anyio
import pytest

__all__ = [
    "Contract",
    "StoreFactory",
    "contract_tests",
    "run_contract",
    "run_test",
    "scenario",
    "skip_without",
]


class StoreFactory(Protocol):
    """What the fixture ``store_factory`` gives: each call returns a new, empty store.

    A store is a ``ManagedSink``, or any object with ``upsert`` and ``reader``; the factory may be
    a coroutine function. ``setup`` is called before a test and ``aclose`` after it where they
    exist.
    """

    def __call__(self) -> Any: ...


def scenario(test: Callable[..., Awaitable[None]]) -> Callable[..., None]:
    """Make an async test of (self, store) a plain one that pytest runs with ``store_factory``.

    It runs by ``anyio.run``, so that no plugin is needed.
    """

    def run(self: Any, store_factory: StoreFactory) -> None:
        anyio.run(_with_store, store_factory, lambda store: test(self, store))

    run.__name__, run.__qualname__, run.__doc__ = test.__name__, test.__qualname__, test.__doc__
    vars(run)["is_contract_test"] = True
    return run


async def _with_store(factory: StoreFactory, use: Callable[[Any], Awaitable[None]]) -> None:
    made = factory()
    store = await made if inspect.isawaitable(made) else made
    try:
        if hasattr(store, "setup"):
            await store.setup()
        await use(store)
    finally:
        if hasattr(store, "aclose"):
            with anyio.CancelScope(shield=True):
                await store.aclose()


def skip_without(store: Any, *methods: str) -> None:
    """Skip a test of an ability that a third party's store does not have."""
    for method in methods:
        if not hasattr(store, method):
            pytest.skip(f"{type(store).__name__} has no {method}")


class Contract:
    """Base of the contract classes; a subclass gives the fixture ``store_factory``.

    Creating a class that replaces a contract test raises ``TypeError``, unless the replacement
    is marked ``xfail`` with a reason.
    """

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        for name in contract_tests(cls):
            found = getattr(cls, name)
            if not _is_scenario(found) and not _is_excused(found):
                raise TypeError(
                    f"{cls.__name__} replaces the contract test {name}; mark the replacement with"
                    " @pytest.mark.xfail(reason=...) that says why the store cannot pass it."
                )


def contract_tests(contract: type[Contract]) -> list[str]:
    """The names of a contract's tests, sorted."""
    own = (vars(base).items() for base in contract.__mro__)
    return sorted({name for items in own for name, value in items if _is_scenario(value)})


def _is_scenario(test: object) -> bool:
    return getattr(test, "is_contract_test", False) is True


def _is_excused(test: object) -> bool:
    marks = getattr(test, "pytestmark", [])
    return any(mark.name == "xfail" and mark.kwargs.get("reason") for mark in marks)


def run_contract(contract: type[Contract], store_factory: StoreFactory) -> dict[str, Exception]:
    """Run every test of a contract outside pytest; the failures by test name.

    Skipped tests are left out. For trying a store in a shell, and for testing the contract.
    """
    failures: dict[str, Exception] = {}
    for name in contract_tests(contract):
        failure = run_test(contract, name, store_factory)
        if failure is not None:
            failures[name] = failure
    return failures


def run_test(contract: type[Contract], name: str, store_factory: StoreFactory) -> Exception | None:
    """Run one test of a contract outside pytest; its failure, None when it passed or skipped."""
    try:
        getattr(contract(), name)(store_factory)
    except pytest.skip.Exception:
        return None
    except pytest.fail.Exception as failure:
        return AssertionError(str(failure))
    except Exception as failure:  # noqa: BLE001 - whatever a store raises is its failure
        return failure
    return None

"""The marks `window` and `slow`, from what a test uses; `packaging/test --quick` runs the rest.

`window`: it needs Qt's application, as it shows a widget. `slow`: it asks a peer (trace_processor,
torch, executorch), looks into a built bundle, or is a benchmark.
Others that take more than a second have `@pytest.mark.slow` themselves.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from types import CodeType, FunctionType

import pytest

TESTS = Path(__file__).parent
SLOW_CALLS = {"TraceProcessor", "torch", "executorch", "damaged"}
SLOW_PLACES = tuple(
    TESTS / place
    for place in (
        "bench",
        "cli/test_batch_export.py",
        "fleet",
        "packaging/test_bundle.py",
        "peers",
        "render/test_fidelity.py",
    )
)


def mark(item: pytest.Function) -> None:
    """Mark a test by what it and its fixtures call."""
    names = {name for each in _functions(item) for name in _names_of_all(each)}
    if "qapp" in item.fixturenames:
        item.add_marker("window")
    if names & SLOW_CALLS or _is_slow_place(item.path):
        item.add_marker("slow")


# Most tests have a file and fixtures that others have too.
@cache
def _is_slow_place(path: Path) -> bool:
    return any(path.is_relative_to(place) for place in SLOW_PLACES)


@cache
def _names_of_all(function: Callable[..., object]) -> frozenset[str]:
    return frozenset(_names_in(function, set()))


def _functions(item: pytest.Function) -> Iterator[Callable[..., object]]:
    yield item.function
    defined = item._fixtureinfo.name2fixturedefs
    for name in item.fixturenames:
        for fixture in defined.get(name, ())[-1:]:
            yield fixture.func


def _names_in(function: object, seen: set[object]) -> set[str]:
    """What a function names, and what the functions of its own module name that it calls."""
    function = inspect.unwrap(function) if callable(function) else function
    if not isinstance(function, FunctionType) or function in seen:
        return set()
    seen.add(function)
    names = _names_of(function.__code__)
    for name in tuple(names):
        called = function.__globals__.get(name)
        if isinstance(called, FunctionType) and called.__module__ == function.__module__:
            names |= _names_in(called, seen)
    return names


def _names_of(code: CodeType) -> set[str]:
    inner = (_names_of(each) for each in code.co_consts if isinstance(each, CodeType))
    return {*code.co_names}.union(*inner)

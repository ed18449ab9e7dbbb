"""How long a test takes, told from what it calls: the marks `window` and `slow`.

`window`: it builds the whole window with all panels. `slow`: it asks a peer (trace_processor,
torch, executorch), looks into a built bundle, or is a benchmark. `packaging/test --quick` runs the
rest.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from pathlib import Path
from types import CodeType, FunctionType

import pytest

TESTS = Path(__file__).parent
WINDOWS = {"MainWindow", "controller_of"}
PEERS = {"TraceProcessor", "torch", "executorch"}
SLOW_PLACES = (TESTS / "bench", TESTS / "peers", TESTS / "packaging/test_bundle.py")


def mark(item: pytest.Function) -> None:
    """Mark a test by what it and its fixtures call."""
    names = {name for each in _functions(item) for name in _names_in(each, set())}
    if names & WINDOWS:
        item.add_marker("window")
    if names & PEERS or any(item.path.is_relative_to(place) for place in SLOW_PLACES):
        item.add_marker("slow")


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

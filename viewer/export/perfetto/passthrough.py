"""Data that an imported trace already contains, so that it is exported unchanged.

An Opscope export that is opened again is a trace whose columns contain what was known about its
slices: their operators, handles, source lines, categories. Written like any other columns, they
would become "column operator", and arrays would become texts. Here they are recognized, so that a
file that is exported, opened and exported again is identical byte by byte.

For a trace from our own export (`Trace.provenance`) these are all arguments that `writer.py`
documents; for traces of other tools, the category and the correlation ID, which have Perfetto
fields. Links found in this session take precedence over what the file contains.

Columns of such a trace belong to its identities (`viewer.formats.perfetto.opscope_exports`): all
slices of one key have one value, except for `event` and `run`, which vary by slice.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np

from viewer.arrays import numbers_at
from viewer.export.perfetto.source import KeyFacts
from viewer.model.trace import Column, Trace

OF_TOOLS = frozenset(("category", "correlation_id"))
_TEXTS_OF_KEYS = frozenset(
    ("operator", "debug_handles", "module", "source", "called_from", "link_reason", "location")
)
_ESTIMATE = ("estimate_ticks", "estimate_ns")
# The formats of tools that assign categories to slices.
_TOOLS = frozenset(("Perfetto trace", "Chrome trace"))
_Found = TypeVar("_Found")
_Value = int | float | bool | str | None


@dataclass(frozen=True, slots=True)
class Stated:
    """The columns of a trace that are not columns of its input, and their contents.

    facts: per key, None if there is nothing; links take precedence. locations: per key, in addition
    to those of the keys themselves; empty if there are none.
    """

    category: Column | None = None
    correlation: Column | None = None
    event: Column | None = None
    run: Column | None = None
    facts: KeyFacts | None = None
    locations: Sequence[str | None] = ()
    names: frozenset[str] = field(default_factory=frozenset)


def stated(trace: Trace, linked: KeyFacts | None) -> Stated:
    """Collect the recognized columns of a trace; linked: facts on its keys from a program."""
    columns = trace.slices.columns
    texts = {name for name, column in columns.items() if column.strings is not None}
    numbers = columns.keys() - texts
    names = set[str]()
    if trace.provenance or trace.format in _TOOLS:
        names |= OF_TOOLS & texts
    if trace.provenance:
        names |= (_TEXTS_OF_KEYS | {"event"}) & texts | {"run"} & numbers
        if numbers.issuperset(_ESTIMATE):
            names.update(_ESTIMATE)
    stated_columns = {name: columns[name] for name in names}
    of_keys = {name: stated_columns[name] for name in names & {*_TEXTS_OF_KEYS, *_ESTIMATE}}
    slice_of_key = _slice_of_keys(trace) if of_keys else []
    return Stated(
        category=stated_columns.get("category"),
        correlation=stated_columns.get("correlation_id"),
        event=stated_columns.get("event"),
        run=stated_columns.get("run"),
        facts=_with_links(slice_of_key, of_keys, linked) if of_keys else linked,
        locations=_per_key(slice_of_key, stated_columns["location"], _text)
        if "location" in stated_columns
        else (),
        names=frozenset(names),
    )


def _slice_of_keys(trace: Trace) -> list[int]:
    """Return a slice of every key, -1 if there is none."""
    slice_of_key = numbers_at(len(trace.keys), trace.slices.key, np.arange(len(trace.slices)), -1)
    numbers: list[int] = slice_of_key.tolist()
    return numbers


def _per_key(
    slice_of_key: list[int], column: Column, value: Callable[[_Value], _Found]
) -> list[_Found]:
    """Return a column's value for every key; at: a slice of each."""
    return [value(column.value(i) if i >= 0 else None) for i in slice_of_key]


def _with_links(
    slice_of_key: list[int], columns: dict[str, Column], linked: KeyFacts | None
) -> KeyFacts:
    """Return facts per key: from a link if it found operators, else from the columns."""
    linked = linked or KeyFacts.none(len(slice_of_key))
    is_linked = [bool(operators) for operators in linked.operators]

    def merged(
        name: str, of_links: Sequence[_Found], value: Callable[[_Value], _Found]
    ) -> list[_Found]:
        column = columns.get(name)
        if column is None:
            return list(of_links)
        per_key = _per_key(slice_of_key, column, value)
        return [
            of_links[key] if is_linked[key] else per_key[key] for key in range(len(slice_of_key))
        ]

    estimates = dict(linked.estimates)
    if _ESTIMATE[0] in columns:
        for key, i in enumerate(slice_of_key):
            ticks, ns = (columns[name].value(i) if i >= 0 else None for name in _ESTIMATE)
            if key not in estimates and ticks is not None and ns is not None:
                estimates[key] = int(ticks), float(ns)
    return KeyFacts(
        correlation=linked.correlation,
        debug_handles=merged("debug_handles", linked.debug_handles, _handles),
        operators=merged("operator", linked.operators, _texts),
        modules=merged("module", linked.modules, _text),
        sources=merged("source", linked.sources, _text),
        callers=merged("called_from", linked.callers, _text),
        reasons=merged("link_reason", linked.reasons, lambda value: _text(value) or ""),
        estimates=estimates,
    )


def _text(value: _Value) -> str | None:
    return None if value is None else str(value)


def _list(value: _Value) -> list[object]:
    """Parse the JSON text of an array, as kept by the reader; other values become one item."""
    if value is None:
        return []
    try:
        parsed = json.loads(str(value))
    except (ValueError, RecursionError):
        return [value]
    return parsed if isinstance(parsed, list) else [value]


def _texts(value: _Value) -> tuple[str, ...]:
    return tuple(str(element) for element in _list(value))


def _handles(value: _Value) -> tuple[int | str, ...]:
    return tuple(element if isinstance(element, int) else str(element) for element in _list(value))

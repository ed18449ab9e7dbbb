"""Evaluates a query on a trace, by whole columns.

A text is searched once in every distinct name, label, operator set and identity, as a plain
substring; the result is then spread over the slices by their codes. Durations are compared exactly,
as fractions. A slice timed by a foreign clock only matches its own unit, and never `self`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from viewer.analysis.links.labels import run_label, track_name
from viewer.analysis.links.link_table import LinkTable
from viewer.analysis.links.mlir_locations import positions_of
from viewer.analysis.search.query import (
    COMPARED,
    CYCLES,
    UNITS,
    AllOf,
    AnyOf,
    Argument,
    FlagTerm,
    Measure,
    Node,
    Not,
    Query,
    Text,
    compares,
)
from viewer.analysis.statistics.group_keys import CATEGORY, nearest
from viewer.arrays import Bools, Codes, Ints
from viewer.codecs.json_values import whole_number
from viewer.dataclasses import dataclass
from viewer.model.queries import NATIVE_DURATION, NATIVE_UNIT, foreign, run_of_slices, self_times
from viewer.model.timing import Timing, timings
from viewer.model.trace import Column, RunKind, Slices
from viewer.program.program import type_of

# Why a query that asks for cycles finds nothing.
NO_CYCLES = "no open file counts cycles: write a time, such as 1ms"
_FARTHEST = Fraction(10**300)  # just below the largest float
_LINE = re.compile(r"(.*):([0-9]{1,9})", re.S)


@dataclass(eq=False)
class SearchedTrace:
    """A searchable trace; its texts are casefolded once, on first use.

    labels, label_strings: the labels of the slices, as returned by `slice_labels`. ns_per_tick,
    offset_ns: how its ticks map to the time axis.
    """

    table: LinkTable
    labels: Codes
    label_strings: Sequence[str]
    ns_per_tick: Fraction = Fraction(1)
    offset_ns: int = 0

    def matches(self, query: Query) -> Bools:
        """Return per slice whether the query matches; all False for a query without a tree."""
        if query.node is None:
            return np.zeros(len(self._slices), np.bool_)
        return self._ask(query.node)

    @property
    def counts_cycles(self) -> bool:
        """Whether any duration in it is in cycles."""
        return self.table.trace.clock.unit == "cycle" or CYCLES in self._native[1]

    def _ask(self, node: Node) -> Bools:
        match node:
            case Text():
                return self._texts(node)
            case Measure():
                return self._measured(node)
            case Argument():
                return self._argued(node)
            case FlagTerm(name):
                return self._flagged(name)
            case Not(part):
                return ~self._ask(part)
            case AllOf(parts):
                found = self._ask(parts[0])
                for part in parts[1:]:
                    if not found.any():
                        break
                    found &= self._ask(part)
                return found
            case AnyOf(parts):
                found = self._ask(parts[0])
                for part in parts[1:]:
                    found |= self._ask(part)
                return found

    # -- texts -----------------------------------------------------------------------------------

    def _texts(self, node: Text) -> Bools:
        text, slices = node.text, self._slices
        match node.field:
            case "":
                found = _spread(_having(text, self._names), slices.name)
                found |= _spread(_having(text, self._labels), self.labels)
                keys = self._of_sets("label", text) | self._in_file(text) | self._identified(text)
                return found | _spread(keys, slices.key)
            case "name":
                return _spread(_having(text, self._names), slices.name)
            case "op" | "type" | "module":
                return _spread(self._of_sets(node.field, text), slices.key)
            case "file":
                return _spread(self._in_file(text), slices.key)
            case "id":
                return _spread(self._identified(text) | self._handled(text), slices.key)
            case "delegate":
                return _spread(_having(text, self._backends), slices.key)
            case "thread" | "process":
                tracks = _having(text, self._threads if node.field == "thread" else self._processes)
                rows = _spread(tracks, slices.row_track)
                return np.repeat(rows, np.diff(slices.row_ptr))
            case "category":
                return self._argued(Argument(CATEGORY, ":", text))
        runs = self.table.trace.runs
        if (number := whole_number(text)) is not None:
            selected = [r.kind is RunKind.INFERENCE and r.number == number for r in runs]
        else:
            selected = [text in run_label(self.table, run).casefold() for run in runs]
        return np.array([*selected, False], np.bool_)[self._runs]

    def _of_sets(self, what: str, text: str) -> Bools:
        """Return per key whether a text of its operators, or of their nodes, contains the text."""
        found = [*_having(text, self._set_texts[what]), False]
        return np.array(found, np.bool_)[self.table.node_set_of_key]

    def _in_file(self, text: str) -> Bools:
        """Return per key whether it comes from a file, or from one of its lines: "model.py:12"."""
        match = _LINE.fullmatch(text)
        path, line = (match[1], int(match[2])) if match else (text, None)
        hit = [
            any(path in file and line in (None, at) for file, at in places)
            for places in self._set_places
        ]
        found = np.array([*hit, False], np.bool_)[self.table.node_set_of_key]
        for key, places in self._located:
            if any(path in file and line in (None, at) for file, at in places):
                found[key] = True
        return found

    def _identified(self, text: str) -> Bools:
        """Return per key whether its delegate identifier equals a number or contains the text."""
        number = whole_number(text)
        return np.fromiter(
            (
                text in value if isinstance(value, str) else value is not None and value == number
                for value in self._identifiers
            ),
            np.bool_,
            len(self._identifiers),
        )

    def _handled(self, text: str) -> Bools:
        """Return per key whether it has the number as a debug handle."""
        found = np.zeros(len(self.table.links), np.bool_)
        if (number := whole_number(text)) is not None:
            found[:] = [number in link.handles for link in self.table.links]
        return found

    # -- numbers ---------------------------------------------------------------------------------

    def _measured(self, node: Measure) -> Bools:
        if node.what == "start":
            return self._started(node)
        counted = self.table.trace.clock.unit == "cycle"
        native, units = self._native
        if node.cycles and not counted:
            found = np.zeros(len(self._slices), np.bool_)
        else:
            value = node.value if node.cycles else node.value / self.ns_per_tick
            ticks = self._long if node.what == "dur" else self._self
            found = _compared(ticks, node.sign, value)
            found[native] = False
        if node.what == "dur" and len(native):
            values = self._slices.columns[NATIVE_DURATION].values[native]
            for unit in dict.fromkeys(units):
                scale = UNITS.get(unit)
                if scale is None or (scale == 0) != node.cycles:
                    continue
                own = np.array([unit == u for u in units], np.bool_)
                value = node.value / (scale or 1)
                found[native[own]] = _compared(values[own], node.sign, value)
        return found

    def _argued(self, node: Argument) -> Bools:
        """Return per slice whether an argument has any value, or one that compares so."""
        hits = np.zeros(len(self._slices), np.bool_)
        for name, column in self._slices.columns.items():
            if name.casefold() == node.name:
                here = _compared_values(column, node)
                hits |= here if column.valid is None else here & column.valid
        return hits

    def _started(self, node: Measure) -> Bools:
        trace = self.table.trace
        if not node.cycles:
            value = (node.value - self.offset_ns) / self.ns_per_tick
        elif trace.clock.unit == "cycle":
            value = node.value + trace.start
        else:
            return np.zeros(len(self._slices), np.bool_)
        return _compared(self._slices.start, node.sign, value)

    def _flagged(self, name: str) -> Bools:
        slices, table = self._slices, self.table
        match name:
            case "linked":
                return _spread(table.states == 2, slices.key)
            case "unlinked":
                return _spread(table.states == 1, slices.key)
            case "shared":
                sets = np.array([*(len(x) > 1 for x in table.sets), False], np.bool_)
                return _spread(sets[table.set_of_key], slices.key)
            case "zero":
                return np.asarray(slices.start == slices.end)
        return timings(slices) & Timing.DERIVED > 0

    # -- searched data ---------------------------------------------------------------------------

    @property
    def _slices(self) -> Slices:
        return self.table.trace.slices

    @cached_property
    def _names(self) -> list[str]:
        return _folded(self.table.trace.strings)

    @cached_property
    def _labels(self) -> list[str]:
        return _folded(self.label_strings)

    @cached_property
    def _set_texts(self) -> dict[str, list[str]]:
        """For each field, one text per node set of the link table."""
        table, program = self.table, self.table.program
        if program is None:
            return {key: [] for key in ("label", "op", "type", "module")}
        own = [
            [program.operators[i] for i in table.sets[operators]]
            for operators in table.set_of_node_set.tolist()
        ]
        ran = [[program.nodes[i] for i in nodes] for nodes in table.node_sets]
        return {
            "label": [_joined(op.label for op in ops) for ops in own],
            "op": [_joined(op.name for op in ops) for ops in own],
            "type": [
                _joined([*map(type_of, parts), *(node.op for node in nodes)])
                for parts, nodes in zip(table.parts, ran, strict=True)
            ],
            "module": [_joined(part.module_path for part in parts) for parts in table.parts],
        }

    @cached_property
    def _set_places(self) -> list[tuple[tuple[str, int], ...]]:
        """The source lines of every node set as (casefolded file, line)."""
        return [
            tuple(
                (frame.path.casefold(), frame.line)
                for frame in (part.source for part in parts)
                if frame is not None
            )
            for parts in self.table.parts
        ]

    @cached_property
    def _located(self) -> list[tuple[int, tuple[tuple[str, int], ...]]]:
        """The keys with a location of their own, and the places in it."""
        found = []
        for key, text in enumerate(self.table.trace.keys.location.tolist()):
            if text:
                places = tuple((p.file.casefold(), p.line) for p in positions_of(text))
                if places:
                    found.append((key, places))
        return found

    @cached_property
    def _identifiers(self) -> list[int | str | None]:
        return [
            value.casefold() if isinstance(value, str) else value
            for value in self.table.trace.keys.identifier.tolist()
        ]

    @cached_property
    def _backends(self) -> list[str]:
        return [link.backend.casefold() for link in self.table.links]

    @cached_property
    def _threads(self) -> list[str]:
        tracks = self.table.trace.tracks
        return [_joined((t.thread, track_name(self.table, i))) for i, t in enumerate(tracks)]

    @cached_property
    def _processes(self) -> list[str]:
        return _folded(track.process for track in self.table.trace.tracks)

    @cached_property
    def _runs(self) -> Ints:
        return run_of_slices(self.table.trace)

    @cached_property
    def _long(self) -> Ints:
        return np.asarray(self._slices.end - self._slices.start)

    @cached_property
    def _self(self) -> Ints:
        return self_times(self.table.trace)

    @cached_property
    def _native(self) -> tuple[Ints, list[str]]:
        """The slices timed by foreign clocks, and the unit of each."""
        at = foreign(self._slices)
        unit = self._slices.columns.get(NATIVE_UNIT)
        texts = [str(unit.value(i) if unit else "ticks").casefold() for i in at.tolist()]
        return at, [CYCLES if text.startswith("cycle") else text for text in texts]


def _folded(texts: Iterable[str]) -> list[str]:
    return [text.casefold() for text in texts]


def _joined(texts: Iterable[str]) -> str:
    """Join texts so that they are searched at once; no query contains the separator."""
    return "\0".join(texts).casefold()


def _having(text: str, texts: Sequence[str]) -> Bools:
    return np.fromiter((text in other for other in texts), np.bool_, len(texts))


def _spread(found: Bools, codes: Codes) -> Bools:
    """Return the result of each slice from the result of each code."""
    if not found.any():
        return np.zeros(len(codes), np.bool_)
    if found.all():
        return np.ones(len(codes), np.bool_)
    return np.asarray(found[codes])


def _compared_values(column: Column, node: Argument) -> Bools:
    """Return which values of a column compare as asked; those that are not valid count for none."""
    values = column.values
    if not node.sign:
        return np.ones(len(values), np.bool_)
    if column.strings is not None:
        return _compared_texts(column.strings, values, node)
    if values.dtype.kind == "b" or node.sign == ":" or node.number is None:
        distinct, codes = np.unique(values, return_inverse=True)
        return _compared_texts(list(map(str, distinct.tolist())), codes.reshape(-1), node)
    return _compared(values, node.sign, node.number)


def _compared_texts(texts: Sequence[str], codes: NDArray[Any], node: Argument) -> Bools:
    """Return which texts, by their codes, compare as asked."""
    hits = np.array([*(compares(text.casefold(), node) for text in texts), False], np.bool_)
    return np.asarray(hits[codes])


def refusal(query: Query, searched: Sequence[SearchedTrace]) -> str:
    """Return what a query asks for that no open trace has, as a sentence, or ""."""
    if query.asks_cycles and not any(trace.counts_cycles for trace in searched):
        return NO_CYCLES
    names = {name for trace in searched for name in trace.table.trace.slices.columns}
    folded = {name.casefold() for name in names}
    for term in query.terms:
        if isinstance(term, Argument) and term.name not in folded:
            similar = nearest(term.name, names)
            hint = f": {similar} is similar" if similar else ""
            return f"no slice has the argument {term.name[:40]}{hint}"
    return ""


def _compared(numbers: NDArray[Any], sign: str, value: Fraction) -> Bools:
    """Compare numbers with an exact fraction; integers are never converted to float."""
    if numbers.dtype.kind == "f":
        exact = float(min(max(value, -_FARTHEST), _FARTHEST))
        if sign == "=":
            return np.asarray(numbers == exact)
        return np.asarray(COMPARED[sign](numbers, exact))
    floor, limits = value.numerator // value.denominator, np.iinfo(numbers.dtype)
    is_whole = value.denominator == 1
    if sign == "=":
        same = is_whole and limits.min <= floor <= limits.max
        return np.asarray(numbers == floor) if same else np.zeros(len(numbers), np.bool_)
    # An integer exceeds a fraction if it exceeds its floor, and is below it if it is at most the
    # floor.
    if not is_whole:
        sign = {">": ">", ">=": ">", "<": "<=", "<=": "<="}[sign]
    if not limits.min <= floor <= limits.max:
        return np.full(len(numbers), (floor > 0) == (sign[0] == "<"))
    return np.asarray(COMPARED[sign](numbers, floor))

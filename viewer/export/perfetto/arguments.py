"""The arguments of slices in a Perfetto file: of a key, of a slice, and those the input has.

An Opscope export that is opened again is a trace whose columns contain what was known about its
slices: their operators, handles, source lines, categories. Written like any other columns, they
would become "column operator", and arrays would become texts. Here they are recognized, so that a
file that is exported, opened and exported again is identical byte by byte: for a trace from our own
export (`Trace.provenance`) all arguments that `writer.py` documents, for those of other tools the
category and the correlation ID. Links found in this session take precedence. All slices of one key
have one value, except for `event` and `run`, which vary by slice.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb

from viewer.arrays import Bools, Codes, Ints, flags_at, numbers_at
from viewer.codecs.protobuf.writer import (
    FIXED64,
    LENGTH_DELIMITED,
    VARINT,
    Blobs,
    Doubles,
    Literal,
    Picked,
    Piece,
    Varints,
    Where,
    tag,
    varint,
)
from viewer.dataclasses import dataclass, field
from viewer.export.perfetto.packets import InternedStrings, in_order_of_use, with_value
from viewer.export.perfetto.source import KeyFacts, PerfettoSource
from viewer.model.queries import foreign, run_of_slices
from viewer.model.timing import TIMING_TEXTS, timings
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
    facts = _with_links(slice_of_key, of_keys, linked) if of_keys else linked
    location = stated_columns.get("location")
    locations = () if location is None else _per_key(slice_of_key, location, _text)
    of_slices = ("category", "correlation_id", "event", "run")
    category, correlation, event, run = map(stated_columns.get, of_slices)
    return Stated(category, correlation, event, run, facts, locations, frozenset(names))


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
        both = zip(is_linked, of_links, per_key, strict=True)
        return [of_link if linked else of_column for linked, of_link, of_column in both]

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


# Arguments with a fixed meaning. A file's column with such a name is renamed, because
# trace_processor keeps only the last of two arguments with one name.
RESERVED = frozenset(
    (
        "start_ticks", "dur_ticks", "event", "operator", "debug_handles", "module", "source",
        "called_from", "identifier", "instruction_id", "location", "link_reason", "timing",
        "derived", "run", "estimate_ticks", "estimate_ns",
    )
)  # fmt: skip

# The operators of a slice that is written under its own name. Only then is it reserved.
LABEL = "label"

# Field numbers of TrackEvent and DebugAnnotation.
_ANNOTATION = 4
_ARG_NAME_IID, _ARG_BOOL, _ARG_UINT, _ARG_INT, _ARG_DOUBLE, _ARG_TEXT_IID = 1, 2, 3, 4, 5, 17


class SliceArguments:
    """The arguments of the slices of one source.

    own: the numbers of the slices to write, in file order. Names and texts are added to `strings`,
    whose packets must be written first.
    """

    def __init__(
        self, source: PerfettoSource, stated: Stated, codes: Codes, strings: InternedStrings
    ) -> None:
        self._source = source
        self._slices = source.trace.slices
        self._stated = stated
        self._own = codes
        self._strings = strings
        self._arguments: list[Callable[[Codes], Piece]] = []

    def of_key(self, key: int) -> bytes:
        """Return the encoded arguments that all slices of a key share."""
        strings, keys, facts = self._strings, self._source.trace.keys, self._stated.facts
        event = pb.TrackEvent()

        def add(name: str) -> Any:
            return event.debug_annotations.add(name_iid=strings.argument(name))

        def text(name: str, value: str | None) -> None:
            if value:
                add(name).string_value_iid = strings.value(value)

        if facts is not None:
            if facts.operators[key]:
                values = add("operator").array_values
                for operator in facts.operators[key]:
                    values.add(string_value_iid=strings.value(operator))
            if facts.debug_handles[key]:
                values = add("debug_handles").array_values
                for handle in facts.debug_handles[key]:
                    _set(values.add(), handle, strings)
            text("module", facts.modules[key])
            text("source", facts.sources[key])
            text("called_from", facts.callers[key])
            text("link_reason", facts.reasons[key])
            if key in facts.estimates:
                ticks, ns = facts.estimates[key]
                _set(add("estimate_ticks"), ticks, strings)
                add("estimate_ns").double_value = ns
        identifier = keys.identifier[key]
        if identifier is not None:
            _set(add("identifier"), identifier, strings)
        if keys.instruction[key] >= 0:
            add("instruction_id").int_value = int(keys.instruction[key])
        locations = self._stated.locations
        text("location", keys.location[key] or (locations[key] if locations else None))
        return bytes(event.SerializeToString())

    def of_slices(
        self, of_keys: Blobs, renamed: Callable[[Codes], Bools] | None
    ) -> list[Callable[[Codes], Piece]]:
        """Return encoders for the arguments of given slices, in output order.

        of_keys: the result of `of_key` for every key. renamed: returns which of some slices are
        shown under another name than in their file; None if none is.
        """
        source, slices = self._source, self._slices
        # With ticks of 1 ns, the timestamp is the tick, apart from the file's origin.
        if source.ns_per_tick != 1:
            self._add_ticks("start_ticks", lambda rows: slices.start[rows])
            self._add_ticks("dur_ticks", lambda rows: slices.end[rows] - slices.start[rows])
        self._add_event(renamed)
        self._arguments.append(lambda rows: Picked(of_keys, slices.key[rows]))
        self._add_run()
        self._add_timing()
        taken = set(RESERVED)
        if self._source.own_names and self._add_label():
            taken.add(LABEL)
        for name, column in slices.columns.items():
            if name in self._stated.names or not len(present := with_value(self._own, column)):
                continue
            argument_name = name or "column"
            while argument_name in taken:
                argument_name = f"column {argument_name}"
            taken.add(argument_name)
            self._arguments.append(self._column(argument_name, column, present))
        if (is_derived := slices.derived) is not None and is_derived[self._own].any():
            flag = self._number_arg("derived", _ARG_BOOL)(1) + b"\1"
            self._add_where(lambda rows: is_derived[rows], lambda rows: Literal(flag, len(rows)))
        return self._arguments

    def _add_where(self, has: Callable[[Codes], Bools], encode: Callable[[Codes], Piece]) -> None:
        """Add an argument that only some slices have. encode: takes those that have it."""

        def piece(rows: Codes) -> Piece:
            mask = has(rows)
            return Where(mask, encode(rows[mask]))

        self._arguments.append(piece)

    def _add_event(self, renamed: Callable[[Codes], Bools] | None) -> None:
        source, slices, rows = self._source, self._slices, self._own
        names, strings = source.trace.strings, self._strings
        if self._stated.event is not None:
            self._arguments.append(self._stated_argument("event", self._stated.event))
        if renamed is None:
            return

        def other(part: Codes) -> Bools:
            differs = renamed(part)
            if self._stated.event is not None:
                valid = self._stated.event.valid
                differs &= False if valid is None else ~valid[part]
            return differs

        used = in_order_of_use(rows, len(names), lambda part: slices.name[part[other(part)]])
        if not used:
            return
        event_iid = _table(used, len(names), lambda i: strings.value(names[i]))
        event_arg = self._text_arg("event")
        self._add_where(other, lambda part: Varints(event_iid[slices.name[part]], event_arg))

    def _add_label(self) -> bool:
        source, slices = self._source, self._slices
        names, labels, of = source.trace.strings, source.label_strings, source.labels
        is_again = bool(source.trace.provenance) and LABEL in slices.columns
        if of is None or is_again:
            return False
        numbers = {name: number for number, name in enumerate(names)}
        # The number of the name that a label equals, -1 if none, -2 for no label.
        equal = np.array([numbers.get(label, -1) if label else -2 for label in labels], np.int64)

        def differs(part: Codes) -> Bools:
            equal_code = equal[of[part]]
            is_other: Bools = (equal_code != -2) & (equal_code != slices.name[part])
            return is_other

        used = in_order_of_use(self._own, len(labels), lambda part: of[part[differs(part)]])
        if not used:
            return False
        iid = _table(used, len(labels), lambda i: self._strings.value(labels[i]))
        argument = self._text_arg(LABEL)
        self._add_where(differs, lambda part: Varints(iid[of[part]], argument))
        return True

    def _add_run(self) -> None:
        trace = self._source.trace
        if self._stated.run is not None:
            self._arguments.append(self._stated_argument("run", self._stated.run))
        elif any(trace.inferences()):
            numbers = np.array([*(run.number for run in trace.runs), 0], np.uint32)
            of_slice = numbers[run_of_slices(trace)]  # without a run the index is -1, for the 0
            if not of_slice[self._own].any():
                return
            run_arg = self._number_arg("run", _ARG_INT)
            self._add_where(
                lambda rows: of_slice[rows] > 0, lambda rows: Varints(of_slice[rows], run_arg)
            )

    def _add_ticks(self, name: str, ticks: Callable[[Codes], Ints]) -> None:
        """Add ticks of the input; slices on a clock of their own have none."""
        head, placed = self._number_arg(name, _ARG_INT), foreign(self._slices)
        if not len(placed):
            self._arguments.append(lambda rows: Varints(ticks(rows), head))
            return
        has_ticks = ~flags_at(len(self._slices), placed)
        self._add_where(lambda rows: has_ticks[rows], lambda rows: Varints(ticks(rows), head))

    def _add_timing(self) -> None:
        timing = timings(self._slices)
        column = Column(timing, timing != 0, TIMING_TEXTS)
        if len(present := with_value(self._own, column)):
            self._arguments.append(self._column("timing", column, present))

    def _stated_argument(self, name: str, column: Column) -> Callable[[Codes], Piece]:
        """Return the encoder of an argument whose values are in an imported file."""
        return self._column(name, column, with_value(self._own, column))

    def _number_arg(self, name: str, number: int) -> Callable[[int], bytes]:
        """Return a function from a varint's length to the bytes before that argument value."""
        inner = tag(_ARG_NAME_IID, VARINT) + varint(self._strings.argument(name))
        inner += tag(number, VARINT)
        heads = [
            tag(_ANNOTATION, LENGTH_DELIMITED) + varint(len(inner) + size) + inner
            for size in range(11)
        ]
        return heads.__getitem__

    def _text_arg(self, name: str) -> Callable[[int], bytes]:
        return self._number_arg(name, _ARG_TEXT_IID)

    def _column(self, name: str, column: Column, present: Codes) -> Callable[[Codes], Piece]:
        """Return an encoder of a column's values; nulls are omitted.

        present: all slices with one.
        """
        values, valid = column.values, column.valid
        encode: Callable[[NDArray[Any]], Piece]
        if column.strings is not None:
            head, table = self._text_arg(name), column.strings
            used = in_order_of_use(present, len(table), lambda part: values[part])
            iid = numbers_at(len(table), used, self._strings.values([table[i] for i in used]))
            encode = lambda codes: Varints(iid[codes], head)  # noqa: E731
        elif values.dtype.kind == "f":
            inner = tag(_ARG_NAME_IID, VARINT) + varint(self._strings.argument(name))
            inner += tag(_ARG_DOUBLE, FIXED64)
            double = tag(_ANNOTATION, LENGTH_DELIMITED) + varint(len(inner) + 8) + inner
            encode = lambda numbers: Doubles(numbers, double)  # noqa: E731
        else:
            number = {"b": _ARG_BOOL, "u": _ARG_UINT}.get(values.dtype.kind, _ARG_INT)
            head = self._number_arg(name, number)
            encode = lambda numbers: Varints(numbers, head)  # noqa: E731

        def piece(codes: Codes) -> Piece:
            if valid is None:
                return encode(values[codes])
            mask = valid[codes]
            return Where(mask, encode(values[codes[mask]]))

        return piece


def _table(used: Sequence[int], size: int, number: Callable[[int], int]) -> Ints:
    """Return a table with number(code) for every used code, -1 elsewhere."""
    return numbers_at(size, used, [number(code) for code in used], -1)


def _set(argument: Any, value: int | str, strings: InternedStrings) -> None:
    """Set an argument's value; an int that does not fit int64 is written as text."""
    if isinstance(value, int) and -(2**63) <= value < 2**63:
        argument.int_value = value
    else:
        argument.string_value_iid = strings.value(str(value))

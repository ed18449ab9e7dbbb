"""The keys that a linked trace can be grouped by, and the groups of its slices.

`viewer.analysis.statistics.grouping` documents the keys. Places, arguments and categories are
properties of single slices, in which those of one identity (`Trace.keys`) can differ.

The key `kernel` is what computed something, by name, and the clock that timed it, so that no figure
mixes two clocks. Operators of XNNPACK lose the number that they have in their call. Dispatches of a
Vulkan shader are one kernel. Other events of delegates keep their identifiers, without the unit: a
node of QNN, a number of a generated map. Totals, host scopes of Vulkan, and values are no kernels.
In other formats, what has a clock of its own is a kernel. A clock that counts a unit of time is in
ns, and one of unknown rate has rows in its own unit, because "which shader is slow" has an answer
without a rate.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from viewer.analysis.links.delegate_clocks import (
    clock_name,
    clocks_of_slices,
    native_ns,
    own_clock_ns,
)
from viewer.analysis.links.labels import run_label, set_labels, track_name
from viewer.analysis.links.link_table import LinkTable, Reason
from viewer.analysis.statistics.npu_units import has_units
from viewer.arrays import Bools, Codes, Ints, numbers_at
from viewer.dataclasses import dataclass
from viewer.model.queries import NATIVE_DURATION, foreign, run_of_slices
from viewer.model.recorded_names import LAYER_BACKEND as BACKEND
from viewer.model.recorded_names import LAYER_COLUMNS as DESCRIBING
from viewer.model.recorded_names import LAYER_COUNT as COUNT
from viewer.model.recorded_names import xnnpack_operator
from viewer.model.timing import TICKS, Timing, is_value, stated_unit, values, without_unit
from viewer.model.trace import Column, KeyKind, Slices, Trace
from viewer.program.debug_handles import Identifier, is_of_whole_call, shader_of, short_identifier
from viewer.program.program import GraphNode, type_of
from viewer.program.source_files import short_names

if TYPE_CHECKING:
    from viewer.analysis.cost.source_costs import PlaceOf


ARGUMENT = "arg:"
CATEGORY = "category"
# Each instant of a slice is in one place, whatever else it is a part of.
PLACES = ("thread", "process", "rank", "unit", "inference")
SLICE_KEYS = ("process", "rank", CATEGORY)


def argument_names(trace: Trace) -> tuple[str, ...]:
    """Return the arguments that slices of a trace have, by name."""
    return tuple(sorted(trace.slices.columns, key=str.casefold))


def argument(trace: Trace, name: str) -> Column | None:
    """Return an argument of the slices; a name in another case is the same one if only one is."""
    columns = trace.slices.columns
    if name in columns:
        return columns[name]
    alike = [other for other in columns if other.casefold() == name.casefold()]
    return columns[alike[0]] if len(alike) == 1 else None


def nearest(name: str, names: Iterable[str]) -> str:
    """Return the most similar of some names, "" if none is similar."""
    from difflib import get_close_matches  # of a complaint only

    by_fold = {other.casefold(): other for other in names}
    close = get_close_matches(name.casefold(), by_fold, 1, 0.6)
    return by_fold[close[0]] if close else ""


def missing_of_slices(trace: Trace, key: str) -> str:
    """Return why a trace has no groups by a key of slices, as a sentence, or ""."""
    if key == "rank":
        return "" if trace.rank is not None else "The file states no rank"
    if key == CATEGORY:
        return "" if CATEGORY in trace.slices.columns else "No slice has a category"
    name = key.removeprefix(ARGUMENT)
    if not key.startswith(ARGUMENT) or argument(trace, name) is not None:
        return ""
    similar = nearest(name, trace.slices.columns)
    return f"No slice has the argument {name}" + (f"; {similar} is similar" if similar else "")


def slice_groups(table: LinkTable, key: str) -> tuple[tuple[str, ...], Ints]:
    """Return the labels of the groups by a place or key of slices, and per slice its group.

    A slice is -1 if it has none. Slices on other clocks are in no place of this one.
    """
    trace = table.trace
    slices = trace.slices
    if key == CATEGORY or key.startswith(ARGUMENT):
        column = argument(trace, key.removeprefix(ARGUMENT))
        assert column is not None  # `missing_of_slices` has said so
        return values_of(column)
    if key == "inference":
        runs, inferences = list(trace.runs), list(trace.inferences())
        number = {id(run): i for i, run in enumerate(inferences)}
        of_run = np.array([*(number.get(id(run), -1) for run in runs), -1], np.int64)
        return tuple(run_label(table, run) for run in inferences), of_run[run_of_slices(trace)]
    if key == "rank":
        assert trace.rank is not None
        return (f"rank {trace.rank.text}",), np.zeros(len(slices), np.int64)
    texts: Sequence[str] = [track.process for track in trace.tracks]
    if key == "unit":
        texts = [track.unit.name.replace("_", " ").lower() for track in trace.tracks]
    elif key == "thread":
        texts = [f"{t.process} > {track_name(table, i)}" for i, t in enumerate(trace.tracks)]
        return tuple(texts), slices.row_track[slices.rows()].astype(np.int64)
    number_of: dict[str, int] = {}
    of_track = np.array([number_of.setdefault(t, len(number_of)) for t in texts], np.int64)
    codes = of_track[slices.row_track[slices.rows()]]
    codes[foreign(slices)] = -1
    return tuple(text or "(no name)" for text in number_of), codes


def values_of(column: Column) -> tuple[tuple[str, ...], Ints]:
    """Return the distinct values of a column as texts, and per slice the number of its value."""
    has = np.ones(len(column.values), np.bool_) if column.valid is None else column.valid
    values, of_slice = np.unique(column.values[has], return_inverse=True)
    codes = np.full(len(has), -1, np.int64)
    if column.strings is None:
        codes[has] = of_slice
        return tuple(str(value) for value in values.tolist()), codes
    number: dict[str, int] = {}
    texts = [column.strings[int(value)] for value in values.tolist()]
    number_of_value = np.array([number.setdefault(text, len(number)) for text in texts], np.int64)
    codes[has] = number_of_value[of_slice] if len(number) else of_slice
    return tuple(number), codes


_NUMBER = re.compile(r" #[0-9]+\Z")


def has_kernels(table: LinkTable) -> bool:
    """Return whether any slice of a trace is a kernel."""
    keys = table.trace.keys
    if (keys.kind == KeyKind.KERNEL).any() or len(_plain(table)):
        return True
    events = np.flatnonzero(keys.kind == KeyKind.DELEGATE_EVENT).tolist()
    return any(kernel_name(keys.identifier[key]) for key in events)


def _plain(table: LinkTable) -> Ints:
    """Return the keys of other formats whose slices are all on another clock."""
    slices, kind = table.trace.slices, table.trace.keys.kind
    index = clocks_of_slices(table)[0]
    counts = np.bincount(slices.key[index], minlength=len(kind))
    is_plain = (counts > 0) & ~np.isin(kind, (KeyKind.KERNEL, KeyKind.DELEGATE_EVENT))
    if not is_plain.any():
        return np.empty(0, np.int64)
    return np.flatnonzero(is_plain & (counts == np.bincount(slices.key, minlength=len(kind))))


def kernel_name(identifier: Identifier | None) -> str:
    """Return the kernel in the identifier of a delegate's event; "" if it is none."""
    if identifier is None or is_of_whole_call(identifier):
        return ""
    if shader := shader_of(identifier):
        return shader.kernel or short_identifier(identifier)
    text = str(identifier)
    if is_value(stated_unit(text) or TICKS):
        return ""
    return _NUMBER.sub("", text) if xnnpack_operator(text) else without_unit(text)


def kernel_groups(table: LinkTable) -> tuple[tuple[str, ...], Ints, tuple[str, ...]]:
    """Return the names of the kernels, per key of the trace its kernel, and the clock of each.

    A kernel is -1 for a key that is none. A clock is "" for that of the file, and otherwise named
    as for the rates that the user states. Where the file's clock timed the events of a delegate
    after all, their kernel has no time on that other clock.
    """
    trace, keys = table.trace, table.trace.keys
    numbers: dict[tuple[str, str, str], int] = {}
    of_key = np.full(len(keys), -1, np.int64)
    for key in np.flatnonzero(keys.kind == KeyKind.KERNEL).tolist():
        label = trace.strings[int(keys.name[key])]
        of_key[key] = numbers.setdefault((label, "", ""), len(numbers))
    for key in np.flatnonzero(keys.kind == KeyKind.DELEGATE_EVENT).tolist():
        identifier = keys.identifier[key]
        if label := kernel_name(identifier):
            unit = "ns" if shader_of(identifier) else stated_unit(str(identifier)) or TICKS
            clock = clock_name(table, key, unit)
            of_key[key] = numbers.setdefault((label, clock, unit), len(numbers))
    index, clock_of_slice, clocks_and_units = clocks_of_slices(table)
    of_slice = dict(zip(trace.slices.key[index].tolist(), clock_of_slice.tolist(), strict=True))
    for key in _plain(table).tolist():
        name, unit = trace.strings[int(keys.name[key])], clocks_and_units[of_slice[key]][1]
        if not is_of_whole_call(name):
            labels_of_key = without_unit(name), clock_name(table, key, unit), unit
            of_key[key] = numbers.setdefault(labels_of_key, len(numbers))
    labels, clocks = (tuple(number[field] for number in numbers) for field in (0, 1))
    return labels, of_key, clocks


@dataclass(frozen=True, slots=True, eq=False)
class OwnClocks:
    """The slices on other clocks.

    ns: their durations in ns, as far as known. unit: per slice, the number in `units` of the unit
    of a clock of unknown rate that has rows, else -1; `native` has their lengths in it. left_out:
    the slices with a time that are in no row. values: the slices that hold a value, in no row
    either.
    """

    ns: Column | None
    unit: Ints | None
    units: tuple[str, ...]
    native: Ints | None
    left_out: Ints
    values: Ints

    @property
    def is_none(self) -> bool:
        """Whether no row has anything of another clock."""
        return self.ns is None and self.unit is None

    def is_ns(self, index: Ints | Codes) -> Bools:
        """Return which of some slices have a duration in ns on another clock."""
        if self.ns is None or self.ns.valid is None:
            return np.zeros(len(index), np.bool_)
        is_in_ns: Bools = self.ns.valid[index]
        return is_in_ns


def rated_clocks(table: LinkTable) -> OwnClocks:
    """Return what all keys but `kernel` show: slices whose rate the user stated."""
    ns, held = native_ns(table), values(table.trace.slices)
    out = np.setdiff1d(foreign(table.trace.slices), held, assume_unique=True)
    if ns is not None and ns.valid is not None:
        out = out[~ns.valid[out]]
    return OwnClocks(ns, None, (), None, out, held)


def kernel_clocks(table: LinkTable, kernels: int, of_key: Ints) -> OwnClocks:
    """Return what the key `kernel` shows: times in ns, and others in their own unit.

    kernels, of_key: how many there are, and per key of the trace its kernel.
    """
    slices, ns = table.trace.slices, own_clock_ns(table)
    held = values(slices)
    index, clock, clocks = clocks_of_slices(table)
    unrated = np.ones(len(index), np.bool_) if ns is None or ns.valid is None else ~ns.valid[index]
    index, clock = index[unrated], clock[unrated]
    if not len(index):
        return OwnClocks(ns, None, (), None, index, held)
    group = of_key[slices.key]
    units = tuple(dict.fromkeys(unit for _, unit in clocks))
    unit = np.full(len(slices), -1)
    unit[index] = np.array([units.index(clock_unit) for _, clock_unit in clocks])[clock]
    # A group in which the file's clock, a known rate or another unit timed any slice has no rows.
    others = (unit < 0) & (group >= 0)
    others[held] = False
    is_mixed = np.bincount(group[others], minlength=kernels) > 0
    mine = index[group[index] >= 0]
    pairs = np.unique(np.stack([group[mine], unit[mine]]), axis=1)[0]
    is_mixed |= np.bincount(pairs, minlength=kernels) > 1
    out = mine[is_mixed[group[mine]]]
    unit[out] = -1
    return OwnClocks(ns, unit, units, slices.columns[NATIVE_DURATION].values, out, held)


KEYS = (
    "unit", "operator", "node", "type", "module", "line", "caller", "location", "kernel",
    "delegate", BACKEND, COUNT, "thread", "process", "rank", "inference", CATEGORY, "name",
)  # fmt: skip
# The former name of a key, which scripts may still use.
_FORMER = {"run": "inference"}
NO_MODULE = "(top level)"
NO_LINE = "(no source line)"
NO_OPERATOR = "(no operator)"

_QUOTE = '"'
# What is before each comma, without the commas of a quoted name.
_PARTS = re.compile(r'(\s*arg:"(?:[^"]|"")*"\s*|[^,]*),')

OF_OPERATORS = ("operator", "node", "type", "module", "line", "caller")
_OF_DELEGATES = (int(KeyKind.DELEGATE_CALL), int(KeyKind.DELEGATE_EVENT))


def key_named(name: str) -> str:
    """Return the key of a name, which may be a former one; other names as they are."""
    return _FORMER.get(name, name)


def keys_named(text: str) -> tuple[str, ...]:
    """Return the key, or the two keys, of a text such as "operator,inference".

    The name of an argument may be in quotation marks, where two of them stand for one.
    """
    keys = tuple(_unquoted(key_named(part.strip())) for part in _PARTS.findall(f"{text},"))
    if len(keys) > 2:
        raise ValueError(f"{text!r} has {len(keys)} keys: use at most two, such as operator,name")
    for key in keys:
        if why := refusal(key):
            raise ValueError(why)
    return keys


def keys_text(keys: Iterable[str]) -> str:
    """Return keys as the text that `keys_named` reads."""
    return ",".join(map(_quoted, keys))


def _unquoted(key: str) -> str:
    name = key.removeprefix(ARGUMENT)
    is_quoted = name != key and len(name) > 1 and name[0] == name[-1] == _QUOTE
    return ARGUMENT + name[1:-1].replace(_QUOTE * 2, _QUOTE) if is_quoted else key


def _quoted(key: str) -> str:
    name = key.removeprefix(ARGUMENT)
    if name == key or (name == name.strip() and not set(name) & {",", _QUOTE}):
        return key
    return f"{ARGUMENT}{_QUOTE}{name.replace(_QUOTE, _QUOTE * 2)}{_QUOTE}"


def is_of_slices(key: str) -> bool:
    """Return whether a key is one of `viewer.analysis.statistics.group_keys`."""
    return key in SLICE_KEYS or key.startswith(ARGUMENT)


def refusal(key: str) -> str:
    """Return why a name is no key, with the most similar one, as a sentence, or ""."""
    if key in KEYS or (key.startswith(ARGUMENT) and key != ARGUMENT):
        return ""
    keys = ", ".join((*KEYS, f"{ARGUMENT}NAME"))
    similar = nearest(key, KEYS)
    hint = f"; {similar} is similar" if similar else ""
    return f"{key!r} is not a key{hint}: use one of {keys}"


@dataclass(frozen=True, slots=True)
class KeyGroups:
    """One grouping of a trace by the keys of its slices: a label per group, a group per key.

    clocks: of kernels, the name of each group's clock where that is not the file's. of_slice: a
    group per slice, where slices of one key can be in several; `of_key` is empty then.
    """

    labels: tuple[str, ...]
    of_key: Ints
    clocks: tuple[str, ...] = ()
    of_slice: Ints | None = None

    def of(self, slices: Slices, index: Ints | Codes | slice) -> Ints:
        """Return the groups of some slices of the trace, -1 for none."""
        return self.of_key[slices.key[index]] if self.of_slice is None else self.of_slice[index]


class GroupKeys:
    """The groups of one linked trace by each key, computed on first use."""

    def __init__(self, table: LinkTable) -> None:
        self._table = table
        self._trace = table.trace
        self._made: dict[str, KeyGroups] = {}

    def missing(self, key: str) -> str:
        """Return why the trace has no such groups, as a sentence, or "". ValueError if unknown."""
        if why := refusal(key):
            raise ValueError(why)
        return "" if self.is_stated(key) else self._missing(key)

    def is_stated(self, key: str) -> bool:
        """Return whether the groups are those of a column of the file, as nothing else has them."""
        return key in DESCRIBING and key in self._stated

    def is_of_operators(self, key: str) -> bool:
        """Return whether the groups are those of operators, which cost is charged to."""
        return key in OF_OPERATORS and not self.is_stated(key)

    @cached_property
    def _stated(self) -> dict[str, KeyGroups]:
        wanted = [key for key in DESCRIBING if self._missing(key)]
        found = {key: _stated_groups(self._trace, key) for key in wanted}
        return {key: groups for key, groups in found.items() if groups}

    def _missing(self, key: str) -> str:
        trace, table = self._trace, self._table
        if not len(trace.slices):
            return "The trace has no slices"
        if key in OF_OPERATORS:
            if table.program is None:
                return "No open ETRecord or source matches the trace"
            if not table.sets:
                return "No slice is linked to an operator"
            if key == "node" and table.program.text_lines:
                return "Operations of an MLIR text have no nodes"
            used = [part for own in self._table.parts for part in own]
            if key == "module" and not any(part.module_path for part in used):
                return "The operators have no modules"
            if key in ("line", "caller") and not any(part.source for part in used):
                only = " but torch's own" if any(part.frames for part in used) else ""
                return f"The {table.program.title} has no source lines{only}"
            if key == "caller" and not any(part.caller for part in used):
                return "No source line is in an installed package that your own files call"
        if is_of_slices(key):
            return missing_of_slices(trace, key)
        return self._absent.get(key, "")

    @cached_property
    def _absent(self) -> dict[str, str]:
        """Why there are no groups by some keys ("" if there are), computed at once."""
        trace = self._trace
        located = any(x is not None for x in trace.keys.location.tolist())
        return {
            "unit": "" if has_units(trace) else "No track belongs to an NPU unit",
            "location": "" if located else "No slice has an MLIR location",
            "kernel": "" if has_kernels(self._table) else "No slice is a kernel",
            "delegate": "" if self._of_delegates else "No delegate was called",
            BACKEND: "No layer states its backend",
            COUNT: "No layer states a count",
            "inference": "" if any(trace.inferences()) else "The file has no inferences",
        }

    def of(self, key: str) -> KeyGroups:
        """Return the groups of a key that the trace has; places are those of each slice."""
        if self.is_stated(key):
            return self._stated[key]
        if (is_of_slices(key) or key in PLACES) and key not in self._made:
            labels, of_slice = slice_groups(self._table, key)
            self._made[key] = KeyGroups(labels, np.empty(0, np.int64), of_slice=of_slice)
        if key not in self._made:
            make: dict[str, Callable[[], KeyGroups]] = {
                "name": self._names,
                "location": lambda: _numbered(self._trace.keys.location.tolist()),
                "kernel": lambda: KeyGroups(*kernel_groups(self._table)),
                "delegate": self._delegates,
            }
            self._made[key] = make[key]() if key in make else self._fold(key)
        return self._made[key]

    def _names(self) -> KeyGroups:
        """Group by name; time that a delegate's events do not cover stays with its call."""
        keys = self._trace.keys
        stated = keys.kind != KeyKind.UNATTRIBUTED
        return KeyGroups(self._trace.strings, np.where(stated, keys.name.astype(np.int64), -1))

    def _delegates(self) -> KeyGroups:
        """Group by scope and instruction; events without an instruction, by their backend."""
        keys, links, scopes = self._trace.keys, self._table.links, self._trace.scopes
        in_calls = self._of_delegates
        scope, instruction = keys.scope.tolist(), keys.instruction.tolist()
        backends = {
            (scope[k], instruction[k]): links[k].backend for k in in_calls if links[k].backend
        }
        several = len({scope[k] for k in in_calls}) > 1
        labels: list[str | None] = [None] * len(keys)
        for k in in_calls:
            backend = backends.get((scope[k], instruction[k]), "")
            method = self._table.method_of_scope(scope[k]) or scopes[scope[k]].name
            labels[k] = " · ".join(
                part
                for part in (
                    method if several else "",
                    backend or "delegate",
                    f"instruction {instruction[k]}" if instruction[k] >= 0 else "",
                )
                if part
            )
        return _numbered(labels)

    @cached_property
    def _of_delegates(self) -> list[int]:
        """The keys of delegate calls and of the events in them, without those logged at load."""
        links = self._table.links
        found = np.flatnonzero(np.isin(self._trace.keys.kind, _OF_DELEGATES)).tolist()
        return [k for k in found if links[k].reason is not Reason.OUTSIDE_CALLS]

    def _fold(self, key: str) -> KeyGroups:
        """Group by operator, node, type, module or line: fold the sets that cost is charged to."""
        from viewer.analysis.cost.source_costs import place_of, users_place_of

        if key == "operator":
            # Equal labels get their debug handles appended, if any.
            own = [
                f"{label} ({hint})" if hint else label for label, hint in set_labels(self._table)
            ]
            return self._folded(own, self._table.set_of_key, distinct=True)
        labels = {
            "node": lambda: [" + ".join(node.name for node in own) for own in self._nodes],
            "type": lambda: [_joined(map(type_of, own)) for own in self._table.parts],
            "module": lambda: [
                _joined(part.module_path or NO_MODULE for part in own) for own in self._table.parts
            ],
            "line": lambda: self._line_labels(place_of),
            "caller": lambda: self._line_labels(users_place_of),
        }[key]()
        return self._folded(labels, self._table.node_set_of_key, distinct=key == "node")

    def _folded(self, labels: Sequence[str], set_of_key: Ints, *, distinct: bool) -> KeyGroups:
        """Return one group per label, or if they are distinct, one per set."""
        numbers: list[int] = []
        found: dict[Hashable, int] = {}
        for i, label in enumerate(labels):
            numbers.append(found.setdefault((i, label) if distinct else label, len(found)))
        group_of_set = np.array([*numbers, -1], np.int64)
        first = {number: label for label, number in zip(labels, numbers, strict=True)}
        return KeyGroups(tuple(first.values()), group_of_set[set_of_key])

    @cached_property
    def _nodes(self) -> list[tuple[GraphNode, ...]]:
        """The nodes of every node set of the link table."""
        program = self._table.program
        assert program is not None
        return [tuple(program.nodes[i] for i in own) for own in self._table.node_sets]

    def _line_labels(self, of: PlaceOf) -> list[str]:
        places = [[of(part) for part in own] for own in self._table.parts]
        short = short_names(place[0] for own in places for place in own if place)
        return [_places_text(own, short) for own in places]


def _stated_groups(trace: Trace, column: str) -> KeyGroups | None:
    """Return the values of a column that says what layers are: see `viewer.model.recorded_names`.

    None without such a column, where times are measured, or where a key has several values.
    """
    slices = trace.slices
    stated = slices.columns.get(column)
    if stated is None or slices.timing is None or not (slices.timing & Timing.PLACED).all():
        return None
    values, of_slice = np.unique(stated.values, return_inverse=True)
    of_slice = of_slice.astype(np.int64)
    if stated.valid is not None:
        of_slice[~stated.valid] = -1
    of_key = numbers_at(len(trace.keys), slices.key[::-1], of_slice[::-1], -1)
    if (of_key[slices.key] != of_slice).any() or (of_key < 0).all():
        return None
    texts = stated.strings
    labels = [str(value) if texts is None else texts[value] for value in values.tolist()]
    return KeyGroups(tuple(labels), of_key)


def _numbered(labels: Sequence[str | None]) -> KeyGroups:
    """Return one group per distinct label; None is in no group."""
    numbers: dict[str, int] = {}
    of_key = [-1 if x is None else numbers.setdefault(x, len(numbers)) for x in labels]
    return KeyGroups(tuple(numbers), np.array(of_key, np.int64))


def _joined(names: Iterable[str]) -> str:
    """Return "a + b": the distinct names, sorted, so operator order does not matter."""
    return " + ".join(sorted(set(names)))


def _places_text(places: Sequence[tuple[str, int] | None], short: dict[str, str]) -> str:
    """Return "models.py:49–50, 52 + blocks.py:3": the lines of a set of operators by file."""
    from viewer.analysis.cost.source_costs import lines_text

    lines: dict[str, set[int]] = {}
    for place in places:
        if place:
            lines.setdefault(place[0], set()).add(place[1])
    texts = [f"{short[path]}:{lines_text(found)}" for path, found in sorted(lines.items())]
    return " + ".join([*texts, *([NO_LINE] if None in places else [])])

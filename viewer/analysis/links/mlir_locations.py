"""Adds locations from Torq debug info to a trace, and finds operators of MLIR texts by location.

A runtime profile identifies what ran by number: (dispatch, action) or NSS job, which the debug info
of the dispatch maps to a location. A row that has a location of its own keeps it.

If the trace names its dispatches, debug info is matched by name: the function in the text, else the
name of the file, which the compiler takes from the dispatch. A file of a single dispatch does not
name it; there a dispatch matches if it has every number of the file, contradicts none of its
locations and kinds of action, and is the only such one. Different names never match, since a model
has many dispatches that all number from 0. Nor does the right name match if any number has another
kind of action: then it comes from another compilation, whose jobs and locations would be wrong
here.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache

import numpy as np

from viewer.arrays import Ints, lists_by_key
from viewer.dataclasses import dataclass, replace
from viewer.model.queries import numbers, units_of
from viewer.model.recorded_names import (
    ACTION_ID,
    DISPATCH,
    JOB_ID,
    START_PROGRAM,
    TASK_ID,
    WAIT_PROGRAM,
)
from viewer.model.trace import KeyKind, Keys, Trace, Unit
from viewer.program.mlir.locations import INPUT_FILE, FilePosition, parse_location, positions
from viewer.program.program import Action, Dispatch, NssJob, NssTask, Operator, Program
from viewer.program.source_files import file_name


@lru_cache(maxsize=4096)
def positions_of(location: str) -> tuple[FilePosition, ...]:
    """Return the distinct positions in a location, callee before caller."""
    return positions(parse_location(location))


class TextPositions:
    """Looks up operators of one MLIR program by (file, line, column)."""

    def __init__(self, program: Program) -> None:
        self._places = program.operation_places
        self._file = file_name(program.path)
        self._by_line = lists_by_key(
            (operator.source.line, operator)
            for operator in program.operators
            if operator.source is not None
        )

    def is_about(self, position: FilePosition) -> bool:
        """Return whether the position names this file (by its last path component) or no file."""
        return position.file == INPUT_FILE or file_name(position.file) == self._file

    def operator_at(self, position: FilePosition) -> Operator | None:
        """Return the operator whose operation starts at the position, or None.

        A position without a file may refer to any text, so its column must match exactly.
        """
        if not self.is_about(position):
            return None
        if position.file == INPUT_FILE:
            exact = self._places.at(position.line, position.col)
            if exact is None or (exact.line, exact.col) != (position.line, position.col):
                return None
        operators = self._by_line.get(position.line, [])
        if len(operators) <= 1:
            return operators[0] if operators else None
        operation = self._places.at(position.line, position.col)
        name = operation.name if operation else ""
        return next((op for op in operators if op.nodes[0].op == name), None)


def operators_at(location: str, texts: TextPositions) -> dict[int, FilePosition]:
    """Map the operators of a text that a location names to their positions, callee first.

    Functions are only the callers of their operations, so they are returned only if alone.
    """
    position_of: dict[int, FilePosition] = {}
    inner: dict[int, FilePosition] = {}
    for position in positions_of(location):
        operator = texts.operator_at(position)
        if operator is not None:
            position_of.setdefault(operator.index, position)
            if not operator.is_function:
                inner.setdefault(operator.index, position)
    return inner or position_of


# The runtime's kinds of action, and the operations that each may execute.
_KINDS = (
    ("DEALLOC", ("memref.dealloc",)),
    ("ALLOC", ("memref.alloc",)),
    ("HOSTCOPY", ("torq_hl.host_copy",)),
    ("NSSSTART", (START_PROGRAM,)),
    ("NSSWAIT", (WAIT_PROGRAM,)),
    ("HOSTWAIT", (WAIT_PROGRAM,)),
    ("HOSTSTART", (START_PROGRAM,)),
    ("HOSTPROGRAM", (START_PROGRAM,)),
)
_NO_LETTER = re.compile(r"[^A-Z]+")
_ACTION, _JOB, _LOCATION = int(KeyKind.ACTION), int(KeyKind.JOB), int(KeyKind.LOCATION)


def located(trace: Trace, dispatches: Sequence[Dispatch], *, in_text: bool = False) -> Trace:
    """Return the trace with locations from debug info in its keys; the same object if none apply.

    in_text: use the positions of the operations in the debug info text itself, for a trace without
    any location of its own. Columns and slices are shared with the given trace.
    """
    locations = _Placement(trace, dispatches).locations(in_text and not states_locations(trace))
    if not locations:
        return trace
    kind, location = trace.keys.kind.copy(), trace.keys.location.copy()
    index = np.fromiter(locations, np.int64, len(locations))
    kind[index] = _LOCATION
    location[index] = np.array(list(locations.values()), np.object_)
    return replace(trace, keys=replace(trace.keys, kind=kind, location=location))


def dispatch_of_scopes(trace: Trace, dispatches: Sequence[Dispatch]) -> tuple[Dispatch | None, ...]:
    """Return the debug info of each scope of a trace, None if there is none or it is ambiguous."""
    return _Placement(trace, dispatches).of_scopes


def other_compilations(trace: Trace, dispatches: Sequence[Dispatch]) -> dict[int, str]:
    """Return the scopes whose debug info, by name, is from another compilation, and why."""
    return _Placement(trace, dispatches).others


def misfit(trace: Trace, dispatches: Sequence[Dispatch]) -> str:
    """Return why none of the open debug info belongs to a trace that needs some; else "".

    Debug info from another compilation of one of its dispatches takes precedence.
    """
    placement = _Placement(trace, dispatches)
    if placement.others:
        return next(iter(placement.others.values()))
    if not dispatches or any(placement.of_scopes) or not placement.states_numbers:
        return ""
    return placement.why_no_dispatch(" and ".join(placement.own_names()[:3]))


def unplaced(trace: Trace, dispatches: Sequence[Dispatch]) -> dict[int, tuple[bool, str]]:
    """Map each action or job without a location to (is its dispatch open, why it has none).

    Empty if no debug info is open at all.
    """
    numbered = np.flatnonzero(np.isin(trace.keys.kind, (_ACTION, _JOB)))
    if not dispatches or not len(numbered):
        return {}
    placement = _Placement(trace, dispatches)
    return {key: placement.why_not(key) for key in numbered.tolist()}


def states_locations(trace: Trace) -> bool:
    """Return whether any slice of a trace has a known location."""
    return any(
        positions_of(text)
        for text in trace.keys.location[trace.keys.kind == _LOCATION].tolist()
        if text
    )


def same_identities(keys: Keys, other: Keys) -> bool:
    """Return whether two key tables of one file are equal in everything that `located` changes."""
    return keys is other or (
        np.array_equal(keys.kind, other.kind) and keys.location.tolist() == other.location.tolist()
    )


def action_contradicts(name: str, action: Action) -> bool:
    """Return whether an action's runtime name rules out the operation in the debug info."""
    letters = _NO_LETTER.sub("", name.upper())
    return next((action.op not in ops for kind, ops in _KINDS if kind in letters), False)


@dataclass(frozen=True, slots=True)
class _Stated:
    """One number that slices of one key have in a column: its kind, value and unit."""

    sort: str
    number: int
    unit: Unit
    key: int


class _Placement:
    """Matches debug info to a trace, and its contents to the trace's keys."""

    def __init__(self, trace: Trace, dispatches: Sequence[Dispatch]) -> None:
        self._trace = trace
        self._dispatches = dispatches
        columns = trace.slices.columns
        self._names_dispatches = DISPATCH in columns
        self._stated: list[_Stated] = []
        self.of_scopes: tuple[Dispatch | None, ...] = (None,) * len(trace.scopes)
        self.others: dict[int, str] = {}
        self._ambiguous = False
        if not dispatches or columns.keys().isdisjoint((ACTION_ID, JOB_ID, TASK_ID)):
            return
        self._stated = list(_stated(trace))
        if self._names_dispatches:
            named = tuple(map(self._by_name(), (scope.name for scope in trace.scopes)))
            self.others = self._contradicted(named)
            self.of_scopes = tuple(
                None if scope in self.others else dispatch for scope, dispatch in enumerate(named)
            )
        elif self._stated:
            fitting = [d for d in _distinct(dispatches) if self._fits(d)]
            self._ambiguous = len(fitting) > 1
            if len(fitting) == 1:
                self.of_scopes = (fitting[0],) * len(trace.scopes)

    def locations(self, in_text: bool) -> dict[int, str]:
        """Map keys to their new location; all numbers of a key's slices must agree on it."""
        keys = self._trace.keys
        locations_of: dict[int, set[str]] = {}
        for stated in self._stated:
            dispatch = self._of(stated.key)
            if dispatch is None or not self._may_gain(stated.key):
                continue
            places = locations_of.setdefault(stated.key, set())
            places.add(self._place(dispatch, stated, in_text))
        return {
            key: text
            for key, places in locations_of.items()
            if len(places) == 1 and (text := next(iter(places))) and text != keys.location[key]
        }

    def why_not(self, key: int) -> tuple[bool, str]:
        """Return (is its dispatch open, why the key has no location)."""
        keys = self._trace.keys
        number = int(keys.instruction[key])
        is_job = int(keys.kind[key]) == _JOB
        what = f"NSS job {number}" if is_job else f"action {number}"
        scope = int(keys.scope[key])
        if scope in self.others:
            return True, self.others[scope]
        dispatch = self._of(key)
        if dispatch is None:
            return False, self.why_no_dispatch(self._trace.scopes[scope].name)
        listed = dispatch.jobs if is_job else dispatch.actions
        if number not in listed:
            return True, f"The debug info of {dispatch.name} has no {what}, of {len(listed)}"
        return True, f"The debug info of {dispatch.name} was printed without locations"

    @property
    def states_numbers(self) -> bool:
        """Whether the trace has any number that debug info could explain."""
        return bool(self._stated)

    def own_names(self) -> list[str]:
        """Return the names of the dispatches of the trace, as in the file."""
        scopes = {int(self._trace.keys.scope[stated.key]) for stated in self._stated}
        return [self._trace.scopes[scope].name for scope in sorted(scopes)]

    def why_no_dispatch(self, name: str) -> str:
        """Return why no open debug info matches the dispatch `name`."""
        every = list(dict.fromkeys(d.name or os.path.basename(d.path) for d in self._dispatches))
        more = [f"{len(every) - 3} more"] if len(every) > 3 else []
        names = " and ".join([*every[:3], *more])
        if self._names_dispatches:
            return f"The open debug info is for {names}, but this ran in {name}"
        if self._ambiguous:
            return f"The file does not name its dispatch, and matches each of {names}"
        return f"The file does not name its dispatch, and does not match the debug info of {names}"

    # -- matching ----------------------------------------------------------------------------------

    def _of(self, key: int) -> Dispatch | None:
        scope = int(self._trace.keys.scope[key])
        return self.of_scopes[scope] if scope < len(self.of_scopes) else None

    def _by_name(self) -> Callable[[str], Dispatch | None]:
        """Return a lookup of dispatches by function, else by file; None if ambiguous."""
        dispatches = _distinct(self._dispatches)
        functions = lists_by_key((dispatch.name, dispatch) for dispatch in dispatches)
        files = lists_by_key(
            (os.path.splitext(os.path.basename(dispatch.path))[0], dispatch)
            for dispatch in dispatches
        )

        def named(name: str) -> Dispatch | None:
            of_name = functions.get(name) or files.get(name, [])
            return of_name[0] if len(of_name) == 1 else None

        return named

    def _contradicted(self, named: Sequence[Dispatch | None]) -> dict[int, str]:
        """Return the scopes whose debug info, by name, has another kind of action for a number."""
        reasons: dict[int, str] = {}
        for stated in self._stated:
            scope = int(self._trace.keys.scope[stated.key])
            dispatch = named[scope]
            if stated.sort != ACTION_ID or dispatch is None or scope in reasons:
                continue
            action = dispatch.actions.get(stated.number)
            name = self._name(stated.key)
            if action is not None and action_contradicts(name, action):
                reasons[scope] = (
                    f"The profile has a {name} as action {stated.number}, the debug "
                    f"info of {dispatch.name} a {action.op}: it is from another compilation"
                )
        return reasons

    def _fits(self, dispatch: Dispatch) -> bool:
        """Return whether a dispatch has every number of the trace and contradicts nothing in it."""
        for stated in self._stated:
            entry = _look_up(dispatch, stated)
            if entry is None:
                return False
            if isinstance(entry, Action) and action_contradicts(self._name(stated.key), entry):
                return False
            location = self._trace.keys.location[stated.key]
            if (
                location
                and _is_itself(stated)
                and _contradict(location, self._place(dispatch, stated, False))
            ):
                return False
        return True

    def _may_gain(self, key: int) -> bool:
        keys = self._trace.keys
        return int(keys.kind[key]) in (_ACTION, _JOB) or not positions_of(keys.location[key] or "")

    def _place(self, dispatch: Dispatch, stated: _Stated, in_text: bool) -> str:
        """Return the location of the thing with a number; "" if it has none."""
        entry = _look_up(dispatch, stated)
        if isinstance(entry, NssTask) and not in_text:
            # The row is only one part of the task's work.
            places = {w.location for w in entry.work if w.unit is stated.unit}
            return places.pop() if len(places) == 1 else ""
        if isinstance(entry, NssJob):
            actions = (entry.start_action, entry.wait_action)
            entry = next((dispatch.actions[a] for a in actions if a is not None), None)
        if entry is None or not _is_itself(stated):
            return ""
        return _position(dispatch.path, entry.line, entry.col) if in_text else entry.location

    def _name(self, key: int) -> str:
        return self._trace.strings[int(self._trace.keys.name[key])]


def _stated(trace: Trace) -> Iterator[_Stated]:
    """Yield the distinct numbers that slices have in their columns."""
    slices = trace.slices
    unit = units_of(trace)
    in_npu = (unit >= Unit.DMA_IN) & (unit <= Unit.CSS)
    for sort, selected in (
        (ACTION_ID, (unit == Unit.HOST) | in_npu),
        (JOB_ID, unit == Unit.NSS),
        (TASK_ID, in_npu),
    ):
        index, values = numbers(trace, sort, selected)
        distinct, code = np.unique(values, return_inverse=True)
        width = max(len(trace.keys), 1)
        packed: Ints = (code * width + slices.key[index]) * len(Unit) + unit[index]
        for packed_code in np.unique(packed).tolist():
            rest, of_unit = divmod(packed_code, len(Unit))
            place, key = divmod(rest, width)
            yield _Stated(sort, int(distinct[place]), Unit(of_unit), key)


def _look_up(dispatch: Dispatch, stated: _Stated) -> Action | NssJob | NssTask | None:
    if stated.sort == ACTION_ID:
        return dispatch.actions.get(stated.number)
    if stated.sort == JOB_ID:
        return dispatch.jobs.get(stated.number)
    return dispatch.tasks.get(stated.number)


def _is_itself(stated: _Stated) -> bool:
    """Return whether the row is the numbered thing; rows of C2 are parts of their action."""
    return stated.sort != ACTION_ID or stated.unit is Unit.HOST


def _contradict(location: str, other: str) -> bool:
    """Return whether two known locations have no position in common."""
    positions, other_positions = positions_of(location), positions_of(other)
    return bool(positions and other_positions) and not any(
        _is_same(a, b) for a in positions for b in other_positions
    )


def _is_same(file_position: FilePosition, other: FilePosition) -> bool:
    """Return whether two positions are the same place, ignoring folders; "@L13C10" has no file."""
    if (file_position.line, file_position.col) != (other.line, other.col):
        return False
    return INPUT_FILE in (file_position.file, other.file) or file_name(
        file_position.file
    ) == file_name(other.file)


def _distinct(dispatches: Iterable[Dispatch]) -> list[Dispatch]:
    """Return the dispatches without duplicates, such as one text opened from two folders."""
    distinct: dict[object, Dispatch] = {}
    for dispatch in dispatches:
        content = (dispatch.actions, dispatch.jobs, dispatch.tasks)
        distinct.setdefault((dispatch.name, *(tuple(part.values()) for part in content)), dispatch)
    return list(distinct.values())


def _position(path: str, line: int, col: int) -> str:
    """Return the location of a place in a text itself, in MLIR syntax."""
    name = os.path.basename(path).replace("\\", "\\\\").replace('"', "\\22")
    return f'loc("{name}":{line}:{col})'

"""Debug handle maps next to what was logged: identifier -> handles -> operators -> time.

For delegate authors. Each row is an identifier of one delegate instance, registered in its map,
logged in its calls, or both, or a debug handle of the call that no identifier covers. A status
covers all runs, since another run may have logged what one did not. The time of an identifier is
that in which its events are innermost, so the rows of an instance add up to what its events cover.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from functools import cached_property

import numpy as np

from viewer.analysis.cost.event_times import made_of_others, stated_alone
from viewer.analysis.delegates.delegation import operators_of
from viewer.analysis.links.coverage import starts_within
from viewer.analysis.links.link_table import LinkTable, Reason
from viewer.arrays import flags_at
from viewer.dataclasses import dataclass, field, replace
from viewer.model.charging import Segments, charge, total_per_group
from viewer.model.figures import WHOLE, TimeScope
from viewer.model.queries import foreign
from viewer.model.trace import KeyKind
from viewer.program.debug_handles import NO_INSTRUCTION, DelegateMap, Identifier, is_of_whole_call
from viewer.program.program import Method, Program

NO_MAP = "wrote no debug handle map"  # the links' detail text of such backends ends with this


class IdentifierStatus(Enum):
    """The status of an identifier or handle; the value is written to JSON and tables.

    NOT_RUN: its call is not in the profile. UNCLEAR: the row's detail gives the reason.
    """

    LOGGED = "logged"
    NEVER_LOGGED = "never logged"
    NOT_RUN = "not run"
    UNCLEAR = "cannot be told"
    NOT_REGISTERED = "not registered"
    UNCOVERED = "uncovered"
    WHOLE_CALL = "of the whole call"
    OUTSIDE_CALLS = "outside calls"
    NO_RECORD = "no record"

    @property
    def title(self) -> str:
        """The status as screens and reports show it."""
        return _STATUS_TITLES.get(self, self.value)


_STATUS_TITLES = {
    IdentifierStatus.UNCLEAR: "unclear",
    IdentifierStatus.NOT_REGISTERED: "not in map",
    IdentifierStatus.UNCOVERED: "no identifier",
    IdentifierStatus.WHOLE_CALL: "whole call",
    IdentifierStatus.NO_RECORD: "no ETRecord",
}


@dataclass(frozen=True, slots=True, eq=False)
class MapRow:
    """One identifier of a delegate instance, or one handle that no identifier covers.

    method, instruction, backend: of the instance; instruction is -1 if the file names no call.
    identifier: as in the map, else as logged; "" for an uncovered handle. handles: in the map's
    order. operators: indexes into `Program.operators`. detail: a warning about the row as a
    sentence, or "". slices, ticks: of its events in the range. foreign: how many of these slices
    are on a separate clock and not counted in `ticks`. keys: of its events.
    """

    method: str
    instruction: int
    backend: str
    identifier: str
    handles: tuple[int, ...]
    operators: tuple[int, ...]
    status: IdentifierStatus
    detail: str = ""
    slices: int = 0
    ticks: int = 0
    foreign: int = 0
    keys: tuple[int, ...] = ()

    @property
    def no_instruction(self) -> str:
        """Label of a row without an instruction: "any call" for a map's row, else "no call"."""
        of_map = (IdentifierStatus.LOGGED, IdentifierStatus.NEVER_LOGGED, IdentifierStatus.NOT_RUN)
        return "any call" if self.status in of_map else "no call"

    @property
    def has_time(self) -> bool:
        """Whether `ticks` is meaningful: it was logged on the clock of the profile."""
        return self.slices > self.foreign


# (method, instruction, identifier as in the map) of an entry.
_Place = tuple[str, int, Identifier]


@dataclass(slots=True)
class _Entry:
    """A row under construction."""

    row: MapRow
    keys: list[int] = field(default_factory=list)


class HandleMaps:
    """The rows of one linked trace; everything range-independent is cached."""

    def __init__(self, table: LinkTable) -> None:
        self._table = table
        self._trace = table.trace

    def rows(self, scope: TimeScope = WHOLE) -> tuple[MapRow, ...]:
        """Return all rows by instance, with the slices and ticks in a scope."""
        trace, slices = self._trace, self._trace.slices
        ticks = total_per_group(
            self._segments, len(self._rows), *scope.span, warm_up=scope.warm_up
        ).tolist()
        inside = starts_within(trace, scope) & ~made_of_others(trace)
        native = flags_at(len(slices), foreign(slices))
        count, own_clock = (
            np.bincount(slices.key[mask], minlength=len(trace.keys))
            for mask in (inside, inside & native)
        )
        return tuple(
            replace(
                row,
                slices=int(count[list(row.keys)].sum()),
                ticks=own_ticks,
                foreign=int(own_clock[list(row.keys)].sum()),
            )
            if row.keys
            else row
            for row, own_ticks in zip(self._rows, ticks, strict=True)
        )

    @cached_property
    def _segments(self) -> Segments:
        group = np.full(len(self._trace.keys), -1)
        for number, row in enumerate(self._rows):
            group[list(row.keys)] = number
        return charge(self._trace, stated_alone(self._trace, group)).of_lanes

    @cached_property
    def _rows(self) -> tuple[MapRow, ...]:
        program = self._table.program
        entries = _entries(program) if program is not None else {}
        ran = self._ran_places()
        maps_of_run = {self._map_of(*call) for call in ran}
        unregistered: dict[_Place, _Entry] = {}
        unclear: set[_Place] = set()
        keys = self._trace.keys
        for key in np.flatnonzero(keys.kind == KeyKind.DELEGATE_EVENT).tolist():
            place, unclear_places = self._place_of(key, entries)
            unclear.update(unclear_places)
            if place is not None and place in entries:
                entries[place].keys.append(key)
                continue
            row = self._logged_alone(key)
            key_place = (row.method, row.instruction, keys.identifier[key])
            unregistered.setdefault(key_place, _Entry(row)).keys.append(key)
        for key_place, entry in entries.items():
            entry.row = self._stands(key_place, entry, ran, maps_of_run, unclear)
        rows = [
            replace(entry.row, keys=tuple(entry.keys))
            for entry in (*entries.values(), *unregistered.values())
        ]
        if program is not None:
            rows += _uncovered(program)
        order = {
            (method.name, instruction): number
            for number, (method, instruction) in enumerate(_instances(program))
        }
        return tuple(
            sorted(rows, key=lambda row: order.get((row.method, row.instruction), len(order)))
        )

    def _stands(
        self,
        place: _Place,
        entry: _Entry,
        ran: set[tuple[str, int]],
        asked: set[tuple[str, int]],
        unclear: set[_Place],
    ) -> MapRow:
        """Return the row of a registered identifier with its status.

        asked: the maps of the calls and events that ran.
        """
        program, row = self._table.program, entry.row
        assert program is not None
        if entry.keys:
            return replace(row, status=IdentifierStatus.LOGGED)
        if place in unclear:
            why = "It was logged outside its call, and several maps include it"
            return replace(row, status=IdentifierStatus.UNCLEAR, detail=row.detail or why)
        if place[:2] in asked or (place[0], NO_INSTRUCTION) in ran:
            return replace(row, status=IdentifierStatus.NEVER_LOGGED)
        if any(program.method(method) is None for method, _ in ran):
            why = "The method of some inferences is unknown: choose it under Links"
            return replace(row, status=IdentifierStatus.UNCLEAR, detail=row.detail or why)
        return row

    def _method_of(self, key: int) -> str:
        """Return the method of a key, or the file's name for its runs if the method is unknown."""
        scope = int(self._trace.keys.scope[key])
        return self._table.method_of_scope(scope) or self._trace.scopes[scope].name

    def _ran_places(self) -> set[tuple[str, int]]:
        """Return (method, instruction) of every call, and of every event inside calls."""
        keys, links = self._trace.keys, self._table.links
        kinds = np.isin(keys.kind, (int(KeyKind.DELEGATE_CALL), int(KeyKind.DELEGATE_EVENT)))
        return {
            (self._method_of(key), int(keys.instruction[key]))
            for key in np.flatnonzero(kinds).tolist()
            if links[key].reason is not Reason.OUTSIDE_CALLS
        }

    def _map_of(self, name: str, instruction: int) -> tuple[str, int]:
        """Return where the map of a call is: under its instruction, else under "any call"."""
        method = self._table.program.method(name) if self._table.program else None
        stated = method is None or instruction in method.delegates
        return name, instruction if stated else NO_INSTRUCTION

    def _place_of(
        self, key: int, entries: dict[_Place, _Entry]
    ) -> tuple[_Place | None, list[_Place]]:
        """Return an event's place in the maps, or None and all candidates if ambiguous."""
        keys, program = self._trace.keys, self._table.program
        method = program.method(self._method_of(key)) if program else None
        link = self._table.links[key]
        if method is None or link.reason is Reason.OUTSIDE_CALLS:
            return None, []
        instruction, identifier = int(keys.instruction[key]), keys.identifier[key]
        delegate_indexes = [self._map_of(method.name, instruction)[1]]
        places: list[_Place] = []
        for delegate_index in delegate_indexes if instruction >= 0 else method.delegates:
            delegate = method.delegates.get(delegate_index)
            entry = delegate.find(identifier) if delegate else None
            if entry is not None:
                places.append((method.name, delegate_index, entry.key))
        if len(places) == 1:
            return places[0], []
        return None, places

    def _logged_alone(self, key: int) -> MapRow:
        """Return the row of an event that is in no map, or possibly in several."""
        keys, link = self._trace.keys, self._table.links[key]
        identifier: Identifier = keys.identifier[key]
        status = _STATUS_OF.get(link.reason, IdentifierStatus.NOT_REGISTERED)
        if link.reason is not Reason.OUTSIDE_CALLS and is_of_whole_call(identifier):
            status = IdentifierStatus.WHOLE_CALL
        if link.operators:
            status = IdentifierStatus.UNCLEAR
        return MapRow(
            self._method_of(key),
            int(keys.instruction[key]),
            link.backend,
            str(identifier),
            link.handles,
            link.operators,
            status,
            link.detail,
        )


_STATUS_OF = {
    Reason.OUTSIDE_CALLS: IdentifierStatus.OUTSIDE_CALLS,
    Reason.WHOLE_CALL: IdentifierStatus.WHOLE_CALL,
    Reason.IDENTIFIER_AMBIGUOUS: IdentifierStatus.UNCLEAR,
    Reason.NO_PROGRAM: IdentifierStatus.NO_RECORD,
    Reason.METHOD_UNDECIDED: IdentifierStatus.NO_RECORD,
    Reason.NO_METHOD: IdentifierStatus.NO_RECORD,
}


def recorded_rows(program: Program) -> tuple[MapRow, ...]:
    """Return the rows of an ETRecord alone, where nothing ran and nothing was logged."""
    rows = [entry.row for entry in _entries(program).values()]
    order = {
        (method.name, instruction): number
        for number, (method, instruction) in enumerate(_instances(program))
    }
    rows += _uncovered(program)
    return tuple(sorted(rows, key=lambda row: order[row.method, row.instruction]))


def _instances(program: Program | None) -> Iterator[tuple[Method, int]]:
    """Yield (method, instruction) of every delegate instance of an ETRecord."""
    for method in program.methods if program else ():
        for instruction in sorted(method.delegates):
            yield method, instruction


def _entries(program: Program) -> dict[_Place, _Entry]:
    """Map (method, instruction, identifier) to its row, as if it had never run."""
    entries = {}
    for method, instruction in _instances(program):
        delegate = method.delegates[instruction]
        of_call = frozenset(method.handles.get(instruction, ()))
        for key, handles in (delegate.entries or {}).items():
            row = MapRow(
                method.name,
                instruction,
                delegate.backend,
                str(key),
                handles,
                operators_of(method, handles),
                IdentifierStatus.NOT_RUN,
                _oddity(method, of_call, handles),
            )
            entries[method.name, instruction, key] = _Entry(row)
    return entries


def _oddity(method: Method, of_call: frozenset[int], handles: tuple[int, ...]) -> str:
    """Return what is wrong with the handles of an entry, as a sentence, or ""."""
    absent = [h for h in dict.fromkeys(handles) if h not in method.by_handle]
    unexpected = [h for h in dict.fromkeys(handles) if h not in of_call and h in method.by_handle]
    if not handles:
        return "The map gives it no debug handle"
    if absent:
        return f"The ETRecord's graph has no operator with debug handle{_numbers(absent)}"
    if unexpected and of_call:
        return f"The call does not have debug handle{_numbers(unexpected)}"
    return ""


def _uncovered(program: Program) -> list[MapRow]:
    """Return a row for every debug handle of a delegate call that no identifier covers."""
    rows = []
    for method, instruction in _instances(program):
        delegate = method.delegates[instruction]
        covered = {h for handles in (delegate.entries or {}).values() for h in handles}
        rows += [
            MapRow(
                method.name,
                instruction,
                delegate.backend,
                "",
                (handle,),
                operators_of(method, (handle,)),
                IdentifierStatus.UNCOVERED,
                _why_uncovered(delegate),
            )
            for handle in dict.fromkeys(method.handles.get(instruction, ()))
            if handle not in covered
        ]
    return rows


def _why_uncovered(delegate: DelegateMap) -> str:
    backend = delegate.backend or "The backend"
    if not delegate.is_filled:
        return f"{backend} {NO_MAP}"
    return f"No identifier in the map of {backend} includes it, so its time is unknown"


def _numbers(handles: list[int]) -> str:
    return f"{'s' if len(handles) > 1 else ''} {', '.join(map(str, handles))}"

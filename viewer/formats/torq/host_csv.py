"""Reads the Torq host profile: the host's work for every dispatch, action by action.

The runtime writes it with `--torq_profile_host=PATH`, with commas. Generations:

    H0  2025-10  actionIndex, elapsed_time(us), timestamp(us), event, location    location bare
    H1  2025-12  the same, the location quoted, its quotes doubled
    H2  2026-02  dispatch_name,invocation_id,action_id,timestamp_us,event    DISPATCH and actions
    H3  2026-02  the same, with HAL scopes and the stages of a DISPATCH
    H4  2026-03  the same, with INIT scopes, other stages

A header does not distinguish H0 from H1, nor H2 from H3 and H4. If nothing else does, the earliest
is reported.

A begin and an end with the same (dispatch, invocation, action, event) are one slice. In H0 and H1 a
begin ends in `_START` (`NSS_START` itself has no suffix), later in `_BEGIN`. INIT and DISPATCH
scopes, their stages and their actions are nested on the track "Host", the scopes of the IREE HAL on
"HAL", in file order, so that slices without duration keep their place. Derived are NSS jobs, from
the begin of an NSS_START to the end of the next NSS_WAIT in the same dispatch execution; and a
begin without an end, or an end without a begin, as a slice without duration (column `unpaired`).

Runs: an INIT is a load, and so is a DISPATCH that opens the hardware and has no action (H3). An
outermost `__HAL_QUEUE_EXECUTE__` call that contains a dispatch is one inference. Without such
calls, an inference starts at each dispatch whose name already occurred in the current one. H0 and
H1 contain only the last execution of one dispatch.

Times are µs of std::chrono::steady_clock, which counts from the boot of the device. All host
profiles share that clock domain, so two files of one boot are aligned by their real times. A file
does not identify its boot or device: between files of several, a gap has no meaning.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from viewer.arrays import Bools, Codes, Ints, flags_at, numbers_at
from viewer.codecs.reading import Cancelled, Progress, UnreadableFile
from viewer.dataclasses import dataclass
from viewer.formats import format_of
from viewer.formats.text_rows import (
    MICROSECONDS,
    TWO_ROWS,
    DistinctTexts,
    RowCells,
    combined_codes,
    count_rows,
    first_line,
    numbered,
    read_rows,
)
from viewer.model.building.builder import TraceBuilder
from viewer.model.recorded_names import (
    ACTION_ID,
    DISPATCH,
    HAL,
    HOST,
    JOB_ID,
    NSS_JOBS,
    NSS_START,
    NSS_WAIT,
    job_name,
)
from viewer.model.trace import Clock, Column, KeyKind, RunKind, Trace, Unit

WITH_LOCATION = "actionIndex,elapsed_time(us),timestamp(us),event,location"
WITH_DISPATCH = "dispatch_name,invocation_id,action_id,timestamp_us,event"

_ROW_H0 = re.compile(
    rf'^{MICROSECONDS},{MICROSECONDS},{MICROSECONDS},([^,"\n]*),(.*)$', re.MULTILINE
)
_ROW_H2 = re.compile(
    rf"^([^,\n]*),{MICROSECONDS},{MICROSECONDS},{MICROSECONDS},([^,\n]*)$", re.MULTILINE
)
# In a location: another row.
_SECOND_ROW = re.compile(r", *-?[0-9]{1,15} *, *-?[0-9]{1,15} *,\s*\w+\s*,")
_HUGE = re.compile(r"(?:^|,) *-?[0-9]{16,} *(?=,)")

_ONLY_IN_H4 = re.compile(
    r"INIT|INIT_.*|DISPATCH_(?:EXECUTE_ACTIONS|SYNC_BINDINGS_OUT|(?:ACQUIRE|RELEASE)_HW_RESOURCES)"
)
_NOT_IN_H2 = re.compile(r"HAL_.*|DISPATCH_.*")
BEGIN, END, _NEITHER = 0, 1, 2


@dataclass(slots=True)
class HostEvents:
    """The rows of a file as columns; text columns are codes into `dispatches`, `names`, `places`.

    scope: a number for each (dispatch, invocation). name: the event without begin or end, which is
    in `phase`. Columns that a generation does not have are zeros.
    """

    row: Codes
    time: Ints
    action: Ints
    invocation: Ints
    elapsed: Ints
    dispatch: Codes
    scope: Ints
    name: Codes
    phase: NDArray[np.uint8]
    place: Codes
    dispatches: tuple[str, ...]
    names: tuple[str, ...]
    places: tuple[str, ...]

    def is_named(self, name: str) -> Bools:
        """Which rows have an event name."""
        is_named: Bools = np.array([n == name for n in self.names], np.bool_)[self.name]
        return is_named


class EventRows:
    """The rows read so far; problems and the generation are reported to the builder."""

    def __init__(self, builder: TraceBuilder, *, has_dispatch: bool) -> None:
        self.builder = builder
        self.has_dispatch = has_dispatch
        self._cells = RowCells(
            _ROW_H2 if has_dispatch else _ROW_H0,
            _HUGE,
            WITH_DISPATCH if has_dispatch else WITH_LOCATION,
            self.builder,
            "," if has_dispatch else "",
        )
        self._dispatches, self._events, self._places = (
            DistinctTexts(),
            DistinctTexts(),
            DistinctTexts(),
        )
        self._parts: dict[str, list[Ints]] = {}

    def add(self, line: int, raw: bytes) -> None:
        """Add some whole lines of the file; `line` is the number of the first one."""
        cells, row = self._cells.take(line, raw)
        if not cells:
            return
        n = len(cells)
        nothing = np.zeros(n, np.int64)
        columns: dict[str, Ints | Codes]
        if self.has_dispatch:
            dispatch, invocation, action, time, event = zip(*cells, strict=True)
            columns = {
                "dispatch": self._dispatches.codes(dispatch),
                "invocation": _ints(invocation, n),
                "elapsed": nothing,
                "place": nothing,
            }
        else:
            action, elapsed, time, event, place = zip(*cells, strict=True)
            columns = {
                "dispatch": nothing,
                "invocation": nothing,
                "elapsed": _ints(elapsed, n),
                "place": self._places.codes(place),
            }
        columns |= {
            "row": row,
            "time": _ints(time, n),
            "action": _ints(action, n),
            "event": self._events.codes(event),
        }
        for name, values in columns.items():
            self._parts.setdefault(name, []).append(values.astype(np.int64))

    def whole(self) -> HostEvents | None:
        """All rows that are a begin or an end; None if there are no rows."""
        if not self._parts:
            return None
        builder = self.builder
        column = {name: np.concatenate(parts) for name, parts in self._parts.items()}
        self._parts.clear()
        names = DistinctTexts()
        split = [_split(event.strip(), self.has_dispatch) for event in self._events]
        name = names.codes([base for base, _ in split])[column["event"]]
        phase = np.array([phase for _, phase in split], np.uint8)[column["event"]]
        dispatches = tuple(text.strip() for text in self._dispatches) or ("",)
        places = tuple(_location(text) for text in self._places) or ("",)
        two = np.array([bool(_SECOND_ROW.search(p)) for p in places], np.bool_)[column["place"]]
        if two.any():
            count_rows(builder, TWO_ROWS, column["row"][two], 2)
            column = {text: values[~two] for text, values in column.items()}
            name, phase = name[~two], phase[~two]
        row = column["row"]
        count_rows(
            builder,
            "event that is neither a begin nor an end event: left out",
            row[phase == _NEITHER],
        )
        cut = np.array([bool(p) and not _is_whole(p) for p in places], np.bool_)[column["place"]]
        count_rows(builder, "location that is not loc(...): kept as text", row[cut])
        back = np.flatnonzero(np.diff(column["time"]) < 0) + 1
        count_rows(builder, "time earlier than in the row above: kept", row[back])
        count_rows(builder, "negative time: kept", row[column["time"] < 0])
        if self.has_dispatch:
            builder.generation = _generation([base for base, is_ in split if is_ != _NEITHER])
        elif any(text.lstrip().startswith('"') for text in self._places):
            builder.generation = "H1"
        dispatch, place = (column[text].astype(np.uint32) for text in ("dispatch", "place"))
        scope, _ = combined_codes([dispatch, numbered(column["invocation"])])
        keep = phase != _NEITHER
        return HostEvents(
            row=row[keep].astype(np.uint32),
            time=column["time"][keep],
            action=column["action"][keep],
            invocation=column["invocation"][keep],
            elapsed=column["elapsed"][keep],
            dispatch=dispatch[keep],
            scope=scope[keep],
            name=name[keep],
            phase=phase[keep],
            place=place[keep],
            dispatches=dispatches,
            names=tuple(names),
            places=places,
        )


def pairs(events: HostEvents) -> tuple[Ints, Ints]:
    """The positions of begins and of their ends, in the order of the begins.

    An end belongs to the begin directly before it with the same dispatch, invocation, action and
    event.
    """
    scope = events.scope.astype(np.uint32)
    group, _ = combined_codes([scope, events.name, numbered(events.action)])
    order = np.argsort(group, kind="stable")
    group, phase = group[order], events.phase[order]
    meets = (group[1:] == group[:-1]) & (phase[:-1] == BEGIN) & (phase[1:] == END)
    index = np.flatnonzero(meets)
    begin, end = order[index], order[index + 1]
    by_begin = np.argsort(begin)
    return begin[by_begin], end[by_begin]


def levels(begin: Ints, end: Ints, count: int) -> tuple[Ints, Ints]:
    """How many pairs are open at each position of a file, and which pairs cross another.

    Read as brackets, begins and ends on one level alternate in file order. A pair crosses another
    if the bracket that closes its begin is not its own end.
    """
    step = np.zeros(count, np.int64)
    step[begin], step[end] = 1, -1
    after = np.cumsum(step)
    level = after - step
    position = np.concatenate([begin, end])
    on_level = np.concatenate([level[begin], after[end]])
    pair = np.tile(np.arange(len(begin)), 2)
    by_level = pair[np.lexsort((position, on_level))]
    opens, closes = by_level[0::2], by_level[1::2]
    return level, np.sort(opens[opens != closes])


def _split(event: str, has_dispatch: bool) -> tuple[str, int]:
    """An event name without its begin or end suffix, and which of the two it is."""
    begins = "_BEGIN" if has_dispatch else "_START"
    if not has_dispatch and event == NSS_START:
        return NSS_START, BEGIN
    for ending, phase in ((begins, BEGIN), ("_END", END)):
        if event.endswith(ending) and event != ending:
            return event.removesuffix(ending), phase
    return event, _NEITHER


def _generation(names: Iterable[str]) -> str:
    if any(map(_ONLY_IN_H4.fullmatch, names)):
        return "H4"
    return "H3" if any(map(_NOT_IN_H2.fullmatch, names)) else "H2"


def _location(cell: str) -> str:
    """The location in a cell: bare, or quoted with doubled quotes."""
    text = cell.strip()
    if len(text) > 1 and text.startswith('"') and text.endswith('"'):
        return text[1:-1].replace('""', '"')
    return text


def _is_whole(location: str) -> bool:
    return location.startswith("loc(") and location.endswith(")")


def _ints(texts: Sequence[str], count: int) -> Ints:
    return np.fromiter(map(int, texts), np.int64, count)


CLOCK = Clock("us", Fraction(1000), domain="torq host")

_QUEUE_EXECUTE, _HAL_CALL = "__HAL_QUEUE_EXECUTE__", "HAL_CALL"
_INIT, _DISPATCH = "INIT", "DISPATCH"
_SCOPES = frozenset((_INIT, _DISPATCH, _HAL_CALL))
_NO_END, _NO_BEGIN = "begin event without an end event", "end event without a begin event"
_INFERENCE = "inference"


def sniff(head: bytes) -> bool:
    """Whether the first line is one of the two headers."""
    return first_line(head, ",") in (WITH_LOCATION, WITH_DISPATCH)


def read(path: str, progress: Progress, cancelled: Cancelled) -> Trace:
    """One slice per pair of begin and end, in µs. Raises UnreadableFile, ReadCancelled."""

    def begin(head: bytes) -> tuple[EventRows, bool] | None:
        if not sniff(head):
            return None
        has_dispatch = first_line(head, ",") == WITH_DISPATCH
        builder = TraceBuilder(path, FORMAT.name, "H2" if has_dispatch else "H0", CLOCK)
        return EventRows(builder, has_dispatch=has_dispatch), True

    rows = read_rows(path, begin, progress, cancelled)
    if rows is None:
        raise UnreadableFile(
            path,
            f"it is not a Torq host profile: its header is neither {WITH_DISPATCH} nor "
            f"{WITH_LOCATION}",
            where="line 1",
        )
    events = rows.whole()
    if events is not None:
        _Slices(rows.builder, events, rows.has_dispatch).add()
    return rows.builder.build()


def scope_name(event: str, scope: str) -> str:
    """The name of a slice: its event, followed by the scope's name if it is the scope itself."""
    return f"{event} {scope}".rstrip() if event in _SCOPES else event


def is_hal(scope: str) -> bool:
    """Whether a scope name is one of the HAL's, not that of a dispatch."""
    return scope.startswith("__HAL_") and scope.endswith("__")


class _Slices:
    """Creates slices, jobs and runs from the rows of a file."""

    def __init__(self, builder: TraceBuilder, events: HostEvents, has_dispatch: bool) -> None:
        self._builder, self._events, self._has_dispatch = builder, events, has_dispatch
        self._process = os.path.basename(builder.path)
        host_scope = builder.scope("host")  # runs and the HAL share it
        self._scopes = [
            host_scope if is_hal(name) or not has_dispatch else builder.scope(name)
            for name in events.dispatches
        ]
        self._scope_kind, self._is_load = self._kinds_of_scopes()
        self._begin, self._end = pairs(events)

    def add(self) -> None:
        """Add everything to the builder."""
        events, begin, end = self._events, self._begin, self._end
        is_hal_row = np.array([is_hal(d) for d in events.dispatches], np.bool_)[events.dispatch]
        alone = ~flags_at(len(events.row), np.append(begin, end))
        lone = np.flatnonzero(alone)
        no_end, no_begin = (lone[events.phase[lone] == phase] for phase in (BEGIN, END))
        count_rows(self._builder, f"{_NO_END}: drawn as an instant", events.row[no_end])
        count_rows(self._builder, f"{_NO_BEGIN}: drawn as an instant", events.row[no_begin])
        for thread, unit, is_own in ((HOST, Unit.HOST, ~is_hal_row), (HAL, Unit.HAL, is_hal_row)):
            self._add_track(thread, unit, is_own, lone)
        self._add_jobs()
        self._add_runs()

    # -- slices stated by the file -----------------------------------------------------------

    def _add_track(self, thread: str, unit: Unit, is_own: Bools, lone: Ints) -> None:
        """Add the pairs of one track and the events without a counterpart, in file order."""
        events = self._events
        on_track = is_own[self._begin]
        begin, end, lone = self._begin[on_track], self._end[on_track], lone[is_own[lone]]
        if not len(begin) and not len(lone):
            return
        level, crossing = levels(begin, end, len(events.row))
        crossed = events.row[begin[crossing]]
        count_rows(self._builder, "begin and end events that cross: nested by time", crossed)
        rows = np.concatenate([begin, lone])
        order = np.argsort(rows)
        rows = rows[order]
        until = np.concatenate([end, lone])[order]
        is_lone = until == rows
        names, keys = self._names_and_keys(rows)
        columns = self._columns(rows)
        if is_lone.any():
            columns["unpaired"] = Column.of_codes(
                events.phase[rows].astype(np.uint32), (_NO_END, _NO_BEGIN), is_lone
            )
        self._builder.add(
            track=self._builder.track(self._process, thread, unit=unit),
            start=events.time[rows],
            end=events.time[until],
            name=names,
            key=keys,
            source_row=events.row[rows],
            levels=None if len(crossing) else level[rows].astype(np.int32),
            derived=is_lone,
            columns=columns,
        )

    def _names_and_keys(self, rows: Ints) -> tuple[Codes, Codes]:
        """The name and key of some rows, created once per distinct combination."""
        events, builder = self._events, self._builder
        action = np.maximum(events.action[rows], -1)
        which, first = combined_codes(
            [events.dispatch[rows], events.name[rows], events.place[rows], numbered(action)]
        )
        names, keys = np.empty(len(first), np.uint32), np.empty(len(first), np.uint32)
        for i in np.argsort(first).tolist():
            row = rows[first[i]]
            dispatch, number = int(events.dispatch[row]), int(action[first[i]])
            name = scope_name(events.names[events.name[row]], events.dispatches[dispatch])
            names[i] = builder.intern(name)
            if not self._has_dispatch:
                keys[i] = builder.key(
                    KeyKind.LOCATION,
                    name,
                    instruction=number,
                    location=events.places[events.place[row]],
                )
            else:
                kind = KeyKind.FRAMEWORK if number < 0 else KeyKind.ACTION
                keys[i] = builder.key(kind, name, scope=self._scopes[dispatch], instruction=number)
        return names[which], keys[which]

    def _columns(self, rows: Ints) -> dict[str, Column]:
        events = self._events
        action = events.action[rows]
        columns = {ACTION_ID: Column(np.maximum(action, 0), action >= 0)}
        if self._has_dispatch:
            kind = self._scope_kind[events.scope[rows]]
            of_dispatch = kind < 2
            columns |= {
                DISPATCH: Column.of_codes(events.dispatch[rows], events.dispatches, of_dispatch),
                "scope": Column.of_codes(
                    np.where(of_dispatch, kind, events.dispatch[rows] + 2).astype(np.uint32),
                    (_DISPATCH, _INIT, *events.dispatches),
                ),
                "invocation_id": Column(events.invocation[rows]),
            }
        else:
            columns |= {
                "location": Column.of_codes(events.place[rows], events.places),
                "elapsed_time": Column(events.elapsed[rows], unit="us"),
            }
        return columns

    # -- scopes ------------------------------------------------------------------------------

    def _kinds_of_scopes(self) -> tuple[Ints, Bools]:
        """The kind of each scope, and whether it is a DISPATCH that only loads.

        Kinds: 0 DISPATCH, 1 INIT, 2 HAL.
        """
        events = self._events
        count = int(events.scope.max(initial=-1)) + 1

        def having(rows: Bools) -> Bools:
            return np.bincount(events.scope[rows], minlength=count) > 0

        hal = np.array([is_hal(d) for d in events.dispatches], np.bool_)[events.dispatch]
        has_action = having(events.action >= 0)
        is_init = having(events.is_named(_INIT)) & ~having(events.is_named(_DISPATCH))
        kind = np.where(having(hal), 2, np.where(is_init & ~has_action, 1, 0))
        return kind, having(events.is_named("DISPATCH_HW_OPEN")) & ~has_action

    # -- NSS jobs ----------------------------------------------------------------------------

    def _add_jobs(self) -> None:
        """Add one job per start and the wait after it, within one execution of a dispatch."""
        events, builder = self._events, self._builder
        is_start, is_wait = events.is_named(NSS_START), events.is_named(NSS_WAIT)
        of_nss = np.flatnonzero((is_start | is_wait)[self._begin])
        pair = of_nss[np.argsort(events.scope[self._begin[of_nss]], kind="stable")]
        begin, end = self._begin[pair], self._end[pair]
        scope, starts = events.scope[begin], is_start[begin]
        meets = np.append((scope[1:] == scope[:-1]) & starts[:-1] & ~starts[1:], False)
        after = np.append(False, meets[:-1])
        count_rows(
            builder,
            "NSS_START without an NSS_WAIT after it: no NSS job",
            events.row[begin[starts & ~meets[: len(begin)]]],
        )
        count_rows(
            builder,
            "NSS_WAIT without an NSS_START before it: no NSS job",
            events.row[begin[~starts & ~after[: len(begin)]]],
        )
        first = np.flatnonzero(meets)
        if not len(first):
            return
        start, wait = begin[first], begin[first + 1]
        number = self._number_of_starts(start)
        names = [job_name(n) for n in number.tolist()]
        if self._has_dispatch:
            key = [
                builder.key(KeyKind.JOB, name, scope=self._scopes[dispatch], instruction=job)
                for name, dispatch, job in zip(
                    names, events.dispatch[start].tolist(), number.tolist(), strict=True
                )
            ]
        else:
            key = [
                builder.key(
                    KeyKind.LOCATION, name, instruction=action, location=events.places[place]
                )
                for name, action, place in zip(
                    names, events.action[wait].tolist(), events.place[wait].tolist(), strict=True
                )
            ]
        columns = self._columns(wait)
        del columns[ACTION_ID]
        columns.pop("elapsed_time", None)
        columns[JOB_ID] = Column(number)
        builder.add(
            track=builder.track(self._process, NSS_JOBS, flat=True, unit=Unit.NSS),
            start=events.time[start],
            end=events.time[end[first + 1]],
            name=builder.intern_all(names),
            key=np.array(key, np.uint32),
            source_row=events.row[start],
            derived=np.ones(len(start), np.bool_),
            columns=columns,
        )

    def _number_of_starts(self, start: Ints) -> Ints:
        """The number of NSS_STARTs of the same scope before each start.

        A start without its begin or end has no job, but is counted: otherwise the jobs after it
        would get the numbers of earlier ones.
        """
        events = self._events
        is_counted = events.phase == END
        is_counted[self._end] = False  # else its begin is counted
        is_counted |= events.phase == BEGIN
        rows = np.flatnonzero(is_counted & events.is_named(NSS_START))
        rows = rows[np.argsort(events.scope[rows], kind="stable")]
        scope = events.scope[rows]
        number = numbers_at(
            len(is_counted), rows, np.arange(len(rows)) - np.searchsorted(scope, scope)
        )
        return number[start]

    # -- runs --------------------------------------------------------------------------------

    def _add_runs(self) -> None:
        """Add loads and inferences in order of their starts, on the host track."""
        events = self._events
        if not len(self._begin):
            return
        track = self._builder.track(self._process, HOST, unit=Unit.HOST)
        if not self._has_dispatch:
            begin = int(events.time[self._begin].min())
            self._builder.run(
                RunKind.INFERENCE,
                _INFERENCE,
                track,
                0,
                begin,
                max(begin, int(events.time[self._end].max())),
            )
            return
        kind = self._scope_kind[events.scope[self._begin]]
        is_load = self._is_load[events.scope[self._begin]]
        is_dispatch = events.is_named(_DISPATCH)[self._begin] & (kind == 0)
        is_init = events.is_named(_INIT)[self._begin] & (kind == 1)
        loads = np.flatnonzero(is_init | (is_dispatch & is_load))
        dispatches = np.flatnonzero(is_dispatch & ~is_load)
        runs = [(pair, pair, RunKind.LOAD) for pair in loads.tolist()]
        inferences = self._calls_around(dispatches) or self._rounds(dispatches)
        runs += [(first, last, RunKind.INFERENCE) for first, last in inferences]
        for first, last, kind_of_run in sorted(runs):
            begin = int(events.time[self._begin[first]])
            end = max(begin, int(events.time[self._end[last]]))
            name = _INFERENCE
            if (first == last and is_dispatch[first]) or kind_of_run is RunKind.LOAD:
                name = events.dispatches[events.dispatch[self._begin[first]]]
            self._builder.run(kind_of_run, name, track, 0, begin, end)

    def _calls_around(self, dispatches: Ints) -> list[tuple[int, int]]:
        """The outermost queue calls that contain a dispatch, as (pair, pair)."""
        events = self._events
        executes = np.array([d == _QUEUE_EXECUTE for d in events.dispatches], np.bool_)
        called = executes[events.dispatch] & events.is_named(_HAL_CALL)
        calls = np.flatnonzero(called[self._begin])
        if not len(calls):
            return []
        begin, end = self._begin[calls], self._end[calls]
        covered = np.maximum.accumulate(end)
        is_outermost = np.append(True, begin[1:] > covered[:-1])
        inside = self._begin[dispatches]
        has_dispatch = np.searchsorted(inside, begin) < np.searchsorted(inside, end)
        return [(pair, pair) for pair in calls[is_outermost & has_dispatch].tolist()]

    def _rounds(self, dispatches: Ints) -> list[tuple[int, int]]:
        """Split dispatches where a name repeats; the (first, last) pair of each part."""
        rounds: list[tuple[int, int]] = []
        seen: set[int] = set()
        names = self._events.dispatch[self._begin[dispatches]].tolist()
        for pair, name in zip(dispatches.tolist(), names, strict=True):
            if not rounds or name in seen:
                rounds.append((pair, pair))
                seen.clear()
            rounds[-1] = (rounds[-1][0], pair)
            seen.add(name)
        return rounds


FORMAT = format_of("torq.host_csv")

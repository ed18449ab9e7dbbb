"""Reads the rows of a Torq host profile as columns, and pairs begins with ends.

This module knows the syntax of rows, begins and ends, and how rows show the generation. `host_csv`
derives slices, jobs and runs from them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from viewer.arrays import Bools, Codes, Ints
from viewer.formats.text_rows import (
    MICROSECONDS,
    TWO_ROWS,
    DistinctTexts,
    RowCells,
    combined_codes,
    count_rows,
    numbered,
)
from viewer.model.building.builder import TraceBuilder
from viewer.model.names.torq import NSS_START

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

"""Slices and counters of Android's atrace: texts that programs write to ftrace's trace_marker.

The first letter of a print is its kind (system/core/libcutils trace-*.inc of Android):

    B|pid|name           begin of a slice on the thread       E|pid, E      its end
    S|pid|name|cookie    begin of an asynchronous slice       F|pid|name|cookie    its end
    G|pid|track|name|cookie, H|pid|track|cookie               the same on a track with a name
    I|pid|name           an instant                           N|pid|track|name     on a track
    C|pid|name|value     a counter of the process

Asynchronous slices are paired by process, name (or track) and cookie. Each name is a track of its
process. A begin without an end lasts at least to the last print.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from viewer.arrays import Ints, groups_of
from viewer.dataclasses import dataclass
from viewer.formats.event_pairs import BEGIN, END, POINT, PairedSlices, paired
from viewer.formats.perfetto.ftrace import FtraceEvents, SystemSlices
from viewer.formats.perfetto.recording import Recording
from viewer.model.timing import Timing
from viewer.model.trace_attributes import Counter, stated_counter

_SLICE = re.compile(r"([BI])\|(\d{1,10})\|(.*)", re.DOTALL)
_ASYNC = re.compile(r"([SF])\|(\d{1,10})\|(.*)\|(-?\d{1,19})", re.DOTALL)
_ON_TRACK = re.compile(r"([GHN])\|(\d{1,10})\|([^|]*)\|(.*)", re.DOTALL)
_COUNTER = re.compile(r"C\|(\d{1,10})\|(.*)\|(-?\d{1,18})(?:\|.*)?", re.DOTALL)
_END = re.compile(r"E(?:\|(\d{0,10}))?")
_NO_NAME = "(unnamed)"
_NO_END = (
    "atrace begin event without an end event: drawn to the last print, and lasts at least so long"
)
_THREAD, _GROUP, _VALUE, _IGNORED, _OTHER = range(5)


@dataclass(frozen=True, slots=True)
class _Mark:
    """What one text means. group: of asynchronous slices, (pid, track, cookie)."""

    sort: int
    kind: int = 0
    pid: int = -1
    name: str = ""
    group: tuple[int, str, str] = (0, "", "")
    value: int = 0


def mark_of(text: str) -> _Mark:
    """The meaning of a print."""
    text = text.rstrip("\n\0 ")
    if match := _END.fullmatch(text):
        return _Mark(_THREAD, END, int(match[1] or -1))
    if match := _SLICE.fullmatch(text):
        kind = BEGIN if match[1] == "B" else POINT
        return _Mark(_THREAD, kind, int(match[2]), match[3] or _NO_NAME)
    if match := _ASYNC.fullmatch(text):
        pid, name = int(match[2]), match[3] or _NO_NAME
        kind = BEGIN if match[1] == "S" else END
        return _Mark(_GROUP, kind, pid, name, (pid, name, match[4]))
    if match := _ON_TRACK.fullmatch(text):
        letter, pid, track, rest = match[1], int(match[2]), match[3] or _NO_NAME, match[4]
        name, _, cookie = rest.rpartition("|")
        if letter == "N":
            return _Mark(_GROUP, POINT, pid, rest or _NO_NAME, (pid, track, "instants"))
        kind = BEGIN if letter == "G" else END
        return _Mark(_GROUP, kind, pid, name or _NO_NAME, (pid, track, cookie))
    if match := _COUNTER.fullmatch(text):
        return _Mark(_VALUE, 0, int(match[1]), match[2] or _NO_NAME, value=int(match[3]))
    return _Mark(_IGNORED if text.startswith("trace_event_clock_sync:") else _OTHER)


class Atrace:
    """The slices and counters of all prints of a file."""

    def __init__(self, recording: Recording, events: FtraceEvents) -> None:
        self._recording = recording
        self._time, self._tid = events.prints["time"], events.prints["tid"]
        texts = recording.texts.all()
        self._distinct, self._which = np.unique(events.prints["text"], return_inverse=True)
        self._marks = [mark_of(texts[code]) for code in self._distinct.tolist()]
        sorts = self._column(lambda mark: mark.sort)
        self._of = {sort: np.flatnonzero(sorts == sort) for sort in range(5)}
        recording.problem(
            "ftrace prints that are not atrace's: not shown", len(self._of[_OTHER]), ""
        )

    def _column(self, value: Callable[[_Mark], int]) -> Ints:
        """A property of every print."""
        return np.array([value(mark) for mark in self._marks], np.int64)[self._which]

    def _names(self) -> Ints:
        code = self._recording.texts.code
        return np.array([code(mark.name) for mark in self._marks], np.int64)[self._which]

    def slices(self) -> list[SystemSlices]:
        """The slices of threads, and those of tracks of processes."""
        if not len(self._time):
            return []
        kind, name = self._column(lambda mark: mark.kind), self._names()
        processes = self._recording.tracks.processes
        parts = []
        rows = self._of[_THREAD]
        if len(rows):
            pid = self._column(lambda mark: mark.pid)[rows]
            track, lives = processes.lives(self._tid[rows], self._time[rows], pid)
            places = [processes.place(life) for life in lives]
            parts.append(self._paired(rows, track, kind, name, places, flat=False))
        rows = self._of[_GROUP]
        if len(rows):
            process = self._processes(rows)
            groups: dict[tuple[int, str, str], int] = {}
            numbers = [groups.setdefault(mark.group, len(groups)) for mark in self._marks]
            number = np.array(numbers, np.int64)[self._which][rows]
            combined, group = np.unique(np.stack([number, process]), axis=1, return_inverse=True)
            texts = list(groups)
            states = [(of, *texts[place][1:]) for place, of in combined.T.tolist()]
            parts.append(self._grouped(rows, group.reshape(-1), states, kind, name))
        return [part for part in parts if len(part)]

    def _processes(self, rows: Ints) -> Ints:
        """The number of the process that some prints state."""
        pids = self._column(lambda mark: mark.pid)[rows]
        return self._recording.tracks.processes.processes_at(pids, self._time[rows])

    def _grouped(
        self,
        rows: Ints,
        group: Ints,
        groups: Sequence[tuple[int, str, str]],
        kind: Ints,
        name: Ints,
    ) -> SystemSlices:
        """Slices that are paired by group, on a track for each process and name."""
        tracks: dict[tuple[int, str], int] = {}
        of_group = np.array(
            [tracks.setdefault(group[:2], len(tracks)) for group in groups], np.uint32
        )
        processes = self._recording.tracks.processes
        places = [
            (processes.label(processes.all[number]), track or _NO_NAME) for number, track in tracks
        ]
        system_slices = self._paired(rows, group, kind, name, [], flat=True)
        return SystemSlices(
            places,
            of_group[system_slices.track],
            system_slices.start,
            system_slices.end,
            system_slices.name,
            flat=True,
            timing=system_slices.timing,
        )

    def _paired(
        self,
        rows: Ints,
        track: Ints,
        kind: Ints,
        name: Ints,
        places: list[tuple[str, str]],
        *,
        flat: bool,
    ) -> SystemSlices:
        time = self._time[rows]
        pairs: PairedSlices = paired(track.astype(np.uint32), time, kind[rows].astype(np.uint8))
        problem = self._recording.problem
        problem("atrace end event without a begin event: left out", pairs.lone_ends, "")
        is_open = pairs.end < 0
        problem(_NO_END, int(is_open.sum()), "")
        start = time[pairs.begin]
        end = np.where(is_open, int(self._time.max()), time[pairs.end])
        timing = np.where(is_open, Timing.UNFINISHED, 0).astype(np.uint8)
        levels: NDArray[np.int32] | None = None if flat else pairs.level
        return SystemSlices(
            places, track[pairs.begin].astype(np.uint32), start, end, name[rows][pairs.begin],
            levels, flat, timing=timing if timing.any() else None,
        )  # fmt: skip

    def counters(self) -> list[Counter]:
        """The counters of processes."""
        rows = self._of[_VALUE] if len(self._time) else np.empty(0, np.int64)
        if not len(rows):
            return []
        number_of: dict[tuple[int, str], int] = {}
        numbers = np.array(
            [-1 if mark.sort != _VALUE
             else number_of.setdefault((mark.pid, mark.name), len(number_of))
             for mark in self._marks]
        )[self._which][rows]  # fmt: skip
        value, time = self._column(lambda mark: mark.value)[rows], self._time[rows]
        both = np.stack([numbers, self._processes(rows)])
        combined, which = np.unique(both, axis=1, return_inverse=True)
        processes, names = self._recording.tracks.processes, [name for _, name in number_of]
        return [
            stated_counter(
                processes.label(processes.all[of]),
                names[number],
                time[counter_rows],
                value[counter_rows],
            )
            for (number, of), (_, counter_rows) in zip(
                combined.T.tolist(), groups_of(which.reshape(-1)), strict=True
            )
        ]

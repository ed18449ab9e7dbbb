"""Builds a trace from the events of a Perfetto file: pairs them and assigns slices to tracks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from viewer.arrays import Bools, Codes, Ints, parts_of, rows_of
from viewer.codecs import large_arrays
from viewer.dataclasses import replace
from viewer.formats.event_pairs import LONE_FLOWS, Places, paired, slices_of, taken
from viewer.formats.perfetto.argument_columns import INT
from viewer.formats.perfetto.ftrace import SystemSlices
from viewer.formats.perfetto.opscope_exports import (
    clipped,
    in_stated_order,
    keys_of,
    own_ticks,
    stated_runs,
    stated_timing,
    with_real_durations,
    with_units,
)
from viewer.formats.perfetto.perf_samples import PerfSamples
from viewer.formats.perfetto.recording import Recording
from viewer.formats.perfetto.track_events import TrackEvents
from viewer.formats.perfetto.tracks import tracks_in_order
from viewer.model.building.builder import TraceBuilder
from viewer.model.times import ns_to_tick
from viewer.model.timing import Timing
from viewer.model.trace import Clock, Column, Flows, KeyKind, Problem, Run, Trace, Unit
from viewer.model.trace_attributes import Counter, Provenance, first_ns, is_of_one_file

NO_NAME = "(unnamed)"
UNPAIRED = "unpaired"
_NO_END = "begin event without an end event"


class Assembly:
    """Converts a file that was read completely to a trace."""

    def __init__(
        self,
        recording: Recording,
        events: TrackEvents,
        system: Sequence[SystemSlices] = (),
        counters: Sequence[Counter] = (),
        samples: PerfSamples | None = None,
    ) -> None:
        """system, counters: what the file implies besides its track events, in ns of its clock."""
        self._samples = samples
        self._system, self._more_counters = system, counters
        self._recording = recording
        self._events = events
        self._problem = recording.problem
        self._texts, self._sequences = recording.texts, recording.sequences
        self._tracks = recording.tracks

    def trace(self, step: Callable[[], None]) -> Trace:
        """Build the trace. `step` is called regularly and may raise."""
        events = self._events
        time, track, kind = events.time.take(), events.track.take(), events.kind.take()
        is_own = self._recording.is_own
        keep = self._converted(time)
        if keep is not None:
            kind = np.where(keep, kind, np.uint8(0))
        track = events.legacy.place(track, kind, events.name.values, events.uuids)
        uuids = list(events.uuids)
        pairs = paired(track, time, kind)
        step()
        self._problem("end event without a begin event: left out", pairs.lone_ends, "")
        if keep is not None:
            pairs = rows_of(pairs, keep[pairs.begin])
        runs = self._stated_runs(track, pairs.begin)
        if events.run_tracks:
            pairs = rows_of(pairs, ~np.isin(track[pairs.begin], list(events.run_tracks)))
        begins, level = pairs.begin, pairs.level
        count = len(begins)
        is_open = pairs.end < 0
        self._problem(
            f"{_NO_END}: drawn to the end of its process, and lasts at least so long",
            int(is_open.sum()),
            "",
        )
        starts = taken(time, begins)
        ends = taken(time, pairs.end)
        if is_open.any():
            last_time = self._last_times(time, track, kind, uuids)
            ends[is_open] = last_time[track[begins[is_open]]]
        flow_times = events.flows.times(time)
        del time, kind
        slice_of = slices_of(pairs, events.count)
        del pairs
        for event, length in events.complete:
            rows = slice_of[event]
            rows, length = rows[rows >= 0], length[rows >= 0]
            ends[rows] = starts[rows] + np.maximum(length, 0)
        name = taken(events.name.take(), begins)
        on_track = taken(track, begins)
        unleveled = {int(t) for event, _ in events.complete for t in np.unique(track[event])}
        del track
        if count and int(name.min()) < 0:
            name = np.where(name < 0, self._texts.code(NO_NAME), name)
        provenance = self._recording.provenance()
        # Times of an export count from the zero of its own axis.
        zeros = () if provenance else self._recording.clocks.zeros()
        clock, in_ticks = Clock(zeros=zeros), None
        if is_of_one_file(provenance):
            in_ticks = own_ticks(
                provenance, events.arguments, slice_of, starts, ends, self._problem
            )
            if in_ticks is not None:
                clock, starts, ends = in_ticks
        derived = events.arguments.flags("derived", slice_of, count) if is_own else None
        builder = TraceBuilder(
            self._recording.path, self._recording.format, "", clock, levels_are_hints=True
        )
        names = self._numbers(name, builder.intern)
        timing = None
        if is_own:
            timing = stated_timing(*events.arguments.mixed("timing", slice_of, count))
            identifiers = events.arguments.mixed("identifier", slice_of, count)
            instructions = events.arguments.take("instruction_id", INT, slice_of, count)
            columns = with_units(events.arguments.columns(slice_of, count), provenance)
            columns = in_stated_order(columns, self._argument_names())
            keys = keys_of(builder, names, columns, identifiers, instructions)
            del identifiers, instructions
        else:
            columns = events.arguments.columns(slice_of, count)
            keys = self._numbers(name, partial(builder.key, KeyKind.PLAIN))
        columns = with_real_durations(columns, self._problem)
        if is_open.any():
            timing = np.zeros(count, np.uint8) if timing is None else timing
            timing[is_open] |= np.uint8(Timing.UNFINISHED)
        flows, lone = events.flows.edges(slice_of, starts, flow_times)
        builder.flows(begins[flows[0]], begins[flows[1]])
        del slice_of
        large_arrays.let_go()
        if is_open.any():
            columns[UNPAIRED] = Column.of_codes(np.zeros(count, np.uint32), (_NO_END,), is_open)
        # Slices left out, instants in place of slices, stated durations and ticks finer than the
        # times may not nest as the events do.
        is_nested = keep is None and not events.complete and clock.ns_per_tick == 1
        is_nested &= UNPAIRED not in columns
        number_of = self._pour(
            builder,
            uuids,
            on_track,
            unleveled,
            starts,
            ends,
            names,
            keys,
            begins,
            level,
            columns,
            derived,
            timing,
            nested=is_nested,
        )
        if self._system:
            # Track events of the same thread state their levels, which those of others have not.
            taken_places = {(t.process, t.thread) for t in builder.tracks()}
            row = events.count
            for slices in self._system:
                self._add_system(builder, slices, taken_places, row)
                row += len(slices)
        if self._samples is not None:
            self._samples.add_slices(builder, events.count + sum(map(len, self._system)))
        # The builder has these arrays now; release them to save memory while it works.
        is_own_clock = in_ticks is not None
        del name, names, keys, on_track, begins, level, starts, ends, in_ticks, is_open, columns
        counters = self._stated_counters(uuids, clock if is_own_clock else None, provenance)
        counters += tuple(self._more_counters)
        for process in dict.fromkeys(counter.process for counter in counters):
            if not builder.tracks_of(process):
                builder.track(process, "counters")
        placed = self._placed(runs, builder)
        for kind_of, (n, first) in self._recording.problems.items():
            builder.problem(kind_of, n, first)
        large_arrays.let_go()
        trace = builder.build(step)
        more, lost = events.legacy.flows(
            trace.slices, events.uuids, lambda uuid: number_of.get(uuid, -1)
        )
        both = Flows(
            np.concatenate([trace.flows.producer, more.producer]),
            np.concatenate([trace.flows.consumer, more.consumer]),
        )
        problems = list(trace.problems)
        if lone or len(lost):
            first = f"event {int(lost.min())}" if len(lost) else ""
            problems.append(Problem(LONE_FLOWS, lone + len(lost), first))
        return replace(
            trace, counters=counters, provenance=provenance, runs=placed, flows=both,
            problems=tuple(problems),
        )  # fmt: skip

    def _numbers(self, code: Ints, number_of: Callable[[str], int]) -> Codes:
        """The builder's number of each text, given its code."""
        texts = self._texts.all()
        used = np.zeros(len(texts), np.bool_)
        for part in parts_of(len(code)):
            used[code[part]] = True
        numbers = np.zeros(len(texts), np.uint32)
        numbers[used] = [number_of(texts[i]) for i in np.flatnonzero(used).tolist()]
        return taken(numbers, code)

    def _last_times(
        self, time: Ints, track: Codes, kind: NDArray[np.uint8], uuids: list[int]
    ) -> Ints:
        """The last time of an event of the process of each track; of the trace if it has none."""
        last = np.full(len(uuids), np.iinfo(np.int64).min)
        used = np.flatnonzero(kind)
        np.maximum.at(last, track[used], time[used])
        for event, length in self._events.complete:
            np.maximum.at(last, track[event], time[event] + np.maximum(length, 0))
        number = self._tracks.numbers_of_processes(np.array(uuids, np.uint64)) + 1
        most = np.full(int(number.max(initial=0)) + 1, last.max(initial=0))
        most[1:] = np.iinfo(np.int64).min
        np.maximum.at(most[1:], number[number > 0] - 1, last[number > 0])
        last_times: Ints = most[number]
        return last_times

    def _add_system(
        self, builder: TraceBuilder, slices: SystemSlices, stated: set[tuple[str, str]], row: int
    ) -> None:
        """Add slices of the system, on tracks that no track events are on; row: of the first."""
        number = np.array(
            [
                builder.track(
                    place[0],
                    f"{place[1]} · atrace" if place in stated else place[1],
                    flat=slices.flat,
                )
                for place in slices.places
            ],
            np.uint32,
        )
        builder.add(
            track=number[slices.track],
            start=slices.start,
            end=slices.end,
            name=self._numbers(slices.name, builder.intern),
            key=self._numbers(slices.name, partial(builder.key, KeyKind.PLAIN)),
            source_row=np.arange(row, row + len(slices), dtype=np.uint32),
            levels=slices.levels,
            columns=slices.columns,
            timing=slices.timing,
        )

    def _argument_names(self) -> list[str]:
        """The argument names in order of their ids; from one sequence, as in Opscope exports."""
        texts = self._texts.all()
        tables = {id(s.tables): s.tables for s in self._sequences.states}.values()
        return [texts[c] for t in tables for c in t["debug_annotation_names"].in_order()]

    def _stated_runs(self, track: Codes, begin: Ints) -> list[tuple[int, Run]]:
        """The inferences that an Opscope export drew on separate tracks, each with its track."""
        if not self._events.run_tracks:
            return []
        begin_rows = begin[np.isin(track[begin], list(self._events.run_tracks))]
        texts = self._texts.all()
        names = [
            texts[i] if i >= 0 else NO_NAME for i in self._events.name.values[begin_rows].tolist()
        ]
        numbers, ticks = (self._events.arguments.at(name, begin_rows) for name in ("run", "ticks"))
        runs = stated_runs(names, numbers, ticks)
        self._problem("inferences without a number or ticks: left out", runs.count(None), "")
        return [
            (int(track[e]), run) for e, run in zip(begin_rows.tolist(), runs, strict=True) if run
        ]

    def _placed(self, runs: list[tuple[int, Run]], builder: TraceBuilder) -> tuple[Run, ...]:
        """Move inferences to the first track of their process."""
        uuids = list(self._events.uuids)
        places = self._tracks.names({uuids[track] for track, _ in runs})
        placed_runs = []
        for track, run in runs:
            process, thread = places[uuids[track]]
            process_tracks = builder.tracks_of(process) or [builder.track(process, thread)]
            placed_runs.append(replace(run, track=process_tracks[0]))
        return tuple(placed_runs)

    def _stated_counters(
        self, uuids: list[int], clock: Clock | None, provenance: Provenance
    ) -> tuple[Counter, ...]:
        """The counters of the file, on the clock of its slices."""
        by_uuid = self._events.counters.counters(uuids, self._recording)
        order = tracks_in_order(
            self._tracks,
            list(by_uuid),
            {uuid: int(counter.tick[0]) for uuid, counter in by_uuid.items()},
            is_ranked=self._recording.is_own,
        )
        counters = tuple(by_uuid[uuid] for uuid in order)
        if clock is None:
            return counters
        first = first_ns(provenance)
        if first is None or (not first and clock.ns_per_tick == 1):
            return counters
        rate = clock.ns_per_tick
        return tuple(
            replace(c, tick=clipped([ns_to_tick(t + first, rate) for t in c.tick.tolist()]))
            for c in counters
        )

    def _converted(self, time: Ints) -> Any:
        """Convert all times to one clock, in place; returns which events remain, None for all."""
        keep = None
        clock = self._events.clock.take()
        if not clock.any():
            return None
        used = np.flatnonzero(np.bincount(clock, minlength=1)).tolist()
        for number in used:
            name = list(self._recording.clock_numbers)[number]
            rows = slice(None) if len(used) == 1 else np.flatnonzero(clock == number)
            converted = self._recording.clocks.converted(name, time[rows])
            if converted is not None:
                time[rows] = converted
            elif len(used) > 1:
                keep = np.ones(len(time), np.bool_) if keep is None else keep
                keep[rows] = False
                self._problem(
                    f"events on clock {name[1]}, which cannot be converted to the trace clock: "
                    f"left out",
                    int((~keep).sum()),
                    "",
                )
        return keep

    def _pour(
        self,
        builder: TraceBuilder,
        uuids: list[int],
        track: Codes,
        unleveled: set[int],
        starts: Ints,
        ends: Ints,
        names: Codes,
        keys: Codes,
        row: Places,
        level: NDArray[np.int32],
        columns: dict[str, Column],
        derived: Bools | None,
        timing: NDArray[np.uint8] | None,
        *,
        nested: bool,
    ) -> dict[int, int]:
        """Add the slices to the builder, track by track in the order that the file states.

        nested: the levels need no check. Returns the tracks by uuid.
        """
        # Slices are sorted by track.
        is_first = np.ones(len(track), np.bool_)
        is_first[1:] = track[1:] != track[:-1]
        first = np.flatnonzero(is_first)
        used = track[first].tolist()
        used_uuids = {uuids[n] for n in used}
        described = dict.fromkeys(
            u
            for u, d in self._tracks.by_uuid.items()
            if u in used_uuids or d.thread is not None or d.waits is not None
        )
        order = tracks_in_order(
            self._tracks,
            [*described, *(u for u in (uuids[n] for n in used) if u not in described)],
            {uuids[n]: t for n, t in zip(used, starts[first].tolist(), strict=True)},
            is_ranked=self._recording.is_own,
        )
        places = self._tracks.names(order)
        shared: dict[tuple[str, str], int] = {}
        for uuid in used_uuids:
            shared[places[uuid]] = shared.get(places[uuid], 0) + 1
        deepest: dict[tuple[str, str], int] = {}
        for n, most in zip(used, np.maximum.reduceat(level, first) if used else (), strict=True):
            place = places[uuids[n]]
            deepest[place] = max(deepest.get(place, 0), int(most))
        number_of = {}
        units = {uuids[number]: unit for number, unit in self._events.units.items()}
        for uuid in order:
            # Lanes of an Opscope export without nested slices: they come from a flat track.
            flat = (
                self._recording.is_own
                and shared.get(places[uuid], 0) > 1
                and deepest[places[uuid]] == 0
            ) or self._events.uuids.get(uuid) in self._events.legacy.flat
            unit = units.get(uuid, Unit.NONE)
            number_of[uuid] = builder.track(*places[uuid], flat=flat, unit=unit)
        numbers = np.array([number_of[uuids[n]] for n in used], np.uint32)
        count = np.diff(first, append=len(track))
        for n, a, b in zip(used, first.tolist(), (first + count).tolist(), strict=True):
            if shared[places[uuids[n]]] > 1 or n in unleveled:
                level[a:b] = -1
        builder.add(
            track=np.repeat(numbers, count),
            start=starts,
            end=ends,
            name=names,
            key=keys,
            source_row=row.view(np.uint32) if row.dtype == np.int32 else row.astype(np.uint32),
            levels=level,
            columns=columns,
            derived=derived,
            timing=timing,
            nested=nested,
        )
        return number_of

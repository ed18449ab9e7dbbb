"""Builds a `Trace`: readers add columns, and `build` sorts, nests and checks them.

This is the only way to make a trace. `build` lays out every track in rows:

* Levels given (`levels=`): the chunk order of the track must be preorder (parents before children,
  siblings by time). A track whose times contradict its levels is nested by time, and counted as a
  problem.
* No levels: the intervals determine the depth. Slices that overlap without nesting go to the first
  lane where they fit. A slice with no duration is a leaf at the depth of the innermost slice with
  start < t < end. Several at one time are siblings.
* Flat tracks: slices of parallel units never nest; overlapping ones go to different lanes.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from operator import attrgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from viewer.arrays import Bools, Codes, Ints
from viewer.dataclasses import fields, replace
from viewer.model.building.chunks import (
    Chunk,
    joined,
    joined_columns,
    joined_derived,
    joined_keys,
    joined_timing,
    slices_at,
)
from viewer.model.building.layout import NO_LEVEL, laid_out, rows_to_draw
from viewer.model.intervals import too_long
from viewer.model.trace import (
    Clock,
    Column,
    Flows,
    InstructionScope,
    KeyKind,
    Keys,
    Problem,
    Run,
    RunKind,
    Slices,
    Trace,
    Track,
    Unit,
    UntimedEvents,
)
from viewer.model.trace_attributes import Counter
from viewer.model.warm_up import with_warm_up

Step = Callable[[], None]

BACKWARDS = "slice ends before it starts: drawn as an instant"
# Left out, it would be missing from flows, events and columns that the reader adds.
TOO_LONG = "slice is so long that durations cannot be added up: drawn as an instant"
# `replace` takes four times as long, and a thousand small files have several thousand runs.
_FIELDS = [field.name for field in fields(Run)]
_NUMBER, _TOTAL = _FIELDS.index("number"), _FIELDS.index("total")
_values_of = attrgetter(*_FIELDS)


class TraceBuilder:
    """Collects the slices of one file; `build` returns the frozen trace."""

    def __init__(
        self,
        path: str,
        format: str,
        generation: str,
        clock: Clock,
        *,
        levels_are_hints: bool = False,
        rounds_durations: bool = False,
    ) -> None:
        """Create a builder without slices.

        Args:
            path: The file.
            format: The name of its format in the registry.
            generation: The version of the format, "" if it has none.
            clock: The unit of all times, and its rate.
            levels_are_hints: Levels that contradict the times are not counted as a problem.
            rounds_durations: The file states starts and durations, each rounded: overlaps of its
                resolution are not drawn as such.
        """
        self._levels_are_hints, self._rounds_durations = levels_are_hints, rounds_durations
        self.path = path
        self.format = format
        self.generation = generation
        self.clock = clock
        self._tracks: dict[tuple[str, str], int] = {}
        self._units: list[Unit] = []
        self._flat: set[int] = set()
        self._strings: dict[str, int] = {}
        self._scopes: dict[InstructionScope, int] = {}
        self._keys: dict[tuple[Any, ...], int] = {}
        self._key_blocks: list[tuple[int, Keys]] = []  # with the number of each block's first key
        self._key_count = 0
        self._chunks: list[Chunk] = []
        self._runs: list[Run] = []
        self._problems: dict[str, tuple[int, str]] = {}
        self._untimed: UntimedEvents | None = None
        self._counters: list[Counter] = []
        self._stated: dict[str, str] = {}
        self._flows: tuple[Ints, Ints] = np.empty(0, np.int64), np.empty(0, np.int64)

    # -- tables ------------------------------------------------------------------------------

    def track(
        self, process: str, thread: str, *, flat: bool = False, unit: Unit = Unit.NONE
    ) -> int:
        """Return the number of a track; the same names always return the same number.

        Args:
            process: The name of its process.
            thread: The name of its thread.
            flat: Its slices are of parallel units and never nest, whatever their times. Overlapping
                ones go to different lanes.
            unit: The hardware unit, for tracks of an NPU.

        Returns:
            The number, from 0.
        """
        number = self._tracks.setdefault((process, thread), len(self._tracks))
        if number == len(self._units):
            self._units.append(unit)
        if flat:
            self._flat.add(number)
        return number

    def tracks(self) -> tuple[Track, ...]:
        """Return all tracks so far.

        Returns:
            Them, by number.
        """
        return tuple(
            Track(*names, unit) for names, unit in zip(self._tracks, self._units, strict=True)
        )

    def tracks_of(self, process: str) -> list[int]:
        """Return the tracks of a process so far.

        Args:
            process: The name of the process.

        Returns:
            Their numbers, ascending.
        """
        return [number for (name, _), number in self._tracks.items() if name == process]

    def scope(self, name: str, method: str | None = None) -> int:
        """Return the number of a scope of instruction ids.

        Args:
            name: The name of the scope, such as "Execute 1".
            method: The method of the model, if it is known.

        Returns:
            The number, from 0.
        """
        return self._scopes.setdefault(InstructionScope(name, method), len(self._scopes))

    def intern(self, text: str) -> int:
        """Return the number of a slice name.

        Args:
            text: The name.

        Returns:
            The number, from 0.
        """
        return self._strings.setdefault(text, len(self._strings))

    def intern_all(self, texts: Sequence[str] | dict[str, int]) -> Codes:
        """Return the numbers of many slice names.

        A dict of distinct texts numbered from 0 takes a tenth of the time of a list: 25 ms for a
        million.

        Args:
            texts: The names.

        Returns:
            An array of uint32, one for each text.
        """
        table = self._strings
        if not table and isinstance(texts, dict):
            table.update(texts)
            numbers = np.fromiter(table.values(), np.int64, len(table))
            if (numbers == np.arange(len(table))).all():
                return numbers.astype(np.uint32)
            table.clear()
        if not table:
            # Most readers pass distinct texts to a new builder: one pass, half the time.
            table.update(zip(texts, range(len(texts)), strict=True))
            if len(table) == len(texts):
                return np.arange(len(texts), dtype=np.uint32)
            table.clear()
        fresh = [text for text in dict.fromkeys(texts) if text not in table]
        table.update(zip(fresh, range(len(table), len(table) + len(fresh)), strict=True))
        return np.fromiter(map(table.__getitem__, texts), np.uint32, len(texts))

    def key(
        self,
        kind: KeyKind,
        name: str,
        *,
        scope: int = 0,
        instruction: int = -1,
        identifier: int | str | None = None,
        location: str | None = None,
        described: tuple[str, ...] = (),
    ) -> int:
        """Return the number of an identity; equal arguments give the same number.

        The identifiers 1 and "1" differ.

        Args:
            kind: What is identified.
            name: The logged name.
            scope: From `scope`: which instruction ids belong together.
            instruction: The instruction id, -1 without one.
            identifier: The delegate debug identifier.
            location: The location, as logged.
            described: What else distinguishes it, such as the type and unit of a layer. It is
                in columns of its slices, not in the trace's keys.

        Returns:
            The number, from 0.
        """
        identity = (
            int(kind),
            scope,
            self.intern(name),
            instruction,
            type(identifier),
            identifier,
            location,
            described,
        )
        number = self._keys.setdefault(identity, self._key_count)
        self._key_count += number == self._key_count
        return number

    def distinct_keys(
        self,
        kind: NDArray[np.uint8],
        name: Codes,
        scope: Codes,
        instruction: Ints,
        identifier: NDArray[np.object_],
    ) -> Codes:
        """Return the numbers of many identities without locations.

        They must differ from each other and from all keys passed to `key`. If a file has as many
        identities as slices, looking each one up would take most of the time and memory.

        Args:
            kind: uint8 array of n kinds.
            name: uint32 array of n numbers from `intern`.
            scope: uint32 array of n numbers from `scope`.
            instruction: int64 array of n instruction ids, -1 for none.
            identifier: Array of n identifiers or None.

        Returns:
            An array of n uint32.
        """
        first, count = self._key_count, len(kind)
        nowhere = np.full(count, None, object)
        self._key_blocks.append((first, Keys(kind, scope, name, instruction, identifier, nowhere)))
        self._key_count += count
        return np.arange(first, first + count, dtype=np.uint32)

    def run(
        self,
        kind: RunKind,
        name: str,
        track: int,
        scope: int,
        start: int,
        end: int,
        *,
        bundled_input: int = -1,
        first_row: int = -1,
        finished: bool = True,
        number: int = 0,
        all_tracks: bool = False,
        load: int = 0,
        is_apart: bool = False,
        phase: str = "",
        tokens: int = 0,
        sampling: int = 0,
    ) -> None:
        """Add a load or an inference of a track; see `Run`.

        Args:
            kind: Load or inference.
            name: The name of its block.
            track: The number of its track.
            scope: The number of its scope.
            start: In ticks.
            end: In ticks.
            bundled_input: Index of its input in a bundled program, -1 if not stated.
            first_row: The source row of its first event, -1 if events are not listed run by run.
            finished: False for an inference that failed or was cut short.
            number: That of an inference, if the file states it.
            all_tracks: Whether it covers what every track did in its time.
            load: The load whose method it ran, if the runs of its scope may be of several methods.
            is_apart: Of a load: whether it counts in no figure of the whole trace.
            phase: Its phase, if the file states it.
            tokens: How many it processed, if the file states it.
            sampling: How many of its ticks chose tokens, if the file states it.
        """
        where = (name, track, scope, start, end, bundled_input, 0, 1, first_row)
        run = Run(kind, number, *where, finished, all_tracks=all_tracks, load=load)
        stated = replace(run, is_apart=is_apart, phase=phase, tokens=tokens, sampling=sampling)
        self._runs.append(stated if is_apart or phase or tokens or sampling else run)

    def state(self, name: str, text: str) -> None:
        """Keep what the file states about itself as a whole.

        Args:
            name: What it is, such as "Initialization".
            text: Its value, such as "11.331 ms".
        """
        self._stated[name] = text

    def untimed(self, events: UntimedEvents) -> None:
        """Set the events without a time.

        Args:
            events: Their columns; `after` and `call` have source rows of slices.
        """
        self._untimed = events

    def flows(self, producer: Ints, consumer: Ints) -> None:
        """Set the flows that the file states. No two slices may share a source row.

        Args:
            producer: int64 array of n source rows of slices.
            consumer: int64 array of n source rows of slices.
        """
        self._flows = np.array(producer, np.int64), np.array(consumer, np.int64)

    def counter(self, counter: Counter) -> None:
        """Add a counter that the file states.

        Args:
            counter: The counter; its process must be that of a track.
        """
        self._counters.append(counter)

    def problem(self, kind: str, count: int = 1, first: str = "") -> None:
        """Count unexpected data; only the place of the first occurrence is stored.

        Args:
            kind: What it is and what was done about it: "line that is no step: left out".
            count: How often it occurred; 0 adds nothing.
            first: The place of the first one, such as "line 3".
        """
        if count:
            had, where = self._problems.get(kind, (0, first))
            self._problems[kind] = (had + count, where)

    # -- slices ------------------------------------------------------------------------------

    def add(
        self,
        *,
        track: Codes | int,
        start: Ints,
        end: Ints,
        name: Codes | int,
        key: Codes | int,
        source_row: Codes | None = None,
        levels: NDArray[np.int32] | None = None,
        derived: Bools | None = None,
        columns: Mapping[str, Column] | None = None,
        timing: NDArray[np.uint8] | None = None,
        nested: bool = False,
    ) -> None:
        """Add n slices as parallel arrays. A scalar track, name or key applies to all of them.

        An array that is both name and key is one array in the trace, too.

        Args:
            track: Number or uint32 array of n numbers from `track`.
            start: int64 array of n ticks.
            end: int64 array of n ticks.
            name: Number or uint32 array of n numbers from `intern`.
            key: Number or uint32 array of n numbers from `key`.
            source_row: uint32 array of n positions in the file, by default the number of slices
                added before.
            levels: int32 array of n depths, see the module docstring; either all slices of a track
                have them or none.
            derived: bool array of n: computed by the reader.
            columns: Arguments of the slices by name, each a column of n values.
            timing: uint8 array of n, where times come from, see `Timing`; all measured by default.
            nested: The reader found the levels by matching begins and ends in order of time, so
                they need no check.
        """
        n = len(start)

        def full(value: Codes | int) -> Codes:
            values = np.asarray(value, np.uint32)
            return values if values.shape == (n,) else np.broadcast_to(values, (n,))

        if source_row is None:
            first = sum(len(chunk.start) for chunk in self._chunks)
            source_row = np.arange(first, first + n, dtype=np.uint32)
        if levels is None:
            level = np.broadcast_to(np.int32(NO_LEVEL), (n,))
        else:
            level = levels.astype(np.int32, copy=False)
        self._chunks.append(
            Chunk(
                full(track),
                np.asarray(start, np.int64),
                np.asarray(end, np.int64),
                full(name),
                full(key),
                np.asarray(source_row, np.uint32),
                level,
                derived,
                dict(columns or {}),
                timing,
                nested,
            )
        )

    def build(self, step: Step = lambda: None) -> Trace:
        """Sort, nest and freeze the slices. The builder must not be used afterwards.

        Args:
            step: Is called regularly; an exception from it stops the work.

        Returns:
            The trace; its arrays cannot be written to.
        """
        # As a dict, distinct keys need more memory (250 bytes each) than slices, so they go first.
        keys = self._key_table()
        self._keys.clear()
        self._key_blocks.clear()
        chunks = self._chunks
        start = joined([c.start for c in chunks], np.int64)
        end = joined([c.end for c in chunks], np.int64)

        backwards = end < start
        if backwards.any():
            end = self._instants(BACKWARDS, start, end, np.flatnonzero(backwards))
        del backwards
        long = too_long(start, end, self.clock.ns_per_tick)
        if len(long):
            end = self._instants(TOO_LONG, start, end, long)
        tracks = self.tracks()
        level = joined([c.level for c in chunks], np.int32)
        track = joined([c.track for c in chunks], np.uint32)
        columns = {
            "start": start,
            "end": end,
            "name": joined([c.name for c in chunks], np.uint32),
            "key": joined([c.key for c in chunks], np.uint32),
            "source_row": joined([c.source_row for c in chunks], np.uint32),
        }
        del start, end
        is_more = any(c.columns or c.derived is not None or c.timing is not None for c in chunks)
        faults: list[tuple[int, int]] = []
        layout, final = laid_out(
            track, len(tracks), self._flat, level, columns, step, faults, with_index=is_more,
            nested=all(c.nested for c in chunks),
        )  # fmt: skip
        del track, level, columns
        if faults and not self._levels_are_hints:
            number, fault = min(faults)
            where = f"{tracks[number].process} > {tracks[number].thread}, slice {fault}"
            self.problem("levels contradict the times: nested by time instead", len(faults), where)
        slices = Slices(
            start=final["start"],
            end=final["end"],
            name=final["name"],
            key=final["key"],
            source_row=final["source_row"],
            order=layout.order,
            row_ptr=layout.row_ptr,
            row_track=layout.row_track,
            row_lane=layout.row_lane,
            row_depth=layout.row_depth,
            derived=joined_derived(chunks, layout.index),
            columns=joined_columns(chunks, layout.index),
            timing=joined_timing(chunks, layout.index),
        )
        if self._rounds_durations:
            slices = replace(slices, drawn_rows=rows_to_draw(slices, self._flat))
        self._chunks = []
        untimed = UntimedEvents.empty() if self._untimed is None else self._untimed
        if len(untimed):
            untimed = replace(
                untimed,
                after=slices_at(untimed.after, slices),
                call=slices_at(untimed.call, slices),
            )
        producer, consumer = (
            slices_at(rows, slices, with_derived=True) if len(rows) else rows
            for rows in self._flows
        )
        processes = [process for process, _ in self._tracks]
        trace = Trace(
            path=self.path,
            format=self.format,
            generation=self.generation,
            clock=self.clock,
            tracks=tracks,
            strings=tuple(self._strings),
            scopes=tuple(self._scopes) or (InstructionScope("file"),),
            keys=keys,
            slices=slices,
            runs=with_warm_up(_numbered_runs(self._runs, processes), processes),
            problems=tuple(Problem(k, n, first) for k, (n, first) in self._problems.items()),
            untimed=untimed,
            counters=tuple(self._counters),
            flows=Flows(producer.astype(np.int64), consumer.astype(np.int64)),
            stated=self._stated,
        )
        for array in _arrays(trace):
            array.flags.writeable = False
        return trace

    def _instants(self, problem: str, start: Ints, end: Ints, which: Ints) -> Ints:
        """The ends of slices of which some have no duration, as a problem."""
        source_row = joined([c.source_row for c in self._chunks], np.uint32)
        self.problem(problem, len(which), f"slice {int(source_row[which[0]])}")
        end = end.copy()
        end[which] = start[which]
        return end

    def _key_table(self) -> Keys:
        blocks = [(first + np.arange(len(block)), block) for first, block in self._key_blocks]
        keys = list(self._keys)
        n = len(keys)
        if not n and blocks:
            return joined_keys(blocks, self._key_count)
        identifier = np.empty(n, object)
        location = np.empty(n, object)
        identifier[:] = [k[5] for k in keys]
        location[:] = [k[6] for k in keys]
        alone = Keys(
            kind=np.fromiter((k[0] for k in keys), np.uint8, n),
            scope=np.fromiter((k[1] for k in keys), np.uint32, n),
            name=np.fromiter((k[2] for k in keys), np.uint32, n),
            instruction=np.fromiter((k[3] for k in keys), np.int64, n),
            identifier=identifier,
            location=location,
        )
        numbers = np.fromiter(self._keys.values(), np.int64, n)
        return joined_keys([(numbers, alone), *blocks], self._key_count)


def _arrays(trace: Trace) -> list[NDArray[Any]]:
    s, k, u = trace.slices, trace.keys, trace.untimed
    arrays: list[NDArray[Any]] = [
        s.start,
        s.end,
        s.name,
        s.key,
        s.source_row,
        s.row_ptr,
        s.row_track,
        s.row_lane,
        s.row_depth,
        k.kind,
        k.scope,
        k.name,
        k.instruction,
        k.identifier,
        k.location,
        u.kind,
        u.block,
        u.run,
        u.source_row,
        u.after,
        u.call,
        u.identifier,
        u.type,
        u.value,
        u.output,
        trace.flows.producer,
        trace.flows.consumer,
    ]
    arrays += [array for array in (s.order, s.derived, s.timing) if array is not None]
    if (rows := s.drawn_rows) is not None:
        arrays += rows.index, rows.position, rows.row_ptr
        arrays += rows.row_track, rows.row_lane, rows.row_depth
    for column in (*s.columns.values(), u.name, u.size, u.chain, u.instruction, u.offset):
        arrays.append(column.values)
        if column.valid is not None:
            arrays.append(column.valid)
    for counter in trace.counters:
        arrays += counter.tick, counter.value
    return arrays


def _numbered_runs(runs: Sequence[Run], processes: Sequence[str]) -> tuple[Run, ...]:
    """Return runs with the numbers and totals of inferences; those that a file states stay.

    processes: the process of every track.
    """
    scopes = [(processes[run.track], run.scope) for run in runs]
    is_inference = [run.kind is RunKind.INFERENCE for run in runs]
    last: defaultdict[tuple[str, int], int] = defaultdict(int)
    numbers = []
    for run, scope, is_whole in zip(runs, scopes, is_inference, strict=True):
        number = (run.number or last[scope] + 1) if is_whole else 0
        last[scope] = max(last[scope], number)
        numbers.append(number)
    return tuple(
        _numbered(run, number, last[scope]) if is_whole else run
        for run, scope, is_whole, number in zip(runs, scopes, is_inference, numbers, strict=True)
    )


def _numbered(run: Run, number: int, total: int) -> Run:
    values = [*_values_of(run)]
    values[_NUMBER], values[_TOTAL] = number, total
    return Run(*values)

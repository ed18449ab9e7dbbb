"""Reads Chrome Trace Event JSON, plain or compressed with gzip.

PyTorch, TensorFlow, ONNX Runtime, viztracer, Perfetto's own tools and chrome://tracing write it.
Specified in "Trace Event Format" (catapult, Google): an object with the key `traceEvents`, or a
bare array of events, which need not be closed. Supported phases:

    X        a slice with its duration
    B E      start and end of a slice; `viewer.formats.event_pairs` pairs them
    i I R    instants: slices without duration, on their thread, or on tracks of the process or
             of the whole file (column `scope`)
    b n e    asynchronous slices by (cat, scope, id): one track each; if there are more than a
             hundred, one track per name, where overlapping slices go to separate lanes
    S T p F  older asynchronous slices by (name, scope, id), likewise; steps (T, p) are instants
    C        counters: one series per argument and id
    s t f    flows between slices with the same (cat, scope, id, name). An event belongs to the
             innermost slice on its thread at its time, an f to the next slice that starts there,
             unless its `bp` is "e". Slices with `bind_id` and `flow_out` or `flow_in` state flows
             themselves. Ids of flows are numbers or hexadecimal texts
    M        names and order of processes and threads
    P        samples of stacks; see `viewer.formats.chrome.stack_samples`

Everything else is counted and not drawn. A begin without an end is drawn to the last time of its
process: it lasts at least so long (column `unpaired`, timing "unfinished"), and no mean counts it.
`ts` and `dur` are decimal µs and are read exactly. A tick is 1 ns, or 1 ps in a file with finer
decimals whose times fit. `baseTimeNanoseconds` of Kineto and viztracer is not added: it is what the
clock of the day shows at tick 0 (`Clock.zeros`). `distributedInfo` of PyTorch states the rank of a
file's processes.

Arguments become columns, `cat` the column `category`, `id` of async slices the column `id`, `sf`
the column `stack`. Nodes of ONNX Runtime are named `X_kernel_time`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from viewer.analysis.profiled_program.program import with_call_sites
from viewer.arrays import Bools, Codes, Ints, flags_at, lists_by_key, numbers_at
from viewer.codecs.decimal_times import TIME_LIMIT
from viewer.codecs.json_values import mapping, sequence
from viewer.codecs.memory_budget import allowance
from viewer.codecs.reading import Cancelled, Progress, UnreadableFile, stop_if
from viewer.codecs.unpacking import PackedFile, inflated_head
from viewer.dataclasses import dataclass, replace
from viewer.formats import format_of
from viewer.formats.chrome import stack_samples
from viewer.formats.chrome.events import ASYNC, FLOWS, INSTANTS, SLICES, EventColumns
from viewer.formats.chrome.frameworks import (
    EventSlices,
    add_inferences,
    add_inspector_events,
    is_inspector,
    with_memory_counters,
)
from viewer.formats.chrome.json_texts import MARKS, as_one_json
from viewer.formats.chrome.stack_samples import (
    FRAMES,
    NO_FRAMES,
    SAMPLES,
    V8_PART,
    V8_START,
    StackFrames,
    ThreadSamples,
)
from viewer.formats.chrome.tracks import TrackNames, stated_rank, text_of_id, with_rank
from viewer.formats.event_pairs import LONE_FLOWS, FlowEvents, paired_by_name, slices_at
from viewer.formats.text_rows import numbers_of
from viewer.model.building.builder import TraceBuilder
from viewer.model.recorded_names import CATEGORY, GPU_COPY
from viewer.model.timing import TIME_OF_DAY, Timing
from viewer.model.trace import Clock, ClockZero, Column, Flows, Problem, Slices, Trace
from viewer.model.trace_attributes import stated_counter

SCOPE, UNPAIRED, ID = "scope", "unpaired", "id"
NO_END = "begin event without an end event"
OPEN = f"{NO_END}: drawn to the end of its process, and lasts at least so long"
PROCESS_INSTANTS, GLOBAL = "process instants", "whole trace"
NO_SLICES = "(no slices)"
_SCOPES = {"t": "thread", "p": "process", "g": "global"}
_THREAD, _ASYNC, _MANY_ASYNC, _INSTANTS, _GLOBAL, _SAMPLED = range(6)
# Columns of samples; an argument of such a name has another one.
_OF_SAMPLES = frozenset(("samples", "file", "line"))
_DRAWN = SLICES | INSTANTS | ASYNC
_PHASES = _DRAWN | FLOWS | frozenset("MCNDOPSTpFRcvV")
_OWN_READ = frozenset("MCP")
_NO_CODE = (1 << 32) - 1
_LONGEST_PHASE = 8
_BASE = "baseTimeNanoseconds"
_BASES = ((_BASE,), ("viztracer_metadata", _BASE))
_LATEST_BASE = 1 << 63  # ns: the year 2262
_MOST_COUNTERS = 500
_MOST_ASYNC_TRACKS = 100
# A JSON object, an array of objects, or an empty array: a trace of no events.
_START = re.compile(
    rb"(?:\xef\xbb\xbf)?[ \t\r\n]*"
    rb'(?:\{[ \t\r\n]*"|\[[ \t\r\n]*(?:\{[ \t\r\n]*"|\][ \t\r\n]*\Z))'
)
_BRACKET = re.compile(rb"(?:\xef\xbb\xbf)?[ \t\r\n]*[\[{]")
_KEYS = (
    re.compile(rb'"ph"[ \t\r\n]*:[ \t\r\n]*"[A-Za-z]"'),
    re.compile(rb'"(?:ts|pid)"[ \t\r\n]*:'),
)
_NO_DURATION = "complete event without a duration: drawn as an instant"
_NO_PHASE = "event without a phase: not shown"
_NO_TIME = "event without a usable time: left out"
_TOO_FINE = "fractions of a ns are rounded: the times are too far from zero to keep them"


def sniff(head: bytes) -> bool:
    """Whether it starts as a JSON object or an array of objects or nothing, compressed or not.

    Where its start is damaged, it must have what only trace events have.
    """
    text = inflated_head(head) or head
    if text.startswith(MARKS):
        text = text.decode("utf-16", "ignore").encode("utf-8", "replace")
    if _START.match(text) is not None:
        return True
    return _BRACKET.match(text) is not None and all(key.search(text) for key in _KEYS)


def read(path: str, progress: Progress, cancelled: Cancelled) -> Trace:
    """Read slices, instants, async slices and counters. Raises UnreadableFile, ReadCancelled."""
    try:
        with as_one_json(path, cancelled) as (plain, fault), PackedFile(plain) as source:
            source.fault = fault
            reader = _Reader(path, source, progress, cancelled)
    except (OSError, ValueError) as error:
        raise UnreadableFile(path, getattr(error, "strerror", None) or str(error)) from error
    return with_call_sites(with_memory_counters(reader.trace()))


@dataclass(frozen=True, slots=True)
class _Part:
    """Slices by the events at which they start and end; `end` is None if durations are stated.

    until: where slices without an end are drawn to, in ns; None for others.
    """

    begin: Ints
    end: Ints | None
    place: Codes
    until: Ints | None = None


def _zeros(integers: Mapping[tuple[str, ...], int]) -> tuple[ClockZero, ...]:
    """Return the time of day at ts 0, if the file states it. integers: next to the events.

    PyTorch (Kineto) does so since 2.4: 1000 * ts and the base are ns since the UNIX epoch. In
    viztracer's files, it is in their metadata.
    """
    for key in _BASES:
        # Earlier versions write absolute times, and 0 or nothing as their base.
        if 0 < integers.get(key, 0) < _LATEST_BASE:
            return (ClockZero(TIME_OF_DAY, integers[key], _BASE),)
    return ()


class _Reader:
    def __init__(
        self, path: str, source: PackedFile, progress: Progress, cancelled: Cancelled
    ) -> None:
        self._places: dict[tuple[str, int, str, str], int] = {}
        self._last_of_thread: Ints | None = None
        self._ids: tuple[Ints, Codes, list[str]] | None = None
        self._builder = TraceBuilder(path, FORMAT.name, "", Clock(), rounds_durations=True)
        self._cancelled = cancelled
        self._events = EventColumns(self._builder)
        has_events = self._events.read(source, progress, cancelled)
        events = self._events
        if not has_events or (events.rows and not events.have_any(_PHASES)):
            raise UnreadableFile(
                path,
                source.fault or "it is JSON without trace events",
                where=f"byte {source.unpacked}" if source.fault else "",
                remedy="Open a Chrome trace that a profiler wrote: an array of events, "
                "or an object with the key traceEvents",
            )
        # What is next to the events is read while their file is there, and only if it is used.
        self._beside = {
            name: stack_samples.value_at(source.path, span, name, self._builder)
            for name, span in events.spans.items()
            if SAMPLES in events.spans or events.frame_ids
        }
        self._rank = stated_rank(events.integers)
        self._builder.clock = replace(self._builder.clock, zeros=_zeros(events.integers))
        self._budget = max(64 << 20, source.unpacked)

    def _step(self) -> None:
        stop_if(self._cancelled)

    def trace(self) -> Trace:
        """Build the trace of all events. Raises ReadCancelled."""
        events, builder = self._events, self._builder
        self._step()
        self._phase: Codes = events.take("phase")
        self._timed: Bools = events.take("timed")
        self._ns: Ints = events.take("ns")
        self._ps: NDArray[np.int16] = events.take("ps")
        self._thread: Codes = events.take("thread")
        self._name: Codes = events.take("name")
        self._category: Codes = events.take("cat")
        # Async events, instants and flow events, with their identities.
        self._identified: Codes = events.take("identified")
        self._identity: Codes = events.take("identity")
        if (self._identified[1:] < self._identified[:-1]).any():
            # Those of a block that were read as columns come first.
            order = np.argsort(self._identified, kind="stable")
            self._identified, self._identity = self._identified[order], self._identity[order]
        self._pids = [text_of_id(pid) for pid, _ in events.threads]
        self._count_odd()
        groups = self._samples()
        self._has_samples = len(groups) > 0
        sampled = [
            self._place(
                text_of_id(group.thread[0]), _SAMPLED, text_of_id(group.thread[1]), group.source
            )
            for group in groups
        ]
        parts = [self._complete(), *self._begun(), *self._instants(), *self._async()]
        is_flow = self._of(FLOWS)[self._identified]
        flow_rows = self._identified[is_flow].astype(np.int64)
        flows = FlowPhases.of(events, flow_rows, self._identity[is_flow], self._phase)
        flow_place = self._on_threads(flows.rows)
        del self._phase, self._thread
        self._step()
        rows = np.concatenate([part.begin for part in parts])
        self._category = self._category[rows]  # from here on, of slices
        place = np.concatenate([part.place for part in parts])
        start, end = self._times(parts)
        self._is_open = np.concatenate(
            [np.full(len(part.begin), part.until is not None) for part in parts]
        )
        timing = np.where(self._is_open, Timing.UNFINISHED, 0).astype(np.uint8)
        columns = self._columns(parts, rows)
        self._counted = self._counters()
        flow_ticks = self._ticks(self._ns[flows.rows], self._ps[flows.rows])
        tracks = self._tracks(np.unique(np.append(place, np.array(sampled, np.uint32))))
        names = builder.intern_all(events.names)
        name = self._name[rows]
        slices = EventSlices(
            list(events.names), name, list(events.cats), self._category, tracks[place], start, end
        )
        order = np.arange(len(rows))
        if is_inspector(columns, len(rows)):
            slices = self._in_whole_ns(slices)
            start, end = slices.start, slices.end
            key, order = add_inspector_events(builder, slices, columns)
        else:
            key = add_inferences(builder, slices, names)[name]
        del slices, self._category
        del self._timed, self._name, self._ns, self._ps, self._identified, self._identity, parts
        if (order[1:] < order[:-1]).any():
            columns = {name_of: column.taken(order) for name_of, column in columns.items()}
            place, start, end, rows = place[order], start[order], end[order], rows[order]
            name, key, timing = name[order], key[order], timing[order]
        builder.add(
            track=tracks[place],
            start=start,
            end=end,
            name=names[name],
            key=key,
            source_row=rows.astype(np.uint32),
            columns=columns,
            timing=timing if timing.any() else None,
        )
        stack_samples.add(builder, groups, tracks[sampled].tolist(), self._ticks)
        # Tracks of threads without slices have no used place.
        flow_tracks = np.where(np.isin(flow_place, place), tracks[flow_place], _NO_CODE)
        del start, end, name, rows, place, columns
        trace = builder.build(self._step)
        # Slices have their final places only now, so this problem is counted late.
        flow_links, lone = flows_of(trace.slices, flows, flow_tracks, flow_ticks)
        trace = replace(trace, rank=self._rank)
        if not len(flow_links) and not len(lone):
            return trace
        problems = list(trace.problems)
        if len(lone):
            problems.append(Problem(LONE_FLOWS, len(lone), f"event {int(lone.min())}"))
        return replace(trace, flows=flow_links, problems=tuple(problems))

    # -- samples ------------------------------------------------------------------------------

    def _samples(self) -> list[ThreadSamples]:
        """The samples of the file, thread by thread; notes the stacks of its events."""
        events, builder = self._events, self._builder
        stacked, stack = events.take("stacked"), events.take("stack")
        order = np.argsort(stacked, kind="stable")
        stacked, stack = stacked[order].astype(np.int64), stack[order]
        frames = StackFrames(mapping(self._beside.get(FRAMES)))
        of_id = np.array([frames.node(key) for key in events.frame_ids] or [0], np.int64)
        node_of = of_id[stack]
        self._problem(NO_FRAMES, stacked[node_of < 0])
        begins = ~self._is("EeF")[stacked] if len(stacked) else stacked < 0
        self._stacks = frames, node_of[begins], stacked[begins]
        rows = np.empty(0, np.int64)
        if "P" in events.phases:
            v8 = [events.names[name] for name in (V8_START, V8_PART) if name in events.names]
            rows = np.flatnonzero(self._of("P") & ~np.isin(self._name, v8))
        index = np.minimum(np.searchsorted(stacked, rows), max(len(stacked) - 1, 0))
        has_stack = stacked[index] == rows if len(stacked) else np.zeros(len(rows), np.bool_)
        node = numbers_at(len(rows), has_stack, node_of[index[has_stack]], -1)
        names, alone = list(events.names), rows[~has_stack]
        node[~has_stack] = [frames.alone(names[i]) for i in self._name[alone].tolist()]
        thread_samples = stack_samples.of_events(
            frames, list(events.threads), self._thread[rows], node, self._ns[rows],
            self._ps[rows], rows.astype(np.uint32),
        )  # fmt: skip
        more = sequence(self._beside.get(SAMPLES))
        thread_samples += stack_samples.of_list(
            frames, more, list(events.threads), events.rows, builder
        )
        return thread_samples + stack_samples.of_v8(events.v8, events.rows + len(more), builder)

    # -- slices -------------------------------------------------------------------------------

    def _of(self, phases: Iterable[str]) -> Bools:
        """Which events have one of some phases and a time."""
        return self._is(phases) & self._timed

    def _is(self, phases: Iterable[str]) -> Bools:
        selected = set(phases)
        return np.array([text in selected for text in self._events.phases] or [False])[self._phase]

    def _count_odd(self) -> None:
        untimed = np.flatnonzero(self._is([*SLICES, *INSTANTS, *ASYNC, *FLOWS]) & ~self._timed)
        self._problem(_NO_TIME, untimed)
        unnamed = self._events.names.get("", _NO_CODE)
        for phase in self._events.phases:
            if not phase:
                # Some writers end the list with an empty object.
                rows = np.flatnonzero(self._is([phase]))
                self._problem(_NO_PHASE, rows[self._timed[rows] | (self._name[rows] != unnamed)])
            elif phase not in _DRAWN | FLOWS | _OWN_READ:
                short_phase = phase[:_LONGEST_PHASE]
                self._problem(
                    f"event of phase {short_phase!r}: not shown", np.flatnonzero(self._is([phase]))
                )

    def _problem(self, kind: str, rows: Ints) -> None:
        if len(rows):
            self._builder.problem(kind, len(rows), f"event {int(rows.min())}")

    def _complete(self) -> _Part:
        rows = np.flatnonzero(self._of("X"))
        copy = self._events.cats.get(GPU_COPY)
        if copy is not None:
            # PyTorch writes copies after the kernels that they are around, also if it is only one.
            rows = rows[np.argsort(self._category[rows] != copy, kind="stable")]
        is_long: Bools = self._events.take("is_long")
        self._problem(_NO_DURATION, rows[~is_long[rows]])
        self._long = self._events.take("long_ns"), self._events.take("long_ps")
        return _Part(rows, None, self._on_threads(rows))

    def _begun(self) -> list[_Part]:
        rows = np.flatnonzero(self._of("BE"))
        return self._paired(rows, self._thread[rows], self._on_threads(rows), "E")

    def _paired(self, rows: Ints, stack: Codes, place: Codes, ends: str) -> list[_Part]:
        """Pair start and end events on their stacks and return the slices."""
        if not len(rows):
            return []
        time = self._ns[rows]
        if bool((np.abs(time) < TIME_LIMIT // 1000).all()):
            time = time * 1000 + self._ps[rows]
        event_pairs = paired_by_name(
            stack,
            time,
            self._is(ends)[rows],
            self._name[rows],
            self._events.names.get("", _NO_CODE),
        )
        self._problem(OPEN, rows[event_pairs.lone_begin])
        self._problem("end event without a begin event: left out", rows[event_pairs.lone_end])
        return [
            _Part(rows[event_pairs.begin], rows[event_pairs.end], place[event_pairs.begin]),
            self._open(rows[event_pairs.lone_begin], place[event_pairs.lone_begin]),
        ]

    def _open(self, rows: Ints, place: Codes) -> _Part:
        """Slices without an end, which are drawn to the last time of their processes."""
        if not len(rows):
            return _Part(rows, rows, place)
        if self._last_of_thread is None:
            numbers: dict[str, int] = {}
            process = np.array([numbers.setdefault(pid, len(numbers)) for pid in self._pids])
            timed = np.flatnonzero(self._timed & ~self._is("M"))
            long_ns, long_ps = self._long
            end = self._ns[timed] + (self._ps[timed] + long_ps[timed] + 999) // 1000
            end += np.maximum(long_ns[timed], 0)
            last = np.full(len(numbers), np.iinfo(np.int64).min)
            np.maximum.at(last, process[self._thread[timed]], end)
            self._last_of_thread = last[process]
        return _Part(rows, rows, place, self._last_of_thread[self._thread[rows]])

    def _instants(self) -> list[_Part]:
        events, scopes = self._events, {}
        for key, number in events.identities.items():
            if len(key) == 1:
                scopes[number] = key[0]
        is_instant = self._of(INSTANTS)[self._identified]
        rows, identity = self._identified[is_instant], self._identity[is_instant]
        of_thread = self._on_threads(rows)
        of_process = np.array([self._place(pid, _INSTANTS, "") for pid in self._pids], np.uint32)
        scope = np.array([scopes.get(i, "t") for i in range(len(events.identities))] or ["t"])
        scope = scope[identity]
        place = np.where(scope == "p", of_process[self._thread[rows]], of_thread)
        place[scope == "g"] = self._place("", _GLOBAL, "")
        self._scoped = rows, scope
        return [_Part(rows.astype(np.int64), rows.astype(np.int64), place)]

    def _async(self) -> list[_Part]:
        events = self._events
        is_async = self._of(ASYNC)[self._identified]
        rows, identity = self._identified[is_async].astype(np.int64), self._identity[is_async]
        if not len(rows):
            return []
        distinct, first, which = np.unique(identity, return_index=True, return_inverse=True)
        names, keys = list(events.names), list(events.identities)
        ids = [keys[k][3] for k in distinct.tolist()]
        self._ids = rows, which.astype(np.uint32), ids
        if len(distinct) <= _MOST_ASYNC_TRACKS:
            places = []
            for row, async_id in zip(rows[first].tolist(), ids, strict=True):
                name = names[self._name[row]]
                label = f"{name} · {async_id}" if async_id else name
                places.append(self._place(self._pids[self._thread[row]], _ASYNC, label, async_id))
            place = np.array(places, np.uint32)[which]
        else:
            place = numbers_of(
                [self._thread[rows], self._name[rows]],
                lambda i: self._place(
                    self._pids[self._thread[rows[i]]], _MANY_ASYNC, names[self._name[rows[i]]]
                ),
            )
        moment = self._is("nTp")[rows]
        return [
            *self._paired(rows[~moment], identity[~moment], place[~moment], "eF"),
            _Part(rows[moment], rows[moment], place[moment]),
        ]

    # -- times --------------------------------------------------------------------------------

    def _times(self, parts: Sequence[_Part]) -> tuple[Ints, Ints]:
        """Start and end in ticks; sets the clock of the builder."""
        starts, ends, fine = [], [], []
        for part in parts:
            ns, ps = self._ns[part.begin], self._ps[part.begin]
            if part.end is None:
                long_ns, long_ps = (values[part.begin] for values in self._long)
                last_ns = ns + long_ns
                last_ps = ps + long_ps
                last_ns += last_ps >= 1000
                last_ps = last_ps % 1000
            elif part.until is not None:
                last_ns, last_ps = part.until, np.zeros_like(ps)
            else:
                last_ns, last_ps = self._ns[part.end], self._ps[part.end]
            starts.append((ns, ps))
            ends.append((last_ns, last_ps))
            fine.append(int(((ps != 0) | (last_ps != 0)).sum()))
        del self._long
        start_ns, start_ps = (np.concatenate(both) for both in zip(*starts, strict=True))
        end_ns, end_ps = (np.concatenate(both) for both in zip(*ends, strict=True))
        if not sum(fine):
            return start_ns, end_ns
        limit = TIME_LIMIT // 1000
        if all((np.abs(ns) < limit).all() for ns in (start_ns, end_ns)):
            fine_clock = Clock("ps", Fraction(1, 1000), zeros=self._builder.clock.zeros)
            self._builder.clock = fine_clock
        else:
            self._builder.problem(_TOO_FINE, sum(fine))
        return self._ticks(start_ns, start_ps), self._ticks(end_ns, end_ps)

    def _ticks(self, ns: Ints, ps: NDArray[np.int16]) -> Ints:
        """Times in ticks of the clock that `_times` chose."""
        if self._builder.clock.unit == "ps":
            return ns * 1000 + ps
        return ns + (ps >= 500)

    def _in_whole_ns(self, slices: EventSlices) -> EventSlices:
        if self._builder.clock.unit != "ps":
            return slices
        self._builder.clock = Clock(zeros=self._builder.clock.zeros)
        start = (slices.start + 500) // 1000
        return replace(slices, start=start, end=start + (slices.end - slices.start + 500) // 1000)

    def _counters(self) -> list[tuple[str, str, Ints, NDArray[Any]]]:
        """Process, name, ticks and values of each counter."""
        series: dict[tuple[str, str, str], list[tuple[str, Ints, NDArray[np.float64]]]] = {}
        for (thread, name, ident, argument), (given_rows, values) in self._events.counters.items():
            counter_rows = np.array(given_rows)
            timed = self._timed[counter_rows]
            self._problem(_NO_TIME, counter_rows[~timed])
            series.setdefault((self._pids[thread], name, ident), []).append(
                (argument, counter_rows[timed], np.array(values)[timed])
            )
        self._events.counters.clear()
        counters: list[tuple[str, str, Ints, NDArray[Any]]] = []
        limit = TIME_LIMIT // 1000 if self._builder.clock.unit == "ps" else TIME_LIMIT
        for (pid, name, ident), arguments in series.items():
            by_argument: dict[str, tuple[list[Ints], list[NDArray[np.float64]]]] = {}
            for argument, some_rows, some_values in arguments:
                of_argument = by_argument.setdefault(argument, ([], []))
                of_argument[0].append(some_rows)
                of_argument[1].append(some_values)
            for argument, given_parts in by_argument.items():
                rows = np.concatenate(given_parts[0])
                value: NDArray[Any] = np.concatenate(given_parts[1])
                title = " ".join(filter(None, (name, ident)))
                several = len(by_argument) > 1
                title = f"{title} · {argument}" if several else title or argument
                if not len(rows) or (np.abs(self._ns[rows]) > limit).any():
                    self._builder.problem("counter with times out of range: left out", 1, title)
                elif len(counters) >= _MOST_COUNTERS:
                    self._builder.problem("too many counters: the rest are not drawn", 1, title)
                else:
                    whole = value.astype(np.int64) if (np.abs(value) < 1 << 53).all() else value
                    value = whole if (whole == value).all() else value
                    counters.append(
                        (pid, title, self._ticks(self._ns[rows], self._ps[rows]), value)
                    )
        return counters

    # -- tracks -------------------------------------------------------------------------------

    def _place(self, pid: str, kind: int, name: str, detail: str = "") -> int:
        key = pid, kind, name, detail
        return self._places.setdefault(key, len(self._places))

    def _on_threads(self, rows: Ints | Codes) -> Codes:
        """The places of some events on their threads."""
        places = [
            self._place(text_of_id(pid), _THREAD, text_of_id(tid))
            for pid, tid in self._events.threads
        ]
        return np.array(places or [0], np.uint32)[self._thread[rows]]

    def _tracks(self, used: Codes) -> Codes:
        """The track of each place, in display order; only used places have one."""
        builder, names = self._builder, TrackNames.of(self._events.metadata, self._rank)
        for kind_of_problem, place in names.renamed():
            builder.problem(kind_of_problem, 1, place)
        of_process: dict[str, list[tuple[int, str, str]]] = {}
        number = np.zeros(len(self._places), np.uint32)
        is_used = flags_at(len(self._places), used)
        for (pid, kind, name, detail), i in self._places.items():
            if kind == _GLOBAL and is_used[i]:
                number[i] = builder.track(with_rank(GLOBAL, self._rank), "instants")
            elif is_used[i]:
                of_process.setdefault(pid, []).append((kind, name, detail))
        counted = lists_by_key(
            (pid, (name, tick, value)) for pid, name, tick, value in self._counted
        )
        for pid, process in names.processes({**of_process, **dict.fromkeys(counted)}).items():
            for name, tick, value in counted.get(pid, ()):
                builder.counter(stated_counter(process, name, tick, value))
            if pid not in of_process:
                builder.track(process, NO_SLICES)
            places = of_process.get(pid, [])
            threads = dict.fromkeys(n for kind, n, _ in places if kind in (_THREAD, _SAMPLED))
            labels = names.threads(pid, list(threads))
            rank = {tid: place for place, tid in enumerate(labels)}
            taken = set(labels.values())
            for kind, name, detail in sorted(places, key=lambda p: (p[0], rank.get(p[1], 0))):
                thread = labels[name] if kind == _THREAD else name or PROCESS_INSTANTS
                if kind == _SAMPLED:
                    thread = f"{labels[name]} · {detail or SAMPLES}"
                while kind != _THREAD and thread in taken:
                    thread += " (async)"
                taken.add(thread)
                number[self._places[pid, kind, name, detail]] = builder.track(
                    process, thread, flat=kind == _MANY_ASYNC
                )
        return number

    # -- columns -------------------------------------------------------------------------------

    def _columns(self, parts: Sequence[_Part], rows: Ints) -> dict[str, Column]:
        events = self._events
        slice_of = np.full(events.rows, -1, np.int32)
        is_end: Bools | None = None
        first = 0
        for part in parts:
            numbers = np.arange(first, first + len(part.begin), dtype=np.int32)
            if part.end is not None and part.end is not part.begin:
                slice_of[part.end] = numbers
                is_end = np.zeros(events.rows, np.bool_) if is_end is None else is_end
                is_end[part.end] = True
            slice_of[part.begin] = numbers
            first += len(numbers)
        columns = events.arguments.columns(slice_of, is_end, len(rows), self._budget)
        for kind, count in events.arguments.problems.items():
            self._builder.problem(kind, count)

        if self._has_samples:
            columns = {
                f"argument {name}" if name in _OF_SAMPLES else name: column
                for name, column in columns.items()
            }

        def put(name: str, codes: Codes, texts: Sequence[str], valid: Bools) -> None:
            if valid.any():
                title = name if name not in columns else f"event {name}"
                columns[title] = Column.of_codes(codes, texts, None if valid.all() else valid)

        def of_rows(event_rows: Codes | Ints, codes: Codes) -> tuple[Codes, Bools]:
            where = slice_of[event_rows]
            values, valid = np.zeros(len(rows), np.uint32), np.zeros(len(rows), np.bool_)
            values[where[where >= 0]] = codes[where >= 0]
            valid[where[where >= 0]] = True
            return values, valid

        ends = [part.begin if part.end is None else part.end for part in parts]
        for name, column in events.thread_times.columns(
            events.rows, rows, np.concatenate(ends)
        ).items():
            columns[name if name not in columns else f"event {name}"] = column
        none = events.cats.get("", _NO_CODE)
        put(CATEGORY, self._category, list(events.cats), self._category != none)
        scoped, scope = self._scoped
        words = list(dict.fromkeys(_SCOPES.get(s, "thread") for s in np.unique(scope).tolist()))
        codes = [words.index(_SCOPES.get(s, "thread")) for s in scope.tolist()]
        values, valid = of_rows(scoped, np.array(codes, np.uint32))
        put(SCOPE, values, words, valid)
        put("stack", *self._stack_texts(slice_of, len(rows)))
        if self._ids is not None:
            id_rows, which, ids = self._ids
            values, valid = of_rows(id_rows, which)
            put(ID, values, ids, valid)
        put(UNPAIRED, np.zeros(len(rows), np.uint32), (NO_END,), self._is_open)
        return columns

    def _stack_texts(
        self, slice_of: NDArray[np.int32], count: int
    ) -> tuple[Codes, list[str], Bools]:
        """The stacks of slices, as codes into texts, and which slices have one."""
        frames, node, stacked = self._stacks
        has_stack = (node >= 0) & (slice_of[stacked] >= 0)
        stack_rows = stacked[has_stack]
        distinct, which = np.unique(node[has_stack], return_inverse=True)
        texts, size = [], 0
        for stack_node in distinct.tolist():
            texts.append(frames.path(stack_node))
            size += len(texts[-1])
            allowance().take_unpacked(size)
        codes, valid = np.zeros(count, np.uint32), np.zeros(count, np.bool_)
        codes[slice_of[stack_rows]] = which.reshape(-1)
        valid[slice_of[stack_rows]] = True
        return codes, texts, valid


FORMAT = format_of("chrome.reader")


# Flows of a Chrome trace: events of phases s, t and f, and slices with a `bind_id`.


@dataclass(frozen=True, slots=True)
class FlowPhases:
    """Events of phases s, t and f in file order, and the rows of slices with a `bind_id`.

    flow: the number of each one's flow. phase: "s", "t" or "f". is_next: whether they belong to the
    next slice that starts. bound, bound_flow, gives, takes: slices with a `bind_id`, their flow,
    and its direction.
    """

    rows: Ints
    flow: Ints
    phase: NDArray[np.str_]
    is_next: Bools
    bound: Codes
    bound_flow: Ints
    gives: Bools
    takes: Bools

    @staticmethod
    def of(events: EventColumns, rows: Ints, identity: Codes, phases: Codes) -> FlowPhases:
        """Those of a file.

        rows, identity: the events of phases s, t and f, and their identities. phases: of all rows.
        """
        phase = np.array(list(events.phases) or [""])[phases[rows]]
        keys = list(events.identities)
        flows: dict[tuple[str, ...], int] = {}
        number = np.zeros(len(keys), np.int64)
        is_next = np.zeros(len(keys), np.bool_)
        for i in np.unique(identity).tolist():
            *flow, binding = keys[i]
            number[i] = flows.setdefault(tuple(flow), len(flows))
            is_next[i] = binding != "e"
        bound = events.take("bound")
        # Those of a block that were read as columns come first.
        order = np.argsort(bound, kind="stable")
        return FlowPhases(
            rows,
            number[identity],
            phase,
            is_next[identity] & (phase == "f"),
            bound[order],
            events.take("bound_flow")[order] + np.int64(len(flows)),
            events.take("bound_gives")[order],
            events.take("bound_takes")[order],
        )


def flows_of(slices: Slices, events: FlowPhases, track: Codes, tick: Ints) -> tuple[Flows, Ints]:
    """The flows, and the rows of events without a slice or counterpart.

    track, tick: the track and the time of each event of phase s, t or f.
    """
    if not len(events.rows) and not len(events.bound):
        return Flows.none(), np.empty(0, np.int64)
    slice_index = slices_at(slices, track, tick, events.is_next)
    bound_slices = np.empty(0, np.int64)
    if len(events.bound):
        most = int(max(events.bound.max(), slices.source_row.max(initial=0)))
        of_row = numbers_at(most + 1, slices.source_row, np.arange(len(slices)), -1)
        bound_slices = of_row[events.bound]
    start = slices.start[bound_slices] if len(slices) else bound_slices
    slice_of = np.concatenate([slice_index, bound_slices])
    giver, taker, lone = FlowEvents(
        slice_of,
        np.concatenate([tick, start]),
        np.concatenate([events.flow, events.bound_flow]),
        np.concatenate([events.phase != "f", events.gives]),
        np.concatenate([events.phase != "s", events.takes]),
        np.zeros(len(slice_index) + len(bound_slices), np.bool_),
    ).edges()
    return Flows(slice_of[giver], slice_of[taker]), np.concatenate([events.rows, events.bound])[
        lone
    ]

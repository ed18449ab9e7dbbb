"""Reads profiles of profilers that sample: stacks that they saw, with a weight or a time each.

speedscope's JSON, which py-spy, rbspy, austin, viztracer's tools and others write, is specified in
https://www.speedscope.app/file-format-schema.json: `shared.frames`, and profiles that refer to them
by number. Each profile is a thread here.

    evented    O and C events open and close a frame: slices with their measured times
    sampled    stacks, outermost frame first, with a weight each. A weight in a unit of time is how
               long the sample stands for, one after another from `startValue` on

Weights without a unit are counts of samples, and those in bytes are allocations. Such a profile has
no times: a tick is a sample or a byte, and its length on the timeline is an assumption that
`--clock` changes.

CPU profiles of V8, `.cpuprofile` files of Chrome, Node.js, Deno and VS Code, are specified as
`Profiler.Profile` of the DevTools protocol: `nodes` are calls in a tree, `samples` are their
numbers, and `timeDeltas` the µs from each sample to the one before it, the first one from
`startTime`. The node "(root)" is left out. Profiles of before 2016, which have a tree of objects
(`head`), are refused.

Processed profiles of Firefox, which samply and the Firefox Profiler write, are specified in the
Profiler's docs-developer/processed-format.md and src/types/profile.ts. A stack of `stackTable` is a
frame below the stack `prefix`; a frame is in a function, whose name and file are strings. These
tables of columns belong to each thread, in newer versions to all of them (`shared`). `samples` have
a stack and a time in ms each, or the time since the one before (`timeDeltas`). Raw profiles, as
Firefox's recorder writes them, are refused: the Profiler saves them as processed ones.

Collapsed stacks are the text that flame graphs are made of: `main;load;read 12`. Brendan Gregg's
stackcollapse scripts, py-spy (`--format raw`), inferno and async-profiler write a line for each
stack: its frames, outermost first, joined by ";", then a space and how many samples it had. Nothing
states times, as in a speedscope profile of counts. Lines that begin with "#" are comments.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from viewer.arrays import Ints
from viewer.codecs.decimal_times import TIME_LIMIT
from viewer.codecs.json_values import mapping, sequence, text, whole_number
from viewer.codecs.memory_budget import allowance
from viewer.codecs.reading import Cancelled, Progress, UnreadableFile, stop_if
from viewer.codecs.unpacking import PackedFile, inflated_head
from viewer.formats import HEAD_SIZE, format_of, head_of
from viewer.formats.event_pairs import BEGIN, END, paired
from viewer.formats.samples.stacks import (
    Frame,
    SampledSlices,
    StackTree,
    json_of,
    ticks_of,
    until_the_next,
    whole_numbers,
)
from viewer.model.building.builder import TraceBuilder
from viewer.model.timing import Timing
from viewer.model.trace import Clock, Column, KeyKind, Trace

_SPEEDSCOPE = re.compile(rb'speedscope\.app/file-format-schema|"shared"\s*:\s*\{\s*"frames"')
_NS = {"nanoseconds": 1, "microseconds": 10**3, "milliseconds": 10**6, "seconds": 10**9}
_COUNTED = {"none": "sample", "bytes": "byte"}
# What a sample is drawn as; nothing states how often they were taken.
_SAMPLE_NS = 1_000_000
_OTHER_UNIT = "profile in a unit without a common clock: left out"
_NOT_USABLE = "time or weight that is no usable number: left out"
_UNEQUAL = "samples without a weight, or weights without a sample: left out"
_NO_FRAME = "frame number that the file does not define: left out"
_NO_END = "frame that is opened and not closed: drawn to the end of its profile"
_NO_BEGIN = "frame that is closed and not opened: left out"


def _read_speedscope(builder: TraceBuilder, progress: Progress, cancelled: Cancelled) -> None:
    data = json_of(builder, progress, cancelled)
    profiles = [mapping(entry) for entry in sequence(data.get("profiles"))]
    if not profiles:
        raise UnreadableFile(builder.path, "it has no profiles", remedy="Record it again")
    units = [text(profile.get("unit")) for profile in profiles]
    unit = next((unit for unit in units if unit in _NS), units[0])  # one clock: times are preferred
    if unit in _COUNTED:
        builder.clock = _counted_clock(_COUNTED[unit])
    process = text(data.get("name")) or text(data.get("exporter")) or "speedscope"
    frames = [
        Frame(
            text(entry.get("name")), text(entry.get("file")), whole_number(entry.get("line")) or 0
        )
        for entry in map(mapping, sequence(mapping(data.get("shared")).get("frames")))
    ]
    reader = _Speedscope(builder, frames)
    for number, profile in enumerate(profiles):
        stop_if(cancelled)
        profile_unit = text(profile.get("unit"))
        factor = _NS.get(profile_unit, 1)
        if (profile_unit in _NS) != (unit in _NS) or (
            profile_unit not in _NS and profile_unit != unit
        ):
            builder.problem(_OTHER_UNIT, 1, f"profile {number}")
            continue
        name = text(profile.get("name")) or f"profile {number}"
        threads = {track.thread for track in builder.tracks()}
        track = builder.track(process, name if name not in threads else f"{name} ({number})")
        if profile.get("type") == "evented":
            reader.add_events(track, profile, factor)
        else:
            reader.add_samples(track, profile, factor)
    reader.finish()


def _counted_clock(unit: str) -> Clock:
    """Return the clock of a profile without times. unit: "sample" or "byte"."""
    return Clock(unit, Fraction(_SAMPLE_NS if unit == "sample" else 1), assumed=True)


class _Speedscope:
    def __init__(self, builder: TraceBuilder, frames: list[Frame]) -> None:
        self._builder, self._frames = builder, frames
        self._tree = StackTree()
        self._samples: list[tuple[int, Any, Any]] = []

    def add_events(self, track: int, profile: dict[str, Any], factor: int) -> None:
        """Add the slices of an evented profile."""
        events = [mapping(event) for event in sequence(profile.get("events"))]
        frame = whole_numbers([event.get("frame") for event in events], len(self._frames))
        time, usable = ticks_of([event.get("at") for event in events], factor)
        is_end = np.array([event.get("type") == "C" for event in events], np.bool_)
        self._builder.problem(_NO_FRAME, int((frame < 0).sum()))
        self._builder.problem(_NOT_USABLE, int((~usable).sum()))
        rows = np.flatnonzero(usable & (frame >= 0))
        if not len(rows):
            return
        rows = rows[np.argsort(time[rows], kind="stable")]
        time, frame, is_end = time[rows], frame[rows], is_end[rows]
        # An event closes the innermost open slice of its frame.
        pairs = paired(frame, time, np.where(is_end, END, BEGIN).astype(np.uint8))
        order = np.argsort(pairs.begin)
        begin, end = pairs.begin[order], pairs.end[order]
        self._builder.problem(_NO_END, int((end < 0).sum()))
        self._builder.problem(_NO_BEGIN, pairs.lone_ends)
        (ends,), stated = ticks_of([profile.get("endValue")], factor)
        last = max(int(time.max()), int(ends)) if stated.all() else int(time.max())
        is_open = end < 0
        begun = [self._frames[i] for i in frame[begin].tolist()]
        names = [entry.name or "(no name)" for entry in begun]
        keys = {name: self._builder.key(KeyKind.PLAIN, name) for name in dict.fromkeys(names)}
        columns = {}
        if any(entry.file for entry in begun):
            columns["file"] = Column.of_texts([entry.file for entry in begun])
        if any(entry.line for entry in begun):
            line = np.array([entry.line for entry in begun], np.int64)
            columns["line"] = Column(line, None if line.all() else line > 0)
        self._builder.add(
            track=track,
            start=time[begin],
            end=np.where(is_open, last, time[end]),
            name=self._builder.intern_all(names),
            key=np.array([keys[name] for name in names], np.uint32),
            columns=columns,
            timing=np.where(is_open, Timing.UNFINISHED, 0).astype(np.uint8),
        )

    def add_samples(self, track: int, profile: dict[str, Any], factor: int) -> None:
        """Take the samples of a profile; their slices are added once all stacks are known."""
        samples, weights = sequence(profile.get("samples")), sequence(profile.get("weights"))
        count = min(len(samples), len(weights))
        self._builder.problem(_UNEQUAL, max(len(samples), len(weights)) - count)
        weight, usable = ticks_of(weights[:count], factor)
        self._builder.problem(_NOT_USABLE, int((~usable).sum()))
        self._builder.problem("negative weight: counted as 0", int((weight < 0).sum()))
        weight = np.maximum(weight, 0)
        (start,), _ = ticks_of([profile.get("startValue")], factor)
        if abs(float(start)) + weight.sum(dtype=np.float64) > TIME_LIMIT:
            self._builder.problem("profile whose weights do not fit 64 bits: left out", 1)
            return
        frame_count, lost = len(self._frames), 0
        node = np.empty(count, np.int64)
        for i, stack in enumerate(samples[:count]):
            frames = tuple(sequence(stack))
            good = tuple(f for f in frames if type(f) is int and 0 <= f < frame_count)
            lost += len(frames) - len(good)
            node[i] = self._tree.stack(good)
        self._builder.problem(_NO_FRAME, lost)
        end = start + np.cumsum(weight)
        self._samples.append((track, node, (end - weight, end)))

    def finish(self) -> None:
        """Add the slices of all samples."""
        if not self._samples:
            return
        is_counted = self._builder.clock.assumed
        tree = self._tree
        slices = SampledSlices(self._builder, self._frames, tree.parent, tree.frame)
        for track, node, (start, end) in self._samples:
            slices.add(
                track, node, start, end,
                weight=end - start if self._builder.clock.unit == "sample" else None,
                timing=Timing.SAMPLED | (Timing.PLACED if is_counted else Timing.MEASURED),
            )  # fmt: skip


_CPU_PROFILE = re.compile(rb'"nodes"\s*:\s*\[\s*\{[^\[\]]{0,400}"callFrame"')
_ROOT = "(root)"
_NO_TIME = "sample without a time: left out"


def _read_cpu_profile(builder: TraceBuilder, progress: Progress, cancelled: Cancelled) -> None:
    data = json_of(builder, progress, cancelled)
    tree = CpuNodes()
    tree.add(sequence(data.get("nodes")))
    if not tree.frames:
        raise UnreadableFile(builder.path, "it has no nodes", remedy="Record it again")
    samples = sequence(data.get("samples"))
    time = times_of_deltas(builder, sequence(data.get("timeDeltas")), data.get("startTime"))
    node, time, parent = tree.tree(builder, samples, time)
    end, is_apart = until_the_next(time)
    slices = SampledSlices(builder, tree.frames, parent, np.arange(len(parent)))
    slices.add(builder.track("V8", "samples"), node, time, end, is_apart=is_apart)


def times_of_deltas(builder: TraceBuilder, deltas: list[Any], start: Any) -> Ints:
    """Return the times of samples in ns, from the µs between them."""
    (first,), _ = ticks_of([start], 1000)
    steps, usable = ticks_of(deltas, 1000)
    builder.problem(
        "time between samples that is no usable number: taken as 0", int((~usable).sum())
    )
    reached = float(first) + np.cumsum(steps.astype(np.float64))
    if len(reached) and float(np.abs(reached).max()) > 2.0**62:
        return np.empty(0, np.int64)
    times: Ints = first + np.cumsum(steps)
    return times


class CpuNodes:
    """The calls of a profile: their numbers in the file, parents and functions."""

    def __init__(self) -> None:
        self.frames: list[Frame] = []
        self._number: dict[int | str, int] = {}
        self._parent: list[int] = []
        self._above: list[int | str] = []  # per node the id of its parent, as a child states it

    def add(self, nodes: list[Any]) -> None:
        """Add nodes; each has the ids of its children, or the id of its parent."""
        first = len(self.frames)
        children: list[tuple[int, Any]] = []
        for node in map(mapping, nodes):
            call = mapping(node.get("callFrame"))
            line = call.get("lineNumber")
            self._number.setdefault(_node_id(node.get("id")), len(self.frames))
            self.frames.append(
                Frame(
                    text(call.get("functionName")) or "(anonymous)",
                    text(call.get("url")),
                    line + 1 if type(line) is int and 0 <= line < 1 << 31 else 0,
                )
            )
            self._above.append(_node_id(node.get("parent")))
            children.append((len(self.frames) - 1, sequence(node.get("children"))))
        self._parent += [-1] * (len(self.frames) - first)
        for number in range(first, len(self.frames)):
            above = self._above[number]
            self._parent[number] = -1 if above == "" else self._number.get(above, -1)
        for number, child_ids in children:
            for child in child_ids:
                below = self._number.get(_node_id(child))
                if below is not None:
                    self._parent[below] = number

    def tree(
        self, builder: TraceBuilder, samples: list[Any], time: Ints
    ) -> tuple[Ints, Ints, Ints]:
        """Return the node and the time of each sample, by time, and the parent of each node.

        The root is left out.
        """
        count = min(len(samples), len(time))
        builder.problem(_NO_TIME, len(samples) - count)
        node = np.array(
            [self._number.get(_node_id(sample), -1) for sample in samples[:count]], np.int64
        )
        order = np.argsort(time[:count], kind="stable")
        node, time = node[order], time[order]
        parent = np.array(self._parent, np.int64)
        is_root = np.array([frame.name == _ROOT for frame in self.frames], np.bool_) & (
            parent == -1
        )
        parent[(parent >= 0) & is_root[parent]] = -1
        node[(node >= 0) & is_root[node]] = -1
        return node, time, parent


def _node_id(value: Any) -> int | str:
    number = whole_number(value)
    return text(value) if number is None else number


_FIREFOX = re.compile(
    rb'"(?:preprocessedProfileVersion|geckoProfile\w*)"'
    rb'|\A\s*\{\s*"meta"\s*:\s*\{[^{}]{0,400}"(?:interval|processType)"'
)
_MS = 10**6


def _read_firefox(builder: TraceBuilder, progress: Progress, cancelled: Cancelled) -> None:
    data = json_of(builder, progress, cancelled)
    shared = mapping(data.get("shared"))
    threads = [mapping(thread) for thread in sequence(data.get("threads"))]
    if not any(mapping(thread.get("samples")).get("stack") for thread in threads):
        raise UnreadableFile(
            builder.path, "this profile of Firefox has no samples that can be read",
            remedy="Open it at profiler.firefox.com, and save it from there",
        )  # fmt: skip
    named: set[tuple[str, str]] = set()
    for number, thread in enumerate(threads):
        stop_if(cancelled)
        process = text(thread.get("processName")) or f"process {thread.get('pid', 0)}"
        name = text(thread.get("name")) or "thread"
        if (process, name) in named:
            name = f"{name} ({thread.get('tid', number)}, {number})"
        named.add((process, name))
        _add_thread(builder, builder.track(process, name), {**shared, **thread})


def _add_thread(builder: TraceBuilder, track: int, thread: dict[str, Any]) -> None:
    """Add the samples of a thread, given with the tables that all share."""
    strings = sequence(thread.get("stringArray")) or sequence(thread.get("stringTable"))
    stacks, frames, functions, samples = (
        mapping(thread.get(name)) for name in ("stackTable", "frameTable", "funcTable", "samples")
    )

    def texts(column: str) -> list[str]:
        rows = whole_numbers(sequence(functions.get(column)), len(strings)).tolist()
        return [text(strings[i]) if i >= 0 else "" for i in rows]

    names, files = texts("name"), texts("fileName")
    files += [""] * (len(names) - len(files))
    lines = sequence(frames.get("line"))
    frame_list = [
        Frame(names[i] if i >= 0 else "", files[i] if i >= 0 else "", _line_of_frame(lines, row))
        for row, i in enumerate(whole_numbers(sequence(frames.get("func")), len(names)).tolist())
    ]
    prefixes, frame = sequence(stacks.get("prefix")), sequence(stacks.get("frame"))
    count = min(len(prefixes), len(frame))
    parent = whole_numbers(prefixes[:count], count)
    is_root = np.array([prefix is None for prefix in prefixes[:count]], np.bool_)
    of_stack = whole_numbers(frame[:count], len(frame_list))
    # A stack with a prefix or a frame that is missing is below no root.
    parent[~is_root & (parent < 0)] = -2
    parent[of_stack < 0] = -2
    node = whole_numbers(sequence(samples.get("stack")), count)
    time, usable = _times_of_samples(samples)
    rows = np.flatnonzero(usable[: len(node)])
    builder.problem("sample without a usable time: left out", len(node) - len(rows))
    order = rows[np.argsort(time[rows], kind="stable")]
    end, is_apart = until_the_next(time[order])
    slices = SampledSlices(builder, frame_list, parent, np.maximum(of_stack, 0))
    slices.add(track, node[order], time[order], end, is_apart=is_apart)


def _times_of_samples(samples: dict[str, Any]) -> tuple[Ints, np.ndarray]:
    times, usable = ticks_of(sequence(samples.get("time")), _MS)
    if len(times):
        return times, usable
    steps, usable = ticks_of(sequence(samples.get("timeDeltas")), _MS)
    fits = np.abs(np.cumsum(steps.astype(np.float64))) < 2.0**62
    return np.cumsum(steps), usable & fits


def _line_of_frame(lines: list[Any], index: int) -> int:
    line = lines[index] if index < len(lines) else 0
    return line if type(line) is int and 0 < line < 1 << 31 else 0


_STACK = re.compile(rb"([^;\n\t]+(?:;[^;\n\t]+)*) ([0-9]{1,18})(?:\.[0-9]*)?")
# As difffolded.pl joins two profiles: the counts of the first and of the second.
_TWO_COUNTS = re.compile(
    rb"(?:#[^\n]*\n)*(?:[^;\n\t]+(?:;[^;\n\t]+)* [0-9]{1,18} [0-9]{1,18}\r?(?:\n|$))+"
)
_FIRST_COUNT = re.compile(rb" [0-9]{1,18}(?= [0-9]{1,18}\r?$)")
_NUMBER = re.compile(rb"[0-9.,]+")
_BLOCK = 1 << 20
_MOST_IN_A_LINE = 1 << 20
# Bytes of a stack, and of a frame in it, at the peak. Not measured.
_STACK_MEMORY, _FRAME_MEMORY = 200, 60
_NO_STACK = "line that is no stack with a count: left out"


def _is_collapsed(data: bytes) -> bool:
    """Whether all lines are frames and a count, most of them of several frames."""
    if b";" not in data:
        return False
    lines = data.split(b"\n")
    if len(data) >= HEAD_SIZE:
        del lines[-1]  # it may be cut
    stacks = []
    for line in lines:
        if not line.strip() or line.startswith(b"#"):
            continue
        match = _STACK.fullmatch(line.strip(b"\r"))
        if match is None:
            return False
        stacks.append(match[1].split(b";"))
    # Two lines of one name and a number are a table, as are cells of numbers.
    return (
        bool(stacks)
        and sum(len(frames) > 1 for frames in stacks) * 2 >= len(stacks)
        and not any(_NUMBER.fullmatch(frame) for frames in stacks for frame in frames)
    )


def _read_collapsed(builder: TraceBuilder, progress: Progress, cancelled: Cancelled) -> None:
    builder.clock = _counted_clock("sample")
    tree, names = StackTree(), dict[bytes, int]()
    nodes, weights = list[int](), list[int]()
    left, line_number = b"", 0
    with PackedFile(builder.path) as source:
        head = source.read(HEAD_SIZE)
    is_two = _TWO_COUNTS.fullmatch(head[: head.rfind(b"\n") + 1]) is not None
    if is_two:
        builder.state("Counts", "those of the second of two profiles")
    with PackedFile(builder.path) as source:
        while block := source.read(_BLOCK):
            stop_if(cancelled)
            *lines, left = (left + block).split(b"\n")
            if len(left) > _MOST_IN_A_LINE:
                lines, left = [*lines, left], b""
            for line in lines:
                line_number += 1
                line = _FIRST_COUNT.sub(b"", line) if is_two else line
                _add_line(builder, line, line_number, tree, names, nodes, weights)
            taken = len(nodes) * _STACK_MEMORY + len(tree.parent) * _FRAME_MEMORY
            allowance().expect(taken, source.share, source.unpacked, ratio=source.ratio)
            progress(min(source.done, source.size), source.size)
        left = _FIRST_COUNT.sub(b"", left) if is_two else left
        _add_line(builder, left, line_number + 1, tree, names, nodes, weights)
        if source.fault:
            builder.problem(f"{source.fault}: the content before it was read")
    weight = np.array(weights, np.int64)
    if weight.sum(dtype=np.float64) > TIME_LIMIT // 10**6:
        builder.problem("counts that do not fit 64 bits: counted as one sample each", len(weight))
        weight = np.minimum(weight, 1)
    end = np.cumsum(weight)
    frames = [Frame(name.decode("utf-8", "replace")) for name in names]
    SampledSlices(builder, frames, tree.parent, tree.frame).add(
        builder.track("samples", "all stacks"),
        np.array(nodes, np.int64),
        end - weight,
        end,
        weight=weight,
        timing=Timing.SAMPLED | Timing.PLACED,
    )


def _add_line(
    builder: TraceBuilder,
    line: bytes,
    number: int,
    tree: StackTree,
    names: dict[bytes, int],
    nodes: list[int],
    weights: list[int],
) -> None:
    line = line.strip(b"\r")
    if not line.strip() or line.startswith(b"#"):
        return
    match = _STACK.fullmatch(line)
    if match is None:
        builder.problem(_NO_STACK, 1, f"line {number}")
        return
    frames = tuple(names.setdefault(name, len(names)) for name in match[1].split(b";"))
    nodes.append(tree.stack(frames))
    weights.append(int(match[2]))


# A Chrome trace may have CPU profiles of V8 in its events.
_TRACE_EVENTS = re.compile(rb'"(?:traceEvents|ph)"\s*:')
# What JSON of a kind has near its start.
_MARKS = {"speedscope": _SPEEDSCOPE, "V8": _CPU_PROFILE, "Firefox": _FIREFOX}
_COLLAPSED = "collapsed stacks"
_READERS: dict[str, Callable[[TraceBuilder, Progress, Cancelled], None]] = {
    "speedscope": _read_speedscope,
    "V8": _read_cpu_profile,
    "Firefox": _read_firefox,
    _COLLAPSED: _read_collapsed,
}


def sniff(head: bytes) -> bool:
    """Whether it is a file of one of the kinds, compressed or not."""
    return bool(_kind_of(head))


def read(path: str, progress: Progress, cancelled: Cancelled) -> Trace:
    """Read the samples of a file. Raises UnreadableFile and ReadCancelled."""
    kind = _kind_of(head_of(path))
    if not kind:
        raise UnreadableFile(path, "it has changed while it was opened", remedy="Open it again")
    builder = TraceBuilder(path, FORMAT.name, kind, Clock())
    _READERS[kind](builder, progress, cancelled)
    return builder.build()


def _kind_of(head: bytes) -> str:
    data = inflated_head(head) or head
    if _TRACE_EVENTS.search(data) is not None:
        return ""
    if data.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] == b"{":
        for kind, mark in _MARKS.items():
            if mark.search(data) is not None:
                return kind
    return _COLLAPSED if _is_collapsed(data) else ""


FORMAT = format_of("samples.reader")

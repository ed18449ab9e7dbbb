"""Stacks and samples of Chrome traces, on tracks of their own next to those of their threads.

sf             of any event: the number of a frame in `stackFrames`, which have a name and a
               `parent` each. Of a slice, it is the column `stack`
P              a sample of a thread at a time: its stack is that of `sf`, or its name
Profile, ProfileChunk
               events of phase P by which V8 writes a CPU profile in parts: see
               `viewer.formats.samples.reader`. The first one is of the sampled thread
samples        next to the events: samples of perf, each with `tid`, `ts` in µs and `sf`
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from viewer.arrays import Codes, Ints, groups_of
from viewer.codecs.json_values import InvalidJson, Parsed, mapping, memory_needed, sequence, text
from viewer.codecs.memory_budget import allowance
from viewer.codecs.unpacking import PackedFile
from viewer.dataclasses import dataclass, field
from viewer.formats.chrome.event_fields import Name
from viewer.formats.samples.reader import CpuNodes, times_of_deltas
from viewer.formats.samples.stacks import Frame, SampledSlices, ticks_of, until_the_next
from viewer.model.building.builder import TraceBuilder

FRAMES, SAMPLES = "stackFrames", "samples"
V8_START, V8_PART = "Profile", "ProfileChunk"
MOST_SHOWN = 64
NO_FRAMES = "stack frame that stackFrames does not define: left out"
_NO_TIME = "sample without a usable time or thread: left out"
_BLOCK = 1 << 21
Thread = tuple[Name, Name]


@dataclass(slots=True)
class V8Events:
    """The parts of a CPU profile: its thread, and the data of its events in order."""

    thread: Thread
    start: Any
    nodes: CpuNodes = field(default_factory=CpuNodes)
    samples: list[Any] = field(default_factory=list)
    deltas: list[Any] = field(default_factory=list)


class StackFrames:
    """The frames of a file: their numbers by id, and the tree that they are."""

    def __init__(self, frames: dict[str, Any]) -> None:
        self._number = {key: number for number, key in enumerate(frames)}
        values = [mapping(value) for value in frames.values()]
        self.frames = [Frame(text(value.get("name"))) for value in values]
        parents = [value.get("parent") for value in values]
        self.parent = np.array(
            [-1 if parent is None else self._number.get(str(parent), -2) for parent in parents],
            np.int64,
        )

    def node(self, key: str) -> int:
        """Return the number of a frame, -1 if it is not defined."""
        return self._number.get(key, -1)

    def alone(self, name: str) -> int:
        """Return the number of a frame that is a stack by itself."""
        key = f"\0{name}"
        if key not in self._number:
            self._number[key] = len(self.frames)
            self.frames.append(Frame(name))
            self.parent = np.append(self.parent, -1)
        return self._number[key]

    def path(self, node: int) -> str:
        """Return the names of a stack, outermost first; of a deep one those of its inner frames."""
        names: list[str] = []
        while node >= 0 and len(names) < MOST_SHOWN:
            names.append(self.frames[node].name)
            node = int(self.parent[node])
        return " > ".join(["…"] * (node >= 0) + names[::-1])


def value_at(path: str, span: tuple[int, int], name: str, builder: TraceBuilder) -> Any:
    """Return a JSON value at some unpacked bytes of a file; None if it is damaged."""
    begin, end = span
    raw, position = bytearray(), 0
    with PackedFile(path) as source:
        while position < end and (data := source.read(_BLOCK)):
            raw += data[max(begin - position, 0) : end - position]
            position += len(data)
            allowance().take(len(raw))
    allowance().take(len(raw) + memory_needed(raw))
    try:
        value = Parsed(raw).value
    except InvalidJson:
        value = None
    if isinstance(value, list if name == SAMPLES else dict):
        return value
    builder.problem(f"{name} next to the events cannot be read: left out")
    return None


@dataclass(slots=True)
class ThreadSamples:
    """The samples of one thread. source: what took them, "" if it has no name of its own.

    node: of the frames. time: in µs as ns and thousandths, as events have it. row: of each.
    """

    thread: Thread
    source: str
    node: Ints
    ns: Ints
    ps: NDArray[np.int16]
    row: Codes
    frames: list[Frame]
    parent: Ints


def of_events(
    frames: StackFrames,
    threads: Sequence[Thread],
    thread: Codes,
    node: Ints,
    ns: Ints,
    ps: NDArray[np.int16],
    row: Codes,
) -> list[ThreadSamples]:
    """Return the samples of events of phase P, thread by thread; all arrays are parallel."""
    return [
        ThreadSamples(
            threads[number], "", node[rows], ns[rows], ps[rows], row[rows], frames.frames,
            frames.parent,
        )
        for number, rows in groups_of(thread)
    ]  # fmt: skip


def of_list(
    frames: StackFrames,
    raw_samples: list[Any],
    threads: Sequence[Thread],
    row: int,
    builder: TraceBuilder,
) -> list[ThreadSamples]:
    """Return the samples next to the events, by thread and name."""
    thread_of = {str(tid): (pid, tid) for pid, tid in reversed(threads)}
    samples = [mapping(raw_sample) for raw_sample in raw_samples]
    time, usable = ticks_of([sample.get("ts") for sample in samples], 1000)
    groups: dict[tuple[str, str], list[int]] = {}
    lost = 0
    for i, sample in enumerate(samples):
        if usable[i] and type(sample.get("tid")) in (int, str):
            groups.setdefault((str(sample["tid"]), text(sample.get("name"))), []).append(i)
        else:
            lost += 1
    builder.problem(_NO_TIME, lost)
    thread_samples = []
    for (tid, name), rows in groups.items():
        sample_rows, none = np.array(rows), np.zeros(len(rows), np.int16)
        node = np.array([frames.node(str(samples[i].get("sf"))) for i in rows], np.int64)
        builder.problem(NO_FRAMES, int((node < 0).sum()))
        thread_samples.append(
            ThreadSamples(
                thread_of.get(tid, (None, tid)), name or SAMPLES, node, time[sample_rows], none,
                (row + sample_rows).astype(np.uint32), frames.frames, frames.parent,
            )
        )  # fmt: skip
    return thread_samples


def of_v8(
    events: Sequence[tuple[str, Thread, str, bytes]], row: int, builder: TraceBuilder
) -> list[ThreadSamples]:
    """Return the samples of CPU profiles of V8.

    events: name, thread, id and arguments of `Profile` and `ProfileChunk` events.
    """
    profiles: dict[tuple[Name, str], V8Events] = {}
    for name, thread, profile_id, raw in events:
        try:
            data = mapping(mapping(Parsed(raw).value).get("data"))
        except InvalidJson:
            data = {}
        key = thread[0], profile_id
        if name == V8_START:
            profiles[key] = V8Events(thread, data.get("startTime"))
        elif key in profiles:
            profile, inner = profiles[key], mapping(data.get("cpuProfile"))
            profile.nodes.add(sequence(inner.get("nodes")))
            profile.samples += sequence(inner.get("samples"))
            profile.deltas += sequence(data.get("timeDeltas"))
        else:
            builder.problem("part of a CPU profile whose start is missing: left out")
    thread_samples = []
    for profile in profiles.values():
        time = times_of_deltas(builder, profile.deltas, profile.start)
        node, time, parent = profile.nodes.tree(builder, profile.samples, time)
        rows = np.arange(row, row + len(node), dtype=np.uint32)
        none = np.zeros(len(node), np.int16)
        thread_samples.append(
            ThreadSamples(
                profile.thread, "CPU profile", node, time, none, rows, profile.nodes.frames, parent
            )
        )
    return thread_samples


def add(
    builder: TraceBuilder,
    groups: Sequence[ThreadSamples],
    tracks: Sequence[int],
    ticks: Callable[[Ints, NDArray[np.int16]], Ints],
) -> None:
    """Add the slices of samples. tracks: of each group. ticks: from ns and thousandths."""
    slices_of: dict[int, SampledSlices] = {}
    for group, track in zip(groups, tracks, strict=True):
        time = ticks(group.ns, group.ps)
        order = np.argsort(time, kind="stable")
        end, is_apart = until_the_next(time[order])
        slices = slices_of.get(id(group.frames))
        if slices is None:
            slices = SampledSlices(
                builder, group.frames, group.parent, np.arange(len(group.parent))
            )
            slices_of[id(group.frames)] = slices
        slices.add(
            track, group.node[order], time[order], end, is_apart=is_apart,
            source_row=group.row[order],
        )  # fmt: skip

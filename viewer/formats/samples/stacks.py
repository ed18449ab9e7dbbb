"""Makes slices of samples: stacks that a profiler saw one after another on a thread.

Neighboring samples with the same outer frames are one slice of each of these frames, as long as all
of them: which calls there were in between, nobody saw. So such slices have the timing "sampled",
and the number of their samples as a column. Stacks are nodes of a tree, and nothing here recurses.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from viewer.arrays import Bools, Codes, Ints
from viewer.codecs.decimal_times import TIME_LIMIT
from viewer.codecs.json_values import InvalidJson, Parsed, mapping, memory_needed
from viewer.codecs.memory_budget import allowance
from viewer.codecs.reading import Cancelled, Progress, UnreadableFile, stop_if
from viewer.codecs.unpacking import PackedFile
from viewer.dataclasses import dataclass
from viewer.model.building.builder import TraceBuilder
from viewer.model.building.nesting import MAX_DEPTH
from viewer.model.recorded_names import SAMPLES
from viewer.model.timing import Timing
from viewer.model.trace import Column, KeyKind

_BLOCK = 1 << 22
_MOST = (1 << 63) - 1
# A pause is longer than so many times the usual distance of two samples.
_PAUSE = 3


def json_of(builder: TraceBuilder, progress: Progress, cancelled: Cancelled) -> dict[str, Any]:
    """Return the object in a file, plain or gzip. Raises UnreadableFile and ReadCancelled."""
    raw = bytearray()
    with PackedFile(builder.path) as source:
        while block := source.read(_BLOCK):
            stop_if(cancelled)
            raw += block
            allowance().take(len(raw) + memory_needed(raw) if source.share >= 1 else 2 * len(raw))
            progress(min(source.done, source.size), source.size)
        fault = source.fault
    allowance().take(len(raw) + memory_needed(raw))
    try:
        parsed = Parsed(raw.removeprefix(b"\xef\xbb\xbf"))
    except InvalidJson as error:
        raise UnreadableFile(
            builder.path,
            fault or "it is not valid JSON",
            where=str(error),
            remedy="Record it again",
        ) from error
    for warning in parsed.warnings:
        builder.problem(warning)
    return mapping(parsed.value)


def ticks_of(values: list[Any], factor: int) -> tuple[Ints, Bools]:
    """Return numbers in a unit of some ticks, rounded, and which of them are usable numbers."""
    most = TIME_LIMIT // factor
    usable = [type(v) in (int, float) and -most <= v <= most for v in values]
    numbers = [v if fits else 0 for v, fits in zip(values, usable, strict=True)]
    is_whole = np.array([type(v) is int for v in numbers], np.bool_)
    whole = np.array([v if type(v) is int else 0 for v in numbers], np.int64) * factor
    parts = np.rint(np.array(numbers, np.float64) * factor).astype(np.int64)
    return np.where(is_whole, whole, parts), np.array(usable, np.bool_)


def whole_numbers(values: list[Any], count: int) -> Ints:
    """Return the numbers from 0 to below `count`, -1 for all other values."""
    return np.fromiter(
        (v if type(v) is int and 0 <= v < count else -1 for v in values), np.int64, len(values)
    )


def _median(values: Ints) -> int:
    """The median in whole numbers, 0 of none: a float would round what is beyond 2**53."""
    if not len(values):
        return 0
    middle = (len(values) - 1) // 2, len(values) // 2
    ordered = np.partition(values, middle)
    return (int(ordered[middle[0]]) + int(ordered[middle[1]])) // 2


def until_the_next(time: Ints) -> tuple[Ints, Bools]:
    """Return where the time of each sample of a thread ends, and which follow a pause.

    time: ascending. A sample stands for the time to the next one. If this is much longer than is
    usual on the thread, as while it does not run, it stands for the usual time.
    """
    gaps = np.diff(time)
    if not len(gaps):
        return time.copy(), np.zeros(len(time), np.bool_)
    usual = _median(gaps[gaps > 0])
    # Times ascend: a gap below 0 is one beyond int64.
    is_pause = (gaps > _PAUSE * usual) | (gaps < 0)
    at_end = min(usual, _MOST - int(time[-1]))
    lasts = np.append(np.where(is_pause, usual, gaps), at_end)
    return time + lasts, np.append(False, is_pause)


NO_NAME = "(no name)"
_TOO_DEEP = f"stack of more than {MAX_DEPTH} frames: its time is that of the outer {MAX_DEPTH}"
_NO_ROOT = "stack whose frames are missing, or in a cycle: left out"
# Bytes of a slice at the peak. Not measured: 10 columns of 8 bytes, twice.
_SLICE_MEMORY = 160


@dataclass(frozen=True, slots=True)
class Frame:
    """One function of a stack: its name, and its place in the source if the file states it."""

    name: str
    file: str = ""
    line: int = 0


class StackTree:
    """The distinct stacks of a file: node -> parent (-1 for none) and frame."""

    def __init__(self) -> None:
        self.parent: list[int] = []
        self.frame: list[int] = []
        self._nodes: dict[tuple[int, int], int] = {}
        self._stacks: dict[tuple[int, ...], int] = {}

    def stack(self, frames: tuple[int, ...]) -> int:
        """Return the node of a stack, -1 without frames. frames: from the outermost one on."""
        node = self._stacks.get(frames)
        if node is None:
            node = -1
            # One more than are drawn, so that what is cut is counted.
            for frame in frames[: MAX_DEPTH + 1]:
                both = node, frame
                node = self._nodes.setdefault(both, len(self.parent))
                if node == len(self.parent):
                    self.parent.append(both[0])
                    self.frame.append(frame)
            self._stacks[frames] = node
        return node


class SampledSlices:
    """Adds the slices of samples to a trace; one for all threads of a file."""

    def __init__(
        self,
        builder: TraceBuilder,
        frames: Sequence[Frame],
        parent: Sequence[int] | Ints,
        frame: Sequence[int] | Ints,
    ) -> None:
        """parent, frame: of each node of the stacks, in any order."""
        self._builder = builder
        texts = [frame.name or NO_NAME for frame in frames]
        self._name = builder.intern_all(texts)
        key = {text: builder.key(KeyKind.PLAIN, text) for text in dict.fromkeys(texts)}
        self._key = np.array([key[text] for text in texts], np.uint32)
        self._file = Column.of_texts([frame.file for frame in frames])
        self._line = np.array([frame.line for frame in frames], np.int64)
        self._parent, self._frame = np.array(parent, np.int64), np.array(frame, np.int64)
        self._depth, self._drawn = _depths(self._parent)
        self._count = 0

    def add(
        self,
        track: int,
        node: Ints,
        start: Ints,
        end: Ints,
        *,
        weight: Ints | None = None,
        is_apart: Bools | None = None,
        source_row: Codes | None = None,
        timing: Timing = Timing.SAMPLED,
    ) -> None:
        """Add the samples of a thread, in order of time.

        node: the stack of each, -1 for one without frames. start, end: the time that it stands for.
        weight: how many samples it is, if not one. is_apart: those that do not go on with the one
        before them. source_row: of each, by default those of the slices.
        """
        has_stack = np.flatnonzero(node >= 0)
        node = node.copy()
        node[has_stack] = self._drawn[node[has_stack]]
        depth = self._depth[node[has_stack]]
        self._builder.problem(_NO_ROOT, int((depth < 0).sum()))
        self._builder.problem(_TOO_DEEP, int((depth == MAX_DEPTH).sum()))
        node[has_stack[depth < 0]] = -1
        of, level, first, last = self._slices(node, is_apart)
        if not len(of):
            return
        weights = np.append(
            0, np.cumsum(np.ones(len(node), np.int64) if weight is None else weight)
        )
        frame = self._frame[of]
        columns = {SAMPLES: Column(weights[last + 1] - weights[first])}
        if self._file.strings:
            columns["file"] = self._file.taken(frame)
        if self._line.any():
            line = self._line[frame]
            columns["line"] = Column(line, None if line.all() else line > 0)
        self._builder.add(
            track=track,
            start=start[first],
            end=end[last],
            name=self._name[frame],
            key=self._key[frame],
            source_row=None if source_row is None else source_row[first],
            levels=level.astype(np.int32),
            columns=columns,
            timing=np.full(len(of), timing, np.uint8),
        )

    def _slices(self, node: Ints, is_apart: Bools | None) -> tuple[Ints, Ints, Ints, Ints]:
        """Return node, level, first and last sample of each slice, parents before children."""
        rows = np.flatnonzero(node >= 0)
        joins = np.ones(len(node) + 1, np.bool_)  # whether a sample goes on with the one before
        if is_apart is not None:
            joins[:-1] = ~is_apart
        nodes, depth = node[rows], self._depth[node[rows]]
        order = np.argsort(depth, kind="stable")
        bounds = np.searchsorted(depth[order], np.arange(int(depth.max(initial=-1)) + 2))
        parts: list[tuple[Ints, Ints, Ints, Ints]] = []
        of, first, last = (np.empty(0, np.int64) for _ in range(3))
        for level, (begin, stop) in reversed(list(enumerate(pairwise(bounds.tolist())))):
            # Those whose innermost frame is on this level, and those that are deeper.
            in_level = order[begin:stop]
            of = np.concatenate([nodes[in_level], self._parent[of]])
            first, last = (
                np.concatenate([rows[in_level], first]),
                np.concatenate([rows[in_level], last]),
            )
            turn = np.argsort(first, kind="stable")
            of, first, last = of[turn], first[turn], last[turn]
            goes_on = (of[1:] == of[:-1]) & (first[1:] == last[:-1] + 1) & joins[first[1:]]
            begins = np.append(True, ~goes_on)[: len(of)]
            ends = np.append(~goes_on, True)[-len(of) :] if len(of) else begins
            of, first, last = of[begins], first[begins], last[ends]
            self._count += len(of)
            allowance().take(self._count * _SLICE_MEMORY)
            if level < MAX_DEPTH:
                parts.append((of, np.full(len(of), level), first, last))
        if not parts:
            return (np.empty(0, np.int64),) * 4
        every = [np.concatenate(column) for column in zip(*parts, strict=True)]
        turn = np.lexsort((every[1], every[2]))
        node, level, first, last = (column[turn] for column in every)
        return node, level, first, last


def _depths(parent: Ints) -> tuple[Ints, Ints]:
    """Return the depth of each node, and the node that stands for it: itself, or an outer one.

    Deeper ones than `MAX_DEPTH` have an outer one of this depth. The depth is -1 for those that are
    below no root.
    """
    depth = np.full(len(parent), -1)
    by_parent = np.argsort(parent, kind="stable")
    of = parent[by_parent]
    here = np.flatnonzero(parent == -1)
    for level in range(MAX_DEPTH + 1):
        depth[here] = level
        first, stop = np.searchsorted(of, here, "left"), np.searchsorted(of, here, "right")
        count = stop - first
        # All children of the nodes of this level.
        place = np.repeat(first - (np.cumsum(count) - count), count)
        here = by_parent[place + np.arange(len(place))]
        if not len(here):
            break
    numbers = np.arange(len(parent))
    outer = np.where((depth >= 0) | (parent < 0), numbers, parent)
    for _ in range(len(parent).bit_length()):
        outer = outer[outer]
    return depth, outer

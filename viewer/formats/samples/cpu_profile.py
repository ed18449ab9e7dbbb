"""Reads CPU profiles of V8: `.cpuprofile` files of Chrome, Node.js, Deno and VS Code.

Specified as `Profiler.Profile` of the DevTools protocol: `nodes` are calls in a tree, `samples` are
their numbers, and `timeDeltas` the µs from each sample to the one before it, the first one from
`startTime`. A sample stands for the time to the next one. The node "(root)" is above all others and
is left out. Profiles of before 2016, which have a tree of objects (`head`), are refused.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from viewer.arrays import Ints
from viewer.codecs.json_values import mapping, sequence, text, whole_number
from viewer.codecs.reading import Cancelled, Progress, UnreadableFile
from viewer.formats.samples.stacks import Frame, SampledSlices, json_of, ticks_of, until_the_next
from viewer.model.building.builder import TraceBuilder

_MARK = re.compile(rb'"nodes"\s*:\s*\[\s*\{[^\[\]]{0,400}"callFrame"')
ROOT = "(root)"
_NO_TIME = "sample without a time: left out"


def sniff(data: bytes) -> bool:
    """Whether it is JSON that has a node with a call near its start."""
    return data.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] == b"{" and _MARK.search(data) is not None


def read(builder: TraceBuilder, progress: Progress, cancelled: Cancelled) -> None:
    """Read the samples of a file. Raises UnreadableFile and ReadCancelled."""
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
            self._number.setdefault(_id(node.get("id")), len(self.frames))
            self.frames.append(
                Frame(
                    text(call.get("functionName")) or "(anonymous)",
                    text(call.get("url")),
                    line + 1 if type(line) is int and 0 <= line < 1 << 31 else 0,
                )
            )
            self._above.append(_id(node.get("parent")))
            children.append((len(self.frames) - 1, sequence(node.get("children"))))
        self._parent += [-1] * (len(self.frames) - first)
        for number in range(first, len(self.frames)):
            above = self._above[number]
            self._parent[number] = -1 if above == "" else self._number.get(above, -1)
        for number, child_ids in children:
            for child in child_ids:
                below = self._number.get(_id(child))
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
        node = np.array([self._number.get(_id(sample), -1) for sample in samples[:count]], np.int64)
        order = np.argsort(time[:count], kind="stable")
        node, time = node[order], time[order]
        parent = np.array(self._parent, np.int64)
        is_root = np.array([frame.name == ROOT for frame in self.frames], np.bool_) & (parent == -1)
        parent[(parent >= 0) & is_root[parent]] = -1
        node[(node >= 0) & is_root[node]] = -1
        return node, time, parent


def _id(value: Any) -> int | str:
    number = whole_number(value)
    return text(value) if number is None else number

"""Reads the delegates of all methods: their backends and what the backends prepared.

What was prepared is a byte vector in the flatbuffer or a segment after it, and can be most of the
file. It is not copied; only XNNPACK's graph is read (`viewer.formats.executorch.pte.xnnpack`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from viewer.arrays import Ints
from viewer.codecs.flatbuffer import Tables
from viewer.formats.executorch.pte.container import Container
from viewer.formats.executorch.pte.program_tables import (
    MOST_CONSTANTS,
    MOST_DELEGATES,
    ProgramTables,
)
from viewer.formats.executorch.pte.xnnpack import Unread, XnnpackGraph, read_graph
from viewer.program.executable.executable import XNNPACK, Delegate
from viewer.program.executable.xnnpack_dataflow import XnnpackDataflow

_INLINE_DATA, _SEGMENTS, _DELEGATES = 3, 4, 7  # slots of the program; the last, of a method
_IN_SEGMENT = 1
_UNKNOWN = XnnpackGraph((), -1, (), XnnpackDataflow.unknown(0))
_MOST_GRAPHS = 4096  # XNNPACK graphs; a large language model has some hundred


@dataclass(frozen=True, slots=True)
class Extents:
    """Byte ranges in the program file: start, size as stated, and bytes that are there."""

    start: Ints
    size: Ints
    present: Ints

    def __len__(self) -> int:
        return len(self.start)


@dataclass(frozen=True, slots=True)
class Delegates:
    """The delegates of all methods, method after method.

    bounds: methods + 1 positions. segment: the segment that each refers to, -1 if inline or none.
    start, present: the place in `Container.content` and the bytes of what was prepared.
    """

    all: tuple[Delegate, ...]
    bounds: Ints
    segment: Ints
    start: Ints
    present: Ints

    def of(self, method: int) -> tuple[Delegate, ...]:
        """The delegates of one method."""
        return self.all[self.bounds[method] : self.bounds[method + 1]]


def read_segments(tables: ProgramTables, root: Tables, container: Container) -> Extents:
    """The segments of a program; those that lead out of the file are counted. Raises Malformed."""
    segments = tables.children(root, _SEGMENTS, "list of segments").tables
    offset = segments.numbers(0, np.uint64, 0)
    size = segments.numbers(1, np.uint64, 0)
    end = np.uint64(len(container.content))
    base = np.uint64(min(container.segment_base, len(container.content)))
    start = np.minimum(offset, end - base) + base
    present = np.minimum(size, end - start)
    most = np.uint64(1 << 62)
    tables.problems.count_rows(
        "segment is outside the file, which is truncated or damaged",
        np.flatnonzero(present < size),
        lambda row: f"segment {row}",
    )
    return Extents(
        start.astype(np.int64),
        np.minimum(size, most).astype(np.int64),
        present.astype(np.int64),
    )


def read_inline(tables: ProgramTables, root: Tables) -> Extents:
    """What backends prepared inside the flatbuffer. Raises Malformed."""
    data = tables.children(root, _INLINE_DATA, "list of inline delegate data").tables
    start, size = tables.buffer.vectors(data.targets(0), 1, "inline delegate data")
    return Extents(start, size, size)


def read_delegates(
    tables: ProgramTables,
    methods: Tables,
    container: Container,
    segments: Extents,
    inline: Extents,
) -> Delegates:
    """Read the delegates of all methods. Raises Malformed."""
    found = tables.children(methods, _DELEGATES, "list of delegates", MOST_DELEGATES)
    codes, backends = tables.texts(found.tables.targets(0), "backends")
    reference = found.tables.targets(1)
    has_data = np.flatnonzero(reference > 0)
    where = tables.of(reference[has_data], "delegate data reference")
    in_segment = where.numbers(0, np.uint8, 0) == _IN_SEGMENT
    index = where.numbers(1, np.uint32, 0).astype(np.int64)
    count = len(found)
    start, size, present = (np.zeros(count, np.int64) for _ in range(3))
    is_there = np.zeros(count, np.bool_)
    for extents, own in ((segments, in_segment), (inline, ~in_segment)):
        inside = own & (index < len(extents))
        into = has_data[inside]
        start[into] = extents.start[index[inside]]
        size[into] = extents.size[index[inside]]
        present[into] = extents.present[index[inside]]
        is_there[into] = True
    tables.problems.count_rows(
        "delegate refers to missing data",
        np.flatnonzero(~is_there),
        found.place("delegate"),
    )
    segment = np.full(count, -1)
    segment[has_data] = np.where(in_segment & is_there[has_data], index, -1)
    names, place = [*backends, ""], found.place("delegate")
    graphs = _Graphs(container)
    read = []
    for i in range(count):
        backend = names[codes[i]]
        graph, unread = _UNKNOWN, ""
        if backend == XNNPACK:
            graph, unread = graphs.read(int(start[i]), int(size[i]), int(present[i]))
            tables.problems.count(
                "nodes of an XNNPACK delegate could not be read",
                int(bool(unread)),
                f"{place(i)}: {unread}",
            )
        read.append(
            Delegate(
                backend,
                int(size[i]),
                graph.nodes,
                unread,
                graph.outputs,
                graph.constants,
                graph.dataflow,
            )
        )
    tables.problems.count(
        f"only the first {MOST_CONSTANTS} constants of XNNPACK are known", graphs.left_out, ""
    )
    return Delegates(tuple(read), found.bounds, segment, start, present)


class _Graphs:
    """Reads each XNNPACK graph once; delegates may share one."""

    def __init__(self, container: Container) -> None:
        self._container = container
        self._read: dict[tuple[int, int], tuple[XnnpackGraph, str]] = {}
        self._claimed = 0
        self._constants = 0
        self.left_out = 0  # constants of graphs after the most that are kept

    def read(self, start: int, size: int, present: int) -> tuple[XnnpackGraph, str]:
        """The graph, and why it is not known."""
        if (start, present) not in self._read:
            self._read[start, present] = self._graph(start, size, present)
        return self._read[start, present]

    def _graph(self, start: int, size: int, present: int) -> tuple[XnnpackGraph, str]:
        self._claimed += present
        if self._claimed > self._container.size:
            return _UNKNOWN, "delegates overlap: they claim more bytes than the file has"
        if len(self._read) >= _MOST_GRAPHS:
            return _UNKNOWN, f"only the nodes of the first {_MOST_GRAPHS} delegates are read"
        if not size:
            return _UNKNOWN, "the file has no data for this delegate"
        try:
            found = read_graph(
                self._container.content.part(start, start + present),
                self._container.base + start,
            )
            return self._limited(found), ""
        except Unread as error:
            cut = f"; {present} of its {size} bytes are present" if present < size else ""
            return _UNKNOWN, f"{error}{cut}"

    def _limited(self, graph: XnnpackGraph) -> XnnpackGraph:
        """The graph with its constants only while the file has not too many of them."""
        self._constants += len(graph.constants)
        if self._constants <= MOST_CONSTANTS:
            return graph
        self.left_out += len(graph.constants)
        self._constants -= len(graph.constants)
        return replace(graph, constants=())

"""Reads the delegates of all methods, and where constants, initial states and named data are.

What was prepared is a byte vector in the flatbuffer or a segment after it, and can be most of the
file. It is not copied; only XNNPACK's graph is read (`xnnpack`). Constants are in a segment since
0.4, and inside the flatbuffer in files of earlier releases. The initial states of tensors with
planned memory are in other segments; data with a name has a segment of its own.
"""

from __future__ import annotations

import numpy as np

from viewer.arrays import Ints, numbers_at
from viewer.codecs.flatbuffer import Tables
from viewer.dataclasses import dataclass, replace
from viewer.formats.executorch.pte.program_file import (
    MOST_CONSTANTS,
    MOST_DELEGATES,
    MOST_VALUES,
    Container,
    Lists,
    ProgramTables,
)
from viewer.formats.executorch.pte.xnnpack import Unread, XnnpackGraph, read_graph
from viewer.program.executables import XNNPACK, Delegate, Ranges, StoredData, XnnpackDataflow

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
    children = tables.children(methods, _DELEGATES, "list of delegates", MOST_DELEGATES)
    codes, backends = tables.texts(children.tables.targets(0), "backends")
    reference = children.tables.targets(1)
    has_data = np.flatnonzero(reference > 0)
    where = tables.of(reference[has_data], "delegate data reference")
    in_segment = where.numbers(0, np.uint8, 0) == _IN_SEGMENT
    index = where.numbers(1, np.uint32, 0).astype(np.int64)
    count = len(children)
    start, size, present = (np.zeros(count, np.int64) for _ in range(3))
    is_there = np.zeros(count, np.bool_)
    for extents, mask in ((segments, in_segment), (inline, ~in_segment)):
        inside = mask & (index < len(extents))
        into = has_data[inside]
        start[into] = extents.start[index[inside]]
        size[into] = extents.size[index[inside]]
        present[into] = extents.present[index[inside]]
        is_there[into] = True
    tables.problems.count_rows(
        "delegate refers to missing data",
        np.flatnonzero(~is_there),
        children.place("delegate"),
    )
    segment = numbers_at(count, has_data, np.where(in_segment & is_there[has_data], index, -1), -1)
    names, place = [*backends, ""], children.place("delegate")
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
    return Delegates(tuple(read), children.bounds, segment, start, present)


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
            xnnpack_graph = read_graph(
                self._container.content.part(start, start + present),
                self._container.base + start,
            )
            return self._limited(xnnpack_graph), ""
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


_CONSTANT_BUFFER, _CONSTANT_SEGMENT, _MUTABLE_SEGMENTS, _NAMED_DATA = 2, 5, 6, 7
_NONE = -1


@dataclass(frozen=True, slots=True)
class References:
    """Where data is. Positions are those of `Container.content`.

    inline: the constants inside the flatbuffer. segment: the one with constants, -1 for none;
    offsets: of each constant in it. state_segments: a segment per list of initial states;
    state_offsets: of each state in it. names, named_segments: a row per name.
    """

    inline: Extents
    segment: int
    offsets: Ints
    state_segments: Ints
    state_offsets: Lists
    names: tuple[str, ...]
    named_segments: Ints

    @property
    def constant_count(self) -> int:
        """The number of constants, with the reserved one."""
        return len(self.inline) if self.segment == _NONE else len(self.offsets)


def read_references(tables: ProgramTables, root: Tables) -> References:
    """Read the references of a program. Raises Malformed."""
    buffers = tables.children(root, _CONSTANT_BUFFER, "list of constants", MOST_VALUES).tables
    start, size = tables.buffer.vectors(buffers.targets(0), 1, "constant")
    positions = root.targets(_CONSTANT_SEGMENT)
    constants = tables.of(positions[positions > 0], "constant segment")
    offsets = tables.long_numbers(constants, 1, "offsets of constants").values
    in_segment = constants.numbers(0, np.uint32, 0).astype(np.int64)
    states = tables.children(root, _MUTABLE_SEGMENTS, "list of mutable segments").tables
    named = tables.children(root, _NAMED_DATA, "list of named data").tables
    codes, names = tables.texts(named.targets(0), "names of data")
    names.append("")
    return References(
        inline=Extents(start, size, size),
        segment=int(in_segment[0]) if len(offsets) else _NONE,
        offsets=offsets,
        state_segments=states.numbers(0, np.uint32, 0).astype(np.int64),
        state_offsets=tables.long_numbers(states, 1, "offsets of initial states"),
        names=tuple(names[code] for code in codes.tolist()),
        named_segments=named.numbers(1, np.uint32, 0).astype(np.int64),
    )


def stored_data(
    tables: ProgramTables,
    container: Container,
    segments: Extents,
    delegates: Delegates,
    references: References,
) -> StoredData:
    """The ranges of all data, as positions in the file; what is missing has a size of 0."""
    within = _Segments(tables, segments, container.base)
    if references.segment == _NONE:
        inline = references.inline
        constants = Ranges(inline.start + container.base, inline.size)
        tables.problems.count(
            f"only the places of the first {MOST_CONSTANTS} constants are known",
            max(len(constants) - MOST_CONSTANTS, 0),
            "",
        )
        constants = Ranges(constants.start[:MOST_CONSTANTS], constants.size[:MOST_CONSTANTS])
    else:
        constants = within.ranges(references.segment, references.offsets)
    states = [
        within.ranges(segment, np.array(references.state_offsets.of(i), np.int64))
        for i, segment in enumerate(references.state_segments.tolist())
    ]
    named = np.where(
        references.named_segments < len(segments), references.named_segments, len(segments)
    )
    starts, sizes = np.append(segments.start, 0), np.append(segments.present, 0)
    return StoredData(
        program=_one(container.base, container.program_size),
        content=_one(container.base, len(container.content)),
        constants=constants,
        states=Ranges(
            np.concatenate([np.empty(0, np.int64), *(ranges.start for ranges in states)]),
            np.concatenate([np.empty(0, np.int64), *(ranges.size for ranges in states)]),
        ),
        delegates=Ranges(delegates.start + container.base, delegates.present),
        named=Ranges(starts[named] + container.base, sizes[named]),
        segments=Ranges(segments.start + container.base, segments.present),
        names=references.names,
    )


class _Segments:
    """Splits segments at offsets."""

    def __init__(self, tables: ProgramTables, segments: Extents, base: int) -> None:
        self._problems = tables.problems
        self._segments = segments
        self._base = base

    def ranges(self, segment: int, offsets: Ints) -> Ranges:
        """The ranges that start at offsets in a segment; each ends at the next larger one."""
        self._problems.count(
            f"only the places of the first {MOST_CONSTANTS} constants are known",
            max(len(offsets) - MOST_CONSTANTS, 0),
            f"segment {segment}",
        )
        offsets = offsets[:MOST_CONSTANTS]
        exists = 0 <= segment < len(self._segments)
        start = int(self._segments.start[segment]) if exists else 0
        present = int(self._segments.present[segment]) if exists else 0
        stated = int(self._segments.size[segment]) if exists else 0
        is_inside = (offsets >= 0) & (offsets <= present)
        self._problems.count_rows(
            "constant starts outside its segment",
            np.flatnonzero((offsets < 0) | (offsets > stated)) if exists else offsets[:0],
            lambda row: f"constant {row} of segment {segment}",
        )
        inside = np.where(is_inside, offsets, present)
        edges = np.unique(np.append(inside, present))
        after = np.minimum(np.searchsorted(edges, inside, side="right"), len(edges) - 1)
        return Ranges(self._base + start + inside, edges[after] - inside)


def _one(start: int, size: int) -> Ranges:
    return Ranges(np.array([start], np.int64), np.array([size], np.int64))

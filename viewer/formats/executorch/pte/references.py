"""Reads what the root table of a program states about data: offsets, segments and names.

Constants are in a segment since 0.4, and inside the flatbuffer in files of earlier releases. The
initial states of tensors with planned memory are in other segments; data with a name has a segment
of its own.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from viewer.arrays import Ints
from viewer.codecs.flatbuffer import Tables
from viewer.formats.executorch.pte.container import Container
from viewer.formats.executorch.pte.delegates import Delegates, Extents
from viewer.formats.executorch.pte.program_tables import (
    MOST_CONSTANTS,
    MOST_VALUES,
    Lists,
    ProgramTables,
)
from viewer.program.executable.executable import Ranges, StoredData

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
    at = root.targets(_CONSTANT_SEGMENT)
    constants = tables.of(at[at > 0], "constant segment")
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
            np.concatenate([np.empty(0, np.int64), *(one.start for one in states)]),
            np.concatenate([np.empty(0, np.int64), *(one.size for one in states)]),
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
        known = (offsets >= 0) & (offsets <= present)
        self._problems.count_rows(
            "constant starts outside its segment",
            np.flatnonzero((offsets < 0) | (offsets > stated)) if exists else offsets[:0],
            lambda row: f"constant {row} of segment {segment}",
        )
        inside = np.where(known, offsets, present)
        edges = np.unique(np.append(inside, present))
        after = np.minimum(np.searchsorted(edges, inside, side="right"), len(edges) - 1)
        return Ranges(self._base + start + inside, edges[after] - inside)


def _one(start: int, size: int) -> Ranges:
    return Ranges(np.array([start], np.int64), np.array([size], np.int64))

"""Computes what the bytes of a program file are for, by kind and name.

Every segment is counted once, even if several delegates or names refer to it; the bytes that no
part claims are padding. So the sizes add up to the file, unless its parts overlap.
"""

from __future__ import annotations

import numpy as np

from viewer.codecs.flatbuffer import Tables
from viewer.formats.executorch.pte.container import Container
from viewer.formats.executorch.pte.delegates import Delegates, Extents
from viewer.formats.executorch.pte.program_tables import MOST_VALUES, ProgramTables
from viewer.program.executable.executable import Part, PartKind

_CONSTANT_BUFFER, _CONSTANT_SEGMENT, _MUTABLE_SEGMENTS, _NAMED_DATA = 2, 5, 6, 7
INLINE = "inline"  # the name of parts that are inside the flatbuffer
_Claims = dict[int, tuple[PartKind, list[str]]]


def read_parts(
    tables: ProgramTables,
    root: Tables,
    container: Container,
    segments: Extents,
    inline: Extents,
    delegates: Delegates,
) -> tuple[Part, ...]:
    """The parts of a file. Raises Malformed."""
    constants = _inline_constants(tables, root)
    delegated = int(inline.size.sum())
    claims = _claims(tables, root, len(segments), delegates)
    parts = [
        Part(PartKind.PROGRAM, "", max(container.program_size - constants - delegated, 0)),
        *([Part(PartKind.CONSTANTS, INLINE, constants)] if constants else []),
        *([Part(PartKind.DELEGATES, INLINE, delegated)] if delegated else []),
    ]
    for i, size in enumerate(segments.present.tolist()):
        if not size:
            continue
        kind, names = claims.get(i, (PartKind.OTHER, [f"segment {i}"]))
        more = f" and {len(names) - 1} more" if len(names) > 1 else ""
        parts.append(Part(kind, f"{names[0]}{more}", size))
    if container.is_bundled:
        parts.append(Part(PartKind.TESTS, "", container.size - len(container.content)))
    total = sum(part.size for part in parts)
    tables.problems.count(
        "parts of the file overlap",
        int(total > container.size),
        f"they claim {total} of {container.size} bytes",
    )
    if total < container.size:
        parts.append(Part(PartKind.PADDING, "", container.size - total))
    return tuple(parts)


def _inline_constants(tables: ProgramTables, root: Tables) -> int:
    """Bytes of the constants inside the flatbuffer, as releases before 0.4 wrote them."""
    buffers = tables.children(root, _CONSTANT_BUFFER, "list of constants", MOST_VALUES).tables
    _, size = tables.buffer.vectors(buffers.targets(0), 1, "constant")
    return int(size.sum())


def _claims(tables: ProgramTables, root: Tables, count: int, delegates: Delegates) -> _Claims:
    """Segment -> what its bytes are for, and the names under which they are used."""
    found: _Claims = {}
    lost = 0

    def claim(segment: int, kind: PartKind, name: str) -> None:
        nonlocal lost
        if not 0 <= segment < count:
            lost += 1
            return
        had, names = found.setdefault(segment, (kind, []))
        if had is kind:
            names.append(name)

    at = root.targets(_CONSTANT_SEGMENT)
    constants = tables.of(at[at > 0], "constant segment")
    if tables.long_numbers(constants, 1, "offsets of constants").values.size:
        claim(int(constants.numbers(0, np.uint32, 0)[0]), PartKind.CONSTANTS, "constants")
    mutable = tables.children(root, _MUTABLE_SEGMENTS, "list of mutable segments").tables
    for segment in mutable.numbers(0, np.uint32, 0).tolist():
        claim(segment, PartKind.CONSTANTS, "initial state")
    for number, segment in enumerate(delegates.segment.tolist()):
        if segment >= 0:
            claim(segment, PartKind.DELEGATES, delegates.all[number].backend)
    named = tables.children(root, _NAMED_DATA, "list of named data").tables
    codes, names = tables.texts(named.targets(0), "names of data")
    names.append("")
    for code, segment in zip(codes.tolist(), named.numbers(1, np.uint32, 0).tolist(), strict=True):
        claim(segment, PartKind.NAMED_DATA, names[code])
    tables.problems.count("data refers to a missing segment", lost, "")
    return found

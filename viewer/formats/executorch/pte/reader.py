"""Reads ExecuTorch program files (.pte), what the runtime loads and runs; also inside a .bpte.

Specified by schema/program.fbs of ExecuTorch, a flatbuffer with the identifier "ET12"; releases 0.1
to 1.5. Later releases only added fields, except that a memory offset got a second half. Not read:
weights, values that are no tensors, stack traces of instructions, compile specs, devices, and the
test inputs of a bundled program. References that lead nowhere are counted as problems. Offsets that
lead outside the flatbuffer, and lists that overlap so that they claim more than the file has, make
the file unreadable.
"""

from __future__ import annotations

import numpy as np

from viewer.codecs.flatbuffer import Malformed
from viewer.codecs.reading import Cancelled, Progress, UnreadableFile, stop_if
from viewer.formats import format_of
from viewer.formats.executorch.pte.delegates import (
    Delegates,
    Extents,
    References,
    read_delegates,
    read_inline,
    read_references,
    read_segments,
    stored_data,
)
from viewer.formats.executorch.pte.methods import read_methods
from viewer.formats.executorch.pte.program_file import (
    DAMAGED,
    MOST_METHODS,
    Container,
    Problems,
    ProgramTables,
    open_container,
    sniff,
)
from viewer.program.executables import Executable, Part, PartKind

_VERSION, _METHODS = 0, 1  # slots of the program
_HEADER_SINCE_1_0 = 32
INLINE = "inline"  # the name of parts that are inside the flatbuffer
_Claims = dict[int, tuple[PartKind, list[str]]]


def read(path: str, progress: Progress, cancelled: Cancelled) -> Executable:
    """Read one program file. Raises UnreadableFile or ReadCancelled."""
    stop_if(cancelled)
    container: Container | None = None
    try:
        container = open_container(path)
        executable = _executable(path, container, cancelled)
    except Malformed as error:
        base = container.base if container is not None else 0
        raise UnreadableFile(
            path, error.reason, where=f"byte {base + error.byte}", remedy=DAMAGED
        ) from error
    progress(container.size, container.size)
    return executable


__all__ = ["FORMAT", "read", "sniff"]
FORMAT = format_of("executorch.pte.reader")


def _executable(path: str, container: Container, cancelled: Cancelled) -> Executable:
    problems = Problems()
    tables = ProgramTables(container.program(), problems)
    root = tables.root()
    version = int(root.numbers(_VERSION, np.uint32, 0)[0])
    problems.count(f"version {version} is unknown: read as version 0", int(version > 0), "")
    methods = tables.children(root, _METHODS, "list of methods", MOST_METHODS).tables
    if not len(methods):
        raise UnreadableFile(path, "the program has no method", remedy="Export the model again")
    segments = read_segments(tables, root, container)
    inline = read_inline(tables, root)
    stop_if(cancelled)
    delegates = read_delegates(tables, methods, container, segments, inline)
    references = read_references(tables, root)
    parts = parts_of(problems, container, segments, inline, delegates, references)
    stored = stored_data(tables, container, segments, delegates, references)
    stop_if(cancelled)
    return Executable(
        path=path,
        format=FORMAT.name,
        generation=_generation(container, parts),
        methods=read_methods(tables, methods, delegates, references),
        parts=parts,
        size=container.size,
        stored=stored,
        problems=problems.found(),
    )


def _generation(container: Container, parts: tuple[Part, ...]) -> str:
    """The releases that write such a file, "" if it does not show."""
    if container.header >= _HEADER_SINCE_1_0:
        return "1.0+"
    if any(part.kind is PartKind.CONSTANTS and part.name == INLINE for part in parts):
        return "0.1-0.3"
    return "0.1-0.7" if container.header else ""


def parts_of(
    problems: Problems,
    container: Container,
    segments: Extents,
    inline: Extents,
    delegates: Delegates,
    references: References,
) -> tuple[Part, ...]:
    """The parts of a file.

    Every segment is counted once, even if several delegates or names refer to it; the bytes that
    no part claims are padding. So the sizes add up to the file, unless its parts overlap.
    """
    constants = int(references.inline.size.sum())
    delegated = int(inline.size.sum())
    claims = _claims(problems, len(segments), delegates, references)
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
    problems.count(
        "parts of the file overlap",
        int(total > container.size),
        f"they claim {total} of {container.size} bytes",
    )
    if total < container.size:
        parts.append(Part(PartKind.PADDING, "", container.size - total))
    return tuple(parts)


def _claims(
    problems: Problems, count: int, delegates: Delegates, references: References
) -> _Claims:
    """Segment -> what its bytes are for, and the names under which they are used."""
    claims: _Claims = {}
    lost = 0

    def claim(segment: int, kind: PartKind, name: str) -> None:
        nonlocal lost
        if not 0 <= segment < count:
            lost += 1
            return
        had, names = claims.setdefault(segment, (kind, []))
        if had is kind:
            names.append(name)

    if len(references.offsets):
        claim(references.segment, PartKind.CONSTANTS, "constants")
    for segment in references.state_segments.tolist():
        claim(segment, PartKind.CONSTANTS, "initial state")
    for number, segment in enumerate(delegates.segment.tolist()):
        if segment >= 0:
            claim(segment, PartKind.DELEGATES, delegates.all[number].backend)
    named = zip(references.names, references.named_segments.tolist(), strict=True)
    for name, segment in named:
        claim(segment, PartKind.NAMED_DATA, name)
    problems.count("data refers to a missing segment", lost, "")
    return claims

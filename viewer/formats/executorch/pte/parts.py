"""Computes what the bytes of a program file are for, by kind and name.

Every segment is counted once, even if several delegates or names refer to it; the bytes that no
part claims are padding. So the sizes add up to the file, unless its parts overlap.
"""

from __future__ import annotations

from viewer.formats.executorch.pte.container import Container
from viewer.formats.executorch.pte.delegates import Delegates, Extents
from viewer.formats.executorch.pte.program_tables import Problems
from viewer.formats.executorch.pte.references import References
from viewer.program.executable.executable import Part, PartKind

INLINE = "inline"  # the name of parts that are inside the flatbuffer
_Claims = dict[int, tuple[PartKind, list[str]]]


def parts_of(
    problems: Problems,
    container: Container,
    segments: Extents,
    inline: Extents,
    delegates: Delegates,
    references: References,
) -> tuple[Part, ...]:
    """The parts of a file."""
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
    return found

"""Names of operators and delegate calls in the graph. No Qt."""

from __future__ import annotations

from collections.abc import Sequence

from viewer.analysis.delegates.delegation import Instance

# Names come from files: longer ones are cut in the drawing and in tooltips.
_LONGEST = 120


def tags_of(instances: Sequence[Instance]) -> dict[int, str]:
    """Map each operator to its first delegate call, such as "Xnnpack 2"."""
    tags: dict[int, str] = {}
    for instance in instances:
        tag = tag_of(instance)
        for operator in instance.operators:
            tags.setdefault(operator, tag)
    return tags


def tag_of(instance: Instance) -> str:
    """Return the short name of a delegate call, "Xnnpack 2"."""
    return cut_line(f"{instance.backend.removesuffix('Backend')} {instance.instruction}")


def cut_line(text: str, *, from_end: bool = False) -> str:
    """Return a text as one line of limited length.

    from_end: keep the end of a long text, which is the more telling part of a path.
    """
    cut = text[-_LONGEST:] if from_end else text[:_LONGEST]
    line = " ".join(cut.splitlines())
    if len(text) <= _LONGEST:
        return line
    return f"…{line}" if from_end else f"{line}…"

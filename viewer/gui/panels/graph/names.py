"""Names of operators and delegate calls in the graph. No Qt."""

from __future__ import annotations

from collections.abc import Sequence

from viewer.analysis.delegates.delegation import Instance
from viewer.model.times import group_digits

# Names come from files: longer ones are cut in the drawing and in tooltips.
_LONGEST = 120


def tags_of(calls: Sequence[Instance]) -> dict[int, str]:
    """Map each operator to its first delegate call, such as "Xnnpack 2/10"."""
    tags: dict[int, str] = {}
    for number, call in enumerate(calls):
        place = f" {number + 1}/{len(calls)}" if len(calls) > 1 else ""
        tag = f"{backend_name(call)}{place}"
        for operator in call.operators:
            tags.setdefault(operator, tag)
    return tags


def call_name(calls: Sequence[Instance], number: int) -> str:
    """Return "Xnnpack · call 2 of 10"."""
    return " · ".join(filter(None, (backend_name(calls[number]), call_place(calls, number))))


def call_place(calls: Sequence[Instance], number: int) -> str:
    """Return "call 2 of 10": which one of the delegate calls it is; "" for the only one."""
    count = len(calls)
    return f"call {group_digits(number + 1)} of {group_digits(count)}" if count > 1 else ""


def backend_name(call: Instance) -> str:
    """Return the name of a delegate, "Xnnpack"."""
    return cut_line(call.backend.removesuffix("Backend"))


def cut_line(text: str, *, from_end: bool = False) -> str:
    """Return a text as one line of limited length.

    from_end: keep the end of a long text, which is the more telling part of a path.
    """
    cut = text[-_LONGEST:] if from_end else text[:_LONGEST]
    line = " ".join(cut.splitlines())
    if len(text) <= _LONGEST:
        return line
    return f"…{line}" if from_end else f"{line}…"

"""The methods of single inferences, which the user chose where their instructions are the same.

No Qt. `viewer.analysis.links.split_scopes` derives the trace that has them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from viewer.model.trace import Trace
from viewer.workspace.user_choices import UserChoices

if TYPE_CHECKING:
    from viewer.analysis.links.split_scopes import ScopePart


@dataclass(frozen=True, slots=True, eq=False)
class SplitTrace:
    """A trace, the parts into which its scopes were split, and the result."""

    source: Trace
    parts: tuple[ScopePart, ...]
    trace: Trace

    def methods(
        self, whole: Mapping[int, str], single: Mapping[tuple[int, int], str]
    ) -> dict[int, str]:
        """Return the methods chosen for the scopes of the result, for one program.

        whole: scope of the source -> method. single: (scope, number) -> method, which takes
        precedence; the inferences of a part have the same.
        """
        methods = dict(whole)
        for scope, part in enumerate(self.parts, len(self.source.scopes)):
            method = single.get((part.scope, min(part.numbers))) or whole.get(part.scope)
            if method is not None:
                methods[scope] = method
        return methods


def split_by(source: Trace, choices: UserChoices, before: SplitTrace | None) -> SplitTrace | None:
    """Return a trace split as chosen, None if no inference has a choice; `before` if it is equal.

    Inferences with the same choice for every program are one part.
    """
    chosen: dict[tuple[int, int], list[tuple[str, str]]] = {}
    for program, scope, number, method in _choices_for(source, choices):
        chosen.setdefault((scope, number), []).append((program, method))
    if not chosen:
        return None
    from viewer.analysis.links.split_scopes import ScopePart, split_scopes

    groups: dict[tuple[int, tuple[tuple[str, str], ...]], set[int]] = {}
    for (scope, number), methods_of in sorted(chosen.items()):
        groups.setdefault((scope, tuple(sorted(methods_of))), set()).add(number)
    parts = tuple(
        ScopePart(scope, frozenset(inferences)) for (scope, _), inferences in groups.items()
    )
    if not parts:
        return None
    if before is not None and before.source is source and before.parts == parts:
        return before
    return SplitTrace(source, parts, split_scopes(source, parts))


def check_inferences(trace: Trace, scope: str, numbers: Collection[int], name: str) -> None:
    """Raise ValueError if a scope does not have inferences of these numbers.

    name: the name of the trace in the error.
    """
    recorded = {run.number for run in trace.inferences() if trace.scopes[run.scope].name == scope}
    unknown = sorted(set(numbers) - recorded)
    if unknown:
        there_are = f"they are numbered {numbers_text(recorded)}" if recorded else "it has none"
        raise ValueError(f"{scope} of {name} has no inference {numbers_text(unknown)}: {there_are}")


def numbers_text(numbers: Collection[int]) -> str:
    """Format numbers as "1-3,7": ascending, with consecutive ones joined."""
    ordered = sorted(set(numbers))
    ends = [0, *(i for i, (a, b) in enumerate(pairwise(ordered), 1) if b > a + 1), len(ordered)]
    spans = [(ordered[lo], ordered[hi - 1]) for lo, hi in pairwise(ends) if hi > lo]
    return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in spans)


def parse_numbers(text: str, most: int) -> tuple[int, ...]:
    """Return the numbers of "1-3,7", ascending; ValueError for anything else, or above `most`."""
    numbers: set[int] = set()
    for part in text.split(","):
        ends = [end.strip() for end in part.split("-")]
        if len(ends) > 2 or not all(
            end.isascii() and end.isdigit() and len(end) < 10 for end in ends
        ):
            raise ValueError(f'{text!r} is not a list of inference numbers: write it as "1-3,7"')
        first, last = int(ends[0]), int(ends[-1])
        if first > last:
            raise ValueError(
                f"{part.strip()!r} is not a range: its first number is larger than its last"
            )
        if last > most:
            raise ValueError(f"there is no inference {last}: they are numbered 1-{most}")
        numbers.update(range(first, last + 1))
    return tuple(sorted(numbers))


def single_choices(trace: Trace, choices: UserChoices) -> list[tuple[str, tuple[int, ...], str]]:
    """Return (scope, numbers, method) of the inferences with a choice, whatever the program."""
    groups: dict[tuple[int, str], set[int]] = {}
    for _, scope, number, method in _choices_for(trace, choices):
        groups.setdefault((scope, method), set()).add(number)
    return [
        (trace.scopes[scope].name, tuple(sorted(numbers)), method)
        for (scope, method), numbers in groups.items()
    ]


def _choices_for(trace: Trace, choices: UserChoices) -> Iterator[tuple[str, int, int, str]]:
    """Yield (program, scope, number, method) of each inference of a trace that has a choice."""
    for (profile, program), methods in choices.inference_methods.items():
        if profile == trace.path:
            for (scope, number), method in methods.items():
                if scope < len(trace.scopes):  # fewer than when chosen, if the file has changed
                    yield program, scope, number, method

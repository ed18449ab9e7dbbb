"""What delegates run in each arm, how long it takes, and which operators moved into or out of them.

A delegate call shares its time among its operators, so what moved has only the time that it took
outside delegates, in the arm that runs it there. What its delegate call takes in the other arm is
the time of a row by call, which compares all of both sides.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from viewer.analysis.comparison.arms import Arm
from viewer.analysis.comparison.comparison import Comparison
from viewer.analysis.comparison.levels import CALLS
from viewer.model.quantiles import median


@dataclass(frozen=True, slots=True)
class ArmCoverage:
    """What delegates run in an arm.

    calls: the number of delegate calls. operators: of those that ran. delegated: of those in
    delegate calls. partly: of those of them that also ran outside. ns: the median time of all
    delegate calls in an inference, 0 without any; None if no session has them. inference_ns: that
    of the inference, None without inferences.
    """

    calls: int
    operators: int
    delegated: int
    partly: int
    ns: float | None
    inference_ns: float | None


@dataclass(frozen=True, slots=True)
class MovedCall:
    """Operators that one arm runs outside delegates, and the other in delegate calls.

    operators: indexes into the program of the arm that runs them outside. parts: their calls there.
    ns: the median time of these calls per inference, None if no session has it. row: the row by
    call that has both sides. into: the delegate calls of the other arm, as parts. members: the
    number of operators in those calls. is_partly: whether the other arm runs a part of them outside
    delegates, too.
    """

    operators: tuple[int, ...]
    parts: tuple[int, ...]
    ns: float | None
    row: int
    into: tuple[int, ...]
    members: int
    is_partly: bool


@dataclass(frozen=True, eq=False)
class DelegationChanges:
    """The differences in delegation between two arms.

    calls: by call. by_delegate: all calls of each delegate, and what is not delegated. rows: the
    rows of `calls` in which an arm calls a delegate. coverage: of A and of B. only_in: what is
    delegated only in A, and only in B, the longest first. is_linked: whether the operators of both
    arms are known; without them nothing is known about what moved.
    """

    calls: Comparison
    by_delegate: Comparison
    rows: tuple[int, ...]
    coverage: tuple[ArmCoverage, ArmCoverage]
    only_in: tuple[tuple[MovedCall, ...], tuple[MovedCall, ...]]
    is_linked: bool

    @property
    def has_calls(self) -> bool:
        """Whether the profiles have calls of instructions, which may be calls of delegates."""
        return self.calls.a.level == CALLS


def delegation_changes(calls: Comparison, by_delegate: Comparison) -> DelegationChanges:
    """Return the differences in delegation of a comparison by call and the same one by delegate."""
    a, b = calls.a, calls.b
    is_linked = a.program is not None and b.program is not None
    inference = calls.inference
    coverage = _coverage(a, inference.a_ns), _coverage(b, inference.b_ns)
    if calls.a.level != CALLS:
        return DelegationChanges(calls, by_delegate, (), coverage, ((), ()), is_linked)
    rows = tuple(
        number
        for number, row in enumerate(calls.rows)
        if row.level == CALLS
        and any(
            arm.parts[part].backend for arm, parts in ((a, row.a), (b, row.b)) for part in parts
        )
    )
    into_b: dict[int, list[int]] = {}
    into_a: dict[int, list[int]] = {}
    for pair in calls.pairs.pairs:
        into_b.setdefault(pair.a, []).append(pair.b)
        into_a.setdefault(pair.b, []).append(pair.a)
    row_of_part: tuple[dict[int, int], dict[int, int]] = ({}, {})
    for number, row in enumerate(calls.rows):
        if row.level == CALLS:
            row_of_part[0].update(dict.fromkeys(row.a, number))
            row_of_part[1].update(dict.fromkeys(row.b, number))
    only_in = (
        _moved(calls, 1, into_a, row_of_part[1]),
        _moved(calls, 0, into_b, row_of_part[0]),
    )
    return DelegationChanges(calls, by_delegate, rows, coverage, only_in, is_linked)


class _Runs:
    """Which calls of an arm run each operator, in delegates and outside."""

    def __init__(self, arm: Arm) -> None:
        self.inside: dict[int, list[int]] = {}
        self.outside: dict[int, list[int]] = {}
        for number, part in enumerate(arm.parts):
            if part.id.event is None:
                parts = self.inside if part.backend else self.outside
                for operator in part.operators:
                    parts.setdefault(operator, []).append(number)


def _coverage(arm: Arm, inference_ns: float | None) -> ArmCoverage:
    runs = _Runs(arm)
    calls = [i for i, part in enumerate(arm.parts) if part.backend and part.id.event is None]
    return ArmCoverage(
        len(calls),
        len(runs.inside.keys() | runs.outside.keys()),
        len(runs.inside),
        len(runs.inside.keys() & runs.outside.keys()),
        _median(arm, calls) if calls else 0.0,
        inference_ns,
    )


def _median(arm: Arm, parts: Iterable[int]) -> float | None:
    """The median time of some parts together; None if no session has them."""
    times = arm.medians([parts])[:, 0]
    return median(times) if np.isfinite(times).any() else None


def _moved(
    comparison: Comparison, side: int, into: Mapping[int, Sequence[int]], row_of: Mapping[int, int]
) -> tuple[MovedCall, ...]:
    """What one arm runs outside delegates only, and the other in them.

    side: the arm that runs it outside, 0 for A. into: the operators of the other arm that each
    operator belongs to. row_of: per part of the first arm, its row by call.
    """
    arms = comparison.a, comparison.b
    outside, inside = arms[side], arms[1 - side]
    runs, other = _Runs(outside), _Runs(inside)
    calls: dict[tuple[int, ...], list[int]] = {}
    for number, part in enumerate(outside.parts):
        moved = not part.backend and part.id.event is None and any(
            i not in runs.inside and any(j in other.inside for j in into.get(i, ()))
            for i in part.operators
        )  # fmt: skip
        if moved:
            calls.setdefault(part.operators, []).append(number)
    medians = comparison.medians(side, [tuple(parts) for parts in calls.values()])
    moved_calls = []
    for column, (operators, parts) in enumerate(calls.items()):
        partners = [j for i in operators for j in into.get(i, ())]
        delegate_calls = sorted({n for j in partners for n in other.inside.get(j, ())})
        times = medians[:, column]
        moved_calls.append(
            MovedCall(
                operators,
                tuple(parts),
                median(times) if np.isfinite(times).any() else None,
                row_of[parts[0]],
                tuple(delegate_calls),
                len({i for n in delegate_calls for i in inside.parts[n].operators}),
                any(j in other.outside for j in partners),
            )
        )
    return tuple(sorted(moved_calls, key=lambda moved_call: -(moved_call.ns or 0.0)))

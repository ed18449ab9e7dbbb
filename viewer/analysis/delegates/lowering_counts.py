"""How many operators of an ETRecord are delegated, in part or not at all, and in how many calls."""

from __future__ import annotations

from dataclasses import dataclass

from viewer.analysis.delegates.delegation import DelegationReport
from viewer.model.times import counted, group_digits


@dataclass(frozen=True, slots=True)
class LoweringCounts:
    """Numbers of operators, each counted once, of backends and of delegate calls.

    partly: operators with nodes both in a delegate call and outside; they are in neither of the
    other two numbers.
    """

    delegated: int
    partly: int
    not_delegated: int
    backends: int
    calls: int

    @property
    def operators_text(self) -> str:
        """Text such as "36 operators delegated, 3 partly, 2 not delegated"; "" without any."""
        counts = (
            (self.delegated, "delegated"),
            (self.partly, "partly" if self.delegated else "partly delegated"),
            (self.not_delegated, "not delegated"),
        )
        parts = [(count, how) for count, how in counts if count]
        texts = [f"{counted(count, 'operator')} {how}" for count, how in parts[:1]]
        return ", ".join(texts + [f"{group_digits(count)} {how}" for count, how in parts[1:]])

    @property
    def calls_text(self) -> str:
        """Text such as "1 backend, 5 delegate calls"; "" without calls."""
        if not self.calls:
            return ""
        return f"{counted(self.backends, 'backend')}, {counted(self.calls, 'delegate call')}"


def lowering_counts(report: DelegationReport) -> LoweringCounts:
    """Count the operators and calls of the report for an ETRecord alone."""
    inside = {i for instance in report.instances for i in instance.operators}
    outside = {i for row in report.not_delegated_rows for i in row.operators}
    return LoweringCounts(
        len(inside - outside),
        len(inside & outside),
        len(outside - inside),
        len({instance.backend for instance in report.instances}),
        len(report.instances),
    )

"""What was checked, what could not be and why, and what differs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from math import isclose
from typing import Any

# Of figures that are computed in float64.
_RELATIVE = 1e-12
# Of figures that a report rounds to three and six digits.
MILLI, MICRO = 0.000_501, 0.000_000_501


@dataclass(frozen=True, slots=True)
class Difference:
    """A figure that is not what its definition gives."""

    figure: str
    reported: Any
    derived: Any


@dataclass(slots=True)
class Verdict:
    """The result for some files. unchecked: (figure, reason) -> how many."""

    checked: int = 0
    unchecked: Counter[tuple[str, str]] = field(default_factory=Counter)
    differences: list[Difference] = field(default_factory=list)

    def same(self, figure: str, reported: Any, derived: Any) -> None:
        """Check a figure that both ways give exactly."""
        self.checked += 1
        if reported != derived:
            self.differences.append(Difference(figure, reported, derived))

    def near(self, figure: str, reported: float | None, exact: Fraction, within: float) -> None:
        """Check a figure that was rounded; `within` is half of its last digit."""
        self.checked += 1
        value = float(exact)
        if reported is None or not isclose(reported, value, rel_tol=_RELATIVE, abs_tol=within):
            self.differences.append(Difference(figure, reported, value))

    def floor(self, figure: str, reported: int | None, exact: Fraction) -> None:
        """Check a figure that was rounded down from one computed in float64."""
        self.checked += 1
        slack = abs(exact) * Fraction(_RELATIVE)
        low, high = (exact - slack) // 1, (exact + slack) // 1
        if reported is None or not low <= reported <= high:
            self.differences.append(Difference(figure, reported, int(exact // 1)))

    def skip(self, figure: str, reason: str, count: int = 1) -> None:
        """Note figures that cannot be checked."""
        if count:
            self.unchecked[figure, reason] += count

    def facts(self) -> dict[str, Any]:
        """Return the result as data, for `--json`."""
        return {
            "checked": self.checked,
            "unchecked": [
                {"figure": figure, "reason": reason, "count": count}
                for (figure, reason), count in self.unchecked.items()
            ],
            "differences": [
                {"figure": each.figure, "shown": each.reported, "derived": each.derived}
                for each in self.differences
            ],
        }


def figures_in(facts: Any) -> int:
    """Return how many numbers some facts have."""
    if isinstance(facts, Mapping):
        return sum(map(figures_in, facts.values()))
    if isinstance(facts, list | tuple):
        return sum(map(figures_in, facts))
    return int(isinstance(facts, int | float) and not isinstance(facts, bool))

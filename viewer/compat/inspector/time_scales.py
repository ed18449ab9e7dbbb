"""The time scales of the inspector's arguments: ns, us, ms, s and, only with itself, cycles."""

from __future__ import annotations

from fractions import Fraction

PER_SECOND = {"ns": 10**9, "us": 10**6, "ms": 10**3, "s": 1, "cycles": 1}
CYCLES = "cycles"
MIXED = "For TimeScale in cycles both the source and target time scale have to be in cycles."


def is_mixed(source: str, target: str) -> bool:
    """Whether one is a time and the other a count of cycles, which no rate here joins."""
    return (source == CYCLES) != (target == CYCLES)


def ratio(source: str, target: str) -> Fraction:
    """How many units of the target one unit of the source is, exactly: ns to ms is 1/1000000."""
    return Fraction(PER_SECOND[target], PER_SECOND[source])

"""The time scales of the Inspector's arguments: ns, us, ms, s, and cycles (only with itself)."""

from __future__ import annotations

from fractions import Fraction

PER_SECOND = {"ns": 10**9, "us": 10**6, "ms": 10**3, "s": 1, "cycles": 1}
CYCLES = "cycles"
MIXED = "For TimeScale in cycles both the source and target time scale have to be in cycles."


def is_mixed(source: str, target: str) -> bool:
    """Return whether one is a time and the other cycles, which cannot be converted."""
    return (source == CYCLES) != (target == CYCLES)


def ratio(source: str, target: str) -> Fraction:
    """Return the exact number of target units per source unit: 1/1000000 for ns to ms."""
    return Fraction(PER_SECOND[target], PER_SECOND[source])

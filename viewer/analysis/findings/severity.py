"""How much a finding matters: its possible gain as a share of the whole.

The upper bound of a gain is compared, so a high severity promises nothing: it is where to look
first.
"""

from __future__ import annotations

from enum import Enum
from fractions import Fraction

# Without a quarter of the time, the whole is a third faster: more than most single changes bring.
HIGH_SHARE = Fraction(1, 4)
# Undisturbed runs of small models differ by up to 10%; less is hard to measure afterwards.
MEDIUM_SHARE = Fraction(1, 10)


class Severity(Enum):
    """The severity of a finding: a key for scripts, and the rule in words."""

    HIGH = ("high", f"at least {float(HIGH_SHARE):.0%} could be gained")
    MEDIUM = ("medium", f"at least {float(MEDIUM_SHARE):.0%} could be gained")
    LOW = ("low", f"less than {float(MEDIUM_SHARE):.0%} could be gained, or no time at all")

    def __init__(self, key: str, rule: str) -> None:
        self.key = key
        self.rule = rule

    @property
    def title(self) -> str:
        """The severity as a heading: "High"."""
        return self.key.capitalize()


def severity_of(ticks: int, whole: int) -> Severity:
    """Return the severity of a gain of some ticks out of a whole; low if the whole is 0."""
    if whole > 0 and ticks >= HIGH_SHARE * whole:
        return Severity.HIGH
    if whole > 0 and ticks >= MEDIUM_SHARE * whole:
        return Severity.MEDIUM
    return Severity.LOW

"""Rows of a comparison, and how what belongs together is joined to them."""

from __future__ import annotations

from dataclasses import dataclass

from viewer.analysis.comparison.operator_pairs import Grade

# The arm (0 or 1), what it is, and its number there.
Member = tuple[int, str, int]


@dataclass(frozen=True, slots=True)
class Row:
    """One row of a comparison: parts of A and parts of B, by number, ascending; one may be empty.

    why: the reason of the grade, in words.
    """

    level: str
    label: str
    grade: Grade
    why: str
    a: tuple[int, ...]
    b: tuple[int, ...]


class Joined:
    """Groups of things that were joined with one another, in the order in which they came."""

    def __init__(self) -> None:
        self._above: dict[Member, Member] = {}

    def add(self, one: Member) -> None:
        """Add something that may be alone."""
        self._above.setdefault(one, one)

    def join(self, one: Member, other: Member) -> None:
        """Put two things, and what they were joined with, into one group."""
        self.add(one)
        self.add(other)
        self._above[self._top(other)] = self._top(one)

    def _top(self, one: Member) -> Member:
        while self._above[one] != one:
            self._above[one] = self._above[self._above[one]]
            one = self._above[one]
        return one

    def groups(self) -> list[list[Member]]:
        """All groups."""
        found: dict[Member, list[Member]] = {}
        for one in self._above:
            found.setdefault(self._top(one), []).append(one)
        return list(found.values())

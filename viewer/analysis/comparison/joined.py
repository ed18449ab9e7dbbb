"""Rows of a comparison, and how what belongs together is joined to them."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Generic, TypeVar

from viewer.analysis.comparison.operator_pairs import Grade

# The arm (0 or 1), what it is, and its number there.
Member = tuple[int, str, int]
Thing = TypeVar("Thing", bound=Hashable)


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


class Joined(Generic[Thing]):
    """Groups of things that were joined with one another, in the order in which they came."""

    def __init__(self) -> None:
        self._above: dict[Thing, Thing] = {}

    def add(self, member: Thing) -> None:
        """Add something that may be alone."""
        self._above.setdefault(member, member)

    def join(self, member: Thing, other: Thing) -> None:
        """Put two things, and what they were joined with, into one group."""
        self.add(member)
        self.add(other)
        self._above[self.of(other)] = self.of(member)

    def of(self, member: Thing) -> Thing:
        """The member that stands for the group of a thing; itself if it was not added."""
        if member not in self._above:
            return member
        while self._above[member] != member:
            self._above[member] = self._above[self._above[member]]
            member = self._above[member]
        return member

    def groups(self) -> list[list[Thing]]:
        """All groups."""
        groups: dict[Thing, list[Thing]] = {}
        for member in self._above:
            groups.setdefault(self.of(member), []).append(member)
        return list(groups.values())

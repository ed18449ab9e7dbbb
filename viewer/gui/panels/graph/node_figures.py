"""What the graph needs to know about the figures of operators, costs or changes. No Qt."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from viewer.analysis.comparison.comparison import Verdict
from viewer.arrays import Ints
from viewer.gui.panels.graph.colors.fills import Fill


@dataclass(frozen=True, slots=True)
class NodeCell:
    """The figure of an operator as a text, a fill, and the mark of its verdict if it has one."""

    text: str
    fill: Fill
    verdict: Verdict | None = None


class NodeFigures(Protocol):
    """The figures of all operators of a program."""

    @property
    def title(self) -> str:
        """What the figures are, such as "run 2"."""

    @property
    def left_out(self) -> str:
        """What has figures and no node, "" for nothing."""

    @property
    def order(self) -> Ints:
        """The ranking key per operator; the highest ones are shown first."""

    @property
    def best(self) -> str:
        """What a high rank means, such as "most expensive"."""

    def cells(self, operators: Ints) -> list[NodeCell]:
        """Return the figures of some operators."""

    def tag(self, operator: int) -> str:
        """Return the delegate call of an operator outside the program, "" for none."""

    def lines(self, operator: int) -> list[str]:
        """Return the lines of the tooltip of an operator about its figures."""

    def summary(self, operators: Sequence[int]) -> str:
        """Return a sentence about selected operators, "" to describe the graph instead."""

"""Fills of nodes. No Qt."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from viewer.analysis.comparison.comparison import Verdict

# Steps of the color of what is slower, and of what is faster.
CHANGE_STEPS = 3


class NoCostFill(Enum):
    """Fills that are not a palette index.

    IDLE: no time in the current scope. UNLINKED: no slice of the profile is linked to the operator.
    PLAIN: there is no profile.
    """

    IDLE = "idle"
    UNLINKED = "unlinked"
    PLAIN = "plain"


@dataclass(frozen=True, slots=True)
class ChangeFill:
    """The fill of a change between two arms.

    step: 1 to `CHANGE_STEPS` for what is slower or faster, else 0. only_in: "A" or "B" if the other
    arm does not have it, else "".
    """

    verdict: Verdict
    step: int = 0
    only_in: str = ""


@dataclass(frozen=True, slots=True)
class CallFill:
    """The ground of a delegate call. backend: the number of its delegate in the program."""

    backend: int


Fill = int | NoCostFill | ChangeFill | CallFill

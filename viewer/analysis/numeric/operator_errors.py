"""The error of every operator of a program, and its step on a scale of powers of ten."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from itertools import count

import numpy as np

from viewer.arrays import Ints

# The start of each step but the first, relative to the signal.
EDGES = (1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1)
STEP_TITLES = (
    "Error up to 10⁻⁶", "10⁻⁶ to 10⁻⁵", "10⁻⁵ to 10⁻⁴", "10⁻⁴ to 10⁻³", "10⁻³ to 0.01",
    "0.01 to 0.1", "0.1 and more of the signal",
)  # fmt: skip
NOT_COMPARED = -1  # the step of an operator without an error
_versions = count(1)


@dataclass(frozen=True, eq=False)
class OperatorErrors:
    """The largest error of the values of each operator, relative to their signal.

    of: by the index of the operator in its program; inf if it is not finite, or has no signal.
    version: another one for every set of errors.
    """

    of: Mapping[int, float]
    version: int = field(default_factory=lambda: next(_versions))

    def largest(self, operators: Collection[int]) -> float | None:
        """Return the largest error of some operators, None if none has one."""
        return max((self.of[i] for i in operators if i in self.of), default=None)

    def step(self, operators: Collection[int]) -> int:
        """Return the step of the largest error of some operators, or `NOT_COMPARED`."""
        error = self.largest(operators)
        return NOT_COMPARED if error is None else bisect_right(EDGES, error)

    def steps(self, operators: int) -> Ints:
        """Return the step of each of the first operators of the program."""
        return np.array([self.step((i,)) for i in range(operators)], np.int64)

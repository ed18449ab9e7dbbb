"""The noise of a device: how much session medians of one unchanged program vary.

A comparison of one or two sessions says nothing about its own noise. What was measured before, on
the same device, gives its changes an interval, though no verdict. In 400 random choices of sessions
of tests/data/compare, the noise of seven covered 95 % of the changes between two others.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from viewer.analysis.comparison.arms import Arm
from viewer.analysis.comparison.session_test import LEAST_SESSIONS, Changes, two_sided_quantile
from viewer.arrays import Floats
from viewer.model.quantiles import median

_NUMBERED = re.compile(r"\s*#[0-9]+$")


@dataclass(frozen=True, slots=True)
class Noise:
    """The standard deviations of log session medians: of the inference, and by operator type.

    sessions: how many were measured. typical: of a type that was not measured.
    """

    sessions: int
    inference: float
    types: Mapping[str, float]

    @property
    def typical(self) -> float:
        """The median over the types; that of the inference if there are none."""
        return median([*self.types.values()]) if self.types else self.inference

    def of(self, kind: str) -> float:
        """The deviation of a type."""
        return self.types.get(kind, self.typical)

    def half_widths(self, deviations: Floats, count_a: Floats, count_b: Floats) -> Floats:
        """Half of the 95 % interval of log changes between so many sessions of A and of B."""
        t = two_sided_quantile(0.05, np.array([max(self.sessions - 1.0, 1.0)]))[0]
        with np.errstate(divide="ignore"):
            half_widths: Floats = t * deviations * np.sqrt(1 / count_a + 1 / count_b)
        return half_widths


def noise_of(arm: Arm) -> Noise:
    """Return the noise of sessions of one unchanged program. Raises ValueError for less than two.

    Parts that are below their clock, or not in every session, are left out.
    """
    if len(arm.sessions) < 2:
        raise ValueError("noise needs at least 2 sessions of one program")
    medians = arm.medians([[number] for number in range(len(arm.parts))])
    variances: dict[str, list[float]] = {}
    for number, times in enumerate(medians.T):
        positive = times[np.isfinite(times) & (times > 0)]
        if len(positive) == len(times) and median(positive) > 2 * arm.grain_ns[number]:
            variance = float(np.log(positive).var(ddof=1))
            variances.setdefault(type_of_parts(arm, [number]), []).append(variance)
    types = {kind: float(np.sqrt(np.mean(of_type))) for kind, of_type in sorted(variances.items())}
    if not (arm.inference > 0).all():
        raise ValueError("noise needs inferences that take time")
    inference = float(np.log(arm.inference).std(ddof=1))
    return Noise(len(arm.sessions), inference, types)


def type_of_parts(arm: Arm, parts: Sequence[int]) -> str:
    """The operator type of some parts; names of kernels or events, without numbers, if unknown."""
    program = arm.program
    calls = [arm.parts[number] for number in parts]
    operators = {i for part in calls for i in part.operators if part.id.event is None}
    if program is not None and operators:
        kinds = {program.operators[i].op for i in operators}
    else:
        kinds = {_NUMBERED.sub("", part.name) for part in calls}
    return " + ".join(sorted(kinds))


def with_noise(noise: Noise, deviations: Floats, changes: Changes, a: Floats, b: Floats) -> Changes:
    """Return changes with intervals from known noise where there are too few sessions.

    deviations: of each row. a, b: the session medians, of shape (sessions, rows).
    """
    count_a, count_b = (np.isfinite(times).sum(axis=0).astype(np.float64) for times in (a, b))
    half = noise.half_widths(deviations, count_a, count_b)
    few = np.minimum(count_a, count_b) < LEAST_SESSIONS
    return replace(
        changes,
        low=np.where(few, changes.log_ratio - half, changes.low),
        high=np.where(few, changes.log_ratio + half, changes.high),
    )

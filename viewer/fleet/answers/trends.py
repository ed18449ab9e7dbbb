"""How long inferences of each model took on each device, by build, and their noise.

A point is the median of the session medians of a build. Builds are in the order of their names, in
which 10 comes after 9.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from viewer.fleet.answers.arms import Group, LakeProfile
from viewer.model.quantiles import median
from viewer.model.text import natural

if TYPE_CHECKING:
    import duckdb


@dataclass(frozen=True, slots=True)
class TrendPoint:
    """A build of a trend, and the median inference of each of its sessions in ns, ascending."""

    build: str
    sessions: tuple[float, ...]

    @property
    def ns(self) -> float:
        """The median of the sessions."""
        return median(self.sessions)


@dataclass(frozen=True, slots=True)
class Trend:
    """The inferences of a method of a model on a device. Names are "" if not known."""

    model: str
    method: str
    device: str
    points: tuple[TrendPoint, ...]


@dataclass(frozen=True, slots=True)
class DeviceNoise:
    """How much session medians of one build vary on a device.

    deviation: the standard deviation of their logs, over all builds, models and methods. sessions:
    how many were measured, in builds with at least two.
    """

    device: str
    deviation: float
    sessions: int


def trends_of(connection: duckdb.DuckDBPyConnection) -> list[Trend]:
    """Return the trends of a lake, by model, method and device."""
    rows = connection.execute(
        """
        SELECT coalesce(model, ''), coalesce(method, ''), coalesce(device, ''),
            coalesce(build, ''), median(dur_ns) AS ns
        FROM inferences WHERE finished AND NOT warm_up AND session IS NOT NULL AND dur_ns >= 0
        GROUP BY model, method, device, build, key, session ORDER BY ALL
        """
    ).fetchall()
    found: dict[tuple[str, str, str], dict[str, list[float]]] = {}
    for model, method, device, build, ns in rows:
        of_builds = found.setdefault((model, method, device), {})
        of_builds.setdefault(build, []).append(float(ns))
    return [
        Trend(
            *names,
            tuple(
                TrendPoint(build, tuple(of_builds[build]))
                for build in sorted(of_builds, key=natural)
            ),
        )
        for names, of_builds in sorted(
            found.items(), key=lambda one: [natural(name) for name in one[0]]
        )
    ]


def device_noise(trends: Iterable[Trend]) -> list[DeviceNoise]:
    """Return the noise of every device that has a build with several sessions."""
    squares: dict[str, list[tuple[float, int, int]]] = {}
    for trend in trends:
        for point in trend.points:
            if not (trend.model and point.build):
                continue  # these may be of different programs
            times = np.array(point.sessions)
            times = times[times > 0]
            if len(times) > 1:
                around = float(np.log(times).var(ddof=1)) * (len(times) - 1)
                own = squares.setdefault(trend.device, [])
                own.append((around, len(times) - 1, len(times)))
    return [
        DeviceNoise(
            device,
            float(np.sqrt(sum(s for s, _, _ in own) / sum(n for _, n, _ in own))),
            sum(count for _, _, count in own),
        )
        for device, own in sorted(squares.items(), key=lambda one: natural(one[0]))
    ]


def last_builds(profiles: Sequence[LakeProfile]) -> list[Group]:
    """Return, for every model on every device, its last build against the one before."""
    found: dict[tuple[str, str], dict[str, list[str]]] = {}
    for profile in profiles:
        if "build" in profile.values:
            names = profile.values.get("model", ""), profile.values.get("device", "")
            of_builds = found.setdefault(names, {})
            of_builds.setdefault(profile.values["build"], []).append(profile.key)
    groups = []
    for (model, device), of_builds in sorted(
        found.items(), key=lambda one: [natural(name) for name in one[0]]
    ):
        if len(of_builds) > 1:
            before, last = sorted(of_builds, key=natural)[-2:]
            values = ("model", model), ("device", device), ("build", f"{before} → {last}")
            groups.append(Group(values, (tuple(of_builds[before]), tuple(of_builds[last]))))
    return groups

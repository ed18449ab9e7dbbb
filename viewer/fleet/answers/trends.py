"""How long inferences of each model took on each device, by build, and their noise.

A point is the median of the session medians of a build. Builds are in the order of their names, in
which 10 comes after 9.

Charts are SVG without scripts: one line for each device, from build to build.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import ceil, floor, log10
from typing import TYPE_CHECKING

import numpy as np

from viewer.fleet.answers.arms import Group, LakeProfile
from viewer.html_report.html import text
from viewer.model.quantiles import median
from viewer.model.text import natural
from viewer.model.times import counted, format_briefly, format_time

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
    values: dict[tuple[str, str, str], dict[str, list[float]]] = {}
    for model, method, device, build, ns in rows:
        of_builds = values.setdefault((model, method, device), {})
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
            values.items(), key=lambda pair: [natural(name) for name in pair[0]]
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
                terms = squares.setdefault(trend.device, [])
                terms.append((around, len(times) - 1, len(times)))
    return [
        DeviceNoise(
            device,
            float(np.sqrt(sum(s for s, _, _ in terms) / sum(n for _, n, _ in terms))),
            sum(count for _, _, count in terms),
        )
        for device, terms in sorted(squares.items(), key=lambda pair: natural(pair[0]))
    ]


def last_builds(profiles: Sequence[LakeProfile]) -> list[Group]:
    """Return, for every model on every device, its last build against the one before."""
    builds: dict[tuple[str, str], dict[str, list[str]]] = {}
    for profile in profiles:
        if "build" in profile.values:
            names = profile.values.get("model", ""), profile.values.get("device", "")
            of_builds = builds.setdefault(names, {})
            of_builds.setdefault(profile.values["build"], []).append(profile.key)
    groups = []
    for (model, device), of_builds in sorted(
        builds.items(), key=lambda pair: [natural(name) for name in pair[0]]
    ):
        if len(of_builds) > 1:
            before, last = sorted(of_builds, key=natural)[-2:]
            values = ("model", model), ("device", device), ("build", f"{before} → {last}")
            groups.append(Group(values, (tuple(of_builds[before]), tuple(of_builds[last]))))
    return groups


# More devices are in the table only.
MOST_LINES = 10
_WIDTH, _HEIGHT = 760, 260
_LEFT, _RIGHT, _TOP, _BOTTOM = 78, 150, 14, 34
_LABEL_STEP = 15  # px between labels of lines
_MOST_BUILDS = 9  # that are labeled
_LETTERS = 18


def chart(title: str, trends: Sequence[Trend], unknown: str) -> str:
    """Return a chart of some trends, at most `MOST_LINES`; "" if none has two builds.

    unknown: what stands for a device without a name.
    """
    drawn = [trend for trend in trends if len(trend.points) > 1][:MOST_LINES]
    if not drawn:
        return ""
    builds = sorted({p.build for trend in drawn for p in trend.points}, key=natural)
    every = [ns for trend in drawn for point in trend.points for ns in point.sessions]
    low, high = min(every), max(every)
    margin = max((high - low) * 0.06, high * 0.005, 1.0)
    low, high = max(low - margin, 0.0), high + margin

    def x(build: str) -> float:
        return _LEFT + (_WIDTH - _LEFT - _RIGHT) * builds.index(build) / (len(builds) - 1)

    def y(ns: float) -> float:
        return _TOP + (_HEIGHT - _TOP - _BOTTOM) * (high - ns) / (high - low)

    lines = [
        f'<svg class="trend" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img">',
        f"<title>{text(title)}</title>",
    ]
    for ns in _ticks(low, high):
        level = f"{y(ns):.1f}"
        lines.append(f'<path class="grid" d="M{_LEFT} {level}H{_WIDTH - _RIGHT}"/>')
        lines.append(
            f'<text x="{_LEFT - 8}" y="{y(ns) + 4:.1f}" text-anchor="end">'
            f"{text(format_briefly(ns))}</text>"
        )
    every_nth = -(-len(builds) // _MOST_BUILDS)
    for build in builds[::-1][::every_nth]:
        lines.append(
            f'<text x="{x(build):.1f}" y="{_HEIGHT - 12}" text-anchor="middle">'
            f"{text(build, _LETTERS)}</text>"
        )
    ends = []
    for number, trend in enumerate(drawn):
        name, places = trend.device or unknown, []
        lines.append(f'<g class="line{number}">')
        for point in trend.points:
            at_x, at_y = x(point.build), y(point.ns)
            places.append(f"{at_x:.1f} {at_y:.1f}")
            whisker = f"M{at_x:.1f} {y(point.sessions[0]):.1f}V{y(point.sessions[-1]):.1f}"
            tip = (
                f"{name}, build {point.build}: {format_time(round(point.ns))}, "
                f"{counted(len(point.sessions), 'session')}"
            )
            lines.append(
                f'<path class="range" d="{whisker}"/><circle cx="{at_x:.1f}" cy="{at_y:.1f}" '
                f'r="3"><title>{text(tip)}</title></circle>'
            )
        lines.append(f'<path class="course" d="M{"L".join(places)}"/></g>')
        ends.append((y(trend.points[-1].ns), number, name))
    lines += _labels(ends)
    return "".join([*lines, "</svg>"])


def _ticks(low: float, high: float) -> list[float]:
    """Round numbers between two: three to eight of them."""
    power = 10.0 ** floor(log10((high - low) / 3))
    step = max(factor * power for factor in (1, 2, 5) if factor * power <= (high - low) / 3)
    return [number * step for number in range(ceil(low / step), floor(high / step) + 1)]


def _labels(ends: list[tuple[float, int, str]]) -> list[str]:
    """Labels at the right ends of lines, below one another where they would overlap."""
    labels, free = [], float(_TOP)
    ends = sorted(ends)
    for place, (height, number, name) in enumerate(ends):
        after = (len(ends) - 1 - place) * _LABEL_STEP
        at_y = min(max(height + 4, free), _HEIGHT - 6 - after)
        free = at_y + _LABEL_STEP
        labels.append(
            f'<text class="line{number}" x="{_WIDTH - _RIGHT + 10}" y="{at_y:.1f}">'
            f"● {text(name, _LETTERS)}</text>"
        )
    return labels

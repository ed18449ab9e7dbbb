"""The report of a lake as one HTML page: changes, trends by build, noise and problems.

It needs nothing else, and has no script. Names in it are escaped, as in the report of profiles.

A point of a trend is the median of the session medians of a build. Builds are in the order of their
names, in which 10 comes after 9.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import groupby
from math import ceil, expm1, floor, log10
from typing import TYPE_CHECKING

import numpy as np

from viewer.analysis.comparison.comparison import CHANGED, Compared
from viewer.codecs.atomic_file import replacing
from viewer.dataclasses import dataclass
from viewer.fleet.answers.arms import Group, LakeProfile, lake_profiles
from viewer.fleet.answers.comparison import (
    NOT_KNOWN,
    GroupComparison,
    compare_groups,
    of_one_program,
)
from viewer.fleet.lake import Lake
from viewer.fleet.manifest import Manifest
from viewer.fleet.query import with_connection
from viewer.html_report.html import (
    Cell,
    Row,
    details,
    document,
    figures,
    paragraph,
    rest_note,
    section,
    table,
    text,
)
from viewer.html_report.overview import change_cells
from viewer.model.quantiles import median
from viewer.model.text import natural
from viewer.model.times import counted, format_briefly, format_time, group_digits
from viewer.reports.compare_text import WORDS
from viewer.resources import resource

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
_MOST_LABELS = 9  # that are labeled
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
    every_nth = -(-len(builds) // _MOST_LABELS)
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


WHOLE = "whole inference"
_MOST_CHANGES, _MOST_MODELS, _MOST_PROBLEMS, _MOST_FAILURES = 50, 60, 40, 40
_OPEN_MODELS = 8
# Builds of a table: the last ones.
_MOST_BUILDS = 8


@dataclass(frozen=True, slots=True)
class _Contents:
    """What is known of a lake. problems: (kind, count, profiles, an example)."""

    name: str
    profiles: int
    counts: dict[str, int]
    groups: list[GroupComparison]
    notes: list[str]
    trends: list[Trend]
    noise: list[DeviceNoise]
    problems: list[tuple[str, int, int, str]]
    failures: list[tuple[str, str]]
    losses: list[str]


def write_fleet_report(lake: Lake, path: str, title: str = "") -> int:
    """Write the report of a lake; returns the size. Raises OSError, NoDuckDB, UnusableLake.

    Its tables `inferences` and `inference_operators` are needed for more than problems.
    """
    page = fleet_page(lake, title).encode("utf-8", "replace")
    with replacing(path) as file:
        file.write(page)
    return len(page)


def fleet_page(lake: Lake, title: str = "") -> str:
    """Return the report as HTML. Raises NoDuckDB, UnusableLake."""
    contents = with_connection(lake, lambda connection: _contents(lake, connection))
    heading = title or f"Fleet {contents.name}"
    style = "".join(
        resource("report", name).read_text(encoding="utf-8") for name in ("report.css", "fleet.css")
    )
    sections = [
        _summary(contents),
        _changes(contents.groups, contents.notes),
        _trends(contents.trends),
        _noise(contents.noise),
        _problems(contents),
    ]
    return document(heading, [part for part in sections if part], style)


def _contents(lake: Lake, connection: duckdb.DuckDBPyConnection) -> _Contents:
    profiles, trends = lake_profiles(connection), trends_of(connection)
    problems = connection.execute(
        """
        SELECT kind, sum("count")::BIGINT, count(DISTINCT key), min(file) FROM problems
        GROUP BY kind ORDER BY 3 DESC, 2 DESC, 1
        """
    ).fetchall()
    failures = lake.answer(Manifest.failures)
    groups, notes = of_one_program(connection, last_builds(profiles))
    return _Contents(
        os.path.basename(lake.path),
        len(profiles),
        {
            name: len(
                {
                    lake_profile.values[name]
                    for lake_profile in profiles
                    if name in lake_profile.values
                }
            )
            for name in ("model", "device", "build")
        },
        compare_groups(connection, groups),
        notes,
        trends,
        device_noise(trends),
        problems,
        sorted((outcome.source, outcome.reason) for outcome in failures),
        lake.losses.sentences,
    )


def _summary(contents: _Contents) -> str:
    facts = [
        (group_digits(count), name if count == 1 else f"{name}s")
        for name, count in contents.counts.items()
        if count
    ]
    failed = len(contents.failures)
    return section(
        "summary",
        "Summary",
        figures(
            [
                (group_digits(contents.profiles), "profiles"),
                *facts,
                *([(group_digits(failed), "files that failed")] if failed else []),
            ]
        ),
    )  # fmt: skip


_TITLES = ("Δ", "Change", "95 % interval", "Before", "Last", "Verdict", "Model", "Device", "Build",
           "What")  # fmt: skip


def _changes(groups: Sequence[GroupComparison], notes: Sequence[str]) -> str:
    said = [paragraph(note, "note") for note in (*notes, *_clock_notes(groups))]
    if not groups:
        return section(
            "changes",
            "Changes in the last build",
            paragraph("No model has profiles of two builds on one device.", "note"),
            *said,
        )
    rows: list[tuple[float, Row]] = []
    for group_comparison in groups:
        listed = [(row.label, compared) for row, compared in group_comparison.proven]
        if group_comparison.inference.verdict in CHANGED:
            listed.append((WHOLE, group_comparison.inference))
        rows += [
            (abs(compared.change_ns), _change_row(group_comparison, label, compared))
            for label, compared in listed
        ]
    rows.sort(key=lambda each: -each[0])
    change_rows = [row for _, row in rows[:_MOST_CHANGES]]
    return section(
        "changes",
        "Changes in the last build",
        f'<p class="answer">{text(_answer(groups))}</p>',
        table("Proven changes, largest first", _TITLES, change_rows, left=5, sortable=False),
        rest_note(len(rows) - len(change_rows), "more row"),
        paragraph(
            "The last build of each model on each device against the one before. A profile is a "
            "session. A change is proven if it is above 5 % and the test over sessions is "
            "significant, with 5 % false discoveries over all rows.",
            "note",
        ),
        *said,
    )


def _clock_notes(groups: Sequence[GroupComparison]) -> list[str]:
    """Notes on groups whose times are only assumed."""
    group_comparisons = [group_comparison for group_comparison in groups if group_comparison.note]
    if not group_comparisons:
        return []
    more = f" and {len(group_comparisons) - 1} more" if len(group_comparisons) > 1 else ""
    return [f"{group_comparisons[0].group.label}{more}: {group_comparisons[0].note}"]


def _answer(groups: Sequence[GroupComparison]) -> str:
    """How many models changed, each counted once for each of its devices."""
    changed = sum(bool(group_comparison.largest_ns) for group_comparison in groups)
    of = counted(len(groups), _noun(groups))
    return f"{changed} of {of} changed." if changed else f"No change is proven in {of}."


def _noun(groups: Sequence[GroupComparison]) -> str:
    has_devices = any(dict(group_comparison.group.values)["device"] for group_comparison in groups)
    return "model-device pair" if has_devices else "model"


def _change_row(group_comparison: GroupComparison, label: str, compared: Compared) -> Row:
    values = dict(group_comparison.group.values)
    return Row(
        [
            *change_cells(compared),
            Cell(WORDS[compared.verdict]),
            Cell(values["model"] or NOT_KNOWN),
            Cell(values["device"] or NOT_KNOWN),
            Cell(values["build"]),
            Cell(label),
        ],
        {"verdict": compared.verdict.value},
    )


def _trends(trends: Sequence[Trend]) -> str:
    parts: list[str] = []
    names: list[tuple[str, list[Trend]]] = [
        (" · ".join(part for part in (model or NOT_KNOWN, method) if part), list(method_trends))
        for (model, method), method_trends in groupby(
            trends, key=lambda trend: (trend.model, trend.method)
        )
    ]
    for number, (name, model_trends) in enumerate(names[:_MOST_MODELS]):
        content = chart(f"Median inference of {name} by build", model_trends, NOT_KNOWN) + _builds(
            name, model_trends
        )
        with_builds = sum(len(trend.points) > 1 for trend in model_trends)
        if with_builds > MOST_LINES:
            content += paragraph(f"The chart has the first {MOST_LINES} devices.", "note")
        parts.append(details(name, content, is_open=number < _OPEN_MODELS))
    parts.append(rest_note(len(names) - _MOST_MODELS, "more method"))
    if parts and names:
        parts.append(
            paragraph(
                "Medians of the session medians, without inferences that warm up; lines from the "
                "fastest to the slowest session. Builds in the order of their names.",
                "note",
            )
        )
    return section("trends", "Trends", *parts)


def _builds(name: str, trends: Sequence[Trend]) -> str:
    """The table of a model: a row for each device, a column for each of the last builds."""
    every = {point.build for trend in trends for point in trend.points}
    builds = sorted(every, key=natural)[-_MOST_BUILDS:]
    rows = []
    for trend in trends:
        of_build = {point.build: point for point in trend.points}
        cells = [
            Cell(format_time(round(of_build[b].ns)), of_build[b].ns) if b in of_build else Cell("")
            for b in builds
        ]
        sessions = sum(len(point.sessions) for point in trend.points)
        rows.append(
            Row([*cells, Cell(group_digits(sessions), sessions), Cell(trend.device or NOT_KNOWN)])
        )
    titles = [f"Build {build}" if build.isdecimal() else build or NOT_KNOWN for build in builds]
    titles += ["Sessions", "Device"]
    return table(f"Median inference of {name}", titles, rows, left=1, sortable=False)


def _noise(noise: Sequence[DeviceNoise]) -> str:
    rows = [
        Row(
            [
                Cell(f"{100 * expm1(device.deviation):.1f} %", device.deviation),
                Cell(group_digits(device.sessions), device.sessions),
                Cell(device.device or NOT_KNOWN),
            ]
        )
        for device in sorted(noise, key=lambda device: -device.deviation)
    ]
    return section(
        "noise",
        "Noise of devices",
        table(
            "How much the median inference varies between sessions of one build",
            ("Standard deviation", "Sessions", "Device"),
            rows,
            left=1,
            sortable=False,
        ),
        paragraph("Only profiles with a known model and build." if rows else "", "note"),
    )


def _problems(contents: _Contents) -> str:
    problems = contents.problems[:_MOST_PROBLEMS]
    rows = [
        Row([Cell(group_digits(count), count), Cell(group_digits(profiles), profiles), Cell(kind),
             Cell(os.path.basename(file or ""))])
        for kind, count, profiles, file in problems
    ]  # fmt: skip
    reasons = Counter(  # without paths, so that equal ones are counted together
        reason.removeprefix(source).removeprefix(": ") for source, reason in contents.failures
    )
    failures = [
        Row([Cell(group_digits(count), count), Cell(reason)])
        for reason, count in reasons.most_common(_MOST_FAILURES)
    ]
    return section(
        "problems",
        "Problems",
        *(paragraph(f"{sentence}.") for sentence in contents.losses),
        table("Files that failed", ("Files", "Why"), failures, left=1, sortable=False),
        rest_note(len(reasons) - _MOST_FAILURES, "more reason"),
        table(
            "Unexpected data in profiles and ETRecords",
            ("Count", "Profiles", "What", "Such as"),
            rows,
            left=2,
            sortable=False,
        ),
        rest_note(len(contents.problems) - len(problems), "more kind"),
    )

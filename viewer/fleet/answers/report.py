"""The report of a lake as one HTML page: changes, trends, noise and problems.

It needs nothing else, and has no script. Names in it are escaped, as in the report of profiles.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from math import expm1
from typing import TYPE_CHECKING

from viewer.analysis.comparison.comparison import Compared
from viewer.analysis.comparison.steps import CHANGED
from viewer.codecs.atomic_file import replacing
from viewer.fleet.answers.arms import lake_profiles
from viewer.fleet.answers.comparison import GroupComparison, compare_groups, of_one_program
from viewer.fleet.answers.paired_rows import NOT_KNOWN
from viewer.fleet.answers.trends import (
    MOST_LINES,
    DeviceNoise,
    Trend,
    chart,
    device_noise,
    last_builds,
    trends_of,
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
from viewer.html_report.sections.comparison import change_cells
from viewer.model.text import natural
from viewer.model.times import counted, format_time, group_digits
from viewer.reports.compare_text import WORDS
from viewer.resources import resource

if TYPE_CHECKING:
    import duckdb

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
    titles = [*(_build_text(build) for build in builds), "Sessions", "Device"]
    return table(f"Median inference of {name}", titles, rows, left=1, sortable=False)


def _build_text(build: str) -> str:
    return f"Build {build}" if build.isdecimal() else build or NOT_KNOWN


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
    reasons = Counter(_without_path(reason, source) for source, reason in contents.failures)
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


def _without_path(reason: str, source: str) -> str:
    """A reason without the path of its file, so that equal ones are counted together."""
    return reason.removeprefix(source).removeprefix(": ")

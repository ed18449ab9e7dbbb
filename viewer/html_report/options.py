"""What a report contains, and the limits that keep it small."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from viewer.analysis.comparison.comparison import Comparison
from viewer.model.trace import Trace
from viewer.query.engine import Result
from viewer.view.derived_tracks import ChartKind
from viewer.workspace.workspace import Workspace

MOST_BYTES = 5_000_000
PAGE_SUFFIXES = ".html", ".htm"


@dataclass(frozen=True, slots=True)
class ComparedReport:
    """The comparison in a report.

    comparison: its result. other: the open files of arm B, if they are not among those of the
    report. problems: what the reader should know about the comparison.
    """

    comparison: Comparison
    other: Workspace | None = None
    problems: Sequence[str] = ()


@dataclass(frozen=True, slots=True, eq=False)
class QueryRows:
    """The rows of a query that a session keeps.

    result: None if there are none; `complaint` says why. trace: its slices and counters if it is
    drawn as tracks, in ns of the axis of a clock, which is `span_ns` long. chart: how it is drawn
    if not as tracks.
    """

    name: str
    sql: str
    result: Result | None = None
    complaint: str = ""
    trace: Trace | None = None
    span_ns: int = 1
    chart: ChartKind | None = None

    @property
    def title(self) -> str:
        """What it is."""
        return f"Derived by query {self.name}" if self.chart is None else f"Chart {self.name}"


@dataclass(frozen=True, slots=True)
class ReportOptions:
    """What a report contains.

    title: by default the name of the model or file. source: whether the text of the model's source
    is included. compared: a comparison, if there is one. queries: that are drawn.
    """

    title: str = ""
    source: bool = True
    compared: ComparedReport | None = None
    queries: Sequence[QueryRows] = ()


@dataclass(frozen=True, slots=True)
class Limits:
    """How much of everything a report shows.

    profiles: that are shown in detail. slices: that are exact. groups: of the other slices.
    bands: rows of each timeline. svg_boxes: of each static picture. rows: of each table.
    source_lines: of all files together. letters: of each name.
    """

    profiles: int = 4
    slices: int = 40_000
    groups: int = 24_000
    bands: int = 2000
    svg_boxes: int = 1500
    rows: int = 150
    source_lines: int = 400
    letters: int = 300

    def halved(self) -> Limits:
        """Return half of it, at least 1 of everything."""
        names = self.__slots__
        return Limits(**{name: max(getattr(self, name) // 2, 1) for name in names})

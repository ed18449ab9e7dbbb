"""The tracks and charts that queries derive: adding and removing them, and their rows.

The queries are a part of the view (`ViewState.derived`), so that undo and sessions have them. They
run again when other files are open.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from PySide6.QtCore import Signal, Slot

from viewer.dataclasses import dataclass, replace
from viewer.gui.qt.background import Latest
from viewer.gui.session.session import OfSession, Session
from viewer.model.inference_views import Inferences
from viewer.model.times import counted, format_time
from viewer.model.trace import Trace
from viewer.render.frame import CounterRaster
from viewer.render.palette import Palette, by_name
from viewer.render.raster import RowRaster
from viewer.view.clock_groups import table_zeros
from viewer.view.derived_tracks import (
    MOST_QUERIES,
    ChartKind,
    DerivedTrack,
    QueryChart,
    derived_trace,
)
from viewer.view.state import LONGEST_NAME, SliceRef
from viewer.workspace.workspace import Workspace

if TYPE_CHECKING:
    from viewer.query.engine import Result


@dataclass(frozen=True, eq=False)
class DrawnTracks:
    """The tracks of a query, ready to be drawn; `trace` is None if `complaint` says why."""

    derived: DerivedTrack
    result: Result | None = None
    trace: Trace | None = None
    complaint: str = ""

    @cached_property
    def palette(self) -> Palette:
        """The color of each slice, by its name."""
        assert self.trace is not None
        return by_name(self.trace.strings)[self.trace.slices.name]

    @cached_property
    def raster(self) -> RowRaster:
        """Its slices."""
        assert self.trace is not None
        return RowRaster.of(self.trace.slices, self.palette)

    @cached_property
    def counters(self) -> tuple[CounterRaster, ...]:
        """Its counters."""
        return () if self.trace is None else tuple(map(CounterRaster.of, self.trace.counters))

    @property
    def text(self) -> str:
        """How much it has, or why it has nothing."""
        if self.trace is None:
            return self.complaint
        if self.trace.counters:
            return counted(len(self.trace.counters), "counter")
        return counted(len(self.trace.slices), "slice")

    def facts(self, slice_index: int) -> list[str]:
        """Return the columns of the row of a slice, as lines."""
        if self.trace is None or self.result is None:
            return []
        row = self.result.rows[int(self.trace.slices.source_row[slice_index])]
        values = zip(self.result.columns, row, strict=True)
        return [
            f"{name}: {format_time(value)}"
            if name.endswith("_ns") and isinstance(value, int)
            else f"{name}: {value}"
            for name, value in values
        ]

    def slice_id(self, slice_index: int) -> int | None:
        """Return the `id` that the row of a slice has, or None."""
        if self.trace is None or self.result is None or "id" not in self.result.columns:
            return None
        row = self.result.rows[int(self.trace.slices.source_row[slice_index])]
        value = row[self.result.columns.index("id")]
        return value if isinstance(value, int) else None


def drawn_tracks(derived: DerivedTrack, result: Result, zeros: Mapping[str, int]) -> DrawnTracks:
    """Return the rows of a query as tracks. zeros: of the axes of clock groups."""
    zero = zeros.get(derived.clock, 0)
    try:
        trace = derived_trace(derived, result.columns, result.rows, zero)
    except ValueError as error:
        return DrawnTracks(derived, complaint=str(error))
    return DrawnTracks(derived, result, trace)


@dataclass(eq=False)
class _Stop:
    """What interrupts the query that runs."""

    is_stopped: bool = False
    interrupt: Callable[[], None] | None = None

    def started(self, interrupt: Callable[[], None]) -> None:
        self.interrupt = interrupt
        if self.is_stopped:
            interrupt()

    def stop(self) -> None:
        self.is_stopped = True
        if self.interrupt is not None:
            self.interrupt()


def run_queries(
    space: Workspace, wanted: Sequence[DerivedTrack], zeros: Mapping[str, int], stop: _Stop
) -> dict[DerivedTrack, DrawnTracks]:
    """Run queries, and return their tracks; a wrong one has a complaint."""
    # Late, as the window starts without them.
    from viewer.api.profile import Profile
    from viewer.api.session_queries import results_of

    texts = [derived.sql for derived in wanted]
    results = results_of(
        Profile(space), texts, started=stop.started, cancelled=lambda: stop.is_stopped
    )
    drawn = {}
    for derived in wanted:
        result = results.get(derived.sql)
        if isinstance(result, str):
            drawn[derived] = DrawnTracks(derived, complaint=result)
        elif result is not None:
            drawn[derived] = tracks = drawn_tracks(derived, result, zeros)
            if tracks.trace is not None:
                _ = tracks.raster, tracks.counters
    return drawn


class DerivedTracks(OfSession):
    """The tracks of the session's queries; `changed` when there are others."""

    changed = Signal()

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._session = session
        self._drawn: dict[DerivedTrack, DrawnTracks] = {}
        self._of_charts: dict[str, Result] = {}  # by the text of the query
        self._stop = _Stop()
        self._read_from: tuple[object, ...] = ()
        self._latest = Latest(self, self._take)
        self._latest.failed.connect(self._fail)
        session.workspace_changed.connect(self._reopen)
        session.derived_changed.connect(self._follow)
        self._follow()

    def on(self, clock: str) -> list[DrawnTracks]:
        """Return the tracks on a clock group, in order of adding; none while they are computed."""
        state = self._session.state
        if state.inferences is not Inferences.AS_RUN:
            return []
        here = (derived for derived in state.derived if derived.clock == clock)
        return [self._drawn[derived] for derived in here if derived in self._drawn]

    @property
    def pending(self) -> bool:
        """Whether queries run."""
        return self._latest.pending

    @property
    def count(self) -> int:
        """How many queries are drawn."""
        return sum(derived in self._drawn for derived in self._session.state.derived)

    def offer(self, derived: DerivedTrack, result: Result) -> DrawnTracks:
        """Take the rows of a query that ran already, so that it does not run again."""
        self._read_from = self._source
        self._drawn[derived] = drawn = drawn_tracks(derived, result, self._zeros)
        return drawn

    def offer_chart(self, sql: str, result: Result) -> None:
        """Take the rows of a chart, so that they need not be queried for a report."""
        self._of_charts[sql] = result

    @property
    def results(self) -> dict[str, Result]:
        """The rows of the tracks and charts that are known, by the text of the query."""
        state = self._session.state
        tracks = {d.sql: drawn.result for d, drawn in self._drawn.items() if d in state.derived}
        wanted = {chart.sql for chart in state.charts}
        charts = {sql: result for sql, result in self._of_charts.items() if sql in wanted}
        return {**{sql: rows for sql, rows in tracks.items() if rows is not None}, **charts}

    @Slot()
    def _reopen(self) -> None:
        if self._read_from != self._source:
            self._drawn, self._of_charts = {}, {}
        self._follow()

    @property
    def _zeros(self) -> dict[str, int]:
        return table_zeros(self._session.traces)

    @property
    def _source(self) -> tuple[object, ...]:
        """What the rows depend on."""
        space = self._session.workspace
        return tuple(space.traces), tuple(space.programs), tuple(space.executables), space.choices

    @Slot()
    def _follow(self) -> None:
        state = self._session.state
        self._read_from = self._source
        self._stop.stop()
        self._latest.cancel()
        wanted = [derived for derived in state.derived if derived not in self._drawn]
        if wanted and self._session.traces:
            self._stop = _Stop()
            space = copy.copy(self._session.workspace)
            space.traces = list(space.traces)
            self._latest.submit(run_queries, space, wanted, self._zeros, self._stop)
        self.changed.emit()

    @Slot(object)
    def _take(self, drawn: dict[DerivedTrack, DrawnTracks]) -> None:
        self._drawn |= drawn
        self.changed.emit()

    @Slot(str)
    def _fail(self, sentence: str) -> None:
        """The error was reported already."""


def add(session: Session, derived: DerivedTrack) -> None:
    """Draw a query; it replaces one of the same name."""
    others = (track for track in session.state.derived if track.name != derived.name)
    session.change(replace(session.state, derived=(*others, derived)))


def remove(session: Session, derived: DerivedTrack) -> None:
    """Draw a query no longer."""
    others = tuple(track for track in session.state.derived if track != derived)
    session.change(replace(session.state, derived=others))


def keep_chart(session: Session, name: str, sql: str, kind: ChartKind) -> QueryChart:
    """Keep a chart; it replaces one of the same name. Without a name it gets the next number."""
    charts = session.state.charts
    chart = QueryChart(_named(name, "Chart", {each.name for each in charts}), sql, kind)
    others = (each for each in charts if each.name != chart.name)
    session.change(replace(session.state, charts=(*others, chart)[-MOST_QUERIES:]))
    return chart


def drop_chart(session: Session, chart: QueryChart) -> None:
    """Keep a chart no longer."""
    charts = tuple(each for each in session.state.charts if each != chart)
    session.change(replace(session.state, charts=charts))


def _named(name: str, kind: str, used: set[str]) -> str:
    """Return a name on one line; without one that with the next number."""
    numbers = (f"{kind} {n}" for n in range(1, len(used) + 2))
    return " ".join(name.split())[:LONGEST_NAME] or next(n for n in numbers if n not in used)


def named(session: Session, name: str, sql: str, files: set[str]) -> DerivedTrack:
    """Return a query as a track on the clock of the files in its rows, else on the active one.

    Without a name it gets the next number.
    """
    title = _named(name, "Query", {track.name for track in session.state.derived})
    clocks = {
        session.groups.of(number).key
        for number, open_trace in enumerate(session.traces)
        if open_trace.file.path in files
    }
    clock = next(iter(clocks)) if len(clocks) == 1 else session.group.key
    return DerivedTrack(title, sql, clock)


def slice_of(session: Session, number: int) -> SliceRef | None:
    """Return the slice of an `id`: they are numbered over all files."""
    for trace in range(len(session.traces)):
        count = len(session.as_run(trace).trace.slices)
        if 0 <= number < count:
            return SliceRef(trace, number)
        number -= count
    return None

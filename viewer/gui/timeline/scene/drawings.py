"""The rasters of all open traces in the current colors, which the strips of all clocks share.

A trace is drawn in one strip only, but colors, highlighted operators, selected slices and search
hits are computed for all of them at once.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from PySide6.QtCore import QObject, Signal

from viewer.arrays import Bools, Ints
from viewer.gui.session.clocks import shared_clocks
from viewer.gui.session.feeds.search import Search
from viewer.gui.session.session import Session
from viewer.gui.timeline.scene.compared_marks import ComparedMarks
from viewer.gui.timeline.scene.compared_slices import ComparedSlices
from viewer.gui.timeline.scene.highlighting import Highlighting
from viewer.gui.timeline.scene.job_plans import JobPlans
from viewer.gui.timeline.scene.recoloring import Recoloring
from viewer.gui.timeline.scene.search_hits import HitRasters
from viewer.gui.timeline.scene.selected_slices import SelectedRasters
from viewer.gui.timeline.scene.trace_rasters import TraceRasters, prepare, rasters_again
from viewer.render.frames.frame import RasterSource
from viewer.render.palette import Emphasis


class Drawings(QObject):
    """The rasters of the open traces, by their number; `changed` makes all strips repaint."""

    changed = Signal()
    reopening = Signal()  # other traces are open: every scene gets its layout, and says nothing yet
    reopened = Signal()  # every scene has its layout; comes before any `changed`
    recolored = Signal()  # `rasters` were replaced; `changed` follows

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self.session = session
        self.search = Search.of(session)
        self.rasters: list[TraceRasters] = []
        self.shared_clocks: list[str] = []  # note per trace on the file whose clock it shares
        self.plans = JobPlans(session)
        self._recoloring = Recoloring(self)
        self._recoloring.recolored.connect(self._take_colors)
        self.selected_rasters = SelectedRasters(session)
        self.selected_rasters.changed.connect(self.changed)
        self._hit_rasters = HitRasters(session)
        self._hit_rasters.changed.connect(self.changed)
        self._highlighting = Highlighting(session)
        self._highlighting.changed.connect(self.changed)
        self._compared = ComparedSlices(session)
        self._compared.changed.connect(self.changed)
        self.compared_marks = ComparedMarks(session)
        self.compared_marks.changed.connect(self.changed)
        session.query_changed.connect(self.changed)
        session.also.append(prepare)
        session.workspace_changed.connect(self._reopen)
        session.coloring_changed.connect(self._recolor)

    def sources(self, *, dark: bool) -> Sequence[RasterSource]:
        """The rasters and colors for a frame, dimmed while something is found or highlighted."""
        compared, marks = self._compared.of, self.compared_marks.found.of
        dimmed = bool(compared) or self.session.state.operators is not None or self.has_lit_class
        emphasis = self.behind if dimmed else Emphasis.FULL
        if self.search.dims and self.search.shows_only_hits:
            emphasis = Emphasis.HIDDEN
        elif self.search.dims:
            emphasis = Emphasis.UNMATCHED
        if self.search.dims:
            compared = {}
        return [
            drawn.source(
                dark=dark,
                emphasis=emphasis,
                above=compared[number].raster if number in compared else None,
                marks=marks[number].rasters if number in marks else (),
            )
            for number, drawn in enumerate(self.rasters)
        ]

    @property
    def behind(self) -> Emphasis:
        """How slices that do not stand out are drawn: faintest if they are found or unchanged."""
        faintest = self.search.dims or self._compared.of
        return Emphasis.UNMATCHED if faintest else Emphasis.DIMMED

    def _reopen(self) -> None:
        before = {id(p.shown.trace): p for p in self.rasters}
        # Coloring by a scheme other than the prepared one may take a thread.
        self.rasters = [
            rasters_again(shown, before.get(id(shown.trace))) for shown in self.session.traces
        ]
        self.shared_clocks = shared_clocks(self.session)
        self.plans.show()
        # Before any other signal: receivers immediately look up the slice under the mouse, which
        # takes both rasters and layout. A strip may resize others, so all layouts come first.
        self.reopening.emit()
        self.reopened.emit()
        self._recolor()
        self._highlighting.show(self.rasters)
        self._hit_rasters.show(self.rasters)
        self._compared.show(self.rasters)

    def _recolor(self) -> None:
        self._recoloring.ask(self.rasters, self.session.state.scheme, self.session.state.lit)

    def _take_colors(self, all_rasters: list[TraceRasters]) -> None:
        self.rasters = all_rasters
        self._highlighting.show(self.rasters)
        self._hit_rasters.show(self.rasters)
        self._compared.show(self.rasters)
        self.recolored.emit()

    @property
    def is_highlighting(self) -> bool:
        """Whether highlighted slices are still being computed, with all slices dimmed."""
        tasks = self._highlighting, self._compared, self.compared_marks
        return any(task.pending for task in tasks)

    @property
    def has_lit_class(self) -> bool:
        """Whether one class of the color scheme is highlighted."""
        return any(drawn.lit_slices is not None for drawn in self.rasters)

    def stand_out(self, trace: int, which: Ints) -> Bools:
        """Whether each of the given slices is drawn in full color."""
        if self.search.dims:
            return self.search.are_hits(trace, which)
        if trace in self._compared.of:
            is_out = self._compared.of[trace].is_out[which]
            return is_out
        drawn, related = self.rasters[trace], self.related(trace)
        if related is not None:
            return related[drawn.shown.trace.slices.key[which]]
        if self.session.state.operators is None and self.has_lit_class:
            return drawn.are_lit(which)
        return np.full(len(which), self.session.state.operators is None)

    def related(self, trace: int) -> Bools | None:
        """Per key, whether its slices belong to the highlighted operators; None without any."""
        highlighted = self.session.state.operators
        if highlighted is None or highlighted[0] != trace:
            return None
        return self.rasters[trace].shown.table.keys_of(highlighted[1])

"""Which slices stand out while two arms are compared: what changed, or the selected pair.

Everything else is dimmed. With nothing selected, these are the slices of the rows that are proven
to have changed, and those that only one arm has; if nothing changed, nothing is dimmed. A selected
slice makes those of its row stand out in both arms. Only traces whose strips are shown count.

Up to 20,000 slices, they are found immediately; above that, in a thread. Until then, what stood out
before does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtCore import QObject, Signal, Slot

from viewer.arrays import Bools, Ints
from viewer.gui.qt.background import Latest
from viewer.gui.session.feeds.comparison import ComparisonFeed
from viewer.gui.session.session import Session
from viewer.gui.session.tracks import shown_clocks
from viewer.gui.timeline.scene.trace_rasters import TraceRasters
from viewer.model.inferences.inference_views import Inferences
from viewer.render.palette import Palette
from viewer.render.raster import RowRaster
from viewer.view.open_trace import AT_ONCE, OpenTrace

if TYPE_CHECKING:
    from viewer.view.compared.open_comparison import OpenComparison


@dataclass(frozen=True, eq=False, slots=True)
class StandingOut:
    """The slices of one trace that stand out: per slice whether it does, and their raster."""

    is_out: Bools
    raster: RowRaster


class ComparedSlices(QObject):
    """Follows the comparison and the selection; `of` has an entry for each trace that is shown."""

    changed = Signal()

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._session = session
        self._feed = ComparisonFeed.of(session)
        self._all_rasters: Sequence[TraceRasters] = ()
        self.of: dict[int, StandingOut] = {}
        self._asked: object = None
        self._latest = Latest(self)
        self._latest.answered.connect(self._take)
        for signal in (self._feed.changed, session.selection_changed, session.strips_changed):
            signal.connect(self._follow)

    def show(self, all_rasters: Sequence[TraceRasters]) -> None:
        """Use the palettes of these rasters from now on."""
        self._all_rasters = all_rasters
        self._follow()

    @Slot()
    def _follow(self) -> None:
        open_comparison, rows = self._feed.in_tables, self._rows()
        traces = self._traces() if open_comparison is not None and rows else []
        if open_comparison is None or not traces:
            self._asked = None
            self._latest.cancel()
            self._take({})
            return
        question = (
            open_comparison,
            rows,
            tuple((number, id(palette)) for number, _, palette in traces),
        )
        if question == self._asked:
            return
        self._asked = question
        size = sum(len(open_trace.trace.slices) for _, open_trace, _ in traces)
        self._latest.ask(size <= AT_ONCE, standing_out, open_comparison, rows, traces)

    def _rows(self) -> tuple[int, ...]:
        """The rows that stand out; () if nothing is dimmed."""
        session, open_comparison = self._session, self._feed.in_tables
        if open_comparison is None or session.state.inferences is not Inferences.AS_RUN:
            return ()
        if session.state.slice is not None:
            from viewer.gui.session.comparison import row_of_selection

            row = row_of_selection(session, open_comparison)
            return () if row < 0 else (row,)
        if session.state.operators is not None:
            return ()
        from viewer.view.compared.changed_pairs import changed_rows, rows_of_one_arm

        changed = changed_rows(open_comparison)
        return (*changed, *rows_of_one_arm(open_comparison)) if changed else ()

    def _traces(self) -> list[tuple[int, OpenTrace, Palette]]:
        """The traces that have strips, with their palettes."""
        session = self._session
        keys = set(shown_clocks(session))
        return [
            (number, drawn.open_trace, drawn.palette)
            for number, drawn in enumerate(self._all_rasters)
            if number < len(session.traces) and session.groups.of(number).key in keys
        ]

    @Slot(object)
    def _take(self, of: dict[int, StandingOut]) -> None:
        if of or self.of:
            self.of = of
            self.changed.emit()


def standing_out(
    open_comparison: OpenComparison,
    rows: tuple[int, ...],
    traces: Sequence[tuple[int, OpenTrace, Palette]],
) -> dict[int, StandingOut]:
    """Return the slices of some rows by the number of their trace; a pure function."""
    of: dict[int, StandingOut] = {}
    for number, trace, palette in traces:
        row_of_slice = open_comparison.rows_of_slices(trace.file.path)
        if row_of_slice is None or len(row_of_slice) != len(trace.trace.slices):
            continue
        is_out: Bools = np.isin(row_of_slice, np.array(rows))
        indices: Ints = np.flatnonzero(is_out)
        of[number] = StandingOut(is_out, RowRaster.subset(trace.trace.slices, palette, indices))
    return of

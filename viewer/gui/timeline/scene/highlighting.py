"""Rasters of the highlighted operators' slices, which are drawn in full color.

For up to 20,000 slices, they are built immediately. Above that it happens in a thread and takes 0.5
s for ten million slices. Meanwhile all slices are dimmed, because the previous raster is wrong.
"""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QObject, Signal, Slot

from viewer.gui.qt.background import Latest
from viewer.gui.session.session import Session
from viewer.gui.timeline.scene.trace_rasters import TraceRasters
from viewer.render.palette import Palette
from viewer.render.raster import RowRaster
from viewer.view.open_trace import AT_ONCE, OpenTrace


class Highlighting(QObject):
    """Updates the raster of highlighted slices when the selection or the colors change."""

    changed = Signal()

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._session = session
        self._all_rasters: Sequence[TraceRasters] = ()
        # Input of the current or pending raster: a trace, its palette, and operators of its
        # program.
        self._asked: tuple[OpenTrace, Palette, tuple[int, ...]] | None = None
        self._raster: RowRaster | None = None
        self._latest = Latest(self)
        self._latest.answered.connect(self._take)
        session.selection_changed.connect(self._follow)

    def show(self, all_rasters: Sequence[TraceRasters]) -> None:
        """Use these rasters from now on."""
        self._all_rasters = all_rasters
        self._follow()

    @property
    def pending(self) -> bool:
        """Whether the highlighted slices are still being computed."""
        return self._latest.pending

    @Slot()
    def _follow(self) -> None:
        selection, inputs = self._session.state.operators, None
        if selection is not None:
            drawn = self._all_rasters[selection[0]]
            inputs = drawn.shown, drawn.palette, selection[1]
            if self._is_asked(*inputs):
                self._draw(self._raster)
                return
        self._latest.cancel()
        self._asked = inputs
        self._draw(None)
        if inputs is None:
            return
        self._latest.ask(len(inputs[0].trace.slices) <= AT_ONCE, highlighted, *inputs)

    def _is_asked(self, shown: OpenTrace, palette: Palette, operators: tuple[int, ...]) -> bool:
        inputs = self._asked
        if inputs is None:
            return False
        return inputs[0] is shown and inputs[1] is palette and inputs[2] == operators

    @Slot(object)
    def _take(self, raster: RowRaster) -> None:
        self._draw(raster)

    def _draw(self, raster: RowRaster | None) -> None:
        self._raster = raster
        of = None if self._asked is None else self._asked[0]
        for drawn in self._all_rasters:
            drawn.hits = raster if drawn.shown is of else None
        self.changed.emit()


def highlighted(shown: OpenTrace, palette: Palette, operators: tuple[int, ...]) -> RowRaster:
    """The raster of the slices of some operators, in the colors of a palette; a pure function."""
    return RowRaster.subset(shown.trace.slices, palette, shown.slices_of(operators))

"""The slices of the highlighted operators, as rasters of their own that are drawn in full color.

Up to 20,000 slices they are made at once. Above that it takes a thread, half a second for ten
million slices; all slices are dimmed meanwhile, as those of the operators before would be wrong.
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
    """Keeps the highlighted slices of every picture in step with the selection and the colors."""

    changed = Signal()

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._session = session
        self._all_rasters: Sequence[TraceRasters] = ()
        # What the raster is of, or will be: a trace, its colors and operators of its program.
        self._asked: tuple[OpenTrace, Palette, tuple[int, ...]] | None = None
        self._raster: RowRaster | None = None
        self._latest = Latest(self)
        self._latest.answered.connect(self._take)
        session.selection_changed.connect(self._follow)

    def show(self, all_rasters: Sequence[TraceRasters]) -> None:
        """Highlight slices of these pictures from now on."""
        self._all_rasters = all_rasters
        self._follow()

    @property
    def pending(self) -> bool:
        """Whether the highlighted slices are on their way."""
        return self._latest.pending

    @Slot()
    def _follow(self) -> None:
        wanted, asked = self._session.state.operators, None
        if wanted is not None:
            drawn = self._all_rasters[wanted[0]]
            asked = drawn.shown, drawn.palette, wanted[1]
            if self._is_asked(*asked):
                self._draw(self._raster)
                return
        self._latest.cancel()
        self._asked = asked
        self._draw(None)
        if asked is None:
            return
        self._latest.ask(len(asked[0].trace.slices) <= AT_ONCE, highlighted, *asked)

    def _is_asked(self, shown: OpenTrace, palette: Palette, operators: tuple[int, ...]) -> bool:
        asked = self._asked
        if asked is None:
            return False
        return asked[0] is shown and asked[1] is palette and asked[2] == operators

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
    """The raster of the slices of some operators in the colors of a palette; pure."""
    return RowRaster.subset(shown.trace.slices, palette, shown.slices_of(operators))

"""Several selected slices as the canvas draws them: a raster of their own per trace.

It is made once per selection, of many slices off the GUI thread; a frame then asks it for pixels,
so a million selected slices cost as much as ten.
"""

from __future__ import annotations

import numpy as np
from PySide6.QtCore import QObject, Signal, Slot

from viewer.gui.qt.background import Latest
from viewer.gui.session.session import Session
from viewer.model.trace import Slices
from viewer.render.raster import RowRaster
from viewer.view.open_trace import AT_ONCE
from viewer.view.state import SliceSet


class SelectedRasters(QObject):
    """The rasters of several selected slices; `changed` when they are others."""

    changed = Signal()

    def __init__(self, session: Session) -> None:
        # A child of the session: below the scene, collecting both would end the process.
        super().__init__(session)
        self._session = session
        self.rasters: dict[int, RowRaster] = {}  # by trace
        self._latest = Latest(self)
        self._latest.answered.connect(self._take)
        session.selection_changed.connect(self._follow)
        session.workspace_changed.connect(self._follow)

    @Slot()
    def _follow(self) -> None:
        state = self._session.state
        if not state.others:
            self._latest.cancel()
            self._take({})
            return
        traces, selected = self._session.traces, state.slices
        of = {number: traces[number].trace.slices for number in selected.of}
        small = len(selected) <= AT_ONCE
        if not small:
            self._take({})  # until theirs are there the old rings would be wrong
        self._latest.ask(small, _rasters, of, selected)

    @Slot(object)
    def _take(self, rasters: dict[int, RowRaster]) -> None:
        self.rasters = rasters
        self.changed.emit()


def _rasters(of: dict[int, Slices], selected: SliceSet) -> dict[int, RowRaster]:
    made = {}
    for trace, numbers in selected.of.items():
        # One color for all: what is asked of the raster is where there is a slice, no more.
        color = np.ones(len(of[trace]), np.uint8)
        made[trace] = RowRaster.subset(of[trace], color, numbers.astype(np.int64))
    return made

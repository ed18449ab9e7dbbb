"""Rasters of several selected slices, one per trace, for drawing them on the canvas.

A raster is built once per selection, off the GUI thread if it has many slices. Frames only read
pixels from it, so a million selected slices cost no more than ten.
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
    """Rasters of the selected slices if there are several; emits `changed` on updates."""

    changed = Signal()

    def __init__(self, session: Session) -> None:
        # A child of the session: as a child of the scene, collecting both together crashes the
        # process.
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
            self._take({})  # the old rings would be wrong until the new ones are ready
        self._latest.ask(small, _rasters, of, selected)

    @Slot(object)
    def _take(self, rasters: dict[int, RowRaster]) -> None:
        self.rasters = rasters
        self.changed.emit()


def _rasters(of: dict[int, Slices], selected: SliceSet) -> dict[int, RowRaster]:
    rasters = {}
    for trace, numbers in selected.of.items():
        # One color for all, because only the positions of slices are read from this raster.
        color = np.ones(len(of[trace]), np.uint8)
        rasters[trace] = RowRaster.subset(of[trace], color, numbers.astype(np.int64))
    return rasters

"""Recolors the open traces when the scheme or the highlighted class changes.

Up to 20,000 slices, this is immediate. Above that it happens in a thread and takes 1 s for ten
million slices; the old colors stay until the new ones are ready, and a newer request replaces an
older one. Palettes are cached by scheme and do not depend on the theme, so switching the theme
needs none of this.
"""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QObject, Signal, Slot

from viewer.gui.qt.background import Latest
from viewer.gui.timeline.scene.trace_rasters import ClassName, TraceRasters, rasters_of
from viewer.view.open_trace import AT_ONCE
from viewer.view.slice_colors import ramp_of, scheme_key


class Recoloring(QObject):
    """Emits `recolored` with the rasters of all open traces, colored by the requested scheme."""

    recolored = Signal(object)

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self._latest = Latest(self)
        self._latest.answered.connect(self._take)
        self._asked: object = None  # identifies the latest request

    def ask(
        self, all_rasters: Sequence[TraceRasters], scheme: str, lit: ClassName | None = None
    ) -> None:
        """Color by a scheme; `recolored` follows if anything changes, at once for few slices."""
        arguments = tuple(all_rasters), scheme, lit
        request = tuple(id(drawn.shown) for drawn in all_rasters), scheme, lit
        if self._latest.pending and request == self._asked:
            return
        self._asked = request
        lengths = ramp_of([drawn.shown for drawn in all_rasters])
        if all(
            p.lit == lit and scheme_key(p.shown, scheme, lengths) == p.scheme for p in all_rasters
        ):
            self._latest.cancel()
            return
        small = sum(len(p.shown.trace.slices) for p in all_rasters) <= AT_ONCE
        self._latest.ask(small, colored, *arguments)

    @property
    def pending(self) -> bool:
        """Whether new rasters are still being computed."""
        return self._latest.pending

    @Slot(object)
    def _take(self, all_rasters: list[TraceRasters]) -> None:
        self.recolored.emit(all_rasters)


def colored(
    all_rasters: Sequence[TraceRasters], scheme: str, lit: ClassName | None
) -> list[TraceRasters]:
    """The rasters under a scheme, with one class highlighted; a pure function."""
    lengths = ramp_of([drawn.shown for drawn in all_rasters])
    return [rasters_of(p.shown, scheme, p, lengths=lengths, lit=lit) for p in all_rasters]

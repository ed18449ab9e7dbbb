"""Colors the open traces anew when the scheme or the lit class changes, off the GUI thread.

Up to 20,000 slices it is done at once. Above that it takes a thread, a second for ten million
slices, and the old picture stays until the new one is there; a later wish replaces an earlier one.
Palettes are kept by scheme, and colors by theme, so a theme is exchanged without any of this.
"""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QObject, Signal, Slot

from viewer.gui.qt.background import Latest
from viewer.gui.timeline.scene.trace_rasters import (
    ClassName,
    TraceRasters,
    ramp_of,
    rasters_of,
    scheme_key,
)
from viewer.view.open_trace import AT_ONCE


class Recoloring(QObject):
    """`made(pictures)` brings the pictures of all open traces under the scheme asked for last."""

    made = Signal(object)

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self._latest = Latest(self)
        self._latest.answered.connect(self._take)
        self._asked: object = None  # what the latest question is about

    def ask(
        self, all_rasters: Sequence[TraceRasters], scheme: str, lit: ClassName | None = None
    ) -> None:
        """Color by a scheme; `made` follows if anything changes, at once where that is little."""
        asked = tuple(all_rasters), scheme, lit
        about = tuple(id(drawn.shown) for drawn in all_rasters), scheme, lit
        if self._latest.pending and about == self._asked:
            return
        self._asked = about
        lengths = ramp_of([drawn.shown for drawn in all_rasters])
        if all(
            p.lit == lit and scheme_key(p.shown, scheme, lengths) == p.scheme for p in all_rasters
        ):
            self._latest.cancel()
            return
        small = sum(len(p.shown.trace.slices) for p in all_rasters) <= AT_ONCE
        self._latest.ask(small, colored, *asked)

    @property
    def pending(self) -> bool:
        """Whether other pictures are on their way."""
        return self._latest.pending

    @Slot(object)
    def _take(self, all_rasters: list[TraceRasters]) -> None:
        self.made.emit(all_rasters)


def colored(
    all_rasters: Sequence[TraceRasters], scheme: str, lit: ClassName | None
) -> list[TraceRasters]:
    """The pictures under a scheme, with one class of it in full color; pure."""
    lengths = ramp_of([drawn.shown for drawn in all_rasters])
    return [rasters_of(p.shown, scheme, p, lengths=lengths, lit=lit) for p in all_rasters]

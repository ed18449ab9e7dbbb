"""The band of inferences above the overview: one bar each, with its number."""

from __future__ import annotations

import numpy as np
from PySide6.QtCore import QRect, QRectF, Qt
from PySide6.QtGui import QBrush, QImage, QPainter

from viewer.gui.qt.theme.theme import Theme
from viewer.gui.session.inferences import run_trace_of
from viewer.gui.timeline.scene.scene import Scene
from viewer.model.inferences.inference_views import Inferences
from viewer.model.trace import Run, RunKind
from viewer.render.axis.xmap import XMap
from viewer.render.canvas import Canvas
from viewer.view.open_trace import OpenTrace

_TOP = 3  # px above and below the bars
_LEAST_ROUND = 8  # px; narrower inferences get no number and no round corners


class InferenceBand:
    """Paints the inferences of the current trace, and keeps the picture while nothing changes.

    Painting 450 inferences takes 3 ms, more than half of a frame.
    """

    def __init__(self, scene: Scene, theme: Theme) -> None:
        self._scene, self._theme = scene, theme
        self._open_trace: OpenTrace | None = None
        self._asked: tuple[object, ...] = ()
        self._picture = QImage()

    def forget(self) -> None:
        """Release the trace, which may be closed."""
        self._open_trace, self._asked = None, ()

    def paint(self, painter: QPainter, canvas: Canvas, xmap: XMap) -> None:
        """Paint the band at the top of a widget. xmap: of the whole axis to logical pixels."""
        session = self._scene.session
        trace = run_trace_of(session, self._scene.group.key)
        if session.state.inferences is not Inferences.AS_RUN:
            trace = None
        open_trace = None if trace is None else session.traces[trace]
        run = session.state.run
        picked = run[1] if run is not None and run[0] == trace else -1
        asked = canvas, self._theme.dark, xmap.t0, xmap.t1, picked
        if open_trace is not self._open_trace or asked != self._asked:
            self._open_trace, self._asked = open_trace, asked
            self._picture = self._painted(canvas, xmap, picked)
        painter.drawImage(0, 0, self._picture)

    def _painted(self, canvas: Canvas, xmap: XMap, picked: int) -> QImage:
        picture = QImage(canvas.columns, canvas.lines, QImage.Format.Format_RGB32)
        picture.setDevicePixelRatio(canvas.ratio)
        picture.fill(self._theme.color("panel"))
        if self._open_trace is None or not self._open_trace.trace.runs:
            return picture
        runs = self._open_trace.trace.runs
        spans = np.array([(run.start, run.end) for run in runs], np.int64)
        x0, x1 = xmap.on(self._open_trace.axis).pixel_of(spans.reshape(-1)).reshape(-1, 2).T
        wide = np.maximum(x1 - x0 - 1, 2)
        # Of inferences on the same pixels draw only one, since a file may have thousands. The
        # picked one is last.
        _, drawn = np.unique(np.column_stack([x0, wide]), axis=0, return_index=True)
        order = drawn.tolist()
        if picked >= 0:
            order = [*(number for number in order if number != picked), picked]
        painter = QPainter(picture)
        painter.setFont(self._theme.font("ruler"))
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        for number in order:
            room = QRect(int(x0[number]), _TOP, int(wide[number]), canvas.height - 2 * _TOP)
            self._run(painter, runs[number], room, number == picked)
        painter.end()
        return picture

    def _run(self, painter: QPainter, run: Run, room: QRect, is_picked: bool) -> None:
        theme, is_load = self._theme, run.kind is RunKind.LOAD
        fill = theme.color("accent_fill" if is_picked else "load" if is_load else "hover")
        if room.width() < _LEAST_ROUND:
            painter.fillRect(room, fill)
            return
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(fill)
        painter.drawRoundedRect(QRectF(room), 3, 3)
        if not run.finished:
            painter.setBrush(QBrush(theme.color("warning"), Qt.BrushStyle.BDiagPattern))
            painter.drawRoundedRect(QRectF(room), 3, 3)
        texts = ("load",) if is_load else (run.text, f"{run.unit.noun} {run.number}")
        metrics = painter.fontMetrics()
        fitting = (t for t in texts if metrics.horizontalAdvance(t) <= room.width() - 8)
        text = next(fitting, "" if is_load else str(run.number))
        if text and metrics.horizontalAdvance(text) <= room.width() - 4:
            painter.setPen(theme.color("on_accent" if is_picked else "text2"))
            painter.drawText(room, Qt.AlignmentFlag.AlignCenter, text)

"""Paints the plans of measured NSS jobs: their slices, what they do not cover, where they end.

A plan starts with its job and has the job's time scale. What it does not cover of the job is
hatched; what it exceeds the job by is tinted. The cost depends on pixels: jobs too narrow for more
are one bar in each column, stamped at once; only wide ones show slices and texts.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPen

from viewer.analysis.torq.measured_actions import TrackPlans
from viewer.arrays import Ints
from viewer.dataclasses import dataclass
from viewer.gui.qt.theme.style_sheet import mix
from viewer.gui.qt.theme.theme import Theme
from viewer.gui.qt.widgets.label_text import LabelCache
from viewer.gui.timeline.scene.drawings import (
    PlanRooms,
    job_of,
    narrow_rooms,
    ratio_of,
    wide_rooms,
    zero_of,
)
from viewer.gui.timeline.scene.scene import Scene
from viewer.gui.timeline.scene.texts import plans_of
from viewer.model.times import format_briefly, format_ratio
from viewer.render.frame import RasterSource, draw_rows
from viewer.render.layout import Canvas
from viewer.render.palette import Pixels
from viewer.render.stacking import PlanRoom, plan_room
from viewer.render.time_axis import XMap

WIDE = 6  # px; narrower jobs have a plain bar only
SLICES = 32  # px; narrower jobs are not worth the time that their slices take to draw
END = 1.5  # px, the line at the end of a plan
CLOSE = 0.1  # a ratio that differs less from 1 has no color of its own
_TEXT_GAP = 6  # px between the texts of two plans
_LEAST_TEXT = 24  # px
_HATCH, _HATCH_LINE = 6, 1  # px: distance and thickness of the hatching
_LANE_GAP = 1  # px, below lanes of at least 3 px
_OUTLINED, _EDGE = 5, 1  # px: in lanes of this height, slices have an edge
_LINE = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter | Qt.TextFlag.TextDontClip
_OPAQUE = 0xFF000000
# What a column of a row of plans shows.
_NOTHING, _BAR, _GROUND, _UNCOVERED, _EXCEEDING = range(5)


@dataclass(frozen=True, slots=True)
class _Drawn:
    """A row of plans in the current frame. here: the view in ticks of the trace."""

    plans: TrackPlans
    room: PlanRoom
    wide: PlanRooms
    here: XMap


class PlanPainter:
    """Paints the rows of plans of one scene."""

    def __init__(self, scene: Scene, theme: Theme) -> None:
        self._scene, self._theme = scene, theme
        self._drawn: dict[int, _Drawn] = {}  # by band
        self.retheme()

    def retheme(self) -> None:
        """Update fonts after the theme changed."""
        self._usual = LabelCache(self._theme.font("ruler"))
        self._bold = LabelCache(self._theme.font("section"))

    def start(self) -> None:
        """Start a frame."""
        self._drawn = {}

    # -- pixels ------------------------------------------------------------------------------

    def stamp(
        self,
        image: Pixels,
        bands: Sequence[int],
        first_line: int,
        canvas: Canvas,
        xmap: XMap,
        sources: Sequence[RasterSource],
    ) -> None:
        """Stamp the plans in some bands into device pixels, from a line of the content on."""
        layout = self._scene.layout
        for band in bands:
            plans, top = plans_of(self._scene, band), int(layout.y[band]) - first_line
            room = plan_room(int(layout.height[band]), len(plans.lanes), self._scene.font_scale)
            here = xmap.on(self._scene.rasters[plans.trace].open_trace.axis)
            wide = wide_rooms(plans, here, canvas.device(WIDE))
            drawn = self._drawn[band] = _Drawn(plans, room, wide, here)
            lines = canvas.device(top), canvas.device(top + room.area)
            self._stamp_ground(image, lines, self._states(drawn, canvas), canvas)
            for i in self._detailed(drawn, canvas):
                self._stamp_slices(image, top, drawn, i, canvas, xmap, sources)

    def _detailed(self, drawn: _Drawn, canvas: Canvas) -> list[int]:
        """The wide rooms whose slices are drawn."""
        wide = drawn.wide
        tall = wide.last - wide.first >= canvas.device(SLICES)
        return [
            i
            for i in np.flatnonzero(tall).tolist()
            if job_of(drawn.plans, int(wide.index[i])).profile is not None
        ]

    def _states(self, drawn: _Drawn, canvas: Canvas) -> Ints:
        """What each column shows."""
        wide, width = drawn.wide, drawn.here.width
        narrow = narrow_rooms(drawn.plans, drawn.here, wide.index)
        change = np.zeros(width + 2, np.int64)
        np.add.at(change, narrow.first, 1)
        np.add.at(change, np.minimum(narrow.planned, np.maximum(narrow.next, narrow.first + 1)), -1)
        states = np.where(np.cumsum(change)[:width] > 0, _BAR, _NOTHING)
        with_slices = set(self._detailed(drawn, canvas))
        for i, (first, planned, measured, last) in enumerate(
            zip(
                *(part.tolist() for part in (wide.first, wide.planned, wide.measured, wide.last)),
                strict=True,
            )
        ):
            states[first : min(planned, measured, last)] = _GROUND if i in with_slices else _BAR
            states[max(planned, first) : min(measured, last)] = _UNCOVERED
            states[max(measured, first) : min(planned, last)] = _EXCEEDING
        return states

    def _stamp_ground(
        self, image: Pixels, lines: tuple[int, int], states: Ints, canvas: Canvas
    ) -> None:
        tokens, search = self._theme.tokens, self._scene.search
        # Slices that are not hits are then drawn in the color of the canvas.
        ground = tokens.canvas if search.dims and search.shows_only_hits else tokens.panel
        exceeding = mix(tokens.canvas, tokens.warning, 0.35)
        colors = np.array(
            [
                QColor(color).rgb() | _OPAQUE
                for color in (tokens.canvas, tokens.slab, ground, ground, exceeding)
            ],
            np.uint32,
        )
        top, bottom = max(lines[0], 0), max(min(lines[1], len(image)), 0)
        block = image[top:bottom]
        is_visible = states != _NOTHING
        block[:, is_visible] = colors[states[is_visible]]
        uncovered = np.flatnonzero(states == _UNCOVERED)
        diagonal = (np.arange(top, bottom)[:, None] - lines[0] + uncovered) % canvas.device(_HATCH)
        row, column = np.nonzero(diagonal < max(canvas.device(_HATCH_LINE), 1))
        block[row, uncovered[column]] = self._theme.pixel("line")

    def _stamp_slices(
        self,
        image: Pixels,
        top: int,
        drawn: _Drawn,
        i: int,
        canvas: Canvas,
        xmap: XMap,
        sources: Sequence[RasterSource],
    ) -> None:
        wide, room = drawn.wide, drawn.room
        index, first = int(wide.index[i]), int(wide.first[i])
        last = min(int(wide.planned[i]), int(wide.last[i]))
        x_map = self._part(drawn, index, first, last, xmap)
        if x_map is None:
            return
        profile = job_of(drawn.plans, index).profile
        assert profile is not None
        rows = draw_rows(sources[profile.trace], np.array(profile.rows), x_map)
        gap = canvas.device(_LANE_GAP) if room.lane > 2 * _LANE_GAP else 0
        edge = canvas.device(_EDGE) if room.lane >= _OUTLINED else 0
        for position, lane in enumerate(drawn.plans.lanes_of[int(drawn.plans.job[index])]):
            y = top + room.first + lane * room.lane
            upper, lower = canvas.device(y), canvas.device(y + room.lane) - gap
            filled = np.flatnonzero(rows.cells[position]) + first
            for y0, y1, colors in (
                (upper, lower, rows.body),
                (upper, upper + edge, rows.line),
                (lower - edge, lower, rows.line),
            ):
                image[max(y0, 0) : max(y1, 0), filled] = colors[position, filled - first]

    def _part(self, drawn: _Drawn, index: int, first: int, last: int, xmap: XMap) -> XMap | None:
        """Some columns in ticks of the compile profile, as a plan shows them; None without any."""
        if last <= first:
            return None
        open_trace = self._scene.rasters[drawn.plans.trace].open_trace
        rate = job_of(drawn.plans, index).rate.ns_per_tick
        moved = drawn.here.gap_before(int(drawn.plans.start[index]))
        return xmap.part(first, last, rate, zero_of(drawn.plans, index, open_trace) + moved)

    # -- lines and texts -----------------------------------------------------------------------

    def paint(self, painter: QPainter, bands: Sequence[int], canvas: Canvas, xmap: XMap) -> None:
        """Paint the ends of the plans, the selected slice in them, and their texts."""
        for band in bands:
            drawn = self._drawn[band]
            y = int(self._scene.layout.y[band]) - self._scene.scroll
            self._ends(painter, y, drawn, canvas)
            self._ring(painter, y, drawn, canvas, xmap)
            self._texts(painter, y, drawn, canvas)

    def _ends(self, painter: QPainter, y: int, drawn: _Drawn, canvas: Canvas) -> None:
        wide, color = drawn.wide, self._theme.color("text1")
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        # A plan that ends after the start of the next job has no visible end.
        seen = (wide.planned <= wide.last) & (wide.planned < drawn.here.width) & (wide.planned > 0)
        for column in wide.planned[seen].tolist():
            painter.fillRect(QRectF(canvas.x(column), y, END, drawn.room.area), color)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)

    def _ring(self, painter: QPainter, y: int, drawn: _Drawn, canvas: Canvas, xmap: XMap) -> None:
        """Outline the selected slice of a compile profile in every plan that contains it."""
        selected = self._scene.session.state.slice
        if selected is None:
            return
        for i in self._detailed(drawn, canvas):
            index, first = int(drawn.wide.index[i]), int(drawn.wide.first[i])
            last = min(int(drawn.wide.planned[i]), int(drawn.wide.last[i]))
            job = job_of(drawn.plans, index)
            if job.profile is None or job.profile.trace != selected.trace:
                continue
            slices = self._scene.rasters[selected.trace].open_trace.trace.slices
            row = slices.row_of(selected.index)
            start, end = int(slices.start[selected.index]), int(slices.end[selected.index])
            within = job.profile.start <= start and end <= job.profile.start + job.cycles
            x_map = self._part(drawn, index, first, last, xmap)
            if row not in job.profile.rows or not within or x_map is None:
                continue
            x0, x1 = (canvas.x(first + c) for c in x_map.pixel_of(np.array([start, end])).tolist())
            lane = drawn.plans.lanes_of[int(drawn.plans.job[index])][job.profile.rows.index(row)]
            top = y + drawn.room.first + lane * drawn.room.lane
            painter.setPen(QPen(self._theme.color("ring"), 1))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRect(QRectF(x0 - 1, top - 1, max(x1 - x0, 1) + 1, drawn.room.lane + 1))

    def _texts(self, painter: QPainter, y: int, drawn: _Drawn, canvas: Canvas) -> None:
        """Write below each plan how long it is, and the ratio, as far as there is room."""
        wide, theme = drawn.wide, self._theme
        open_trace = self._scene.rasters[drawn.plans.trace].open_trace
        free = wide.next - wide.first
        for i in np.flatnonzero(free >= canvas.device(_LEAST_TEXT)).tolist():
            index, x = int(wide.index[i]), canvas.x(int(wide.first[i]))
            space = canvas.x(int(free[i])) - _TEXT_GAP
            ratio, time = ratio_of(drawn.plans, index, open_trace), job_of(drawn.plans, index).ns
            planned, short = format_briefly(time), format_ratio(ratio)
            color = "text2" if abs(ratio - 1) <= CLOSE else "warning" if ratio > 1 else "ok"
            lines = (
                (self._usual, "text2", (f"planned {planned}", planned)),
                (self._bold, color, (f"{short} measured", short)),
            )
            for number, (labels, ink, texts) in enumerate(lines):
                text = next((text for text in texts if labels.width(text) <= space), "")
                if not text or labels.width(short) > space:
                    continue  # without room for the ratio there is no text
                top = y + drawn.room.area + number * drawn.room.line
                painter.setFont(labels.font)
                painter.setPen(theme.color(ink))
                painter.drawText(QRectF(x, top, space, drawn.room.line), _LINE, text)

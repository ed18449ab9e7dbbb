"""Chips at the edges of a blank row that state which slices of its track are out of view.

A chip is drawn only in a track that shows nothing in the visible range, in each process only in the
topmost one, and never over a chip or label of flows. A click on it shows what it names.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Sequence

from PySide6.QtCore import QPoint, QPointF, QRectF, Qt
from PySide6.QtGui import QFontMetricsF, QPainter, QPen, QStaticText

from viewer.dataclasses import dataclass
from viewer.gui.qt.theme.theme import FontRole, Theme
from viewer.gui.qt.widgets.labels import elided_text
from viewer.gui.session.navigation import fit_span
from viewer.gui.timeline.scene.scene import Scene
from viewer.gui.timeline.scene.texts import full_title
from viewer.model.times import counted, format_time
from viewer.render.layout import COMPACT_ROW, Canvas, TimelineLayout
from viewer.render.off_screen import BlankTrack, OffScreen, OffScreenSides, TracksInView, off_screen
from viewer.render.time_axis import Scale


class BlankTracks:
    """Finds the blank tracks of one scene, and remembers them while the same is visible."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        # What `_tracks` are of; weak, because its files may be closed.
        self._layout: weakref.ref[TimelineLayout] | None = None
        self._tracks: TracksInView | None = None
        self._lines = (0, 0)
        self._asked: tuple[object, ...] = ()
        self._blank_tracks: tuple[BlankTrack, ...] = ()

    def in_view(self, canvas: Canvas) -> tuple[BlankTrack, ...]:
        """The blank tracks on the canvas: per process up to the first with room for a chip.

        None while only search hits are drawn. The same object as long as they are the same, and at
        the same place.
        """
        scene = self._scene
        hides_slices = scene.search.dims and scene.search.shows_only_hits
        if not scene.rasters or hides_slices:
            self._layout, self._blank_tracks = None, ()
            return self._blank_tracks
        asked = scene.visible, scene.gaps, canvas
        lines = scene.scroll, scene.scroll + canvas.height
        layout = None if self._layout is None else self._layout()
        if self._tracks is None or layout is not scene.layout or lines != self._lines:
            self._layout, self._lines = weakref.ref(scene.layout), lines
            self._asked, self._blank_tracks = (), ()
            self._tracks = TracksInView(scene.layout, lines, COMPACT_ROW)
        if asked != self._asked:
            same_canvas, self._asked = self._asked[2:] == asked[2:], asked
            traces = [(drawn.raster, drawn.open_trace.axis) for drawn in scene.rasters]
            xmap = scene.xmap(canvas.columns)
            blank_tracks = tuple(self._tracks.blank(scene.track_list, traces, xmap))
            if blank_tracks != self._blank_tracks or not same_canvas:
                self._blank_tracks = blank_tracks
        return self._blank_tracks

    def span_ns(self, trace: int, side: OffScreen) -> tuple[int, int]:
        """The first start and the last end of some slices of a trace, in ns of its axis."""
        axis = self._scene.rasters[trace].open_trace.axis
        return axis.to_ns(side.first), axis.to_ns(side.last)

    def nearest_span(
        self, canvas: Canvas, current: tuple[int, int] | None
    ) -> tuple[int, int] | None:
        """The time in ns of the nearest slices of a blank track; None if no track is blank.

        The track is `current`, as (trace, track), if that one is blank, else the first in view.
        """
        sides = None if current is None else self._sides(canvas, current)
        trace = -1 if current is None else current[0]
        if sides is None:
            blank_tracks = self.in_view(canvas)
            if not blank_tracks:
                return None
            trace, sides = blank_tracks[0].trace, blank_tracks[0].sides
        t0, t1 = self._scene.gaps.times(*self._scene.visible)
        spans = [self.span_ns(trace, side) for side in (sides.before, sides.after) if side]
        return min(spans, key=lambda span: max(t0 - span[1], span[0] - t1))

    def _sides(self, canvas: Canvas, track: tuple[int, int]) -> OffScreenSides | None:
        """Return what a track has out of view, None unless it is blank."""
        scene = self._scene
        drawn = scene.rasters[track[0]]
        here = scene.xmap(canvas.columns).on(drawn.open_trace.axis)
        return off_screen(drawn.raster, scene.track_list, track, here)


_HEIGHT = 20  # px, unless the row is lower
_SMALL = 16  # px for a 13 px font; lower chips have the small font
_INSET, _GAP, _ROUND = 8, 4, 5  # px
_WIDEST, _NARROWEST = 420, 60  # px
_NAME_WIDEST = 220  # px
_LONGEST = 120  # characters; more would not fit, and names come from files
_MOST_TEXTS = 256


@dataclass(frozen=True, slots=True)
class TrackChip:
    """A chip: its rectangle and text, and what it names: one side of a blank track."""

    room: QRectF
    text: str
    trace: int
    track: int
    side: OffScreen
    is_before: bool


@dataclass(frozen=True, slots=True)
class _Laid:
    """The text of a chip, elided and laid out, with its size in px."""

    text: str
    drawn: QStaticText
    wide: float
    tall: float


class EdgeChipPainter:
    """Paints the chips of blank tracks of one scene, and finds the one under the mouse."""

    def __init__(self, scene: Scene, theme: Theme) -> None:
        self._scene = scene
        self._theme = theme
        self.blanks = BlankTracks(scene)
        self._canvas = Canvas(1, 1)
        self._taken: list[QRectF] = []
        # What the texts are of: they stay the same while the view moves, and are slow to lay out.
        self._texts_of: tuple[Scale, float] | None = None
        self._texts: dict[tuple[int, OffScreen, bool, FontRole], _Laid] = {}
        self._of: tuple[BlankTrack, ...] | None = None  # what `_chips` are of
        self._chips: list[tuple[TrackChip, FontRole, _Laid]] = []

    def retheme(self) -> None:
        """Lay out the texts again after the theme changed."""
        self._of = self._texts_of = None

    def paint(
        self, painter: QPainter, canvas: Canvas, taken: Iterable[QRectF], mouse: QPoint | None
    ) -> None:
        """Paint the chips; `painter` uses logical pixels. taken: places to keep free of chips."""
        self._canvas, self._taken = canvas, list(taken)
        visible = self._visible()
        if not visible:
            return
        theme = self._theme
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(theme.color("line"), 1))
        for chip, _, _ in visible:
            pointed = mouse is not None and chip.room.contains(QPointF(mouse))
            painter.setBrush(theme.color("hover" if pointed else "raised"))
            painter.drawRoundedRect(chip.room.adjusted(0.5, 0.5, -0.5, -0.5), _ROUND, _ROUND)
        painter.setPen(theme.color("text2"))
        used: FontRole | None = None
        for chip, role, laid in visible:
            if role != used:
                painter.setFont(theme.font(role))
                used = role
            y = chip.room.top() + (chip.room.height() - laid.tall) / 2
            painter.drawStaticText(QPointF(chip.room.left() + _INSET, y), laid.drawn)
        painter.restore()

    def chips(self) -> list[TrackChip]:
        """The chips on the canvas of the last frame, for what is visible now."""
        return [chip for chip, _, _ in self._visible()]

    def chip_at(self, position: QPoint) -> TrackChip | None:
        """The chip at a point of the canvas, None without one."""
        point = QPointF(position)
        return next((chip for chip in self.chips() if chip.room.contains(point)), None)

    def tip_at(self, position: QPoint) -> Sequence[str]:
        """The lines of the hover tip for the chip at a point; none without a chip."""
        chip = self.chip_at(position)
        if chip is None:
            return ()
        scene = self._scene
        t0, t1 = self.blanks.span_ns(chip.trace, chip.side)
        first, last = (scene.scale.text(ns) for ns in (t0, t1))
        when = f"at {first}" if t0 == t1 else f"{first} to {last} ({format_time(t1 - t0)})"
        count, name = self._named(chip.trace, chip.side)
        return (
            f"Click to show {': '.join(filter(None, (count, name)))}",
            full_title(scene, (chip.trace, chip.track)),
            f"{when}, {'before' if chip.is_before else 'after'} the visible range",
        )

    def click(self, position: QPoint) -> bool:
        """Show what the chip at a point names; returns whether there is one."""
        chip = self.chip_at(position)
        if chip is not None:
            fit_span(self._scene.session, *self.blanks.span_ns(chip.trace, chip.side))
        return chip is not None

    def _visible(self) -> list[tuple[TrackChip, FontRole, _Laid]]:
        """Return the chips that nothing else covers, with their texts."""
        blanks, texts_of = self.blanks.in_view(self._canvas), (self._scene.scale, self._widest)
        if texts_of != self._texts_of or len(self._texts) > _MOST_TEXTS:
            self._texts_of, self._of = texts_of, None
            self._texts.clear()
        if blanks is not self._of:
            self._of = blanks
            self._chips = [
                chip
                for blank in blanks
                if blank.band >= 0 and self._widest >= _NARROWEST
                for chip in self._chips_of(blank)
            ]
        return [chip for chip in self._chips if not any(map(chip[0].room.intersects, self._taken))]

    @property
    def _widest(self) -> float:
        """The width in px that the text of a chip can have: two chips fit next to each other."""
        return min(_WIDEST, (self._canvas.width - 3 * _GAP) / 2) - 2 * _INSET

    def _chips_of(self, blank: BlankTrack) -> Iterable[tuple[TrackChip, FontRole, _Laid]]:
        """Return the chips in the row of a blank track."""
        layout, theme = self._scene.layout, self._theme
        row = int(layout.height[blank.band])
        tall = min(theme.px(_HEIGHT), row - 1)
        role: FontRole = "caption" if tall >= theme.px(_SMALL) else "zero_length"
        top = int(layout.y[blank.band]) - self._scene.scroll + (row - tall) // 2
        for side, is_before in ((blank.sides.before, True), (blank.sides.after, False)):
            if side is None:
                continue
            asked = blank.trace, side, is_before, role
            laid = self._texts.get(asked) or self._laid(*asked)
            self._texts[asked] = laid
            wide = laid.wide + 2 * _INSET
            room = QRectF(_GAP if is_before else self._canvas.width - wide - _GAP, top, wide, tall)
            yield TrackChip(room, laid.text, blank.trace, blank.track, side, is_before), role, laid

    def _laid(self, trace: int, side: OffScreen, is_before: bool, role: FontRole) -> _Laid:
        """Return the text of a chip, laid out: "‹ 24 slices, 0 to 200 µs"."""
        font = self._theme.font(role)
        metrics = QFontMetricsF(font)
        count, name = self._named(trace, side)
        name = elided_text(metrics, name, Qt.TextElideMode.ElideMiddle, _NAME_WIDEST)
        when = self._scene.scale.span_text(*self.blanks.span_ns(trace, side))
        what = ": ".join(filter(None, (count, name)))
        sign = "‹ " if is_before else " ›"
        free = self._widest - metrics.horizontalAdvance(sign)
        text = elided_text(metrics, f"{what}, {when}", Qt.TextElideMode.ElideMiddle, free)
        text = f"{sign}{text}" if is_before else f"{text}{sign}"
        drawn = QStaticText(text)
        drawn.setTextFormat(Qt.TextFormat.PlainText)
        drawn.prepare(font=font)
        return _Laid(text, drawn, metrics.horizontalAdvance(text), metrics.height())

    def _named(self, trace: int, side: OffScreen) -> tuple[str, str]:
        """Return how many slices there are, "" for one with a name, and the name of all of them."""
        open_trace = self._scene.rasters[trace].open_trace
        sole = side.sole(open_trace.labels)
        name = "" if sole is None else " ".join(open_trace.label(sole)[:_LONGEST].split())
        return "" if name and side.count == 1 else counted(side.count, "slice"), name

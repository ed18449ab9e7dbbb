"""The blank tracks in view, and which of their slices are nearest to it."""

from __future__ import annotations

import weakref

from viewer.gui.timeline.scene.scene import Scene
from viewer.render.canvas import Canvas
from viewer.render.layout import COMPACT_ROW, TimelineLayout
from viewer.render.off_screen import (
    BlankTrack,
    OffScreen,
    OffScreenSides,
    TracksInView,
    off_screen,
)


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

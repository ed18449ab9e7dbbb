"""What a drag in the headers column does: a part to another place, or rows to another height.

Both only ever change the view of the session, step by step one step of undo, so that what is seen
while dragging is what will be.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from viewer.arrays import Ints
from viewer.gui.session.tracks import arrange_tracks
from viewer.gui.timeline.scene.scene import Scene
from viewer.render.arrangement import TrackView
from viewer.render.layout import BandKind, HeaderPart


@dataclass(frozen=True, slots=True)
class DropPlace:
    """Where a part could stand: the line of the content above it, the fellow that it would stand
    before, None for last, and whether that is among the pinned tracks."""

    y: int
    before: HeaderPart | None
    pinned: bool = False


def places_of(scene: Scene, part: HeaderPart) -> list[DropPlace]:
    """The places of a part among its fellows, from top to bottom.

    A process stands among processes, a track among those of its process, or the pinned ones.
    """
    return _places(scene, part, part in scene.session.state.tracks.pinned)


def all_places_of(scene: Scene, part: HeaderPart) -> list[DropPlace]:
    """All that it can be dragged to: a track is pinned, or unpinned, by where it is dropped."""
    if scene.track_list.track_of(part) < 0:
        return places_of(scene, part)
    # Behind the pinned tracks nothing can be dropped.
    edge = scene.scroll + scene.layout.stuck_height
    below = [place for place in _places(scene, part, False) if place.y >= edge]
    return [*_places(scene, part, True), *below]


def _places(scene: Scene, part: HeaderPart, pinned: bool) -> list[DropPlace]:
    layout, track_list = scene.layout, scene.track_list
    if track_list.track_of(part) < 0:
        bands = np.flatnonzero((layout.kind == BandKind.PROCESS) & (layout.process >= 0))
        processes = [track_list.processes[i].part for i in layout.process[bands].tolist()]
        places = [DropPlace(int(y), p) for y, p in zip(layout.y[bands], processes, strict=True)]
        return [*places, DropPlace(layout.total_height, None)]
    process = -1 if pinned else track_list.process_of(part)
    bands = np.flatnonzero((layout.process == process) & (layout.track >= 0))
    if not len(bands):
        return []
    tracks = np.column_stack([layout.trace[bands], layout.track[bands]])
    begins = np.append(True, (tracks[1:] != tracks[:-1]).any(axis=1))
    places = [
        DropPlace(int(y), (int(trace), int(track)), pinned)
        for y, (trace, track) in zip(layout.y[bands[begins]], tracks[begins], strict=True)
    ]
    return [*places, DropPlace(int(layout.y[bands[-1]] + layout.height[bands[-1]]), None, pinned)]


class Reorder:
    """A part on its way to another place."""

    def __init__(self, scene: Scene, part: HeaderPart) -> None:
        self._scene, self.part = scene, part
        self._places: list[DropPlace] = []
        self.place: DropPlace | None = None

    def to(self, y: int) -> None:
        """The mouse is at a line of the content."""
        places = all_places_of(self._scene, self.part)
        self.place = min(places, key=lambda place: abs(place.y - y), default=None)

    def drop(self) -> None:
        """Let it stand there; in its own place nothing changes."""
        session, part, place = self._scene.session, self.part, self.place
        track, view = self._scene.track_list.track_of(part), session.state.tracks
        # What was dragged may be gone, or its place.
        if place is None or place not in all_places_of(self._scene, part):
            return
        if place.pinned != (part in view.pinned) and track >= 0:
            moved = view.pinned_or_not(self._scene.track_list.part(track))
            arrange_tracks(session, moved.placed_before(part, place.before))
            return
        fellows = [fellow.before for fellow in places_of(self._scene, part)]
        own = fellows.index(part) if part in fellows else None
        # Before itself, or before the next one, is where it stands.
        if own is not None and place.before not in fellows[own : own + 2]:
            arrange_tracks(session, view.placed_before(part, place.before))


def moved_by(scene: Scene, part: HeaderPart, by: int) -> TrackView:
    """The view with a part one place up (-1) or down (1) among the fellows that are seen."""
    view = scene.session.state.tracks
    places = [place.before for place in places_of(scene, part)]
    if part not in places:
        return view
    # To stand one place lower is to stand before the fellow after the next.
    target = places.index(part) + (by if by < 0 else by + 1)
    return view.placed_before(part, places[target]) if 0 <= target < len(places) else view


class RowResize:
    """The rows of a process on their way to another height, by the lower edge of one of them.

    The edge follows the mouse: of the third row it moves three times as far as a row grows.
    """

    def __init__(self, scene: Scene, band: int, y: int) -> None:
        layout = scene.layout
        self._scene = scene
        self.process = scene.track_list.processes[scene.header_bands.process_of(band)].part
        self._from = y
        self._height = scene.session.state.tracks.row_height(self.process)
        self._rows = max(_rows_until(layout.kind, layout.process, band), 1)
        self._set: TrackView | None = None
        self._before = scene.session.state.tracks

    def to(self, y: int) -> None:
        """The mouse is at a line of the content."""
        session = self._scene.session
        height = self._height + round((y - self._from) / self._rows)
        now = session.state.tracks
        wanted = now.with_row_height(self.process, height)
        arrange_tracks(session, wanted, joins=self._set is not None and self._set is now)
        self._set = session.state.tracks

    def take_back(self) -> None:
        """The rows are as high as before, unless something else was changed meanwhile."""
        session = self._scene.session
        if self._set is not None and self._set is session.state.tracks:
            session.history.forget(replace(session.state, tracks=self._before))
            arrange_tracks(session, self._before, joins=True)


def _rows_until(kind: NDArray[np.uint8], process: Ints, band: int) -> int:
    """How many rows of its process end at or above a band; of a pinned one that alone."""
    if process[band] < 0:
        return 1
    above = slice(0, band + 1)
    return int(((kind[above] == BandKind.ROW) & (process[above] == process[band])).sum())

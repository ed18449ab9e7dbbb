"""Drags in the headers column: moving a part to another place, or changing the row height.

Each step changes the session's view, and all steps of a drag form one undo step, so the user always
sees the result.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from viewer.arrays import Ints
from viewer.gui.session.tracks import arrange_tracks
from viewer.gui.timeline.scene.row_heights import row_height, with_row_height
from viewer.gui.timeline.scene.scene import Scene
from viewer.render.arrangement import TrackView
from viewer.render.layout import BandKind, HeaderPart


@dataclass(frozen=True, slots=True)
class DropPlace:
    """A place where a dragged part can be dropped.

    `y` is the content line above it, `before` the sibling that the part would precede (None for the
    last place), and `pinned` is True among the pinned tracks.
    """

    y: int
    before: HeaderPart | None
    pinned: bool = False


def places_of(scene: Scene, part: HeaderPart) -> list[DropPlace]:
    """The drop places of a part among its siblings, from top to bottom.

    The siblings of a process are processes; those of a track are the tracks of its process, or the
    pinned tracks.
    """
    return _places(scene, part, part in scene.session.state.tracks.pinned)


def all_places_of(scene: Scene, part: HeaderPart) -> list[DropPlace]:
    """All drop places of a part; where a track is dropped also decides if it is pinned."""
    if scene.track_list.track_of(part) < 0:
        return places_of(scene, part)
    # Nothing can be dropped behind the pinned tracks.
    edge = scene.scroll + scene.layout.stuck_height
    below = [place for place in _places(scene, part, False) if place.y >= edge]
    return [*_places(scene, part, True), *below]


def _places(scene: Scene, part: HeaderPart, pinned: bool) -> list[DropPlace]:
    layout, track_list = scene.layout, scene.track_list
    if track_list.track_of(part) < 0:
        bands = np.flatnonzero((layout.kind == BandKind.PROCESS) & (layout.process >= 0))
        processes = [track_list.processes[i].part for i in layout.process[bands].tolist()]
        lines = map(layout.home_of, bands.tolist())
        places = [DropPlace(y, p) for y, p in zip(lines, processes, strict=True)]
        return [*places, DropPlace(layout.total_height, None)]
    process = -1 if pinned else track_list.process_of(part)
    bands = np.flatnonzero((layout.process == process) & (layout.track >= 0))
    if not len(bands):
        return []
    tracks = np.column_stack([layout.trace[bands], layout.track[bands]])
    is_first = np.append(True, (tracks[1:] != tracks[:-1]).any(axis=1))
    places = [
        DropPlace(int(y), (int(trace), int(track)), pinned)
        for y, (trace, track) in zip(layout.y[bands[is_first]], tracks[is_first], strict=True)
    ]
    return [*places, DropPlace(int(layout.y[bands[-1]] + layout.height[bands[-1]]), None, pinned)]


class Reorder:
    """A part being dragged to another place."""

    def __init__(self, scene: Scene, part: HeaderPart) -> None:
        self._scene, self.part = scene, part
        self._places: list[DropPlace] = []
        self.place: DropPlace | None = None

    def to(self, y: int) -> None:
        """Update the drop place for the mouse at content line `y`."""
        places = all_places_of(self._scene, self.part)
        self.place = min(places, key=lambda place: abs(place.y - y), default=None)

    def drop(self) -> None:
        """Drop the part at the current place; does nothing if that is where it was."""
        session, part, place = self._scene.session, self.part, self.place
        track, view = self._scene.track_list.track_of(part), session.state.tracks
        # The part or its place may no longer exist.
        if place is None or place not in all_places_of(self._scene, part):
            return
        if place.pinned != (part in view.pinned) and track >= 0:
            moved = view.pinned_or_not(self._scene.track_list.part(track))
            arrange_tracks(session, moved.placed_before(part, place.before))
            return
        siblings = [fellow.before for fellow in places_of(self._scene, part)]
        index = siblings.index(part) if part in siblings else None
        # Dropping it before itself or before the next sibling leaves it where it is.
        if index is not None and place.before not in siblings[index : index + 2]:
            arrange_tracks(session, view.placed_before(part, place.before))


def moved_by(scene: Scene, part: HeaderPart, by: int) -> TrackView:
    """The view with a part moved up (-1) or down (1) by one among its visible siblings."""
    view = scene.session.state.tracks
    places = [place.before for place in places_of(scene, part)]
    if part not in places:
        return view
    # Moving down by one means to precede the sibling after the next.
    target = places.index(part) + (by if by < 0 else by + 1)
    return view.placed_before(part, places[target]) if 0 <= target < len(places) else view


class RowResize:
    """The row height of a process being changed by dragging the lower edge of a row.

    The edge follows the mouse: at the third row, it moves three times as far as each row grows.
    """

    def __init__(self, scene: Scene, band: int, y: int) -> None:
        layout = scene.layout
        self._scene = scene
        self.process = scene.track_list.processes[scene.header_bands.process_of(band)].part
        self._from = y
        self._height = row_height(scene, self.process)
        self._rows = max(_rows_until(layout.kind, layout.process, band), 1)
        self._set: TrackView | None = None
        self._before = scene.session.state.tracks

    def to(self, y: int) -> None:
        """Set the row height for the mouse at content line `y`."""
        session = self._scene.session
        height = self._height + round((y - self._from) / self._rows)
        now = session.state.tracks
        resized = with_row_height(self._scene, self.process, height)
        arrange_tracks(session, resized, joins=self._set is not None and self._set is now)
        self._set = session.state.tracks

    def take_back(self) -> None:
        """Restore the previous height, unless something else was changed since."""
        session = self._scene.session
        if self._set is not None and self._set is session.state.tracks:
            session.history.forget(replace(session.state, tracks=self._before))
            arrange_tracks(session, self._before, joins=True)


def _rows_until(kind: NDArray[np.uint8], process: Ints, band: int) -> int:
    """The number of rows of the band's process down to the band; 1 for a pinned track."""
    if process[band] < 0:
        return 1
    above = slice(0, band + 1)
    return int(((kind[above] == BandKind.ROW) & (process[above] == process[band])).sum())

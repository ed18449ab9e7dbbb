"""The row height of a process: as chosen by the user, else by density."""

from __future__ import annotations

from viewer.gui.session.tracks import arrange_tracks
from viewer.gui.timeline.scene.scene import Scene
from viewer.render.arrangement import TrackView
from viewer.render.layout import HeaderPart
from viewer.render.stacking import row_heights, usual_heights

_STEP = 2  # px


def row_height(scene: Scene, process: HeaderPart) -> int:
    """The current row height of a process in px."""
    heights = row_heights(
        scene.track_list, scene.session.state.tracks, scene.used_density, scene.font_scale
    )
    return int(heights[scene.track_list.process_of(process)])


def with_row_height(scene: Scene, process: HeaderPart, height: int) -> TrackView:
    """The current track view with another row height for a process, in px."""
    usual = usual_heights(scene.track_list, scene.used_density, scene.font_scale)
    by_density = int(usual[scene.track_list.process_of(process)])
    return scene.session.state.tracks.with_row_height(process, height, by_density)


def grow_rows(scene: Scene, y: int, by: int) -> None:
    """Increase (1) or decrease (-1) the row height of the process at a canvas line."""
    process = scene.header_bands.process_of(scene.layout.band_at(y + scene.scroll))
    if process >= 0:
        part = scene.track_list.processes[process].part
        height = row_height(scene, part) + by * _STEP
        arrange_tracks(scene.session, with_row_height(scene, part, height))

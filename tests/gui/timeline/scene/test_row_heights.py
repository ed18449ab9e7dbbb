"""Row heights by density, and of processes that have a height of their own."""

import pytest

from viewer.gui.session.choices import arrange_tracks
from viewer.gui.timeline.scene.scene import grow_rows, row_height, with_row_height
from viewer.render.layout import COMPACT_ROW, ROW_HEIGHT
from viewer.render.stacking import Density


@pytest.fixture
def part(attention):
    return attention.timeline.scene.processes[0].part


def test_rows_follow_the_density_until_they_have_their_own_height(attention, part):
    scene = attention.timeline.scene
    assert row_height(scene, part) == ROW_HEIGHT
    scene.set_density(Density.COMPACT)
    assert row_height(scene, part) == COMPACT_ROW
    arrange_tracks(attention.session, with_row_height(scene, part, 40))
    scene.set_density(Density.COMFORTABLE)
    assert row_height(scene, part) == 40
    arrange_tracks(attention.session, with_row_height(scene, part, ROW_HEIGHT))
    assert attention.session.state.tracks.heights == ()


def test_the_wheel_starts_from_the_height_by_density(attention, part):
    scene = attention.timeline.scene
    scene.set_density(Density.COMPACT)
    grow_rows(scene, 40, 1)
    assert row_height(scene, part) == COMPACT_ROW + 2
    attention.session.undo()
    assert row_height(scene, part) == COMPACT_ROW

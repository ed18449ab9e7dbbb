"""Treemaps: areas are sizes, members are inside, small members are one tile."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from viewer.render.box_pictures import (
    NONE,
    Rest,
    TileRoom,
    TreeSizes,
    draw_tiles,
    place_tiles,
    squarified,
)

ROOM = TileRoom(title=18, edge=2, least=(56, 42), smallest=16)
ALL = Rest(0, 0)


def flat(*sizes):
    return TreeSizes.of(np.array([-1] + [0] * len(sizes)), np.array([0, *sizes], np.int64))


def areas(places):
    return (places[:, 2] - places[:, 0]) * (places[:, 3] - places[:, 1])


def test_a_group_has_the_size_of_all_inside_and_its_members_are_ordered_by_size():
    tree = TreeSizes.of(np.array([-1, 0, 1, 1, 0]), np.array([0, 0, 3, 5, 2]))
    assert tree.size.tolist() == [10, 8, 3, 5, 2]
    assert tree.inside(0).tolist() == [1, 4]
    assert tree.inside(1).tolist() == [3, 2]
    assert tree.place.tolist() == [0, 0, 1, 0, 1]
    assert tree.around(3) == [0, 1, 3]
    assert tree.is_leaf(4)
    assert not tree.is_leaf(1)


@pytest.mark.slow
@given(
    st.lists(st.integers(1, 10_000), min_size=1, max_size=200),
    st.integers(1, 2000),
    st.integers(1, 2000),
)
def test_rectangles_have_their_areas_and_fill_the_canvas(numbers, width, height):
    sizes = np.sort(np.array(numbers, np.float64))[::-1]
    wanted = sizes * (width * height / sizes.sum())
    places = squarified(wanted, float(width), float(height))
    assert np.allclose(areas(places), wanted, rtol=1e-6, atol=1e-6)
    assert places.min() >= -1e-6
    assert places[:, 2].max() <= width + 1e-6
    assert places[:, 3].max() <= height + 1e-6


def test_the_rectangles_of_the_paper():
    """Bruls, Huizing and van Wijk: 6, 6, 4, 3, 2, 2, 1 in 6 × 4."""
    places = squarified(np.array([6, 6, 4, 3, 2, 2, 1.0]), 6.0, 4.0)
    assert np.allclose(places[:2], [[0, 0, 3, 2], [0, 2, 3, 4]])
    assert np.allclose(places[2:4], [[3, 0, 3 + 12 / 7, 7 / 3], [3 + 12 / 7, 0, 6, 7 / 3]])


def test_equal_sizes_are_nearly_square():
    places = squarified(np.full(5000, 60.0), 1000.0, 300.0)
    wide, high = places[:, 2] - places[:, 0], places[:, 3] - places[:, 1]
    assert np.median(np.maximum(wide / high, high / wide)) < 1.3


def test_tiles_do_not_overlap_and_fill_the_canvas():
    tiles = place_tiles(flat(50, 30, 10, 5, 5), ALL, 400, 300, ROOM)
    covered = np.zeros((300, 400), np.int64)
    for x0, x1, y0, y1 in zip(tiles.left, tiles.right, tiles.top, tiles.bottom, strict=True):
        covered[y0:y1, x0:x1] += 1
    assert (covered == 1).all()


def test_members_are_inside_their_group_below_its_title():
    tree = TreeSizes.of(np.array([-1, 0, 1, 1, 0]), np.array([0, 0, 300, 500, 200]))
    tiles = place_tiles(tree, ALL, 400, 300, ROOM)
    group = int(np.flatnonzero(tiles.node == 1)[0])
    assert tiles.is_group.tolist() == [node == 1 for node in tiles.node.tolist()]
    for node in (2, 3):
        own = int(np.flatnonzero(tiles.node == node)[0])
        assert own > group, "a member is drawn after what is around it"
        assert tiles.top[own] >= tiles.top[group] + ROOM.title
        assert tiles.left[own] >= tiles.left[group] + ROOM.edge
        assert tiles.right[own] <= tiles.right[group] - ROOM.edge
        assert tiles.bottom[own] <= tiles.bottom[group] - ROOM.edge


def test_a_small_group_is_one_tile():
    tree = TreeSizes.of(np.array([-1, 0, 1, 1, 0]), np.array([0, 0, 3, 5, 20_000]))
    tiles = place_tiles(tree, ALL, 400, 300, ROOM)
    assert sorted(tiles.node.tolist()) == [1, 4]
    assert not tiles.is_group.any()


def test_small_members_are_one_tile_which_can_fill_the_canvas():
    tree = flat(1_000_000, *[1] * 500)
    tiles = place_tiles(tree, ALL, 400, 300, ROOM)
    assert tiles.node.tolist() == [1, 0]
    assert tiles.skip.tolist() == [NONE, 1]
    rest = place_tiles(tree, Rest(0, 1), 400, 300, ROOM)
    assert sorted(rest.node.tolist()) == list(range(2, 502))


def test_one_small_member_is_itself():
    tiles = place_tiles(flat(1_000_000, 1), ALL, 400, 300, ROOM)
    assert tiles.node.tolist() == [1, 2]
    assert tiles.skip.tolist() == [NONE, NONE]


def test_a_leaf_fills_the_canvas():
    tiles = place_tiles(flat(3, 4), Rest(1, 0), 40, 30, ROOM)
    assert (tiles.node.tolist(), int(tiles.right[0]), int(tiles.bottom[0])) == ([1], 40, 30)


@pytest.mark.parametrize("sizes", [(), (0,), (0, 0)])
def test_without_bytes_there_are_no_tiles(sizes):
    tiles = place_tiles(flat(*sizes), ALL, 40, 30, ROOM)
    assert len(tiles) == 0
    assert (draw_tiles(tiles, 40, 30, 2) == NONE).all()


def test_the_picture_has_the_tile_of_each_pixel_and_gaps():
    tiles = place_tiles(flat(3, 1), ALL, 40, 10, ROOM)
    picture = draw_tiles(tiles, 40, 10, 2)
    assert picture[0, 0] == 0
    assert picture[0, 31] == 1
    assert picture[0, 29] == NONE, "a gap"
    assert set(np.unique(picture).tolist()) == {NONE, 0, 1}


def test_deep_trees_end():
    depth = 5000
    tree = TreeSizes.of(np.arange(-1, depth), np.append(np.zeros(depth, np.int64), 7))
    tiles = place_tiles(tree, ALL, 2000, 2000, ROOM)
    assert 0 < len(tiles) <= 64

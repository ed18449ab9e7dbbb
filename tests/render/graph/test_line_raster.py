"""Many lines as pixels."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from viewer.render.graph.layout import line_pixels


def drawn(*lines, size=(8, 6)):
    ends = np.array(lines, np.float64).reshape(-1, 4)
    return line_pixels(ends[:, :2], ends[:, 2:], *size)


def test_upright_and_flat_lines_fill_their_pixels():
    pixels = drawn((2, 1, 2, 4), (0, 5, 7, 5))
    assert np.argwhere(pixels[:5]).tolist() == [[1, 2], [2, 2], [3, 2], [4, 2]]
    assert pixels[5].all()


def test_a_diagonal_has_a_pixel_in_every_column():
    assert np.argwhere(drawn((0, 0, 5, 5))).tolist() == [[i, i] for i in range(6)]


def test_lines_end_at_the_canvas():
    assert drawn((-1e6, 3, 1e6, 3))[3].all()
    assert not drawn((-5, -5, 20, -5), (9, 0, 9, 6)).any()
    assert not line_pixels(np.zeros((0, 2)), np.zeros((0, 2)), 8, 6).any()


@pytest.mark.slow
@given(st.lists(st.tuples(*[st.integers(-30, 30)] * 4), min_size=1, max_size=12))
def test_both_directions_and_any_order_have_ends_at_the_same_pixels(lines):
    pixels = drawn(*lines)
    assert pixels.shape == (6, 8)
    assert (drawn(*lines[::-1]) == pixels).all()
    for x0, y0, x1, y1 in lines:
        for x, y in ((x0, y0), (x1, y1)):
            if 0 <= x < 8 and 0 <= y < 6:
                assert pixels[y, x]

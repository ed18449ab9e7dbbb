"""Classes that must be told apart can be, by every eye, in every scheme and in both themes."""

from itertools import combinations, pairwise

import pytest

from tests.builders.color_vision import EYES, difference, lab
from viewer.render.color_schemes import _NEAR, _NONE, _ONE, _SEVERAL
from viewer.render.palette import (
    FASTER,
    HEAT_FILLS,
    HEAT_STEPS,
    KERNELS,
    OPERATOR_FILLS,
    OPERATORS,
    PLAIN,
    RAMP,
    RAMP_FILLS,
    RAMP_STEPS,
    SLAB,
    SLOWER,
    canvas_rgb,
    contrast,
    fills,
    label_colors,
)


def test_the_distance_is_that_of_its_definition():
    """Rows 1, 7, 9, 17 and 25 of the table by Sharma, Wu and Dalal, CIEDE2000 to four decimals."""
    pairs = [
        ((50, 2.6772, -79.7751), (50, 0, -82.7485), 2.0425),
        ((50, 0, 0), (50, -1, 2), 2.3669),
        ((50, 2.49, -0.001), (50, -2.49, 0.0009), 7.1792),
        ((50, 2.5, 0), (73, 25, -18), 27.1492),
        ((60.2574, -34.0099, 36.2677), (60.4626, -34.1751, 39.4387), 1.2644),
    ]
    for one, other, expected in pairs:
        assert difference(one, other) == pytest.approx(expected, abs=1e-4)


def least(colors, eye, pairs=combinations):
    return min(difference(lab(a, eye), lab(b, eye)) for a, b in pairs(colors, 2))


@pytest.mark.parametrize("eye", EYES)
def test_the_twelve_colors_of_classes_are_all_apart(eye):
    assert least(OPERATOR_FILLS, eye) >= (14.8 if eye == "normal" else 9.2)
    ring = [*OPERATOR_FILLS, OPERATOR_FILLS[0]]
    assert min(difference(lab(a, eye), lab(b, eye)) for a, b in pairwise(ring)) >= 15


def test_no_class_looks_emphasized():
    assert all(62 <= lab(fill)[0] <= 79.1 for fill in OPERATOR_FILLS)


@pytest.mark.parametrize("eye", EYES)
@pytest.mark.parametrize("dark", [True, False])
def test_no_class_looks_like_what_is_shared_or_unknown(eye, dark):
    grays = fills(dark)[SLAB : PLAIN + 1]
    found = min(
        difference(lab(fill, eye), lab(gray, eye)) for fill in OPERATOR_FILLS for gray in grays
    )
    # Lilac and the slab of the light theme, to an eye without green; the slab has its ribbon too.
    assert found >= 5


@pytest.mark.parametrize("eye", EYES)
def test_the_steps_of_the_ramp_are_apart_and_in_one_order_for_every_eye(eye):
    assert min(difference(lab(a, eye), lab(b, eye)) for a, b in pairwise(RAMP_FILLS)) >= 8
    lightness = [lab(fill, eye)[0] for fill in RAMP_FILLS]
    assert lightness == sorted(lightness)
    assert least(RAMP_FILLS, eye) >= 8


def test_the_longest_stand_out_most_from_the_canvas_of_either_theme():
    for dark in (True, False):
        ramp = fills(dark)[RAMP : RAMP + RAMP_STEPS]
        from_canvas = [contrast(fill, canvas_rgb(dark)) for fill in ramp]
        assert from_canvas == sorted(from_canvas)
        assert set(ramp) == set(RAMP_FILLS)


@pytest.mark.parametrize("eye", EYES)
@pytest.mark.parametrize("dark", [True, False])
def test_the_steps_of_heat_are_apart_and_in_one_order_for_every_eye(dark, eye):
    steps = HEAT_FILLS[dark]
    assert min(difference(lab(a, eye), lab(b, eye)) for a, b in pairwise(steps)) >= 6
    lightness = [lab(fill, eye)[0] for fill in steps]
    assert lightness == sorted(lightness, reverse=not dark)


@pytest.mark.parametrize("dark", [True, False])
def test_no_step_of_heat_has_the_color_of_a_class(dark):
    pairs = [(step, fill) for step in HEAT_FILLS[dark] for fill in OPERATOR_FILLS]
    assert min(difference(lab(a), lab(b)) for a, b in pairs) >= 8


@pytest.mark.parametrize("eye", EYES)
@pytest.mark.parametrize("dark", [True, False])
def test_slower_faster_and_no_change_are_apart_for_every_eye(dark, eye):
    found = [fills(dark)[index] for index in (SLOWER, FASTER, SLAB)]
    assert least(found, eye) >= 15


@pytest.mark.parametrize("eye", EYES)
def test_what_is_linked_and_what_is_not_are_far_apart(eye):
    states = [OPERATOR_FILLS[i] for i in (_ONE, _SEVERAL, _NONE, _NEAR)]
    assert least(states, eye) >= 15


@pytest.mark.parametrize("dark", [True, False])
def test_every_label_can_be_read_on_its_fill(dark):
    for fill, label in zip(fills(dark), label_colors(dark), strict=True):
        assert contrast(fill, label) >= 4.5
    assert len(fills(dark)) == KERNELS + OPERATORS + 1 + RAMP_STEPS + HEAT_STEPS + 2

"""The ruler: nice steps, one unit, never crowded."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from viewer.model.times import plain_spaces
from viewer.render.time_axis import Axis, Scale, ruler

EPOCH = 1_700_000_000_000_000_000
THIN = "\u2009"


def test_the_ruler_of_the_reference_picture():
    found = ruler(677_900, 736_100, 1350)
    assert found.unit == "µs"
    assert found.labels == (
        "680",
        "685",
        "690",
        "695",
        "700",
        "705",
        "710",
        "715",
        "720",
        "725",
        "730",
        "735",
    )
    assert found.major.tolist() == list(range(680_000, 736_000, 5000))
    assert np.diff(found.minor)[0] == 1000


@pytest.mark.parametrize(
    ("t0", "t1", "width", "unit", "labels"),
    [
        (0, 1, 500, "ns", ("0", "1")),
        (0, 1000, 400, "µs", ("0", "0.2", "0.4", "0.6", "0.8", "1.0")),
        (-1000, 1000, 300, "µs", ("−1.0", "−0.5", "0", "0.5", "1.0")),
        (1_234_567, 1_234_569, 200, "ns", ("1 234 567", "1 234 568", "1 234 569")),
        (0, 2_000_000_000, 400, "s", ("0", "0.5", "1.0", "1.5", "2.0")),
    ],
)
def test_labels_have_one_unit_and_the_decimals_they_need(t0, t1, width, unit, labels):
    found = ruler(t0, t1, width)
    assert (found.unit, found.labels) == (unit, tuple(text.replace(" ", THIN) for text in labels))


def test_times_count_from_the_origin_without_rounding():
    found = ruler(EPOCH + 5, EPOCH + 8, 400, EPOCH)
    assert found.labels == ("5", "6", "7", "8")
    assert found.major.tolist() == [EPOCH + n for n in (5, 6, 7, 8)]


def test_no_range_has_no_lines():
    for t0, t1, width in ((5, 5, 100), (5, 4, 100), (0, 5, 0)):
        assert ruler(t0, t1, width).labels == ()


@pytest.mark.slow
@given(
    t0=st.integers(-(10**18), 10**18),
    span=st.integers(1, 10**6) | st.integers(1, 4 * 10**18),
    width=st.integers(1, 4000),
)
def test_lines_are_nice_few_and_inside(t0, span, width):
    t1 = t0 + span
    found = ruler(t0, t1, width, origin=t0 - 17)
    assert len(found.labels) == len(found.major) <= width // 60 + 1
    assert all(t0 <= t <= t1 for t in (*found.major.tolist(), *found.minor.tolist()))
    assert not set(found.major.tolist()) & set(found.minor.tolist())
    assert len(found.minor) <= width // 6 + 1
    if len(found.major) > 1:
        (step,) = set(np.diff(found.major).tolist())
        assert str(step).rstrip("0") in {"1", "2", "5"}
        assert ((found.major - (t0 - 17)) % step == 0).all()
    assert len(set(found.labels)) == len(found.labels)


def test_long_labels_are_given_more_room():
    hour = 3_600_000_000_000
    found = ruler(hour, hour + 40, 1200)
    assert found.labels[0] == THIN.join(["3", "600", "000", "000", "000"])
    room = float(np.diff(found.major)[0]) * 1200 / 40
    assert room >= 7 * len(found.labels[0])


def test_the_time_under_the_mouse_has_the_digits_that_the_view_resolves():
    at = Scale(origin=1_000).text(3_876_413_385, 1_000).replace("\u202f", " ")
    assert at == f"3.876{THIN}412 s"


def test_a_span_counts_from_the_same_origin_as_the_lines():
    assert plain_spaces(Scale(1_000_000).span_text(1_200_000, 2_349_000)) == "0.2 to 1.349 ms"
    cycles = Scale(100, Axis(Fraction(5, 4), 1000))
    assert plain_spaces(cycles.span_text(1000, 2250)) == "−100 to 900 cycles"
    assert plain_spaces(cycles.span_text(1250, 1250)) == "100 cycles"

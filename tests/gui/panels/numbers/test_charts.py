"""The histogram of a value and its reference."""

import numpy as np
import pytest
from PySide6.QtCore import Qt

from viewer.gui.panels.numbers.charts import Histogram
from viewer.gui.panels.numbers.contents import Histograms
from viewer.model.times import plain_spaces

NONE = np.empty(0, np.int64)


@pytest.fixture
def show(theme, qtbot):
    def make(a, b=NONE, low=0.0, high=4.0):
        made = Histogram(theme)
        qtbot.addWidget(made)
        made.resize(260, 116)
        made.show_counts(Histograms(low, high, np.array(a), np.array(b)))
        made.show()
        made.grab()
        return made

    return make


def lines(made, place):
    return [plain_spaces(line) for line in made.lines(place)]


def test_the_mouse_shows_the_range_and_both_counts(show, qtbot):
    made = show([1000, 0, 5, 1], [0, 0, 7, 1])
    qtbot.mouseMove(made.viewport(), made.center_of(2))
    assert [plain_spaces(line) for line in made.tip.lines] == ["2 to 3", "A 5", "B 7"]
    assert lines(made, 0) == ["0 to 1", "A 1 000", "B 0"]
    assert made.accessible_value() == "0 to 4"


def test_arrow_keys_read_the_bins(show, qtbot):
    made = show([1000, 0, 5, 1])
    for _ in range(3):
        qtbot.keyClick(made, Qt.Key.Key_Right)
    assert made.accessible_value() == "2 to 3, 5"


def test_without_a_reference_there_is_one_count(show):
    assert lines(show([3, 4]), 1) == ["2 to 4", "4"]


def test_the_axis_below_has_values_and_the_left_one_counts(show):
    made = show([1000, 0, 5, 1])
    levels = made.bottom.tickValues(*made.plot.viewRange()[0], 200)
    assert {0.0, 2.0, 4.0} <= {value for _, values in levels for value in values}
    assert [text for _, text in made.left._tickLevels[0]][:3] == ["0", "10", "100"]


@pytest.mark.parametrize(
    ("low", "high"), [(-1.7e308, 1.7e308), (1.0, 1.0), (0.0, 5e-324), (1e20, 1.0000000000000002e20)]
)
def test_ranges_that_no_axis_can_have_show_their_ends(show, low, high):
    made = show([1, 2, 3], low=low, high=high)
    assert [text for _, text in made.bottom._tickLevels[0]] == [
        f"{v:.4g}".replace("-", "\u2212") for v in (low, high)
    ]
    assert not made.grab().isNull()


def test_a_single_value_next_to_a_million_is_visible(show):
    made = show([1_000_000, 1])
    pixels = made.viewport().grab().toImage()
    ratio, plot = pixels.devicePixelRatio(), made.plot_rect()
    x, foot = made.center_of(1).x() * ratio, (plot.bottom() - 3) * ratio
    assert pixels.pixel(int(x), int(foot)) != pixels.pixel(int(x), int((plot.top() + 5) * ratio))


def test_nothing_is_shown_after_it_was_emptied(show, qtbot):
    made = show([1, 2])
    at = made.center_of(0)
    made.show_counts(None)
    qtbot.mouseMove(made.viewport(), at)
    assert made.tip.lines == ()
    assert made.accessible_value() == ""

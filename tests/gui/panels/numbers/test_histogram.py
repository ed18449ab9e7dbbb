"""The histogram of a value and its reference."""

import numpy as np
import pytest
from PySide6.QtCore import QPoint

from viewer.gui.panels.numbers.detail_answer import Histograms
from viewer.gui.panels.numbers.histogram import Histogram
from viewer.model.times import plain_spaces

NONE = np.empty(0, np.int64)


@pytest.fixture
def show(theme, qtbot):
    def make(a, b=NONE):
        made = Histogram(theme)
        qtbot.addWidget(made)
        made.resize(200, 80)
        made.show_counts(Histograms(0.0, 4.0, np.array(a), np.array(b)))
        made.show()
        return made

    return make


def test_the_mouse_shows_the_range_and_both_counts(show, qtbot):
    made = show([1000, 0, 5, 1], [0, 0, 7, 1])
    qtbot.mouseMove(made, QPoint(110, 30))
    assert [plain_spaces(line) for line in made.tip.lines] == ["2 to 3", "A 5", "B 7"]
    assert [plain_spaces(line) for line in made.lines_at(10)] == ["0 to 1", "A 1 000", "B 0"]
    assert made.lines_at(200) == ()
    assert made.accessible_value() == "0 to 4"


def test_without_a_reference_there_is_one_count(show):
    assert show([3, 4]).lines_at(150) == ("2 to 4", "4")


def test_a_single_value_next_to_a_million_is_visible(show):
    made = show([1_000_000, 1])
    pixels = made.grab().toImage()
    row = made.height() - 16 - 3
    ratio = pixels.devicePixelRatio()
    ground = pixels.pixel(int(150 * ratio), int(5 * ratio))
    assert pixels.pixel(int(150 * ratio), int(row * ratio)) != ground


def test_nothing_is_shown_after_it_was_emptied(show):
    made = show([1, 2])
    made.show_counts(None)
    assert made.lines_at(10) == ()
    assert made.accessible_value() == ""

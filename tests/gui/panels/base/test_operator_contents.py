"""Columns of counts are wide enough for their largest one."""

import pytest
from PySide6.QtGui import QFontMetrics

from tests.gui.dark_theme import dark_theme
from viewer.gui.panels.base.operator_model import width_of_counts
from viewer.model.times import group_digits

INSETS = 2 * 8  # px left and right of the text of a cell


@pytest.mark.parametrize("count", [0, 88_888, 888_888, 8_888_888, 888_888_888, 8_888_888_888])
def test_a_column_has_room_for_its_largest_count(qapp, count):
    theme = dark_theme()
    text = QFontMetrics(theme.font("cell")).horizontalAdvance(group_digits(count))
    assert text + theme.px(INSETS) <= theme.px(width_of_counts(count, 60))

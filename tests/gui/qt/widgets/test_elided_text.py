"""Texts that are cut to a width."""

from PySide6.QtCore import Qt
from PySide6.QtGui import QFont, QFontMetrics, QFontMetricsF

from viewer.gui.qt.widgets.labels import elided_text, measurable

RIGHT = Qt.TextElideMode.ElideRight


def test_a_short_text_is_measured_whole():
    assert measurable("forward") == "forward"


def test_a_name_of_a_megabyte_is_measured_at_its_ends():
    shown = measurable("a" * 10**6 + "z")
    assert (shown[0], shown[-1], len(shown)) == ("a", "z", 4001)


def test_a_text_with_room_is_shown_with_its_control_characters_as_escapes(qapp):
    for metrics in (QFontMetrics(QFont()), QFontMetricsF(QFont())):
        assert elided_text(metrics, "a\u202eb", RIGHT, 500) == "a\\u202eb"


def test_a_text_without_room_ends_with_an_ellipsis(qapp):
    assert elided_text(QFontMetrics(QFont()), "w" * 100, RIGHT, 50).endswith("…")

"""The changes of source lines while two arms are compared."""

import pytest
from PySide6.QtGui import QFontMetrics

from tests.builders.compared_windows import arms_of
from viewer.gui.panels.source.code_view import CHANGE_WIDTH, changes_of, shared_changes_of
from viewer.gui.panels.source.panel import SourcePanel
from viewer.gui.session.comparison import ComparisonFeed, compare

EDIT = "compare/06_portable_vs_xnnpack"


@pytest.fixture
def panel(opened, data, show_panel):
    files = [data / EDIT / name for name in ("a.etdp", "a.etrecord", "b.etdp", "b.etrecord")]
    session = opened(*files)
    made = show_panel(SourcePanel, session, 900, 500)
    compare(session, arms_of([str(files[0])], [str(files[2])]))
    return made


def recorded(session):
    """The file of the first operator with a source line."""
    program = session.traces[0].table.program
    return next(op.source.path for op in program.operators if op.source)


def test_lines_have_the_times_of_both_arms_and_one_session_proves_nothing(panel):
    found = ComparisonFeed.of(panel.session).answer
    changes = changes_of(found.at("line"), 0, recorded(panel.session))
    assert changes
    assert {change.verdict for change in changes.values()} == {"cannot_tell"}
    rows = zip(found.at("line").rows, found.at("line").compared, strict=True)
    single = [one for row, one in rows if len(row.a) == len(row.b) == 1]
    assert len([change for change in changes.values() if change.a and change.b]) >= len(single)


def test_the_gutter_shows_changes_until_the_comparison_ends(panel):
    panel.show_source(recorded(panel.session), 1)
    assert panel.code.gutter.changes
    assert panel.gutter_title.text().strip() == "A, B, change"
    assert not panel.code.grab().isNull()
    compare(panel.session, None)
    assert panel.code.gutter.changes is None
    assert "change" not in panel.gutter_title.text()


def test_lines_of_another_file_have_no_change(panel):
    found = ComparisonFeed.of(panel.session).answer
    assert changes_of(found.at("line"), 0, "/elsewhere/other.py") == {}


def test_long_differences_do_not_touch_the_times(theme):
    metrics = QFontMetrics(theme.font("cell"))
    assert theme.px(CHANGE_WIDTH) >= metrics.horizontalAdvance("+888.888\u202fµs") + theme.px(8)


def test_time_that_lines_share_is_one_change_below_the_source(panel):
    """No line of a delegate call shows the time of all of them as its own."""
    found = ComparisonFeed.of(panel.session).answer
    lines, path = found.at("line"), recorded(panel.session)
    single, shared = changes_of(lines, 0, path), shared_changes_of(lines, 0, path)
    assert shared
    assert all(len(one.lines) > 1 and not single.keys() & set(one.lines) for one in shared)
    panel.show_source(path, 1)
    text = panel.shared.text()
    assert all(one.change.a in text and one.change.b in text for one in shared)
    brackets = {bracket.lines for bracket in panel.code.gutter.brackets}
    assert brackets == {one.lines for one in shared}
    compare(panel.session, None)
    assert not panel.shared.isVisible()  # A runs every operator on its own

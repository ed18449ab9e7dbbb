"""Statistics while two arms are compared."""

import pytest

from tests.builders.compared_windows import arms_of, write_arms
from viewer.gui.panels.statistics.panel import KEYS, StatisticsPanel
from viewer.gui.session.comparison import compare
from viewer.gui.session.feeds.comparison import ComparisonFeed

EDIT = "compare/06_portable_vs_xnnpack"


def pick(panel, key):
    panel.by.setCurrentIndex(KEYS.index(key))
    panel.by.activated.emit(KEYS.index(key))


def titles(panel):
    return [heading.title for heading in panel.model.contents.headings]


@pytest.fixture
def linked(opened, data, show_panel):
    """Portable kernels against XNNPACK, one session each."""
    files = [data / EDIT / name for name in ("a.etdp", "a.etrecord", "b.etdp", "b.etrecord")]
    session = opened(*files)
    made = show_panel(StatisticsPanel, session)
    compare(session, arms_of([str(files[0])], [str(files[2])]))
    return made


@pytest.mark.parametrize("key", ["operator", "node", "type", "module", "line", "name"])
def test_groups_of_slices_have_changes_and_a_row_selects_its_slices(linked, key):
    pick(linked, key)
    assert titles(linked)[1:4] == ["A", "B", "Change"]
    assert not linked.button.isEnabled()
    linked.table.chosen.emit(0)
    assert linked.session.state.slice is not None


@pytest.mark.parametrize("key", ["thread", "inference"])
def test_other_keys_show_their_own_figures(linked, key):
    pick(linked, key)
    assert "Change" not in titles(linked)
    assert linked.button.isEnabled()


def test_a_narrow_table_keeps_the_changes_and_not_the_lines(linked):
    pick(linked, "type")
    linked.resize(590, 400)
    shown = [title for i, title in enumerate(titles(linked)) if not linked.table.isColumnHidden(i)]
    assert shown == [titles(linked)[0], "A", "B", "Change"]


def test_names_are_compared_without_a_record(opened, tmp_path, show_panel):
    a, b = write_arms(tmp_path)
    session = opened(*a, *b)
    made = show_panel(StatisticsPanel, session)
    compare(session, arms_of(a, b))
    pick(made, "name")
    assert made.model.rows[0].op == "native_call_add.out"
    assert made.subtitle.text() == "medians of 4 + 4 sessions"
    made.table.chosen.emit(0)
    found = ComparisonFeed.of(session).answer
    paths = {session.traces[ref.trace].file.path for ref in session.state.slices}
    assert paths == {found.typical(side)[0] for side in (0, 1)}
    compare(session, None)
    assert "Change" not in titles(made)

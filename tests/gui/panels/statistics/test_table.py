"""Statistics while two arms are compared."""

import pytest

from tests.builders.compared_windows import arms_of, write_arms
from viewer.gui.panels.base.slice_facts import MISSING
from viewer.gui.panels.statistics.panel import KEYS, StatisticsPanel
from viewer.gui.session.comparison import ComparisonFeed, compare
from viewer.view.state import SliceRef

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
def test_other_keys_show_the_figures_of_one_profile_and_its_arm(linked, key):
    pick(linked, key)
    assert "Change" not in titles(linked)
    assert linked.button.isEnabled()
    assert linked.subtitle.text().startswith("A only · ")
    linked.session.select_slice(SliceRef(1, 0))
    assert linked.subtitle.text().startswith("B only · ")
    compare(linked.session, None)
    assert " only · " not in linked.subtitle.text()


def test_delegates_have_changes(linked):
    linked.session.select_slice(SliceRef(1, 0))  # only B has a delegate
    pick(linked, "delegate")
    shown = {row.op: row.texts[1:3] for row in linked.model.rows}
    assert set(shown) == {"(not delegated)", "XnnpackBackend"}
    assert shown["XnnpackBackend"][0] == MISSING


TORQ = ("torq/compile_c1_css_cdma.csv", "torq/compile_c3_taskid_mtu.csv")


@pytest.mark.parametrize("swapped", [False, True])
def test_units_have_the_busy_time_of_each_arm(opened, data, show_panel, swapped):
    """Whatever the current trace is, A is in the column of A."""
    paths = [str(data / name) for name in TORQ]
    session = opened(*paths)
    made = show_panel(StatisticsPanel, session)
    pick(made, "unit")
    own = []
    for number in (1, 0) if swapped else (0, 1):
        session.select_slice(SliceRef(number, 0))
        own.append({row.op: row.keys[1] for row in made.model.rows})
    a, b = reversed(paths) if swapped else paths
    compare(session, arms_of([a], [b]))
    assert titles(made)[:4] == ["Unit", "A", "B", "Change"]
    assert made.subtitle.text() == "medians of 1 + 1 sessions · units overlap"
    shown = {row.op: row.keys[1:3] for row in made.model.rows}
    assert len(shown) > 8
    for label, ns in shown.items():  # a cycle is 1.25 ns
        assert ns == pytest.approx([arm.get(label, 0) for arm in own], abs=1), label
    for number in (0, 1):
        session.select_slice(SliceRef(number, 0))
        assert {row.op: row.keys[1:3] for row in made.model.rows} == shown


def test_locations_have_changes(opened, data, show_panel):
    paths = [str(data / name) for name in TORQ]
    session = opened(*paths)
    made = show_panel(StatisticsPanel, session)
    compare(session, arms_of(paths[:1], paths[1:]))
    pick(made, "location")
    assert titles(made)[:4] == ["Location", "A", "B", "Change"]
    made.table.chosen.emit(0)
    assert {ref.trace for ref in session.state.slices} == {0, 1}


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

"""The changes of call paths in the Calls panel, while two arms are compared."""

from dataclasses import replace

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QColor
from PySide6.QtWidgets import QMenu

from tests.builders.path_arms import nested
from viewer.codecs.reading import never_cancelled, no_progress
from viewer.gui.panels.calls.answer import CallMode, CallsAnswer
from viewer.gui.panels.calls.changes import NOT_INVERTED, ChangesAnswer
from viewer.gui.panels.calls.texts import CHANGES, COSTS, CallColumn
from viewer.gui.session.comparison import compare, compare_files, swap_arms
from viewer.model.times import NARROW_SPACE as NARROW
from viewer.render.palette import CHANGE_FILLS, FASTER, SLAB, SLOWER, UNLINKED, fills
from viewer.view.state import SliceRef

SPREAD = (1.0, 1.001, 1.003)
OLD = {"main": {"load": 2_000, "run": {"conv": 5_000, "norm": 1_000, "copy": {"memcpy": 700}}}}
NEW = {"main": {"load": 2_000, "run": {"conv": 7_500, "norm": 800, "new": 900}}}


@pytest.fixture
def panel(compared, show_session):
    """One convolution of a linked program takes twice as long in B."""
    return show_session(compared({"blocks.1.dw": 2.0}))


@pytest.fixture
def plain(opened, show_session):
    """Profiles without an ETRecord: some calls are only in A, one is only in B."""
    session = opened()
    arms = [
        [nested(f"{name}{i}.csv", calls, scale=by) for i, by in enumerate(SPREAD)]
        for name, calls in (("a", OLD), ("b", NEW))
    ]
    session.add([*arms[0], *arms[1]])
    assert not compare_files(session, [trace.path for trace in arms[1]])
    return show_session(session)


def node(panel, *path):
    found = panel.answer.table.find(path)
    assert found is not None
    return found


def cells(panel, number):
    return [panel.model.rows.cell(number, column) for column in CHANGES]


def listed(panel):
    table = panel.answer.table
    return ["/".join(table.path(number)) for number in panel.table.listed_nodes()]


def color(panel, *path):
    return int(panel.answer.color[node(panel, *path)])


def test_a_row_has_both_times_the_change_and_the_verdict(panel):
    assert panel.model.columns == CHANGES
    slower = node(panel, "Method::execute", "blocks.1.dw · convolution")
    assert cells(panel, slower) == [
        "blocks.1.dw · convolution",
        f"11.438{NARROW}µs",
        f"22.877{NARROW}µs",
        f"+11.438{NARROW}µs",
        "2.00 x",
    ]
    assert panel.model.rows.verdict(slower) == "slower"
    assert panel.subtitle.text().startswith("17 paths: 2 slower · medians of 3 + 3 sessions")


def test_a_narrow_panel_keeps_the_verdicts_of_its_title(panel):
    def shown(width):
        panel.subtitle.resize(width + panel.subtitle.contentsMargins().right(), 20)
        return panel.subtitle.shown_text

    full = panel.subtitle.text()
    advance = panel.subtitle.fontMetrics().horizontalAdvance
    assert shown(advance(full) + 9) == full
    assert shown(advance(full) - 9) == "17 paths: 2 slower"
    assert shown(advance("17 paths: 2 slower") - 9) == "2 slower"


def test_the_largest_change_comes_first(panel):
    below = listed(panel)[1:]
    assert below[0] == "Method::execute/blocks.1.dw · convolution"
    changes = np.abs(panel.answer.calls.change_ns[panel.table.listed_nodes()[1:]])
    assert changes.tolist() == sorted(changes.tolist(), reverse=True)


def test_a_box_is_as_wide_as_its_time_in_b(plain):
    answer = plain.answer
    _, b = answer.changes.total_ns
    has_b = [i for i in range(len(answer.table)) if not path_is_only_in_a(answer, i)]
    assert answer.table.total[has_b].tolist() == np.rint(b[answer.table.number[has_b]]).tolist()
    assert (
        int(answer.table.total[node(plain, "main")]) == 11_200 + 11
    )  # of the session in the middle


def path_is_only_in_a(answer, number):
    path = int(answer.table.number[number])
    return path < 0 or bool(answer.changes.only[0][path])


def test_colors_are_those_of_verdicts(plain):
    assert color(plain, "main", "run", "conv") == SLOWER
    assert color(plain, "main", "run", "norm") == FASTER
    assert color(plain, "main", "load") == SLAB
    assert color(plain, "main", "run", "new") == UNLINKED
    assert color(plain, "Only in A", "copy") == UNLINKED


def test_colors_of_boxes_are_those_of_tables(theme):
    for index, token in ((SLOWER, "slower"), (FASTER, "faster")):
        assert QColor.fromRgb(fills(True)[index]).rgb() == theme.color(token).rgb()
    assert len(CHANGE_FILLS[True]) == len(CHANGE_FILLS[False]) == 2


def test_what_only_a_has_is_a_group_of_its_own_beside_all_boxes_of_b(plain):
    answer, layout = plain.answer, plain.answer.layout
    group, main = node(plain, "Only in A"), node(plain, "main")
    assert (
        int(answer.table.total[group])
        == int(answer.table.total[node(plain, "Only in A", "copy")])
        == 701
    )
    assert layout.start[group] == layout.end[main] == answer.table.total[main]
    assert cells(plain, group) == [
        "Only in A", f"701{NARROW}ns", "–", f"−701{NARROW}ns", "–"
    ]  # fmt: skip
    inner = node(plain, "Only in A", "copy", "memcpy")
    assert answer.path(inner) == ["main", "run", "copy", "memcpy"]
    assert "Called by main > run > copy" in plain.model.rows.lines(inner)


def test_the_sign_is_in_the_box_and_in_the_tip(plain):
    texts, conv = plain.model.rows, node(plain, "main", "run", "conv")
    assert texts.mark(conv) == "▲"
    assert texts.box(conv) == f"+2.502{NARROW}µs"
    assert texts.lines(conv)[1] == f"▲ +2.502{NARROW}µs, +50.0 %"
    assert texts.mark(node(plain, "main", "run", "norm")) == "▼"
    assert texts.mark(node(plain, "main", "load")) == ""
    assert texts.box(node(plain, "main", "run", "new")) == f"901{NARROW}ns only in B"


def test_boxes_are_painted_in_the_color_of_their_verdict(plain):
    plain.resize(1100, 600)
    flame = plain.flame
    image = flame.viewport().grab().toImage()
    for path, index in ((("main", "run", "conv"), SLOWER), (("main", "run", "norm"), FASTER)):
        at = flame.center_of(node(plain, *path))
        assert image.pixel(at.x(), at.y() - 7) & 0xFFFFFF == fills(True)[index]


def test_boxes_of_one_arm_are_hatched(plain):
    plain.resize(1100, 600)
    flame, new = plain.flame, node(plain, "main", "run", "new")
    image, at = flame.viewport().grab().toImage(), flame.center_of(new)
    found = {image.pixel(at.x() + dx, at.y() + dy) for dx in range(12) for dy in (-7, 6)}
    assert len(found) > 1


def test_a_click_on_a_box_selects_its_slices_in_both_arms(panel, qtbot):
    slower = node(panel, "Method::execute", "blocks.1.dw · convolution")
    at = panel.flame.center_of(slower)
    qtbot.mouseClick(panel.flame.viewport(), Qt.MouseButton.LeftButton, pos=at)
    chosen = panel.session.state.slices
    found = panel.answer.question.found
    paths = {panel.session.traces[number].file.path for number in chosen.of}
    assert paths == {found.typical(side)[0] for side in (0, 1)}
    assert [len(own) for own in chosen.of.values()] == [1, 1]
    assert panel.flame.marked == panel.table.marked == slower


def test_a_click_on_a_row_selects_its_slices_in_both_arms(plain, qtbot):
    conv = node(plain, "main", "run", "conv")
    rect = plain.table.visualRect(plain.model.index_of(conv))
    qtbot.mouseClick(plain.table.viewport(), Qt.MouseButton.LeftButton, pos=rect.center())
    chosen = plain.session.state.slices.of
    names = [plain.session.traces[t].trace.name(int(own[0])) for t, own in chosen.items()]
    assert names == ["conv", "conv"]
    assert plain.flame.marked == conv


def test_a_path_of_one_arm_selects_its_slices_there_and_a_group_selects_nothing(plain):
    plain._choose(node(plain, "Only in A", "copy"))
    assert len(plain.session.state.slices.of) == 1
    before = plain.session.state.slices
    plain._choose(node(plain, "Only in A"))
    assert plain.session.state.slices == before


def test_a_slice_of_either_arm_marks_its_path(panel):
    session, found = panel.session, panel.answer.question.found
    slower = node(panel, "Method::execute", "blocks.1.dw · convolution")
    for side in (0, 1):
        session.clear_selection()
        path, run = found.typical(side)
        own = found.slices_of_path(path, int(panel.answer.table.number[slower]), run, "operator")
        number = next(i for i, shown in enumerate(session.traces) if shown.file.path == path)
        session.select_slice(SliceRef(number, int(own[0])))
        assert panel.flame.marked == panel.table.marked == slower


def test_without_changes_in_panels_the_tree_has_costs_again(panel):
    session = panel.session
    compare(session, replace(session.state.compared, in_tables=False))
    assert panel.model.columns == COSTS
    assert isinstance(panel.answer, CallsAnswer)
    assert not panel.legend.isVisible()
    compare(session, replace(session.state.compared, in_tables=True))
    assert isinstance(panel.answer, ChangesAnswer)
    assert panel.legend.isVisible()
    compare(session, None)
    assert isinstance(panel.answer, CallsAnswer)
    assert panel.modes.buttons[CallMode.BOTTOM_UP].isEnabled()


def test_swapped_arms_swap_verdicts(panel):
    swap_arms(panel.session)
    slower = node(panel, "Method::execute", "blocks.1.dw · convolution")
    assert panel.model.rows.verdict(slower) == "faster"


def test_kinds_of_trees_that_changes_do_not_have_say_why(panel, plain):
    button = panel.modes.buttons[CallMode.BOTTOM_UP]
    assert not button.isEnabled()
    assert button.toolTip() == NOT_INVERTED
    assert panel.mode is CallMode.OPERATOR
    assert plain.mode is CallMode.TOP_DOWN
    assert not plain.modes.buttons[CallMode.OPERATOR].isVisible()


@pytest.mark.parametrize(
    ("mode", "path"),
    [
        (CallMode.MODULE, ("Method::execute", "blocks.1.dw")),
        (CallMode.TOP_DOWN, ("Method::execute", "OPERATOR_CALL")),
    ],
)
def test_other_names_of_calls_have_changes_too(panel, mode, path):
    panel.modes.buttons[mode].click()
    assert panel.mode is mode
    assert panel.model.rows.verdict(node(panel, *path)) == "slower"


def test_the_kind_of_costs_is_not_that_of_changes(panel):
    panel.modes.buttons[CallMode.TOP_DOWN].click()
    compare(panel.session, None)
    assert panel.mode is CallMode.MODULE  # as without a comparison


def test_one_call_can_be_shown_alone_and_searched(plain):
    plain.focus_on(node(plain, "main", "run"))
    assert plain.answer.table.text(0) == "run"
    assert plain.answer.focus == ("main", "run")
    plain.show_all_calls()
    plain.filter.setText("con")
    assert listed(plain) == ["main", "main/run", "main/run/conv"]
    assert plain.subtitle.text().startswith("1 path · ")


def test_rows_sort_by_every_column(plain):
    for column in range(len(CHANGES)):
        plain.model.sort(column, Qt.SortOrder.DescendingOrder)
        keys = plain.model.rows.keys(CHANGES[column])
        below = plain.model.listed_below(node(plain, "main", "run"))
        assert list(keys[below]) == sorted(keys[below], reverse=True)


def test_copied_rows_have_plain_numbers_and_a_verdict(plain):
    conv = node(plain, "main", "run", "conv")
    lines = plain.model.rows.tsv([conv], CHANGES).splitlines()
    assert lines[0] == "Call\tPath\tA, ns\tB, ns\tChange, ns\tChange, %\tVerdict"
    assert lines[1] == "conv\tmain > run\t5005\t7507\t2502\t+50.0 %\tslower"


def test_the_context_menu_offers_no_callers(plain):
    menu = QMenu(plain)
    plain._fill_menu(menu, node(plain, "main", "run"))
    actions = {action.text(): action for action in menu.actions()}
    assert not actions["Show callers"].isEnabled()
    assert actions["Focus on this call"].isEnabled()


def test_the_flame_graph_can_be_saved(plain, tmp_path):
    path = tmp_path / "changes.svg"
    plain.job_of(str(path))(no_progress, never_cancelled)
    text = path.read_text("utf-8")
    assert "▲ conv +2.502" in text.replace("\u202f", " ").replace("\u2009", " ")
    assert "url(#hatch)" in text


def test_arms_that_cannot_be_compared_say_why(opened, show_session):
    session = opened()
    session.add([nested("a.csv", OLD), nested("b.csv", OLD)])
    panel = show_session(session)
    compare_files(session, ["b.csv"])
    assert not panel.is_empty
    session.add([nested("c.csv", OLD)])
    compare_files(session, ["b.csv", "c.csv"])
    assert panel.is_empty
    assert "are the same recording" in panel.sentence


def test_the_columns_fit_a_narrow_panel(plain):
    plain.resize(500, 500)
    assert CallColumn.CHANGE in plain.table.shown_columns
    assert CallColumn.A not in plain.table.shown_columns

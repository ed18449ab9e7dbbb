"""The Sizes panel: its treemap and table, its choices, and one selection with the timeline."""

import numpy as np
import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QContextMenuEvent, QGuiApplication
from PySide6.QtWidgets import QMenu

from tests.builders.sized_programs import write_constants
from tests.gui.events import CTRL, wheel
from viewer.formats import open_file
from viewer.gui.panels.sizes.answer import Grouping
from viewer.gui.panels.sizes.panel import NOTHING, SizesPanel
from viewer.gui.panels.sizes.table import PARTS
from viewer.gui.session.choices import set_scheme
from viewer.gui.session.comparison import compare, compare_files
from viewer.model.times import plain_spaces
from viewer.render.box_pictures import Rest
from viewer.view.state import SliceRef

LLAMA = "pte/llama.pte", "pte/llama.etrecord", "pte/llama.etdp"
MOBILE = "pte/mobile_x.pte", "pte/mobile_x.etrecord", "pte/mobile_x.etdp"


@pytest.fixture
def show(show_panel, opened, data, qtbot):
    """Show the panel over files of tests/data, or of other paths, at a size in px."""

    def make(*names, size=(1300, 560)):
        panel = show_panel(SizesPanel, opened(*(data / name for name in names)), *size)
        settle(panel, qtbot)
        return panel

    return make


@pytest.fixture
def llama(show):
    """A program with its ETRecord and a profile."""
    return show(*LLAMA)


@pytest.fixture
def mobile(show):
    """A program of XNNPACK with modules, its ETRecord and a profile."""
    return show(*MOBILE)


@pytest.fixture
def copied(show, tmp_path):
    """Six constants, of which the last two equal the first one; no ETRecord."""
    return show(write_constants(tmp_path / "a.pte", [128, 64, 256, 512, 128, 128], copies=2))


@pytest.fixture
def compared(show, data, qtbot):
    """Two programs with their profiles, compared."""
    panel = show(*LLAMA)
    panel.session.add([open_file(str(data / name)) for name in MOBILE])
    assert compare_files(panel.session, [str(data / MOBILE[2])]) == ""
    qtbot.waitUntil(lambda: panel.shown_answer is not None and panel.shown_answer.is_compared)
    settle(panel, qtbot)
    return panel


def settle(panel, qtbot):
    qtbot.waitUntil(lambda: panel.sentence == NOTHING or panel.copies is not None)


def names(panel):
    return [panel.model.text(row, "Name") for row in panel.model.items.tolist()]


def marked(panel):
    """The names of the selected rows."""
    rows = panel.table.selectionModel().selectedRows()
    return sorted(names(panel)[index.row()] for index in rows)


def row_named(panel, name):
    answer = panel.shown_answer
    return next(row for row in range(len(answer)) if panel.model.text(row, "Name") == name)


def node_named(panel, label):
    return panel.tree.label.index(label)


def click(panel, qtbot, node, *, twice=False):
    box = panel.treemap.box_of_node(node)
    press = qtbot.mouseDClick if twice else qtbot.mouseClick
    at = panel.treemap.center_of(box)
    press(panel.treemap.viewport(), Qt.MouseButton.LeftButton, pos=at)


def title_of(panel, column):
    return panel.model.titles[PARTS.place(column)]


# -- what is shown -----------------------------------------------------------------------------


def test_without_a_program_file_it_says_what_to_open(show):
    panel = show("pte/llama.etdp")
    assert panel.sentence == NOTHING
    panel.empty.pressed.emit()
    assert panel.host.asked == [("open_files",)]


def test_the_largest_part_is_first_and_all_are_listed(llama):
    answer = llama.shown_answer
    assert int(answer.bytes_a[llama.model.items].sum()) == answer.a.size
    assert (np.diff(answer.bytes_a[llama.model.items]) <= 0).all()
    assert plain_spaces(llama.figures.text()).count("4.7 kB") == 1
    assert llama.subtitle.text() == f"{len(answer)} parts"
    assert llama.chooser.isHidden()
    assert llama.by_change.isHidden()


def test_without_an_etrecord_it_says_what_to_open(show):
    panel = show("pte/llama.pte")
    assert panel.footer.text().startswith("Open the matching ETRecord")
    assert panel.groupings.buttons[Grouping.MODULE].isHidden()
    used = panel.model.text(int(panel.model.items[1]), "Used by")
    assert used.startswith("aten::")


def test_columns_without_contents_are_hidden(llama, copied):
    copies = PARTS.place("Copies")
    assert llama.table.isColumnHidden(copies)
    assert not copied.table.isColumnHidden(copies)
    assert llama.table.isColumnHidden(PARTS.place("Change"))
    assert copied.table.isColumnHidden(PARTS.place("Module"))


def test_copies_are_counted_and_their_bytes_shown(copied):
    assert "2 parts are copies of other parts: 256 B" in plain_spaces(copied.summary.text())
    count = copied.model.text(row_named(copied, "constant 5"), "Copies")
    assert count == "3"


def test_a_part_with_copies_has_a_corner_in_the_color_of_warnings(copied, theme):
    image = copied.treemap.viewport().grab().toImage()

    def corner(name):
        node = int(copied.tree.node[row_named(copied, name)])
        treemap = copied.treemap
        box = treemap.room(treemap.box_of_node(node))
        at = box.topRight() + QPointF(-2, 2)
        return image.pixelColor(at.toPoint() * image.devicePixelRatio())

    assert corner("constant 5") == theme.color("warning")
    assert corner("constant 4") != theme.color("warning")


def test_sorting_by_a_title_and_back(llama):
    header = llama.table.horizontalHeader()
    header.setSortIndicator(PARTS.place("Name"), Qt.SortOrder.AscendingOrder)
    assert names(llama) == sorted(names(llama), key=str.lower)
    header.setSortIndicator(PARTS.place("Bytes"), Qt.SortOrder.AscendingOrder)
    assert (np.diff(llama.shown_answer.bytes_a[llama.model.items]) >= 0).all()
    header.setSortIndicator(-1, Qt.SortOrder.AscendingOrder)
    assert (np.diff(llama.shown_answer.bytes_a[llama.model.items]) <= 0).all()


def test_the_filter_searches_all_texts(llama, qtbot):
    qtbot.keyClicks(llama.filter, "constant f32")
    assert 0 < len(names(llama)) < len(llama.shown_answer)
    assert llama.subtitle.text() == f"{len(names(llama))} of {len(llama.shown_answer)} parts"
    qtbot.keyClick(llama.filter, Qt.Key.Key_Escape)
    assert len(names(llama)) == len(llama.shown_answer)


def test_rows_are_copied_with_whole_bytes(llama):
    llama.table.copy_all()
    lines = QGuiApplication.clipboard().text().splitlines()
    assert lines[0].split("\t")[:3] == ["Name", "Kind", "Bytes"]
    sizes = [int(line.split("\t")[2]) for line in lines[1:]]
    assert sum(sizes) == llama.shown_answer.a.size
    llama.table.selectRow(1)
    llama.table.copy()
    assert len(QGuiApplication.clipboard().text().splitlines()) == 2


# -- selection ---------------------------------------------------------------------------------


def test_a_click_on_a_box_selects_its_operators(llama, qtbot):
    row = row_named(llama, "q.weight")
    click(llama, qtbot, int(llama.tree.node[row]))
    assert llama.session.state.operators == (0, llama.shown_answer.part(row).operators)
    assert marked(llama) == ["q.weight"]


def test_a_click_on_a_row_does_too(llama, qtbot):
    place = names(llama).index("q.weight")
    at = llama.table.visualRect(llama.model.index(place, 0)).center()
    qtbot.mouseClick(llama.table.viewport(), Qt.MouseButton.LeftButton, pos=at)
    assert llama.session.state.operators is not None
    assert llama.treemap.marked.tolist() == [int(llama.tree.node[row_named(llama, "q.weight")])]
    assert marked(llama) == ["q.weight"]


def test_a_click_on_a_group_selects_all_operators_inside(llama, qtbot):
    llama.groupings.buttons[Grouping.OPERATOR].click()
    label = next(label for label in llama.tree.label if label.startswith("q · "))
    click(llama, qtbot, node_named(llama, label))
    assert "q.weight" in marked(llama)
    assert len(marked(llama)) > 1


def test_an_operator_that_is_selected_elsewhere_marks_its_parts(llama):
    row = row_named(llama, "q.weight")
    llama.session.select_operators(0, llama.shown_answer.part(row).operators)
    assert "q.weight" in marked(llama)
    assert int(llama.tree.node[row]) in llama.treemap.marked.tolist()
    llama.session.clear_selection()
    assert marked(llama) == []
    assert len(llama.treemap.marked) == 0


def test_a_slice_marks_the_parts_of_its_operators(llama):
    table = llama.session.traces[0].table
    wanted = llama.shown_answer.part(row_named(llama, "q.weight")).operators
    keys = [key for key, link in enumerate(table.links) if set(wanted) <= set(link.operators)]
    slices = np.flatnonzero(np.isin(table.trace.slices.key, keys))
    llama.session.select_slice(SliceRef(0, int(slices[0])))
    assert "q.weight" in marked(llama)


def test_without_an_etrecord_calls_are_selected_and_marked(show, qtbot):
    panel = show("pte/llama.pte", "pte/llama.etdp")
    row = next(
        row for row in range(len(panel.shown_answer)) if len(panel.shown_answer.part(row).uses) == 1
    )
    click(panel, qtbot, int(panel.tree.node[row]))
    trace, found = panel.session.traces[0].trace, panel.session.state.slices
    assert len(found) == 3  # one call in each inference
    use = panel.shown_answer.part(row).uses[0]
    key = trace.slices.key[panel.session.state.slice.index]
    assert trace.keys.instruction[key] == use.instruction
    panel.session.clear_selection()
    panel.session.select_slices(found, found[0])
    assert panel.model.text(row, "Name") in marked(panel)


def test_a_part_that_others_use_too_is_marked_only_without_own_ones(mobile):
    answer = mobile.shown_answer
    delegate = next(i for i in range(len(answer)) if len(answer.part(i).operators) > 1)
    weight = next(i for i in range(len(answer)) if len(answer.part(i).operators) == 1)
    mobile.session.select_operators(0, answer.part(weight).operators)
    node = mobile.tree.node
    assert int(node[weight]) in mobile.treemap.marked.tolist()
    assert int(node[delegate]) in mobile.treemap.related.tolist()
    own = {i for row in range(len(answer)) for i in answer.part(row).operators
           if len(answer.part(row).operators) == 1}  # fmt: skip
    bare = next(i for i in answer.part(delegate).operators if i not in own)
    mobile.session.select_operators(0, (bare,))
    assert int(node[delegate]) in mobile.treemap.marked.tolist()


def test_the_program_selects_nothing_and_stays_marked(llama, qtbot):
    click(llama, qtbot, int(llama.tree.node[row_named(llama, "program")]))
    assert llama.session.state.operators is None
    assert marked(llama) == ["program"]


# -- the picture -------------------------------------------------------------------------------


def test_the_mouse_over_a_box_shows_its_part(llama):
    box = llama.treemap.box_of_node(int(llama.tree.node[row_named(llama, "q.weight")]))
    llama.treemap._point(QPointF(llama.treemap.center_of(box)))
    assert llama.treemap.tip.lines[0] == "q.weight"
    assert "f32" in llama.treemap.tip.lines[2]
    llama.treemap._point(None)
    assert llama.treemap.tip.lines == ()


def test_a_double_click_zooms_into_a_group_and_keys_go_back(mobile, qtbot):
    mobile.groupings.buttons[Grouping.MODULE].click()
    treemap, blocks = mobile.treemap, node_named(mobile, "blocks")
    click(mobile, qtbot, blocks, twice=True)
    assert treemap.root == Rest(blocks, 0)
    assert ">blocks<" in mobile.path.links.text()
    assert len(names(mobile)) == int(mobile.tree.count[blocks])
    first = int(mobile.tree.sizes.inside(blocks)[0])
    leaf = int(mobile.tree.sizes.inside(first)[0])
    click(mobile, qtbot, leaf, twice=True)
    assert treemap.root == Rest(first, 0), "from a part, into the group around it"
    treemap.setFocus()
    qtbot.keyClick(treemap, Qt.Key.Key_Backspace)
    assert treemap.root == Rest(blocks, 0)
    qtbot.keyClick(treemap, Qt.Key.Key_Escape)
    assert treemap.shows_all
    assert len(names(mobile)) == len(mobile.shown_answer)


def test_the_line_above_leads_back(mobile, qtbot):
    mobile.groupings.buttons[Grouping.MODULE].click()
    blocks = node_named(mobile, "blocks")
    inside = int(mobile.tree.sizes.inside(blocks)[0])
    mobile.treemap.go_to(Rest(inside, 0))
    assert mobile.path.links.text().count("<a ") == 2
    mobile.path.links.linkActivated.emit("1")
    assert mobile.treemap.root == Rest(blocks, 0)
    mobile.path.links.linkActivated.emit("0")
    assert mobile.treemap.shows_all


def test_small_parts_are_one_box_that_opens(show, tmp_path, qtbot):
    panel = show(write_constants(tmp_path / "a.pte", [1 << 20, *[16] * 300]))
    treemap = panel.treemap
    group = node_named(panel, "constant")
    small = int(panel.tree.sizes.inside(group)[250])
    box = treemap.box_of_node(small)
    found = treemap.rest_of(box)
    assert found.skip > 0
    treemap.zoom_to(box)
    assert treemap.root == found
    assert panel.subtitle.text().startswith("301 parts") is False
    assert "smaller" in panel.path.links.text()
    own = treemap.rest_of(treemap.box_of_node(small))
    assert own.node == small
    treemap.go_back()
    assert treemap.root == Rest(found.node, 0)


def test_ctrl_and_the_wheel_zoom_by_groups(mobile, qtbot):
    mobile.groupings.buttons[Grouping.MODULE].click()
    treemap, blocks = mobile.treemap, node_named(mobile, "blocks")
    inside = treemap.box_of_node(int(mobile.tree.sizes.inside(blocks)[0]))
    at = treemap.center_of(inside)
    treemap._point(QPointF(at))
    for _ in range(4):
        assert treemap.shows_all
        assert wheel(treemap.viewport(), at, 0.25, held=CTRL)
    assert treemap.root == Rest(blocks, 0)
    wheel(treemap.viewport(), at, -1, held=CTRL)
    assert treemap.shows_all


def test_arrow_keys_step_to_the_next_box_and_enter_zooms(mobile, qtbot):
    treemap = mobile.treemap
    treemap.setFocus()
    qtbot.keyClick(treemap, Qt.Key.Key_Right)
    first = marked(mobile)
    assert len(first) >= 1
    for key in (Qt.Key.Key_Right, Qt.Key.Key_Down, Qt.Key.Key_Left, Qt.Key.Key_Up):
        qtbot.keyClick(treemap, key)
    assert treemap.accessible_value()
    group = node_named(mobile, "named data")
    leaf = int(mobile.tree.sizes.inside(group)[0])
    click(mobile, qtbot, leaf)
    qtbot.keyClick(treemap, Qt.Key.Key_Return)
    assert treemap.root == Rest(group, 0)
    qtbot.keyClick(treemap, Qt.Key.Key_0)
    assert treemap.shows_all


def test_a_part_out_of_view_is_brought_into_view(mobile):
    group = node_named(mobile, "named data")
    mobile.treemap.go_to(Rest(group, 0))
    answer = mobile.shown_answer
    delegate = next(i for i in range(len(answer)) if len(answer.part(i).operators) > 1)
    node = int(mobile.tree.node[delegate])
    assert mobile.treemap.box_of_node(node) < 0
    mobile.session.select_operators(0, answer.part(delegate).operators)
    mobile.treemap.mark([node])
    assert mobile.treemap.shows_all
    assert mobile.treemap.box_of_node(node) >= 0


def test_the_menu_of_a_group_zooms_and_offers_commands(mobile):
    offered = []
    mobile.treemap.menu_offered.connect(lambda menu: offered.append(menu.actions()[0].text()))
    at = mobile.treemap.center_of(mobile.treemap.box_of_node(node_named(mobile, "named data")))
    event = QContextMenuEvent(QContextMenuEvent.Reason.Mouse, at, mobile.treemap.mapToGlobal(at))
    mobile.treemap.contextMenuEvent(event)
    assert offered == ["Zoom to this group"]
    for menu in mobile.treemap.findChildren(QMenu):
        menu.close()


def test_another_grouping_keeps_what_is_marked(mobile, qtbot):
    row = next(i for i in range(len(mobile.shown_answer)) if mobile.shown_answer.part(i).names)
    click(mobile, qtbot, int(mobile.tree.node[row]))
    before = marked(mobile)
    mobile.groupings.buttons[Grouping.OPERATOR].click()
    assert marked(mobile) == before
    assert mobile.treemap.marked.tolist() == [int(mobile.tree.node[row])]


def test_colors_follow_the_timeline(llama):
    before = llama.treemap._colors.copy()
    set_scheme(llama.session, "type")
    assert (llama.treemap._colors != before).any()


def test_it_paints_at_every_size_and_theme(show, theme):
    panel = show(*MOBILE, size=(320, 240))
    for choice in ("light", "dark"):
        theme.set_choice(choice)
        assert not panel.grab().isNull()


# -- files -------------------------------------------------------------------------------------


def test_it_follows_files_that_are_opened_and_closed(show, data, qtbot):
    panel = show("pte/llama.pte")
    panel.session.add([open_file(str(data / "pte/llama.etrecord"))])
    qtbot.waitUntil(lambda: panel.shown_answer.has_operators)
    panel.session.close_all()
    assert panel.sentence == NOTHING
    assert panel.answer is None


def test_two_files_can_be_chosen_and_compared_without_profiles(show, qtbot):
    panel = show("pte/llama.pte", "pte/multi3.pte")
    listed = [panel.chooser.itemText(i) for i in range(panel.chooser.count())]
    assert listed == ["llama.pte", "multi3.pte", "llama.pte → multi3.pte"]
    panel.chooser.setCurrentIndex(2)
    panel.chooser.activated.emit(2)
    settle(panel, qtbot)
    assert panel.shown_answer.is_compared
    assert title_of(panel, "Bytes") == "A"


def test_a_comparison_shows_both_programs_with_their_changes(compared):
    answer = compared.shown_answer
    assert compared.chooser.currentText() == "llama.pte → mobile_x.pte"
    assert not compared.table.isColumnHidden(PARTS.place("Change"))
    change = answer.change[compared.model.items]
    assert (np.diff(np.abs(change)) <= 0).all(), "the largest change is first"
    compared.table.copy_all()
    lines = QGuiApplication.clipboard().text().splitlines()
    at = lines[0].split("\t").index("Change")
    total = sum(int(line.split("\t")[at]) for line in lines[1:])
    assert total == answer.b.size - answer.a.size


def test_boxes_can_be_colored_by_change(compared, theme):
    def color_of(row):
        treemap = compared.treemap
        node = int(compared.tree.node[row])
        image = treemap.viewport().grab().toImage()
        box = treemap.room(treemap.box_of_node(node))
        at = box.bottomRight() - QPointF(4, 4)
        return image.pixelColor(at.toPoint() * image.devicePixelRatio())

    answer = compared.shown_answer
    only_b = int(np.argmax(np.where(answer.bytes_a == 0, answer.bytes_b, 0)))
    before = color_of(only_b)
    compared.by_change.click()
    assert color_of(only_b) == theme.color("slower") != before


def test_parts_of_b_select_operators_of_b(compared, qtbot):
    answer = compared.shown_answer
    row = next(i for i in range(len(answer)) if not answer.bytes_a[i] and answer.part(i).operators)
    click(compared, qtbot, int(compared.tree.node[row]))
    trace, operators = compared.session.state.operators
    assert compared.session.traces[trace].table.program is answer.b.program
    assert set(answer.part(row).operators) <= set(operators)


def test_the_end_of_a_comparison_shows_one_file_again(compared, qtbot):
    compared.by_change.click()
    compare(compared.session, None)
    qtbot.waitUntil(lambda: not compared.shown_answer.is_compared)
    assert compared.by_change.isHidden()
    assert title_of(compared, "Bytes") == "Bytes"


def test_copies_are_looked_for_once_the_panel_is_visible(make_panel, opened, data, qtbot):
    panel = make_panel(SizesPanel, opened(data / "pte/llama.pte"))
    assert panel.shown_answer is not None
    assert panel.copies is None
    panel.resize(600, 400)
    panel.show()
    qtbot.waitUntil(lambda: panel.copies is not None)


def test_a_click_beside_all_boxes_does_nothing(llama, qtbot):
    qtbot.mouseClick(llama.treemap.viewport(), Qt.MouseButton.LeftButton, pos=QPoint(5000, 5000))
    assert marked(llama) == []

"""The Memory panel: its plan, its choices, and one selection with the timeline."""

import numpy as np
import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QContextMenuEvent, QGuiApplication
from PySide6.QtWidgets import QMenu

from viewer.formats import open_file
from viewer.gui.panels.memory.answer import MemoryMode
from viewer.gui.panels.memory.panel import NOTHING, ArenaAxisKind, MemoryPanel
from viewer.gui.session.choices import set_scheme
from viewer.gui.session.navigation import pick_run
from viewer.model.times import plain_spaces
from viewer.view.state import SliceRef, SliceSet

LLAMA = "pte/llama.pte", "pte/llama.etrecord", "pte/llama.etdp"


@pytest.fixture
def show(show_panel, opened, data, qtbot):
    """Show the panel over files of tests/data, at a size in px."""

    def make(*names, size=(1100, 560)):
        panel = show_panel(MemoryPanel, opened(*(data / name for name in names)), *size)
        qtbot.waitUntil(lambda: not panel.is_pending)
        return panel

    return make


@pytest.fixture
def llama(show):
    """A program with its ETRecord and a profile of three inferences."""
    return show(*LLAMA)


def names(panel):
    return [row.name for row in panel.model.rows]


def marked(panel):
    """The names of the selected rows."""
    rows = panel.table.selectionModel().selectedRows()
    return sorted(names(panel)[index.row()] for index in rows)


def storage_of(panel, instruction):
    writers = panel.shown_answer.writers
    return next(i for i, writer in enumerate(writers) if writer.instruction == instruction)


def click(panel, qtbot, storage):
    at = panel.arena.center_of(storage)
    qtbot.mouseClick(panel.arena.viewport(), Qt.MouseButton.LeftButton, pos=at)


def slice_of(panel, instruction):
    """The first call of an instruction in the open profile."""
    trace = panel.session.traces[0].trace
    keys = np.flatnonzero(trace.keys.instruction == instruction)
    return SliceRef(0, int(np.flatnonzero(np.isin(trace.slices.key, keys))[0]))


def test_without_a_program_file_it_says_what_to_open(show):
    panel = show("pte/llama.etdp")
    assert panel.sentence == NOTHING


def test_a_program_file_alone_has_kernels_over_instructions(show):
    panel = show("pte/llama.pte")
    assert names(panel)[0] == "0 · permute_copy"
    assert panel.arena.axis is panel.shown_answer.instructions
    assert panel.axes.isHidden()
    assert plain_spaces(panel.subtitle.text()) == "6 planned tensors · 5 instructions"
    assert panel.modes.buttons[MemoryMode.MODULE].isHidden()
    assert panel.chooser.isHidden()


def test_a_profile_adds_times_and_a_record_operators(llama):
    assert names(llama)[0] == "0 · q · linear (permute_copy)"
    assert llama.arena.axis is llama.shown_answer.time
    titles = [heading.title for heading in llama.model.contents.headings]
    assert titles[-2:] == ["Live", "At peak"]
    assert llama.footer.text() == (
        "No delegates · Times of forward · run 2 of 3, the typical inference"
    )
    assert "1.8 kB" in plain_spaces(llama.figures.text())


def test_the_picked_inference_has_the_times(llama, qtbot):
    pick_run(llama.session, (0, len(llama.session.traces[0].trace.runs) - 1))
    qtbot.waitUntil(lambda: "run 3 of 3" in llama.footer.text())
    assert "median" not in llama.footer.text()


def test_the_profile_is_named_if_there_are_several(show, qtbot):
    panel = show(*LLAMA, "etdump/cond_portable_x5.etdp")
    assert "run 2 of 3 of llama.etdp, " in panel.footer.text()


def test_a_click_on_a_box_selects_the_operator_that_writes_it(llama, qtbot):
    storage = storage_of(llama, 4)
    click(llama, qtbot, storage)
    trace, operators = llama.session.state.operators
    assert (trace, operators) == (0, llama.shown_answer.writers[storage].operators)
    assert llama.session.state.slice is None
    assert llama.arena.marked.tolist() == [storage]
    assert marked(llama) == [next(name for name in names(llama) if name.startswith("4 · "))]


def test_a_click_on_a_row_does_too(llama, qtbot):
    index = llama.model.index(1, 0)
    at = llama.table.visualRect(index).center()
    qtbot.mouseClick(llama.table.viewport(), Qt.MouseButton.LeftButton, pos=at)
    assert llama.session.state.operators is not None
    assert len(llama.arena.marked) == 1
    assert marked(llama) == [names(llama)[1]]


def test_without_a_record_a_click_selects_slices(show, qtbot):
    panel = show("pte/llama.pte", "pte/llama.etdp")
    click(panel, qtbot, storage_of(panel, 1))
    trace = panel.session.traces[0].trace
    found = panel.session.state.slices
    assert len(found) == 3  # one call in each inference
    key = trace.slices.key[panel.session.state.slice.index]
    assert trace.keys.instruction[key] == 1


def test_an_input_selects_nothing_and_stays_marked(llama, qtbot):
    storage = storage_of(llama, -1)
    click(llama, qtbot, storage)
    assert llama.session.state.operators is None
    assert marked(llama) == ["input"]


def test_a_slice_marks_what_it_writes_and_reads(llama):
    llama.session.select_slice(slice_of(llama, 1))
    answer = llama.shown_answer
    assert llama.arena.marked.tolist() == [storage_of(llama, 1)]
    related = {answer.writers[i].instruction for i in llama.arena.related.tolist()}
    assert related == {-1, 0}
    assert marked(llama) == ["1 · q · linear (addmm)"]
    llama.session.clear_selection()
    assert marked(llama) == []
    assert len(llama.arena.marked) == 0


def test_several_slices_mark_what_all_of_them_write(llama):
    first, other = slice_of(llama, 1), slice_of(llama, 3)
    llama.session.select_slices(SliceSet.of_refs([first, other]), first)
    assert llama.arena.marked.tolist() == [storage_of(llama, 1), storage_of(llama, 3)]


def test_an_operator_marks_all_that_it_writes(llama):
    operators = llama.shown_answer.writers[storage_of(llama, 0)].operators
    llama.session.select_operators(0, operators)
    assert llama.arena.marked.tolist() == sorted([storage_of(llama, 0), storage_of(llama, 1)])
    assert len(marked(llama)) == 2


def test_rows_of_operators_and_modules_mark_their_boxes(llama, qtbot):
    llama.modes.buttons[MemoryMode.OPERATOR].click()
    at = llama.table.visualRect(llama.model.index(0, 0)).center()
    qtbot.mouseClick(llama.table.viewport(), Qt.MouseButton.LeftButton, pos=at)
    written = [llama.shown_answer.writers[i].label for i in llama.arena.marked.tolist()]
    assert len(written) == 2
    assert len(set(written)) == 1
    llama.modes.buttons[MemoryMode.MODULE].click()
    assert marked(llama) == [written[0].split(" · ")[0]]


def test_the_axis_can_be_changed_and_keeps_what_is_marked(llama, qtbot):
    click(llama, qtbot, storage_of(llama, 1))
    llama.axes.buttons[ArenaAxisKind.INSTRUCTIONS].click()
    assert llama.arena.axis is llama.shown_answer.instructions
    assert llama.arena.marked.tolist() == [storage_of(llama, 1)]
    pick_run(llama.session, (0, len(llama.session.traces[0].trace.runs) - 1))
    qtbot.waitUntil(lambda: "run 3 of 3" in llama.footer.text())
    assert llama.arena.axis is llama.shown_answer.instructions


def test_the_filter_keeps_rows_of_a_kernel(llama, qtbot):
    qtbot.keyClicks(llama.filter, "addmm")
    assert names(llama) == ["1 · q · linear (addmm)", "3 · k · linear (addmm)"]
    qtbot.keyClick(llama.filter, Qt.Key.Key_Escape)
    assert len(names(llama)) == 6


def test_rows_in_use_at_the_peak_are_tinted_and_copied_with_a_mark(llama):
    llama.table.copy_all()
    lines = QGuiApplication.clipboard().text().splitlines()
    assert lines[0].split("\t")[0] == "Written by"
    assert sum(line.endswith("✓") for line in lines) == int(llama.shown_answer.is_at_peak.sum())


def test_methods_and_files_are_listed_and_chosen(show, qtbot):
    panel = show("pte/multi3.etdp", "pte/multi3.pte", "pte/llama.pte")
    listed = [panel.chooser.itemText(i) for i in range(panel.chooser.count())]
    assert listed[-1] == "llama.pte · forward"
    assert panel.chooser.currentText() == "multi3.pte · decode"  # it ran
    panel.chooser.setCurrentIndex(len(listed) - 1)
    panel.chooser.activated.emit(len(listed) - 1)
    qtbot.waitUntil(lambda: not panel.is_pending)
    assert panel.shown_answer.question.executable.path.endswith("llama.pte")
    assert panel.axes.isHidden()


def test_a_slice_of_another_method_shows_its_plan(show, qtbot):
    panel = show("pte/multi3.etdp", "pte/multi3.pte", "pte/llama.pte")
    panel.chooser.activated.emit(panel.chooser.count() - 1)
    trace = panel.session.traces[0].trace
    scope = np.flatnonzero(trace.keys.scope == 1)
    index = int(np.flatnonzero(np.isin(trace.slices.key, scope))[-1])
    panel.session.select_slice(SliceRef(0, index))
    qtbot.waitUntil(lambda: panel.shown_answer.plan.method.name == "decode")


def test_it_follows_files_that_are_opened_and_closed(show, data, qtbot):
    panel = show("pte/llama.pte")
    panel.session.add([open_file(str(data / "pte/llama.etdp"))])
    qtbot.waitUntil(lambda: panel.shown_answer.time is not None)
    panel.session.close_all()
    assert panel.sentence == NOTHING
    assert panel.answer is None


def test_colors_follow_the_timeline(llama):
    before = llama.arena._colors.copy()
    set_scheme(llama.session, "type")
    assert (llama.arena._colors != before).any()


# -- the picture -------------------------------------------------------------------------------


def test_the_mouse_over_a_box_shows_its_tensor_and_over_the_curve_the_bytes(llama, qtbot):
    qtbot.mouseMove(llama.arena.viewport(), llama.arena.center_of(storage_of(llama, 1)))
    llama.arena._point(QPointF(llama.arena.center_of(storage_of(llama, 1))))
    assert llama.arena.tip.lines[0] == "1 · q · linear (addmm)"
    llama.arena._point(None)
    assert llama.arena.tip.lines == ()
    live = llama.live
    qtbot.mouseMove(live.viewport(), QPoint(round(live.x_of(live._length * 0.3)), 30))
    assert live.tip.lines[0].startswith("Instruction 1")
    assert plain_spaces(live.tip.lines[1]) == "1.5 kB of planned memory in use"
    live._point(None)
    assert live.tip.lines == ()


def test_the_chart_of_live_memory_and_the_arena_show_the_same_range(llama, qtbot):
    arena, live = llama.arena, llama.live
    live.setFocus()
    qtbot.keyClick(live, Qt.Key.Key_Right)
    assert live.accessible_value().startswith("Instruction 0")
    qtbot.keyClick(live, Qt.Key.Key_Return)
    assert arena.shown_range == live._range
    assert not arena.shows_all
    assert not llama.zoom_button.isHidden()
    arena.show_all()
    assert live.shows_all
    box = arena.room(storage_of(llama, 1))
    plot = live.mapTo(llama, live.plot_rect().topLeft().toPoint())
    assert arena.mapTo(llama, box.topLeft().toPoint()).x() >= plot.x()
    assert abs(arena.width() - live.plot_rect().width()) <= 1


def test_zoom_pan_and_back(llama, qtbot):
    arena, storage = llama.arena, storage_of(llama, 1)
    assert llama.zoom_button.isHidden()
    qtbot.mouseDClick(arena.viewport(), Qt.MouseButton.LeftButton, pos=arena.center_of(storage))
    assert not arena.shows_all
    assert not llama.zoom_button.isHidden()
    before = arena.shown_range
    start = QPoint(300, 200)
    qtbot.mousePress(arena.viewport(), Qt.MouseButton.LeftButton, pos=start)
    qtbot.mouseMove(arena.viewport(), QPoint(340, 200))
    qtbot.mouseRelease(arena.viewport(), Qt.MouseButton.LeftButton, pos=QPoint(340, 200))
    assert arena.shown_range[0] < before[0]
    assert llama.session.state.operators is None, "a drag is no click"
    arena.setFocus()
    qtbot.keyClick(arena, Qt.Key.Key_Escape)
    assert arena.shows_all
    qtbot.keyClick(arena, Qt.Key.Key_Plus)
    assert not arena.shows_all
    llama.zoom_button.click()
    assert arena.shows_all


def test_arrow_keys_step_through_tensors(llama, qtbot):
    arena = llama.arena
    qtbot.keyClick(arena, Qt.Key.Key_Right)
    assert arena.marked.tolist() == [0]
    qtbot.keyClick(arena, Qt.Key.Key_Right)
    assert arena.marked.tolist() == [1]
    assert llama.session.state.operators is not None or marked(llama) == ["input"]
    own = llama.shown_answer.plan.storages
    before = int(own.offset[arena.marked[0]])
    qtbot.keyClick(arena, Qt.Key.Key_Down)
    after = int(own.offset[arena.marked[0]])
    assert after < before or before == 0
    qtbot.keyClick(arena, Qt.Key.Key_Return)
    assert arena.accessible_value()


def test_the_menu_of_a_box_zooms_and_offers_commands(llama, qtbot):
    offered = []
    llama.arena.menu_offered.connect(lambda menu: offered.append(menu.actions()[0].text()))
    at = llama.arena.center_of(storage_of(llama, 1))
    event = QContextMenuEvent(QContextMenuEvent.Reason.Mouse, at, llama.arena.mapToGlobal(at))
    llama.arena.contextMenuEvent(event)
    assert offered == ["Zoom to this tensor"]
    for menu in llama.arena.findChildren(QMenu):
        menu.close()


def test_boxes_at_the_peak_are_bright(llama):
    image = llama.arena.grab().toImage()
    answer = llama.shown_answer
    bright, faint = storage_of(llama, 2), storage_of(llama, 0)
    assert answer.is_at_peak[bright]
    assert not answer.is_at_peak[faint]

    def lightness(storage):
        at = llama.arena.center_of(storage) * image.devicePixelRatio()
        return image.pixelColor(at.x(), at.y()).lightness()

    assert lightness(bright) != lightness(faint)


def test_it_paints_at_every_size_and_theme(show, theme):
    panel = show(*LLAMA, size=(320, 240))
    for choice in ("light", "dark"):
        theme.set_choice(choice)
        assert not panel.grab().isNull()

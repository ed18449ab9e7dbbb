"""The unit of the ruler, and the colors, chosen by menu."""

import json
import re

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QContextMenuEvent
from PySide6.QtWidgets import QApplication, QInputDialog, QMenu

from tests.gui.events import SAMPLE, open_files, open_sample, press
from tests.gui.window.shown import pick
from viewer.gui.session.choices import set_scheme
from viewer.gui.window.commands.menus import RULER_MENU
from viewer.render.color_schemes import SCHEMES
from viewer.view.state import RulerUnit, SliceRef

# Errors need logged values: see tests/gui/session/feeds/test_numbers.py.
IDS = [scheme.id for scheme in SCHEMES if scheme.id != "error"]


@pytest.fixture
def compiled(shared_window, data):
    """A compile profile, which is counted in cycles of 1.25 ns."""
    return shared_window.showing(data / "torq" / "compile_c3_taskid_mtu.csv")


def choose(controller, unit):
    controller.commands.actions[f"ruler.{unit.name.lower()}"].trigger()


def test_it_counts_from_the_start_of_the_trace_until_told_otherwise(compiled):
    compiled.session.set_range(0, 10_000)
    assert compiled.timeline.ruler.caption == "µs from trace start"
    assert compiled.timeline.scene.scale.text(1250) == "1.250\u202fµs"


def test_cycles_of_the_file(compiled):
    choose(compiled, RulerUnit.CYCLES)
    scene = compiled.timeline.scene
    assert compiled.timeline.ruler.caption == "cycles from trace start"
    assert scene.scale.text(1250) == "1\u2009000\u202fcycles"
    compiled.session.set_range(0, 12_500)
    lines = scene.ruler(compiled.timeline.view.canvas)
    assert lines.labels[0] == "0"
    assert int(re.sub(r"\D", "", lines.labels[-1])) <= 10_000
    # Lines stand where the cycles are: a 1.25th of their number, in ns of 12,500 on the width.
    width = compiled.timeline.view.viewport().width()
    for column, label in zip(lines.major.tolist(), lines.labels, strict=True):
        assert column == int(re.sub(r"\D", "", label)) * width // 10_000


def test_from_the_selection_and_without_one_from_the_start(compiled):
    choose(compiled, RulerUnit.FROM_SELECTION)
    assert compiled.timeline.scene.scale.text(5000) == "5.000\u202fµs"
    compiled.session.select_slice(SliceRef(0, 20))
    start = compiled.session.traces[0].span_ns(20)[0]
    assert compiled.timeline.scene.scale.text(start) == "0"
    assert compiled.timeline.ruler.caption.endswith(" from the selection")
    compiled.session.clear_selection()
    assert compiled.timeline.ruler.caption.endswith(" from trace start")


def test_the_choice_is_checked_and_can_be_undone(compiled):
    actions = compiled.commands.actions
    choose(compiled, RulerUnit.CYCLES)
    assert [id for id in RULER_MENU if actions[id].isChecked()] == ["ruler.cycles"]
    compiled.session.undo()
    assert [id for id in RULER_MENU if actions[id].isChecked()] == ["ruler.from_start"]
    assert compiled.timeline.ruler.caption.endswith("from trace start")


def test_the_menu_opens_on_the_ruler(compiled, monkeypatch):
    opened = []
    monkeypatch.setattr(QMenu, "popup", lambda menu, place: opened.append((menu, place)))
    ruler, at = compiled.timeline.ruler, QPoint(100, 10)
    event = QContextMenuEvent(QContextMenuEvent.Reason.Mouse, at, ruler.mapToGlobal(at))
    QApplication.sendEvent(ruler, event)
    assert opened == [(compiled.menu_bar.ruler, ruler.mapToGlobal(at))]


def test_a_click_on_what_it_counts_opens_the_menu_below_it(compiled, monkeypatch):
    opened = []
    monkeypatch.setattr(QMenu, "popup", lambda menu, place: opened.append((menu, place)))
    corner, ruler = compiled.timeline.corner, compiled.timeline.ruler
    at = corner.mapFromGlobal(ruler.mapToGlobal(QPoint(-100, 10)))
    press(corner, at)
    ((menu, place),) = opened
    assert menu is compiled.menu_bar.ruler
    assert corner.mapFromGlobal(place).y() > at.y()


def test_cycles_are_offered_where_a_file_counts_them(compiled, qtbot):
    assert compiled.commands.actions["ruler.cycles"].isEnabled()
    compiled.session.close_all()
    open_sample(qtbot, compiled, "attention_xnnpack")
    assert not compiled.commands.actions["ruler.cycles"].isEnabled()


def test_the_clock_of_the_file(shared_window, qtbot):
    controller = shared_window.showing_sample("attention_xnnpack")
    choose(controller, RulerUnit.ABSOLUTE)
    shown = controller.session.traces[0]
    zero = shown.axis.to_ns(0)
    assert zero < 0
    assert controller.timeline.scene.scale.text(zero) == "0"
    assert controller.timeline.ruler.caption == "µs from clock zero"


def test_a_long_caption_is_cut_inside_the_column(shared_window, qtbot):
    controller = shared_window.showing_sample("attention_xnnpack")
    bare = controller.timeline.corner.grab().toImage()
    choose(controller, RulerUnit.ABSOLUTE)
    assert controller.timeline.corner.grab().toImage() != bare


def action(controller, scheme):
    return controller.commands.actions[f"view.colour_{scheme}"]


def item(controller, scheme):
    return controller.toolbar.scheme.model().item([one.id for one in SCHEMES].index(scheme))


@pytest.mark.parametrize("scheme", IDS)
def test_every_scheme_has_a_command_that_toolbar_and_check_follow(attention, scheme):
    action(attention, scheme).trigger()
    assert attention.session.state.scheme == scheme
    assert attention.toolbar.scheme.currentData() == scheme
    checked = [id for id in IDS if action(attention, id).isChecked()]
    assert checked == [scheme]


def test_c_goes_through_all_schemes_and_shift_c_back(attention, qtbot):
    seen = []
    for _ in IDS:
        qtbot.keyClick(attention.window, Qt.Key.Key_C)
        seen.append(attention.session.state.scheme)
    assert seen == [*IDS[1:], IDS[0]]
    qtbot.keyClick(attention.window, Qt.Key.Key_C, Qt.KeyboardModifier.ShiftModifier)
    assert attention.session.state.scheme == IDS[-1]


def test_without_a_record_what_needs_one_is_off_and_says_why(controller, qtbot):
    open_files(qtbot, controller, SAMPLE["attention_xnnpack"].paths()[0])
    reason = "No ETRecord is linked, so no slice has an operator"
    for scheme in ("operator", "type", "module"):
        assert not action(controller, scheme).isEnabled()
        assert action(controller, scheme).statusTip() == reason
        assert reason in action(controller, scheme).toolTip()
        assert not item(controller, scheme).isEnabled()
        assert reason in item(controller, scheme).toolTip()
    assert controller.toolbar.scheme.currentText() == "Name"  # what is seen
    assert action(controller, "name").isChecked()
    seen = set()
    for _ in IDS:
        qtbot.keyClick(controller.window, Qt.Key.Key_C)
        seen.add(controller.session.state.scheme)
    assert seen == {"name", "delegate", "duration", "links"}


def test_the_record_brings_the_chosen_scheme_back(controller, qtbot):
    dump, record = SAMPLE["attention_xnnpack"].paths()[:2]
    open_files(qtbot, controller, dump)
    open_files(qtbot, controller, record)
    assert controller.toolbar.scheme.currentText() == "Operator"
    assert action(controller, "module").isEnabled()
    assert (
        action(controller, "module").statusTip()
        == "Operators in the same module have the same color"
    )


def test_swatches_follow_the_scheme(attention):
    shown = attention.session.traces[0]
    delegate = attention.panels["operators"].table.itemDelegate()
    operators = shown.table.program.operators
    of_operators = delegate.colors.tolist()
    most_expensive = attention.panels["operators"].model.contents.rows[:10]
    single = [row.operators[0] for row in most_expensive if len(row.operators) == 1]
    assert len({of_operators[number] for number in single}) == len(single) > 1
    action(attention, "type").trigger()
    of_type = {}
    for op, color in zip(operators, delegate.colors.tolist(), strict=True):
        assert of_type.setdefault(op.op, color) == color
    assert attention.panels["events"].model.colors.tolist() == delegate.colors.tolist()
    action(attention, "duration").trigger()
    assert delegate.colors.tolist() == of_operators


def test_an_argument_is_chosen_in_the_toolbar_and_by_a_command(
    controller, qtbot, monkeypatch, tmp_path
):
    events = [
        {"ph": "X", "pid": 1, "tid": 1, "name": "s", "ts": i, "dur": 1, "args": {"kind": kind}}
        for i, kind in enumerate(("load", "store", "load"))
    ]
    path = tmp_path / "kinds.json"
    path.write_text(json.dumps({"traceEvents": events}))
    assert not action(controller, "argument").isEnabled()
    open_files(qtbot, controller, path)
    box, session = controller.toolbar.scheme, controller.session
    pick(box, box.findText("arg:kind"))
    assert session.state.scheme == "arg:kind"
    titles = {share.title for share in controller.timeline.legend.shares.listed}
    assert titles == {"load", "store"}
    action(controller, "name").trigger()
    offered = []

    def answer(parent, title, label, names, *rest):
        offered.extend(names)
        return "kind", True

    monkeypatch.setattr(QInputDialog, "getItem", answer)
    action(controller, "argument").trigger()
    assert offered == ["kind"]
    assert box.currentData() == session.state.scheme == "arg:kind"
    assert action(controller, "argument").isChecked()


def test_c_leaves_the_colors_of_an_argument(attention, qtbot):
    set_scheme(attention.session, "arg:no such")
    assert attention.toolbar.scheme.currentData() == "name"
    qtbot.keyClick(attention.window, Qt.Key.Key_C)
    assert attention.session.state.scheme == "type"

"""Colors by menu, toolbar and keys: what is chosen, what is grayed, and why."""

import pytest
from PySide6.QtCore import Qt

from tests.gui.events import SAMPLE, open_files
from viewer.render.color_schemes import SCHEMES

# Errors need logged values: see tests/gui/session/feeds/test_numbers.py.
IDS = [scheme.id for scheme in SCHEMES if scheme.id != "error"]


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
    delegate = attention.operators.table.itemDelegate()
    operators = shown.table.program.operators
    assert delegate.colors.tolist() == [i % 12 for i in range(len(operators))]
    action(attention, "type").trigger()
    of_type = {}
    for op, color in zip(operators, delegate.colors.tolist(), strict=True):
        assert of_type.setdefault(op.op, color) == color
    assert attention.events.model.colors.tolist() == delegate.colors.tolist()
    action(attention, "duration").trigger()
    assert delegate.colors.tolist() == [i % 12 for i in range(len(operators))]

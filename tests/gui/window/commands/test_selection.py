"""Copying the selected slices, or the rows of the focused table, in each format."""

import json

from PySide6.QtGui import QGuiApplication

from viewer.gui.panels.operators.panel import OperatorsPanel
from viewer.view.state import SliceRef


def copied(controller, id):
    controller.commands.actions[id].trigger()
    return QGuiApplication.clipboard().text()


def chosen(controller):
    shown = controller.session.traces[0]
    number = next(i for i in range(len(shown.trace.slices)) if shown.link(i).operators)
    controller.session.select_slice(SliceRef(0, number))
    controller.timeline.view.setFocus()
    return shown, number


def test_a_slice_is_copied_as_text_markdown_json_and_ns(attention):
    shown, number = chosen(attention)
    start, end = shown.span_ns(number)
    text = copied(attention, "edit.copy")
    assert text.splitlines()[1].split("\t")[:3] == [
        shown.label(number), str(start), str(end - start),
    ]  # fmt: skip
    assert f"| {shown.label(number)} | {start} | {end - start} |" in copied(
        attention, "edit.copy_markdown"
    )
    (row,) = json.loads(copied(attention, "edit.copy_json"))
    assert (row["Name"], row["Duration, ns"]) == (shown.label(number), end - start)
    assert copied(attention, "edit.copy_ns") == str(end - start)


def test_ctrl_c_on_the_canvas_copies_the_slice(attention, qtbot):
    shown, number = chosen(attention)
    QGuiApplication.clipboard().clear()
    qtbot.keySequence(attention.timeline.view, "Ctrl+C")
    assert shown.label(number) in QGuiApplication.clipboard().text()


def test_rows_of_the_focused_table_are_copied(attention):
    attention.commands.actions["panel.operators"].trigger()
    table = attention.panels.of(OperatorsPanel).table
    table.setFocus()
    assert table.hasFocus()
    table.selectRow(1)
    rows = json.loads(copied(attention, "edit.copy_json"))
    assert len(rows) == 1
    assert copied(attention, "edit.copy_markdown").splitlines()[1].startswith("| --- |")

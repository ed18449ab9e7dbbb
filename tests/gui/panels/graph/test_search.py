"""The search for operators, modules and delegate calls."""

from PySide6.QtCore import QPointF, Qt
from PySide6.QtTest import QTest

from tests.builders.nested_program import calls_of, nested_program
from tests.gui.panels.graph.picture import selected, settle
from viewer.gui.panels.graph.controls import hits, searched_texts
from viewer.render.graph.model_tree import group_tree


def test_hits_are_stepped_through_opened_and_centered(whole, qtbot):
    page, search = whole, whole.controls.search
    for node in sorted(page.answer.opened - {0}, reverse=True):
        page.toggle(node)
        settle(qtbot, whole)
    assert page.answer.opened == {0}
    search.field.setText("mlp gelu")
    assert search.count.text() == "2 hits"
    QTest.keyClick(search.field, Qt.Key.Key_Return)
    settle(qtbot, whole)
    assert search.count.text() == "1 of 2"
    program = page.answer.question.program
    (first,) = selected(whole)
    assert program.operators[first].name == "gelu"
    place = page.view.place_of(page.view.current)
    assert place.adjusted(-2, -2, 2, 2).contains(QPointF(page.view.rect().center()))
    QTest.keyClick(search.field, Qt.Key.Key_Return)
    settle(qtbot, whole)
    (second,) = selected(whole)
    assert second > first
    QTest.keyClick(search.field, Qt.Key.Key_Return, Qt.KeyboardModifier.ShiftModifier)
    settle(qtbot, whole)
    assert selected(whole) == (first,)


def test_modules_and_calls_are_found_too(partly):
    search = partly.controls.search
    search.field.setText("xnnpack 3")
    assert search.count.text() == "1 hit"
    search.field.setText("no such thing")
    assert search.count.text() == "no hit"
    QTest.keyClick(search.field, Qt.Key.Key_Return)
    QTest.keyClick(search.field, Qt.Key.Key_Escape)
    assert search.field.text() == search.count.text() == ""


def found(wanted):
    program = nested_program(
        ["a.x", "a.x", "a.y", "b", "b"], ops=["conv", "relu", "add", "mm", "mm"]
    )
    calls = calls_of({7: (3, 4)})
    tree = group_tree(program, calls)
    nodes = hits(searched_texts(tree, program, calls), wanted)
    return [tree.names[n] or f"call {tree.call[n]}" for n in nodes]


def test_operators_modules_classes_and_calls_are_found():
    assert found("relu") == ["relu"]
    assert found("MM_4") == ["mm"]
    assert found("xnnpack 7") == ["call 0"]
    assert found("a.x") == ["x", "conv", "relu"]


def test_all_words_must_be_there():
    assert found("conv x") == ["conv"]
    assert found("conv b") == []
    assert found("  ") == []

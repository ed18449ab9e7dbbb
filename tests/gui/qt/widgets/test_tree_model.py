"""The item model of all trees, over calls: rows without objects, a row for many siblings."""

import pytest
from PySide6.QtCore import QModelIndex, QPersistentModelIndex, Qt
from PySide6.QtTest import QAbstractItemModelTester

from tests.builders.call_traces import trace_of
from tests.gui.panels.calls.conftest import SLICES
from tests.gui.panels.calls.test_answer import answered
from viewer.gui.panels.calls.answer import matches_of
from viewer.gui.panels.calls.texts import CallColumn, CallTexts
from viewer.gui.qt.widgets.trees import TreeModel


@pytest.fixture
def model(qapp):
    made = TreeModel()
    QAbstractItemModelTester(made, QAbstractItemModelTester.FailureReportingMode.Fatal)
    return made


def texts_below(model, parent):
    return [model.index(row, 0, parent).data() for row in range(model.rowCount(parent))]


def wide(count):
    """A call with many others in it, each shorter than the one before."""
    at, inside = 0, []
    for i in range(count):
        inside.append(("t", f"n{i:02}", at, at + count - i))
        at += count - i
    return trace_of(("t", "main", 0, at), *inside)


def test_rows_have_the_figures_of_their_nodes(model):
    model.show(CallTexts(answered(trace_of(*SLICES))))
    main = model.index(0, 0)
    assert texts_below(model, QModelIndex()) == ["main"]
    assert texts_below(model, main) == ["run", "load"]
    run = model.index(0, 0, main)
    cells = [run.siblingAtColumn(column).data() for column in range(model.columnCount())]
    assert [cell.replace("\u202f", " ") for cell in cells] == [
        "run",
        "70 ns",
        "20 ns",
        "1",
        "70 ns",
    ]
    assert model.parent(run) == main
    assert model.node(run) == 1


def test_many_siblings_share_a_row_until_it_is_chosen(model, monkeypatch):
    monkeypatch.setattr(CallTexts, "at_first", 3)
    model.show(CallTexts(answered(wide(8))))
    main = model.index(0, 0)
    assert texts_below(model, main) == ["n00", "n01", "n02", "5 more"]
    rest = model.index(3, 0, main)
    assert model.node(rest) == -1
    assert model.parent(rest) == main
    assert rest.siblingAtColumn(1).data().replace("\u202f", " ") == "15 ns"  # 5 + 4 + 3 + 2 + 1
    assert rest.siblingAtColumn(3).data() == "5"
    model.show_more(rest)
    assert texts_below(model, main) == ["n00", "n01", "n02", "n03", "n04", "n05", "2 more"]
    model.show_more(model.index(6, 0, main))
    assert texts_below(model, main) == [f"n{i:02}" for i in range(8)]


def test_a_node_without_a_row_gets_one_if_it_is_wanted(model, monkeypatch):
    monkeypatch.setattr(CallTexts, "at_first", 3)
    answer = answered(wide(8))
    model.show(CallTexts(answer))
    node = answer.table.find(["main", "n06"])
    assert model.node(model.index_of(node)) == -1
    model.show_more(model.index_of(node), node)
    assert model.index_of(node).data() == "n06"
    assert texts_below(model, model.index(0, 0))[-1] == "1 more"


def test_sorting_moves_rows_and_keeps_their_nodes(model):
    model.show(CallTexts(answered(trace_of(*SLICES))))
    main = model.index(0, 0)
    load = QPersistentModelIndex(model.index(1, 0, main))
    model.sort(0, Qt.SortOrder.AscendingOrder)
    assert texts_below(model, main) == ["load", "run"]
    assert (load.row(), load.data()) == (0, "load")
    model.sort(0, Qt.SortOrder.DescendingOrder)
    assert texts_below(model, main) == ["run", "load"]
    for column in range(1, model.columnCount()):
        model.sort(column, Qt.SortOrder.AscendingOrder)
        in_order = ["load", "run"] if column in (1, 4) else ["run", "load"]  # else they are equal
        assert texts_below(model, main) == in_order
    model.sort(-1)
    assert texts_below(model, main) == ["run", "load"]


def test_a_search_leaves_out_rows(model):
    answer = answered(trace_of(*SLICES))
    model.show(CallTexts(answer).searched(matches_of(answer, "load")))
    is_quiet = model.rows.is_quiet
    assert texts_below(model, model.index(0, 0)) == ["load"]
    assert is_quiet(model.node(model.index(0, 0)), CallColumn.CALL)
    assert not is_quiet(answer.table.find(["main", "load"]), CallColumn.CALL)
    assert not model.index_of(answer.table.find(["main", "run"])).isValid()
    model.show(None)
    assert model.rowCount() == 0

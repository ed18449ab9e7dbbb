"""The one model of tables: what it lists, sorts, filters and copies, whatever the panel."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
from PySide6.QtCore import QPersistentModelIndex, Qt
from PySide6.QtTest import QAbstractItemModelTester

from viewer.gui.panels.base.table import ColumnKind, PanelColumn, PanelTable, TableModel, column_of
from viewer.gui.panels.bookmarks import BOOKMARKS
from viewer.gui.panels.events import EVENTS
from viewer.gui.panels.problems import PROBLEMS
from viewer.gui.panels.search import HITS
from viewer.gui.panels.selection import SELECTION
from viewer.gui.panels.sizes.table import PARTS
from viewer.gui.panels.untimed import EVENTS as UNTIMED
from viewer.tables.statistics import STATISTICS

ASCENDING, DESCENDING = Qt.SortOrder
TABLES = (BOOKMARKS, EVENTS, HITS, PARTS, PROBLEMS, SELECTION, UNTIMED)


@dataclass(frozen=True)
class Rows:
    """Names with a time each; `written` has what was edited."""

    names: tuple[str, ...] = ("b one", "a one", "c two", "a two")
    ns: tuple[float, ...] = (5, 1, 5, 2.5)
    listed: tuple[int, ...] = (0, 1, 2, 3)
    written: tuple[list[str], ...] = ()


NAMES = PanelTable[Rows](
    "Names",
    (
        PanelColumn("Name", text=lambda c, i: c.names[i], keys=lambda c: np.array(c.names),
            tooltip=lambda c, i: f"<{c.names[i]}>", tone="text1",
            edit=lambda c, i, text: c.written[i].append(text)),
        PanelColumn("Time", ColumnKind.TIME, 80, text=lambda c, i: f"{c.ns[i]:.1f} ns",
            plain=lambda c, i: str(c.ns[i]), keys=lambda c: np.array(c.ns),
            fractions=lambda c: np.array(c.ns), title_of=lambda c: f"Time of {len(c.names)}"),
        PanelColumn("Unused", text=lambda c, i: "x", keys=lambda c: np.zeros(len(c.names)),
            is_unused=lambda c: len(c.names) > 1),
    ),
    least=100,
    rows=lambda c: np.array(c.listed, np.int64),
    holds=lambda c, word: np.array([word in name for name in c.names]),
    also_copied=(PanelColumn("number", text=lambda c, i: str(i)),),
)  # fmt: skip


@pytest.fixture
def model(theme):
    made = TableModel(NAMES, theme)
    # It checks every signal and every index from here on.
    QAbstractItemModelTester(made, QAbstractItemModelTester.FailureReportingMode.Fatal, made)
    made.show(Rows())
    return made


def names(model):
    return [model.index(row, 0).data() for row in range(model.rowCount())]


def test_sorting_is_stable_and_descending_its_mirror(model):
    model.sort(1, ASCENDING)
    assert names(model) == ["a one", "a two", "b one", "c two"]
    model.sort(1, DESCENDING)
    assert names(model) == ["c two", "b one", "a two", "a one"]
    model.sort(-1)
    assert names(model) == list(Rows().names)


def test_a_filter_keeps_the_rows_with_every_word_in_the_order(model):
    model.sort(0, ASCENDING)
    model.set_filter("A One")
    assert names(model) == ["a one"]
    model.set_filter("two")
    assert names(model) == ["a two", "c two"]
    model.show(Rows(names=("two", "one", "two", "x")))
    assert names(model) == ["two", "two"]
    model.set_filter("no")
    assert names(model) == []


def test_marked_rows_follow_their_rows(model):
    marked = [QPersistentModelIndex(model.index(row, 0)) for row in range(4)]
    model.sort(0, ASCENDING)
    assert [index.row() for index in marked] == [2, 0, 3, 1]
    model.show(replace(Rows(), listed=(2, 0)), stays=True)
    assert [index.data() for index in marked] == ["b one", None, "c two", None]


def test_other_texts_of_the_same_rows_are_no_reset(model, qtbot):
    resets = []
    model.modelReset.connect(lambda: resets.append(True))
    with qtbot.waitSignals([model.dataChanged, model.headerDataChanged]):
        model.show(Rows(names=("b", "a", "c", "d")), stays=True)
    assert (resets, names(model)) == ([], ["b", "a", "c", "d"])


def test_cells_and_titles_are_those_of_the_columns(model, theme):
    role, across = Qt.ItemDataRole, Qt.Orientation.Horizontal
    name, time = model.index(0, 0), model.index(0, 1)
    assert "&lt;b one&gt;" in name.data(role.ToolTipRole)
    assert name.data(role.ForegroundRole) == theme.color("text1")
    assert time.data(role.TextAlignmentRole) & Qt.AlignmentFlag.AlignRight
    assert [model.headerData(i, across) for i in range(3)] == ["Name", "Time of 4", "Unused"]
    assert model.headerData(1, across, role.InitialSortOrderRole) is DESCENDING
    assert (model.unused, model.has_fractions(1), model.has_fractions(0)) == ({2}, True, False)


def test_copies_have_plain_numbers_and_the_columns_of_copies(model):
    model.sort(0, ASCENDING)
    assert model.tsv([0, 2]).splitlines() == [
        "Name\tTime of 4, ns\tUnused\tnumber", "a one\t1\tx\t1", "b one\t5\tx\t0"
    ]  # fmt: skip


def test_a_copy_may_leave_unused_columns_out(theme):
    made = TableModel(replace(NAMES, keeps_columns=False), theme)
    made.show(Rows())
    assert made.tsv([]) == "Name\tTime of 4, ns\tnumber\n"


def test_only_columns_that_store_texts_are_edited(model):
    model.show(Rows(written=([], [], [], [])))
    model.sort(0, ASCENDING)
    assert model.index(0, 0).flags() & Qt.ItemFlag.ItemIsEditable
    assert not model.index(0, 1).flags() & Qt.ItemFlag.ItemIsEditable
    assert model.setData(model.index(0, 0), "new")
    assert model.contents.written == ([], ["new"], [], [])


def test_without_contents_there_are_columns_and_no_rows(theme):
    made = TableModel(NAMES, theme)
    made.set_filter("x")
    made.sort(0, ASCENDING)
    assert (made.rowCount(), made.columnCount(), made.tsv([])) == (0, 3, "")
    assert made.index(0, 0).data() is None


def test_a_column_is_what_it_is_in_other_faces():
    column = column_of(STATISTICS["mean_ns"], 84, "Here of all runs.")
    assert (column.title, column.kind, column.key) == ("Mean", ColumnKind.TIME, "mean_ns")
    assert column.tip == "Average of the counted durations. Here of all runs."
    texts, numbers = UNTIMED.columns[UNTIMED.place("kind")], UNTIMED.columns[UNTIMED.place("#")]
    assert (texts.kind, texts.tip) == (ColumnKind.TEXT, "What it is.")
    assert (numbers.kind, numbers.key) == (ColumnKind.NUMBER, "event")


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_every_table_can_be_shown_and_sorted(table):
    titles = [column.title or column.key for column in table.columns]
    assert len(set(titles)) == len(titles)
    assert any(not column.width for column in table.columns)
    leaving = [column.leaves for column in table.columns if column.leaves]
    assert sorted(leaving) == list(range(1, len(leaving) + 1))
    if table.sortable:
        assert all(column.keys is not None for column in table.columns)

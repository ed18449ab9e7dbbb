"""The dialog for the columns of a table: it is filled as far as the header shows, and previews."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from viewer.formats.table.column_roles import known_columns, preview_of
from viewer.formats.table.layout import layout_of
from viewer.formats.table.stated_columns import NOTHING_STATED, Question
from viewer.gui.window.dialogs.opening import ColumnsDialog

TEXT = "No;Engine;Layer;Begin;Took;Bytes\n0;GPU;conv;0,5;80,25;64\n1;DSP;relu;90;2;32\nSum;;;;82;\n"


@pytest.fixture
def dialog_of(theme, qtbot):
    """The dialog for a text, shown."""

    def make(text: str, stated=NOTHING_STATED) -> ColumnsDialog:
        layout = layout_of(text, whole=True)
        missing = preview_of(layout, stated).missing
        question = Question(layout, known_columns(layout, stated), missing)
        dialog = ColumnsDialog("/x/mine.csv", question, theme)
        qtbot.addWidget(dialog)
        dialog.show()
        qtbot.waitExposed(dialog)
        return dialog

    return make


def pick(box, text):
    """Choose a row of a combo box with keys, as a person does."""
    box.setFocus()
    for _ in range(box.count()):
        QTest.keyClick(box, Qt.Key.Key_Up)
    for _ in range(box.count()):
        if box.currentText() == text:
            return
        QTest.keyClick(box, Qt.Key.Key_Down)
    raise AssertionError(f"no row {text}")


def column(dialog, index):
    return [dialog.model.item(row, index).text() for row in range(dialog.model.rowCount())]


def test_what_the_header_shows_is_chosen_and_the_rest_is_asked(dialog_of):
    dialog = dialog_of(TEXT)
    chosen = {what: box.currentText() for what, box in dialog.boxes.items()}
    assert chosen == {
        "name": "Layer", "start": "Begin", "length": "Took", "unit": "Choose…",
        "process": "None", "thread": "None", "identifier": "None",
    }  # fmt: skip
    assert dialog.summary.text() == "Choose the unit of times."
    assert not dialog.open_button.isEnabled()
    assert column(dialog, 0) == ["–", "–", "–"]
    assert column(dialog, 4) == ["conv", "relu", ""]


def test_each_choice_shows_what_the_rows_become_and_enter_opens(dialog_of, qtbot):
    dialog = dialog_of(TEXT)
    pick(dialog.boxes["unit"], "µs")
    pick(dialog.boxes["thread"], "Engine")
    assert column(dialog, 0) == ["500\u202fns", "90.000\u202fµs", "–"]
    assert column(dialog, 1) == ["80.250\u202fµs", "2.000\u202fµs", "–"]
    assert dialog.summary.text() == (
        "First 3 rows: 2 slices in 91.500\u202fµs, the longest 80.250\u202fµs. "
        "1 row without usable times, first: line 4: Begin has no value."
    )
    heads = [dialog.model.horizontalHeaderItem(i).text() for i in range(2, 8)]
    assert heads == [
        "No\n", "Engine\n= Thread", "Layer\n= Name", "Begin\n= Start", "Took\n= Duration",
        "Bytes\n",
    ]  # fmt: skip
    with qtbot.waitSignal(dialog.columns_chosen) as said:
        QTest.keyClick(dialog.boxes["thread"], Qt.Key.Key_Return)
    assert said.args == [
        "name=Layer,start=Begin,dur=Took,process=,thread=Engine,identifier=,unit=us"
    ]


def test_the_same_column_as_end_gives_other_durations(dialog_of):
    dialog = dialog_of("name,start_us,stop_at\na,10,30\nb,40,45\n")
    pick(dialog.boxes["length"], "stop_at")
    pick(dialog.boxes["unit"], "µs")
    assert column(dialog, 1) == ["30.000\u202fµs", "45.000\u202fµs"]
    pick(dialog.length, "End")
    assert column(dialog, 1) == ["20.000\u202fµs", "5.000\u202fµs"]
    assert "end=stop_at" in dialog.stated.text()


def test_a_unit_in_the_header_is_not_asked(dialog_of):
    dialog = dialog_of("op,a_us,b_us,c\nconv,1,2,3\nrelu,3,4,5\n")
    pick(dialog.boxes["start"], "a_us")
    assert dialog.boxes["unit"].isEnabled()
    pick(dialog.boxes["length"], "b_us")
    assert not dialog.boxes["unit"].isEnabled()
    assert dialog.boxes["unit"].currentText() == "As in the header"
    assert dialog.stated.get("unit") is None
    assert dialog.open_button.isEnabled()
    pick(dialog.boxes["length"], "c")
    assert dialog.boxes["unit"].isEnabled()
    assert not dialog.open_button.isEnabled()


def test_unclear_numbers_ask_for_the_decimal_separator(dialog_of):
    dialog = dialog_of("name;start_us;dur_us\na;1,000;2,500\n")
    assert dialog.summary.text() == (
        'Choose the decimal separator: the comma in "1,000" may separate decimals or thousands.'
    )
    pick(dialog.boxes["decimal"], "Comma: 1,5")
    assert column(dialog, 1) == ["2.500\u202fµs"]
    pick(dialog.boxes["decimal"], "Point: 1.5")
    assert column(dialog, 1) == ["2.500\u202fms"]


def test_a_column_of_texts_as_start_is_refused(dialog_of):
    dialog = dialog_of("op,note,start_us,dur_us\nconv,x,1,2\n")
    pick(dialog.boxes["start"], "note")
    pick(dialog.boxes["unit"], "ms")
    assert dialog.summary.text() == (
        'No row of the first 1 has usable times, first: line 2: note is "x".'
    )
    assert not dialog.open_button.isEnabled()


def test_escape_chooses_nothing(dialog_of, qtbot):
    dialog = dialog_of(TEXT)
    with qtbot.assertNotEmitted(dialog.columns_chosen), qtbot.waitSignal(dialog.rejected):
        QTest.keyClick(dialog, Qt.Key.Key_Escape)


def test_an_end_and_a_duration_open_and_so_do_counters_and_marks(dialog_of):
    dialog = dialog_of("op,t1_us,took,load\na,10,4,1.5\nb,30,5,2.5\n")
    pick(dialog.boxes["start"], "t1_us")
    pick(dialog.begin, "End")
    pick(dialog.boxes["length"], "took")
    pick(dialog.boxes["unit"], "µs")
    assert column(dialog, 0) == ["6.000\u202fµs", "25.000\u202fµs"]
    assert dialog.open_button.isEnabled()
    assert "dur=took,end=t1_us" in dialog.stated.text()
    pick(dialog.begin, "Start")
    pick(dialog.length, "Counter")
    pick(dialog.boxes["length"], "load")
    assert "2 samples in 20.000\u202fµs. 1 counter." in dialog.summary.text()
    assert dialog.open_button.isEnabled()
    pick(dialog.length, "Duration")
    pick(dialog.boxes["length"], "None: rows are marks")
    assert "2 marks in" in dialog.summary.text()
    assert dialog.open_button.isEnabled()


def test_counters_that_are_recognized_are_shown_as_such(dialog_of):
    dialog = dialog_of("timestamp_ms,cpu,mem\n0,1,2\n5,3,4\n")
    assert dialog.length.currentText() == "Counter"
    assert dialog.boxes["length"].currentText() == "All numbers"
    assert dialog.open_button.isEnabled()

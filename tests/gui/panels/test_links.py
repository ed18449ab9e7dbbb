"""The links panel: every pair with its match, and what the user may decide otherwise."""

from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QComboBox, QLabel, QPushButton

from viewer.codecs.reading import never_cancelled, no_progress
from viewer.gui.panels.links import BY_CHANCE, NO_CANDIDATE, NO_COLUMN, LinksPanel, Section
from viewer.gui.qt.widgets.labels import EmptyPlace
from viewer.gui.session.choices import pair_files
from viewer.workspace.exports import prepare

RECORD = "etrecord"
FOLDER = {".etdp": "etdump", ".etrecord": RECORD, ".csv": "torq"}


@pytest.fixture
def panel_of(opened, data, make_panel):
    """Make a panel over a session with some files of the data folder open."""

    def make(*names: str) -> LinksPanel:
        paths = [data / FOLDER[Path(n).suffix] / n for n in names]
        panel = make_panel(LinksPanel, opened(*paths))
        panel.resize(600, 500)
        return panel

    return make


def section(panel: LinksPanel, number: int = 0) -> Section:
    """A section of the page that is shown now; those before it are on their way out."""
    return panel.widget().findChildren(Section)[number]


def texts(panel: LinksPanel) -> list[str]:
    return [shown.text() for shown in panel.widget().findChildren(QLabel)]


def linked(panel: LinksPanel) -> str | None:
    program = panel.session.traces[0].table.program
    return program and Path(program.path).name


def press(qtbot, panel: LinksPanel, text: str) -> None:
    button = next(b for b in section(panel).records if b.text().startswith(text))
    qtbot.mouseClick(button, Qt.MouseButton.LeftButton, pos=button.rect().center() * 0.2)


def test_every_record_is_listed_with_its_match_and_what_it_rests_on(panel_of):
    panel = panel_of("demo_str_x4.etdp", "demo_str.etrecord", "demo_generated_int.etrecord")
    said = texts(panel)
    assert said[:6] == [
        "demo_str_x4.etdp", "0.83", "matches · 6 names compared", "0.00",
        "does not match · 6 names compared",
        "Linked: 100\u202f% of time, 24 of 28 slices (85.7\u202f%)",
    ]  # fmt: skip
    assert "identifier in the delegate's debug handle map" in said
    assert "operator calls, by instruction" in said
    records = [(b.text(), b.isChecked()) for b in section(panel).records]
    assert records == [
        ("demo_str.etrecord", True),
        ("demo_generated_int.etrecord", False),
        ("No ETRecord", False),
    ]


def test_a_record_that_fits_in_part_is_not_said_to_belong(panel_of):
    panel = panel_of("lstm_portable_x1.etdp", "gru_toedge_portable.etrecord")
    assert texts(panel)[1:3] == ["0.73", "matches only in part · 44 names compared"]
    value = next(w for w in panel.widget().findChildren(QLabel) if w.text() == "0.73")
    assert value.property("tone") == "warning"


def test_another_record_is_chosen_and_the_choice_is_taken_back(panel_of, qtbot):
    panel = panel_of("demo_str_x4.etdp", "demo_str.etrecord", "demo_generated_int.etrecord")
    panel.show()
    press(qtbot, panel, "demo_generated_int")
    assert linked(panel) == "demo_generated_int.etrecord"
    press(qtbot, panel, "No ETRecord")
    assert linked(panel) is None
    (undo,) = panel.widget().findChildren(QPushButton)
    qtbot.mouseClick(undo, Qt.MouseButton.LeftButton)
    assert linked(panel) == "demo_str.etrecord"
    assert panel.widget().findChildren(QPushButton) == []


def test_methods_that_look_alike_are_chosen(panel_of):
    panel = panel_of(
        "multi_forward_decode_converts_x3.etdp", "multi_forward_decode_teal_xnnpack.etrecord"
    )
    choosers = section(panel).methods.choosers
    assert {n: c.currentText() for n, c in choosers.items()} == {
        "Execute 1": "Choose its method…", "Execute 2": "Choose its method…"
    }  # fmt: skip
    assert "decode and forward have the same instructions" in texts(panel)
    choosers["Execute 2"].activated.emit(1)
    assert {n: c.currentText() for n, c in section(panel).methods.choosers.items()} == {
        "Execute 1": "Choose its method…", "Execute 2": "decode"
    }  # fmt: skip


def methods(panel: LinksPanel) -> list[str | None]:
    """The methods of the inferences of Execute 1; those of Execute 2 are decode."""
    table = panel.session.traces[0].table
    return [table.method_of_scope(run.scope) for run in table.trace.inferences()][::2]


@pytest.fixture
def multi(opened, data, make_panel) -> LinksPanel:
    """Two methods with the same instructions, of which the inferences are by turns."""
    panel = make_panel(LinksPanel, opened(*(data / "pte" / f"multi3.{e}" for e in ENDS)))
    panel.resize(600, 500)
    panel.show()
    return panel


ENDS = ("etdp", "etrecord")


def test_methods_are_chosen_for_some_inferences_with_the_keyboard(multi, qtbot):
    chooser = section(multi).methods
    field = chooser.numbers["Execute 1"]
    assert (field.accessibleName(), field.placeholderText()) == (
        "Inferences of Execute 1",
        "all inferences",
    )
    assert chooser.choosers["Execute 1"].currentText() == "Choose its method…"
    field.setFocus()
    qtbot.keyClicks(field, "1,3")
    qtbot.keyClick(field, Qt.Key.Key_Return)
    assert chooser.choosers["Execute 1"].hasFocus()
    chooser.choosers["Execute 1"].activated.emit(3)
    assert methods(multi) == ["prefill", None, "prefill", None]
    assert "2,4: forward and prefill have the same instructions\n1,3: prefill" in texts(multi)
    chooser = section(multi).methods
    assert chooser.choosers["Execute 1"].hasFocus()
    chooser.numbers["Execute 1"].setText("2, 4")
    chooser.choosers["Execute 1"].activated.emit(2)
    assert methods(multi) == ["prefill", "forward", "prefill", "forward"]
    section(multi).methods.choosers["Execute 1"].activated.emit(1)  # all runs
    assert methods(multi) == ["decode"] * 4


def test_wrong_numbers_choose_nothing_and_say_why(multi):
    chooser = section(multi).methods
    chooser.numbers["Execute 1"].setText("1,9")
    chooser.choosers["Execute 1"].activated.emit(3)
    assert methods(multi) == [None] * 4
    assert chooser.notes["Execute 1"].text() == "there is no inference 9: they are numbered 1-4"
    assert chooser.notes["Execute 1"].isVisible()


def test_the_method_of_one_inference_is_asked_for(multi):
    (_, second) = [run for run in multi.session.traces[0].file.inferences() if run.number == 2]
    first = next(multi.session.traces[0].file.inferences())
    multi.ask_method(0, second)
    assert section(multi).methods.numbers["Execute 2"].text() == "2"
    multi.ask_method(0, first)
    assert section(multi).methods.numbers["Execute 1"].text() == "1"
    assert section(multi).methods.choosers["Execute 1"].hasFocus()


def test_a_profile_without_a_record_says_so(panel_of):
    assert NO_CANDIDATE in texts(panel_of("demo_str_x4.etdp"))


def test_without_a_profile_there_is_one_thing_to_do(panel_of):
    panel = panel_of("demo_str.etrecord")
    assert isinstance(panel.widget(), EmptyPlace)
    panel.widget().pressed.emit()
    assert panel.host.asked == [("open_files",)]


def test_of_many_records_the_best_are_listed(panel_of, data):
    names = sorted(p.name for p in (data / RECORD).glob("*.etrecord") if "broken" not in p.name)
    panel = panel_of("demo_str_x4.etdp", *names)
    assert len(section(panel).records) == 13
    assert section(panel).records[0].text() == "demo_str.etrecord"
    assert any(
        text.startswith("and ") and text.endswith("with a lower match") for text in texts(panel)
    )


def test_a_column_of_identifiers_is_proposed_chosen_and_taken_back(panel_of, qtbot):
    panel = panel_of("demo_manual_int_r1.csv", "demo_manual_int.etrecord")
    panel.show()
    chooser = section(panel).columns
    assert [chooser.itemText(i) for i in range(chooser.count())] == [
        NO_COLUMN, "column job_id · 5 of 5 in the map · 100.0\u202f% of slices"
    ]  # fmt: skip
    assert chooser.currentText() == NO_COLUMN
    assert linked(panel) is None
    with qtbot.waitSignal(panel.session.columns_remembered):
        chooser.activated.emit(1)
    assert linked(panel) == "demo_manual_int.etrecord"
    assert section(panel).columns.currentIndex() == 1
    assert f"as you chose · {BY_CHANCE}" in texts(panel)
    assert list(panel.session.workspace.choices.remembered.values()) == ["job_id"]
    (undo,) = panel.widget().findChildren(QPushButton)
    with qtbot.waitSignal(panel.session.columns_remembered):
        qtbot.mouseClick(undo, Qt.MouseButton.LeftButton)
    assert linked(panel) is None
    assert section(panel).columns.currentText() == NO_COLUMN
    assert panel.session.workspace.choices.remembered == {}


def test_a_column_that_can_mean_nothing_else_is_in_force(panel_of):
    panel = panel_of("demo_str_c1.csv", "demo_str.etrecord")
    assert linked(panel) == "demo_str.etrecord"
    assert section(panel).columns.currentText().startswith("column type · 5 of 5 in the map")
    assert "selected automatically: unambiguous match" in texts(panel)
    assert panel.widget().findChildren(QPushButton) == []


def test_a_chosen_column_that_no_record_has_is_still_shown(panel_of):
    panel = panel_of("demo_manual_int_r1.csv", "demo_manual_int.etrecord", "demo_str.etrecord")
    panel.session.workspace.identify(panel.session.traces[0].file.path, "name")
    pair_files(panel.session, panel.session.traces[0].file.path, None)
    assert section(panel).columns.currentText() == "name · not in the map of any open ETRecord"


def test_a_dump_has_no_chooser_of_columns(panel_of):
    panel = panel_of("demo_str_x4.etdp", "demo_str.etrecord")
    assert section(panel).findChildren(QComboBox) == []


def test_runs_of_a_text_are_of_no_method(opened, data, make_panel):
    torq = data / "torq"
    session = opened(torq / "host_h1_quoted.csv", torq / "tiny_cnn.mlir")
    assert list(session.traces[0].trace.inferences())
    panel = make_panel(LinksPanel, session)
    assert session.traces[0].table.program is not None
    assert panel.findChildren(QComboBox) == []


@pytest.mark.parametrize("with_record", [True, False])
def test_an_export_of_opscope_says_why_a_record_does_not_link_it(
    opened, make_panel, data, tmp_path, with_record
):
    record = data / "etrecord" / "demo_str.etrecord"
    files = [data / "etdump" / "demo_str_x4.etdp", *([record] if with_record else [])]
    path = str(tmp_path / "out.pftrace")
    prepare(opened(*files).workspace, path)(no_progress, never_cancelled)
    panel = make_panel(LinksPanel, opened(path, record))
    (said,) = [text for text in texts(panel) if text.startswith("This trace is an export")]
    carries = "already includes the links" if with_record else "was made without the links"
    assert carries in said
    assert said.endswith("open the original file, demo_str_x4.etdp, with the ETRecord.")
    assert linked(panel) is None


def test_a_profile_says_nothing_of_exports(panel_of):
    panel = panel_of("demo_str_x4.etdp", "demo_str.etrecord")
    assert not any("export of Opscope" in text for text in texts(panel))

"""The links panel: every pair with its agreement, and what the user may decide otherwise."""

from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel

from viewer.panels.links import NO_CANDIDATE, LinksPanel, Section
from viewer.panels.widgets import EmptyPlace

ETDUMP, RECORD = "etdump", "etrecord"


@pytest.fixture
def panel_of(opened, theme, data, qtbot):
    """Make a panel over a session with some files of the data folder open."""

    def make(*names: str) -> LinksPanel:
        paths = [data / (ETDUMP if n.endswith(".etdp") else RECORD) / n for n in names]
        panel = LinksPanel(opened(*paths), theme)
        panel.resize(600, 500)
        qtbot.addWidget(panel)
        return panel

    return make


def section(panel: LinksPanel, number: int = 0) -> Section:
    """A section of the page that is shown now; those before it are on their way out."""
    return panel.widget().findChildren(Section)[number]


def texts(panel: LinksPanel) -> list[str]:
    from PySide6.QtWidgets import QLabel

    return [shown.text() for shown in panel.widget().findChildren(QLabel)]


def linked(panel: LinksPanel) -> str | None:
    program = panel._session.traces[0].table.program
    return program and Path(program.path).name


def press(qtbot, panel: LinksPanel, text: str) -> None:
    button = next(b for b in section(panel).records if b.text().startswith(text))
    qtbot.mouseClick(button, Qt.MouseButton.LeftButton, pos=button.rect().center() * 0.2)


def test_every_record_stands_with_its_agreement_and_what_it_rests_on(panel_of):
    panel = panel_of("demo_str_x4.etdp", "demo_str.etrecord", "demo_generated_int.etrecord")
    said = texts(panel)
    assert said[:6] == [
        "demo_str_x4.etdp", "0.83", "belongs · 6 compared", "0.00",
        "does not belong · 6 compared", "24 of 28 linkable slices are linked (85.7\u202f%)",
    ]  # fmt: skip
    assert "identifier in the delegate's debug handle map" in said
    records = [(b.text(), b.isChecked()) for b in section(panel).records]
    assert records == [
        ("demo_str.etrecord", True),
        ("demo_generated_int.etrecord", False),
        ("None of them: leave it unlinked", False),
    ]


def test_a_record_that_fits_in_part_is_not_said_to_belong(panel_of):
    panel = panel_of("lstm_portable_x1.etdp", "gru_toedge_portable.etrecord")
    assert texts(panel)[1:3] == ["0.73", "fits in part · 44 compared"]
    value = next(w for w in panel.widget().findChildren(QLabel) if w.text() == "0.73")
    assert value.property("tone") == "warning"


def test_another_record_is_chosen_and_the_choice_is_taken_back(panel_of, qtbot):
    panel = panel_of("demo_str_x4.etdp", "demo_str.etrecord", "demo_generated_int.etrecord")
    panel.show()
    press(qtbot, panel, "demo_generated_int")
    assert linked(panel) == "demo_generated_int.etrecord"
    press(qtbot, panel, "None")
    assert linked(panel) is None
    from PySide6.QtWidgets import QPushButton

    (undo,) = panel.widget().findChildren(QPushButton)
    qtbot.mouseClick(undo, Qt.MouseButton.LeftButton)
    assert linked(panel) == "demo_str.etrecord"
    assert panel.widget().findChildren(QPushButton) == []


def test_methods_that_look_alike_are_chosen(panel_of):
    panel = panel_of(
        "multi_forward_decode_xnnpack_x3.etdp", "multi_forward_decode_teal_xnnpack.etrecord"
    )
    choosers = section(panel).methods
    assert {n: c.currentText() for n, c in choosers.items()} == {
        "Execute 1": "Choose its method…", "Execute 2": "Choose its method…"
    }  # fmt: skip
    assert "decode and forward have the same instructions" in texts(panel)
    choosers["Execute 2"].activated.emit(1)
    assert {n: c.currentText() for n, c in section(panel).methods.items()} == {
        "Execute 1": "forward", "Execute 2": "decode"
    }  # fmt: skip


def test_a_profile_without_a_record_says_so(panel_of):
    assert NO_CANDIDATE in texts(panel_of("demo_str_x4.etdp"))


def test_without_a_profile_there_is_one_thing_to_do(panel_of, qtbot):
    panel = panel_of("demo_str.etrecord")
    assert isinstance(panel.widget(), EmptyPlace)
    with qtbot.waitSignal(panel.open_dialog_requested):
        panel.widget().pressed.emit()


def test_of_many_records_the_best_are_listed(panel_of, data):
    names = sorted(p.name for p in (data / RECORD).glob("*.etrecord") if "broken" not in p.name)
    panel = panel_of("demo_str_x4.etdp", *names)
    assert len(section(panel).records) == 13
    assert section(panel).records[0].text() == "demo_str.etrecord"
    assert any(text.startswith("and ") and text.endswith("that fit less") for text in texts(panel))

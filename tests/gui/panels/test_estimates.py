"""The estimates panel: both sides of every action, the ratio, and what a click leads to."""

import pytest
from PySide6.QtCore import QPoint, Qt

from viewer.formats import open_file
from viewer.gui.panels.estimates import EstimatesPanel
from viewer.gui.session.selection import operator_of

FILES = (
    "torq/host_h4_latest_2inv.csv", "torq/compile_c3_taskid_mtu.csv", "torq/tiny_cnn.mlir",
    "torq/tiny_cnn.lowered_generic.mlir",
)  # fmt: skip


@pytest.fixture
def panel(show_files):
    return show_files(EstimatesPanel, *FILES)


def table(panel):
    """Hint -> (name, measured, excess, estimate, ratio, inferences) as shown."""
    return {row.hint: (row.op, *row.texts[1:6]) for row in panel.model.rows}


def test_every_job_has_its_estimate_and_its_ratio(panel):
    rows = table(panel)
    # By hand: job 2 runs from ...0385 to ...0445 and from ...1953 to ...2024 µs; its
    # tasks are 10,491 cycles long, of 1.25 ns.
    assert rows["job 2"] == (
        "tosa.cast@L15", "65.500\u202fµs", "+52.386\u202fµs", "13.114\u202fµs", "4.99×", "2",
    )  # fmt: skip
    assert rows["job 0"][0] == "tosa.conv2d@L11 + tosa.clamp@L13"
    assert "4 of 12 have an estimate and a measurement" in panel.subtitle.text()


def test_one_click_on_the_ratio_brings_the_worst_estimate_to_the_top(panel, qtbot):
    header = panel.table.horizontalHeader()
    ratio = [h.title for h in panel.model.contents.headings].index("Ratio")
    at = QPoint(header.sectionViewportPosition(ratio) + 10, header.height() // 2)
    qtbot.mouseClick(header.viewport(), Qt.MouseButton.LeftButton, pos=at)
    assert [row.texts[ratio] for row in panel.model.rows[:5]] == [
        "4.99×", "2.21×", "1.76×", "1.64×", "–"
    ]  # fmt: skip
    panel.model.sort(ratio, Qt.SortOrder.AscendingOrder)
    assert [row.texts[ratio] for row in panel.model.rows[:5]] == [
        "1.64×", "1.76×", "2.21×", "4.99×", "–"
    ]  # fmt: skip


@pytest.mark.parametrize("by", ["Action", "Operator"])
def test_the_largest_excess_is_first_and_what_has_none_last(panel, by):
    panel.by.setCurrentText(by)
    panel.by.activated.emit(panel.by.currentIndex())
    shown = [row.keys[2] for row in panel.model.rows]
    texts = [row.texts[2] for row in panel.model.rows]
    assert panel.model.contents.headings[2].title == "Excess"
    assert shown == sorted(shown, reverse=True)
    assert sum(text != "–" for text in texts) == 4
    for row, text in zip(panel.model.rows, texts, strict=True):
        if text != "–":
            assert row.keys[2] == row.keys[1] - row.keys[3]
            assert text.startswith("+" if row.keys[2] > 0 else "\N{MINUS SIGN}")


def test_work_of_the_host_is_measured_alone_and_says_why(panel):
    rows = table(panel)
    assert rows["action 2"][0] == "torq_hl.host_copy"
    assert rows["action 2"][2:5] == ("–", "–", "–")
    details = {row.hint: row.detail for row in panel.model.rows}
    assert "does not estimate host work" in details["action 2"]


def test_by_operator_the_jobs_of_a_set_are_one_row(panel):
    panel.by.setCurrentText("Operator")
    panel.by.activated.emit(1)
    names = {row.op: row for row in panel.model.rows if "NPU" in row.hint}
    assert names["tosa.cast@L15"].texts[4] == "4.99×"


def test_a_row_highlights_its_operators_in_the_profile_that_measured(panel):
    session = panel.session
    row = next(i for i, r in enumerate(panel.model.rows) if r.hint == "job 3")
    panel.table.chosen.emit(row)
    trace, operators = session.state.operators
    assert session.traces[trace].file.path.endswith("host_h4_latest_2inv.csv")
    assert operator_of(session, trace, operators[0]).label == "tosa.max_pool2d@L18"


def test_which_files_gave_which_side_is_said(panel):
    note = panel.note.text().replace("\u202f", " ")
    assert "estimated by tiny_cnn.lowered_generic.mlir at 800 MHz" in note
    assert "measured by host_h4_latest_2inv.csv" in note


def test_without_both_sides_it_says_what_to_open(show_files, data):
    panel = show_files(EstimatesPanel, "etdump/cnn_portable_x1.etdp")
    assert panel.is_empty
    panel.session.add([open_file(str(data / name)) for name in FILES])
    assert not panel.is_empty

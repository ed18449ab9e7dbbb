"""The problems panel: what is listed, counted and offered."""

import pytest
from PySide6.QtGui import QGuiApplication

from viewer.gui.panels.problems import NOTHING, ProblemsPanel
from viewer.gui.session.choices import pair_files
from viewer.gui.session.feeds.feed import ProblemsFeed, Severity


@pytest.fixture
def wrong(opened, data, attention_record):
    """A profile with the record of another model, and one with two kinds of odd data."""
    return opened(
        data / "etdump/cnn_portable_x10.etdp",
        data / "etdump/SYN_wraparound.etdp",
        attention_record,
    )


@pytest.fixture
def panel(wrong, show_panel):
    return show_panel(ProblemsPanel, wrong, 815, 400)


def fail(panel, path, message):
    ProblemsFeed.of(panel.session).add_failure(path, message)


def texts(panel, row):
    return tuple(panel.model.index(row, c).data() for c in range(panel.model.columnCount()))


def test_pairs_come_before_odd_data_and_all_is_counted(panel):
    odd = sum(len(t.problems) for t in panel.session.workspace.traces)
    assert odd == 2
    assert [e.severity for e in panel.model.contents] == [
        Severity.WARNING, Severity.WARNING, Severity.NOTE, Severity.NOTE
    ]  # fmt: skip
    assert panel.count == 4
    assert panel.model.contents[0].what.startswith(
        "cnn_portable_x10.etdp does not match attn_teal_xnnpack.etrecord"
    )


def test_a_failure_comes_first_and_changes_the_count(panel):
    fail(panel, "/some/where/bad.etdp", "this is a ZIP archive")
    assert panel.host.counts[-1] == 5
    assert texts(panel, 0) == (
        "Error", "this is a ZIP archive", "", "", "bad.etdp"
    )  # fmt: skip
    fail(panel, "/some/where/bad.etdp", "the file is empty")
    assert panel.count == 5


def test_a_failure_tells_its_place_and_file_in_columns_of_their_own(panel):
    path = "/some/where/cut.etdp"
    fail(panel, path, f"{path} (byte 7712): the file ends here: copy it again")
    assert texts(panel, 0) == (
        "Error", "the file ends here: copy it again", "", "byte 7712", "cut.etdp"
    )  # fmt: skip


def test_columns_without_any_text_leave_their_room_to_the_sentences(panel, sample, make_panel):
    assert not panel.table.isColumnHidden(2)
    one = make_panel(ProblemsPanel, sample("attention_xnnpack"))
    fail(one, "/some/where/bad.etdp", "/some/where/bad.etdp: the file is empty")
    assert one.table.isColumnHidden(2)
    assert one.table.isColumnHidden(3)


def test_the_same_problem_shows_its_number_and_first_place(panel):
    entry = panel.model.contents[2]
    assert (entry.what, entry.count, entry.first) == (
        "end before start: taken as a 32-bit counter that wrapped", 1, "event 2"
    )  # fmt: skip


def test_a_chosen_pair_is_still_warned_of(panel):
    space = panel.session.workspace
    pair_files(panel.session, space.traces[0].path, space.programs[0].path)
    assert "They are linked because you chose so." in panel.model.contents[0].what


def test_nothing_odd_is_said(sample, make_panel):
    panel = make_panel(ProblemsPanel, sample("attention_xnnpack"))
    assert panel.count == 0
    assert panel.is_empty
    assert panel.sentence == NOTHING


def test_rows_are_copied_with_whole_paths(panel):
    panel.table.selectRow(2)
    panel.table.copy()
    heading, row = QGuiApplication.clipboard().text().splitlines()
    assert heading == "Severity\tWhat\tCount\tFirst\tFile"
    assert row.endswith("etdump/SYN_wraparound.etdp")


def test_long_sentences_are_shown_in_full(panel, qtbot):
    qtbot.waitUntil(lambda: panel.table.rowHeight(0) > 3 * panel.fontMetrics().height())

"""Exports from the window: the file appears and is reported, or one sentence says why not."""

from pathlib import Path

import pytest

from tests.gui.events import answer_file_dialog, open_files, settle
from tests.gui.window.blocked import blocked_export
from tests.gui.window.shown import ATTENTION_RECORD, message
from viewer.analysis.comparison.comparison import Comparison
from viewer.gui.qt.clipboard import can_save, save_picture
from viewer.gui.session.comparison import compare_inferences
from viewer.gui.session.feeds import derived
from viewer.gui.session.feeds.derived import DerivedTracks
from viewer.model.times import group_digits
from viewer.view.derived_tracks import DerivedTrack


def names_of(questions):
    """The names that dialogs proposed."""
    return [Path(question.start).name for question in questions]


def test_the_number_of_exported_slices_has_groups_of_digits(attention):
    attention.exports._counts = "slices"
    attention.exports.report_saved("out.csv", 6016)
    assert attention.window.status.said.text() == f"Wrote out.csv · {group_digits(6016)} slices"
    assert group_digits(6016) != "6016"


@pytest.mark.parametrize("suffix", [".pftrace", ".csv"])
def test_an_export_appears_and_is_told(attention, qtbot, tmp_path, suffix):
    path = tmp_path / f"out{suffix}"
    with qtbot.waitSignal(attention.saver.saved, timeout=20_000):
        attention.exports.export(str(path))
    assert path.stat().st_size > 1000
    assert attention.window.status.said.text().startswith(f"Wrote {path} · 727 slices")
    if suffix == ".csv":
        assert len(path.read_text().splitlines()) == 728
    assert message(attention) == ""


def test_the_export_dialog_closes_with_the_files_that_it_is_about(attention, monkeypatch):
    questions = answer_file_dialog(monkeypatch, "")
    dialog = attention.exports.export_perfetto()
    accepted = []
    dialog.options_accepted.connect(lambda *options: accepted.append(options))
    attention.session.close_all()
    assert not dialog.isVisible()
    assert (accepted, questions) == ([], [])


def test_an_export_into_no_folder_says_why(attention, qtbot, tmp_path):
    path = tmp_path / "none" / "out.csv"
    with qtbot.waitSignal(attention.saver.failed):
        attention.exports.export(str(path))
    assert message(attention) == f"{path} was not written: No such file or directory"
    assert not attention.saver.is_busy


def test_a_name_that_no_exporter_knows_says_which_ones_there_are(attention, tmp_path):
    attention.exports.export(str(tmp_path / "out.png"))
    assert ".pftrace" in message(attention)
    assert list(tmp_path.glob("out*")) == []


def test_a_record_alone_has_no_time_to_export_but_its_operators(controller, qtbot, tmp_path):
    open_files(qtbot, controller, ATTENTION_RECORD)
    controller.exports.export(str(tmp_path / "out.pftrace"))
    assert message(controller).startswith("This file has no timing data")
    path = tmp_path / "out.csv"
    with qtbot.waitSignal(controller.saver.saved):
        controller.exports.export(str(path))
    assert path.exists()
    assert controller.window.status.said.text() == f"Wrote {path}"


def test_a_second_export_waits_or_says_why(attention, qtbot, tmp_path, monkeypatch):
    job = blocked_export(attention, monkeypatch)
    job.result = 1
    attention.exports.export(str(tmp_path / "out.csv"))
    try:
        attention.exports.export(str(tmp_path / "other.csv"))
    finally:
        with qtbot.waitSignal(attention.saver.saved):
            job.end.set()


def test_a_handle_map_is_exported_under_its_own_name(attention, qtbot, tmp_path, monkeypatch):
    questions = answer_file_dialog(
        monkeypatch, tmp_path / "maps", chosen_filter="Table, tab separated (*.tsv)"
    )
    attention.docks.show_panel("handle_map")
    settle(qtbot, attention)
    with qtbot.waitSignal(attention.saver.saved):
        attention.panels["handle_map"].button.click()
    assert names_of(questions) == ["attn_xnnpack_x5.handle_map.csv"]
    assert (tmp_path / "maps.tsv").read_text(encoding="utf-8").startswith("file\tmethod\t")


def test_the_graph_is_saved_as_a_picture_beside_the_profile(
    attention, qtbot, tmp_path, monkeypatch
):
    questions = answer_file_dialog(
        monkeypatch, tmp_path / "graph", chosen_filter="Picture, SVG (*.svg)"
    )
    attention.docks.show_panel("graph")
    attention.session.select_operators(0, (1,))
    qtbot.waitUntil(lambda: attention.panels["graph"].view.picture is not None)
    with qtbot.waitSignal(attention.saver.saved):
        attention.panels["graph"].controls.save.click()
    assert names_of(questions) == ["attn_xnnpack_x5.graph.png"]
    assert b"<svg" in (tmp_path / "graph.svg").read_bytes()


def test_a_report_is_written_in_the_background(attention, qtbot, tmp_path, monkeypatch):
    questions = answer_file_dialog(monkeypatch, tmp_path / "out", chosen_filter="Report (*.html)")
    with qtbot.waitSignal(attention.saver.saved):
        attention.commands.run("file.export_report")
    assert names_of(questions) == ["attn_xnnpack_x5.html"]
    assert "Delegate 8 operators" in (tmp_path / "out.html").read_text(encoding="utf-8")
    text = attention.window.status.said.text()
    assert text == f"Wrote {tmp_path / 'out.html'} · {group_digits(727)} slices"


def test_a_report_includes_the_comparison_of_the_window(attention, qtbot, tmp_path, monkeypatch):
    answer_file_dialog(monkeypatch, tmp_path / "out.html")
    monkeypatch.setattr(Comparison, "notes", ("A was recorded first",))
    session = attention.session
    runs = list(session.traces[0].file.inferences())
    compare_inferences(session, session.traces[0].file, runs[1], runs[2:])
    settle(qtbot, attention)
    with qtbot.waitSignal(attention.saver.saved):
        attention.commands.run("file.export_report")
    page = (tmp_path / "out.html").read_text(encoding="utf-8")
    assert 'id="comparison"' in page
    assert "A was recorded first" in page


def test_a_report_and_a_perfetto_trace_have_tracks_of_queries(
    attention, qtbot, tmp_path, monkeypatch
):
    session = attention.session
    track = DerivedTrack("gaps", "SELECT 'a' AS name, 0 AS ts, 5 AS dur", session.group.key)
    derived.add(session, track)
    tracks = DerivedTracks.of(session)
    qtbot.waitUntil(lambda: bool(tracks.on(session.group.key)), timeout=60_000)
    answer_file_dialog(monkeypatch, tmp_path / "out.html")
    with qtbot.waitSignal(attention.saver.saved):
        attention.commands.run("file.export_report")
    assert "Derived by query gaps" in (tmp_path / "out.html").read_text(encoding="utf-8")
    dialog = attention.exports.export_perfetto()
    assert [source.sql for source in dialog.options.derived] == [track.sql]
    dialog.contents["derived"].setChecked(False)
    assert dialog.options.derived == ()
    dialog.contents["derived"].setChecked(True)
    dialog.reject()
    derived.remove(session, track)


@pytest.mark.parametrize(("filters", "suffix"), [("Image, SVG (*.svg)", ".svg"), ("", ".png")])
def test_the_picture_of_a_part_of_the_window_is_written(
    attention, qtbot, tmp_path, monkeypatch, filters, suffix
):
    answer_file_dialog(monkeypatch, tmp_path / "out", chosen_filter=filters)
    asked = []

    def bytes_of(ending):
        asked.append(ending)
        return b"picture"

    with qtbot.waitSignal(attention.saver.saved):
        save_picture(attention.window.statusBar(), bytes_of)
    assert (tmp_path / f"out{suffix}").read_bytes() == b"picture"
    assert asked == [suffix]


def test_a_picture_that_nobody_wants_is_not_made(attention, monkeypatch):
    answer_file_dialog(monkeypatch, "")
    save_picture(attention.window.statusBar(), lambda ending: pytest.fail(ending))
    assert can_save(attention.window.statusBar())

"""Files on their way in: the first view of them, texts that come with them, and bad files."""

import shutil
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel

from tests.gui.events import drop, open_files, open_sample, settle
from tests.gui.window.shown import (
    ATTENTION,
    ATTENTION_RECORD,
    CSV,
    DEMO,
    DEMO_RECORD,
    DOCKS,
    THIN,
    dropped,
    message,
    names,
    problems,
    runs_offered,
    shown_docks,
)
from viewer.codecs.memory_budget import BUDGET
from viewer.gui.session.choices import pair_files
from viewer.gui.session.navigation import run_span_ns
from viewer.gui.timeline.scene.texts import process_note
from viewer.gui.window.frame.status import clock_text
from viewer.model.figures import whole_scope_text
from viewer.model.times import plain_spaces
from viewer.view.state import SliceRef


@pytest.fixture
def cycles(controller, qtbot, data):
    """The window with a compile profile, whose text is found beside it."""
    open_files(qtbot, controller, data / "torq" / "compile_c3_taskid_mtu.csv")
    return controller


def test_the_text_beside_a_profile_is_opened_with_it_and_can_be_unlinked(cycles, data):
    assert names(cycles) == ["compile_c3_taskid_mtu.csv", "tiny_cnn.mlir"]
    assert cycles.window.status.said.text() == (
        "tiny_cnn.mlir was opened because compile_c3_taskid_mtu.csv names it"
    )
    (recent,) = cycles.settings.recent_sets()
    assert recent == (str(data / "torq" / "compile_c3_taskid_mtu.csv"),)
    said = [label.text() for label in cycles.panels["links"].findChildren(QLabel)]
    assert any("opened automatically, because the profile names it" in text for text in said)
    pair_files(cycles.session, recent[0], None)
    assert cycles.session.traces[0].table.program is None


def test_opening_the_profile_again_does_not_link_what_was_unlinked(cycles, qtbot, data):
    path = data / "torq" / "compile_c3_taskid_mtu.csv"
    pair_files(cycles.session, str(path), None)
    open_files(qtbot, cycles, path)
    assert cycles.session.traces[0].table.program is None


def test_a_text_that_is_asked_for_is_the_one_that_is_meant(controller, qtbot, data, tmp_path):
    shutil.copy(data / "torq" / "tiny_cnn.mlir", tmp_path / "mine.mlir")
    open_files(
        qtbot, controller, data / "torq" / "compile_c3_taskid_mtu.csv", tmp_path / "mine.mlir"
    )
    assert names(controller) == ["compile_c3_taskid_mtu.csv", "mine.mlir"]


def test_a_text_beside_a_profile_that_cannot_be_read_is_told(controller, qtbot, data, tmp_path):
    shutil.copy(data / "torq" / "compile_c3_taskid_mtu.csv", tmp_path / "p.csv")
    (tmp_path / "tiny_cnn.mlir").write_bytes(b"ML\xefR bytecode")
    open_files(qtbot, controller, tmp_path / "p.csv")
    assert names(controller) == ["p.csv"]
    said = "p.csv refers to a source that cannot be read: tiny_cnn.mlir: it is MLIR bytecode"
    assert controller.window.message.text.startswith(said)


# -- files that are added --------------------------------------------------------------------------

SIX = "process,thread,name,start_ns,dur_ns\n" + "".join(f"p,t,s{i},{i * 10},5\n" for i in range(6))


def said(controller):
    return controller.window.status.said.text()


def test_a_file_that_is_added_is_told_with_the_key_that_leads_to_it(
    controller, qtbot, data, tmp_path
):
    first, second = tmp_path / "first.csv", tmp_path / "mine.csv"
    for path in (first, second):
        path.write_text(SIX)
    open_files(qtbot, controller, first)
    assert said(controller) == "", "the first one is what is seen"
    open_files(qtbot, controller, second)
    assert said(controller) == (
        "Added mine.csv · 6 slices, below the others · Shift+F zooms to the next file"
    )
    controller.session.select_slice(SliceRef(0, 1))
    assert "Added" not in said(controller)
    controller.commands.take_key("view.fit_file", "Shift+F")
    controller.commands.give_key("view.fit_file", "Ctrl+9")
    (tmp_path / "third.csv").write_text(SIX)
    open_files(qtbot, controller, tmp_path / "third.csv")
    assert said(controller).startswith("Added third.csv · 6 slices")
    assert "Ctrl+9 zooms" in said(controller)


def test_a_record_that_is_added_and_a_file_that_is_read_again(controller, qtbot, data):
    path = data / "etdump" / "demo_str_x4.etdp"
    open_files(qtbot, controller, path)
    open_files(qtbot, controller, data / "etrecord" / "demo_str.etrecord")
    assert said(controller) == "Added demo_str.etrecord"
    open_files(qtbot, controller, path)
    assert "Added" not in said(controller)


def test_several_mixed_files_at_once_are_one_picture(controller, qtbot):
    open_files(qtbot, controller, ATTENTION_RECORD, CSV, DEMO_RECORD, ATTENTION)
    assert set(names(controller)) == {Path(p).name for p in (ATTENTION, ATTENTION_RECORD, CSV,
                                                         DEMO_RECORD)}  # fmt: skip
    tables = {Path(t.trace.path).name: t.table for t in controller.session.traces}
    assert tables["attn_xnnpack_x5.etdp"].program.path == ATTENTION_RECORD
    assert tables["demo_str_x4.csv"].program.path == DEMO_RECORD
    assert controller.window.pages.currentWidget() is controller.timeline
    assert message(controller) == ""
    titles = controller.window.windowTitle().removesuffix(" – Opscope").split(", ")
    assert titles == names(controller)[:3]


def test_the_first_view_is_the_second_run_where_load_would_fill_the_picture(attention):
    session = attention.session
    run = session.traces[0].trace.runs[session.state.run[1]]
    assert run.number == 2
    t0, t1 = run_span_ns(session, 0, run)
    air = (t1 - t0) // 50
    assert (session.state.t0, session.state.t1) == (t0 - air, t1 + air)
    assert plain_spaces(attention.toolbar.run.text()) == "2 of 5 · 55.212 µs"
    assert runs_offered(attention) == [1, 2, 3, 4, 5]
    note = "Showing run 2 of 5 (skipping load and warm-up)"
    assert process_note(attention.timeline.scene, 0) == note
    assert attention.toolbar.link_state.text() == f"Linked · 100{THIN}% of time"
    full = f"Linked: 100{THIN}% of linkable time, 56{THIN}% of slices · match 1.00"
    assert full in attention.toolbar.link_state.toolTip()
    assert (
        attention.window.windowTitle()
        == "attn_xnnpack_x5.etdp, attn_teal_xnnpack.etrecord – Opscope"
    )
    assert shown_docks(attention) == DOCKS
    assert attention.clock.text() == f"1 tick = 1{THIN}ns assumed · 627 slices (+100 derived)"


def test_where_runs_fill_the_span_the_first_view_is_all(controller, qtbot):
    open_sample(qtbot, controller, "delegate_handle_map")
    state, span = controller.session.state, controller.session.group.span_ns
    assert state.run is None
    assert (state.t0, state.t1) == (-(span // 50), span + span // 50)
    assert controller.toolbar.run.text() == "All inferences"


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_a_record_links_to_its_dump_whichever_comes_first(controller, qtbot, order):
    for i in order:
        open_files(qtbot, controller, (ATTENTION, ATTENTION_RECORD)[i])
    assert controller.session.traces[0].table.program.path == ATTENTION_RECORD
    assert controller.toolbar.link_state.text().startswith("Linked · ")
    assert controller.window.pages.currentWidget() is controller.timeline


def test_a_second_dump_is_added_and_the_view_stays(attention, qtbot):
    before = attention.session.state
    open_files(qtbot, attention, DEMO)
    session = attention.session
    assert [Path(t.trace.path).name for t in session.traces] == [
        "attn_xnnpack_x5.etdp", "demo_str_x4.etdp"
    ]  # fmt: skip
    assert (session.state.t0, session.state.t1) == (before.t0, before.t1)
    assert session.state.run == before.run
    assert [strip.header.title for strip in attention.timeline.strips] == [
        "attn_xnnpack_x5.etdp", "demo_str_x4.etdp"
    ]  # fmt: skip
    assert session.state.clock == before.clock


def test_a_name_that_is_not_unicode_opens(controller, qtbot, tmp_path):
    path = str(tmp_path / "caf\udce9.csv")
    shutil.copy(CSV, path)
    open_files(qtbot, controller, path)
    assert controller.session.workspace.paths == [path]
    assert message(controller) == ""


# -- files that cannot be opened -----------------------------------------------------------------


def bad_files(folder, data):
    """Everything that people drop by mistake: name, and words that the message must have."""
    made = {
        "empty.etdp": (b"", "empty"),
        "truncated.etdp": ((data / "etdump" / "BAD_truncated.etdp").read_bytes(), ""),
        "other.zip": ((data / "etdump" / "BAD_zip.etdp").read_bytes(), "ZIP archive"),
        "photo.etdp": (b"\xff\xd8\xff\xe0\0\x10JFIF" + bytes(range(256)) * 20, "JPEG"),
        "tool.csv": (b"sensor;value;unit\na;2;mW\nb;4;mW\n", "does not recognize the format"),
        "wide.csv": ("process,thread,name\n".encode("utf-16"), "UTF-16"),
    }
    for name, (content, _) in made.items():
        (folder / name).write_bytes(content)
    told = {name: words for name, (_, words) in made.items()}
    return told | {"vanished.etdp": "no such file"}


@pytest.mark.slow
def test_a_bad_file_gives_one_error_that_names_it(attention, qtbot, tmp_path, data):
    before = attention.session.state, names(attention)
    folder = tmp_path / "bad"
    folder.mkdir()
    for number, (name, words) in enumerate(bad_files(folder, data).items(), 1):
        path = str(folder / name)
        dropped(qtbot, attention, path)
        said = message(attention)
        assert said.startswith(name)
        assert words in said
        assert "\n" not in said
        (entry,) = [e for e in attention.panels["problems"].model.contents if e.path == path]
        assert entry.severity.word == "Error"
        assert said.endswith(entry.what)
        assert sum(word == "Error" for word, _ in problems(attention)) == number
        assert (attention.session.state, names(attention)) == before
        assert attention.window.grab().size() == attention.window.size()
        qtbot.keyClick(attention.window, Qt.Key.Key_Escape)
        assert message(attention) == ""


def test_a_file_that_vanishes_while_it_waits_is_named(attention, qtbot, tmp_path):
    path = tmp_path / "soon gone.etdp"
    shutil.copy(DEMO, path)
    with qtbot.waitSignal(attention.loader.all_done):
        read = attention.loader._reader
        attention.loader._reader = lambda *given: (path.unlink(), read(*given))[1]
        assert drop(attention, [str(path)])
    assert message(attention) == f"{path.name}: there is no such file. Check the path"


def test_bad_files_among_good_ones_do_not_hold_those_up(controller, qtbot, tmp_path, data):
    bad_files(tmp_path, data)
    dropped(qtbot, controller, str(tmp_path / "empty.etdp"), DEMO, str(tmp_path / "photo.etdp"))
    assert names(controller) == ["demo_str_x4.etdp"]
    lines = message(controller).splitlines()
    assert sorted(Path(line.partition(":")[0]).name for line in lines) == [
        "empty.etdp", "photo.etdp"
    ]  # fmt: skip
    assert controller.docks.title("problems") == "Checks (2)"


def test_a_file_that_opens_at_last_is_no_problem_any_more(controller, qtbot, tmp_path):
    path = tmp_path / "late.etdp"
    open_files(qtbot, controller, path)
    assert [word for word, _ in problems(controller)] == ["Error"]
    assert "late.etdp" in controller.window.message.text
    shutil.copy(DEMO, path)
    open_files(qtbot, controller, path)
    assert [word for word, _ in problems(controller) if word == "Error"] == []
    assert "late.etdp" not in controller.window.message.text


def test_only_the_latest_error_of_a_file_is_shown(controller, qtbot, tmp_path):
    path = tmp_path / "late.etdp"
    open_files(qtbot, controller, path)
    first = controller.window.message.text
    path.write_bytes(b"")
    open_files(qtbot, controller, path)
    assert controller.window.message.text.count("late.etdp") == 1
    assert controller.window.message.text != first


def test_a_file_name_is_never_read_as_markup(controller, qtbot, tmp_path):
    open_files(qtbot, controller, tmp_path / "<b>bold</b>.etdp")
    assert controller.window.message._text.textFormat() == Qt.TextFormat.PlainText


def test_many_messages_are_counted_and_the_last_ones_shown(controller, qtbot, tmp_path):
    open_files(qtbot, controller, *(tmp_path / f"{i}.etdp" for i in range(7)))
    lines = message(controller).splitlines()
    assert len(lines) == 5
    assert lines[-1] == "and 3 more, see Problems"
    assert controller.panels["problems"].count == 7


@pytest.mark.slow
def test_a_file_that_is_too_large_offers_its_largest_part_that_fits(
    controller, qtbot, tmp_path, monkeypatch
):
    path = tmp_path / "rows.csv"
    row = "p,t,name,{},1\n"
    path.write_text(
        "process,thread,name,start_ns,dur_ns\n" + "".join(row.format(i) for i in range(900_000))
    )
    monkeypatch.setattr(BUDGET, "_limit", 1)
    open_files(qtbot, controller, path)
    bar = controller.window.message
    said = plain_spaces(bar.text)
    assert said.startswith("rows.csv: it would need about ")
    assert "67 MB are available" in said
    assert (bar.action.text(), controller.session.is_empty) == ("Open first 20%", True)
    with qtbot.waitSignal(controller.loader.all_done, timeout=20_000):
        bar.action.click()
    qtbot.waitUntil(lambda: not controller.session.is_empty)
    (trace,) = controller.session.workspace.traces
    assert trace.problems[0].kind.startswith("Only the first 20% of the file (")
    assert 0 < len(trace.slices) < 300_000
    assert "Only the first 20% of the file (" in bar.text
    assert bar.text.endswith("Totals are those of this part")
    assert clock_text(controller.session).endswith("slices, only a part of rows.csv")
    assert whole_scope_text(trace) == "the open part"


def test_a_later_file_that_opens_takes_the_banner_of_an_earlier_one_away(
    controller, qtbot, tmp_path
):
    wrong = tmp_path / "wrong.json"
    wrong.write_text("{}")
    controller.opener.open([str(wrong)])
    qtbot.waitUntil(lambda: "wrong.json" in controller.window.message.text)
    other = tmp_path / "other.json"
    other.write_text("[")
    controller.opener.open([str(other), ATTENTION])
    qtbot.waitUntil(lambda: bool(controller.session.traces))
    settle(qtbot, controller)
    assert "wrong.json" not in controller.window.message.text
    assert "other.json" in controller.window.message.text, "of the files that were chosen last"

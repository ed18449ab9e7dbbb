"""The window with real files and real events: opening, dropping, exporting, quitting, colors."""

import shutil
import threading
import time
from pathlib import Path

import pytest
from PySide6.QtCore import QCoreApplication, QPoint, Qt
from PySide6.QtWidgets import QInputDialog

import viewer.gui.session.workspace_edits
from tests.gui.events import (
    SAMPLE,
    canvas,
    desk_of,
    drop,
    move,
    open_files,
    open_sample,
    place_of,
    put_away,
    settle,
)
from viewer.codecs.atomic_file import WriteCancelled
from viewer.codecs.reading import ReadCancelled
from viewer.gui.qt import crash_report
from viewer.gui.qt.background import Latest
from viewer.gui.qt.theme.theme import ICON_SIZE
from viewer.gui.session.inferences import run_span_ns
from viewer.gui.session.linking import choose_method, match_automatically, set_identifier_column
from viewer.gui.session.selection import slices_of
from viewer.gui.timeline.scene.titles import has_own_clock, process_note
from viewer.gui.window.commands.clock import CLOCK_MENU
from viewer.view.state import SliceRef
from viewer.workspace.link_choices import Choices

THIN = "\u202f"
ATTENTION, ATTENTION_RECORD = SAMPLE["attention_xnnpack"].paths()
DEMO, DEMO_RECORD = SAMPLE["delegate_handle_map"].paths()
CSV = SAMPLE["plain_csv"].paths()[0]


@pytest.fixture
def attention(desk, qtbot):
    """The window with the attention sample open."""
    open_sample(qtbot, desk, "attention_xnnpack")
    return desk


def names(desk):
    return [Path(path).name for path in desk.session.workspace.paths]


TORQ = ("compile_c0_callsite.csv", "runtime_r0_nss.csv", "tiny_cnn.mlir")
DOCKS = {
    "details", "operators", "model", "graph", "statistics", "events", "estimates", "findings",
    "source", "links",
    "delegation", "handle_map", "problems", "untimed", "search", "selection", "marks",
}  # fmt: skip


def shown_docks(desk):
    return {name for name, dock in desk._docks.by_name.items() if not dock.isHidden()}


def runs_offered(desk):
    return [desk.toolbar.run.itemText(i) for i in range(desk.toolbar.run.count())]


def message(desk):
    return desk._message.text


def problems(desk):
    return [(entry.severity.word, entry.what) for entry in desk.problems.model.entries]


# -- opening ---------------------------------------------------------------------------------------


def test_it_begins_with_the_start_page_and_nothing_else(desk):
    assert desk._pages.currentWidget() is desk.window.start_page
    assert desk.window.windowTitle() == "Opscope"
    assert shown_docks(desk) == set()
    assert desk.window.status.range.text() == "No trace open"
    assert not desk.window.status.progress.isVisible()


def test_several_mixed_files_at_once_are_one_picture(desk, qtbot):
    open_files(qtbot, desk, ATTENTION_RECORD, CSV, DEMO_RECORD, ATTENTION)
    assert set(names(desk)) == {Path(p).name for p in (ATTENTION, ATTENTION_RECORD, CSV,
                                                         DEMO_RECORD)}  # fmt: skip
    tables = {Path(t.trace.path).name: t.table for t in desk.session.traces}
    assert tables["attn_xnnpack_x5.etdp"].program.path == ATTENTION_RECORD
    assert tables["demo_str_x4.csv"].program.path == DEMO_RECORD
    assert desk._pages.currentWidget() is desk.timeline
    assert message(desk) == ""
    titles = desk.window.windowTitle().removesuffix(" – Opscope").split(", ")
    assert titles == names(desk)[:3]


def test_the_first_view_is_the_second_run_where_load_would_fill_the_picture(attention):
    session = attention.session
    run = session.traces[0].trace.runs[session.state.run[1]]
    assert run.number == 2
    t0, t1 = run_span_ns(session, 0, run)
    air = (t1 - t0) // 50
    assert (session.state.t0, session.state.t1) == (t0 - air, t1 + air)
    assert attention.toolbar.run.currentText() == "Run 2 of 5"
    assert runs_offered(attention) == [
        "All runs", "All runs, aligned", "Mean of runs", "", *(f"Run {n} of 5" for n in range(1, 6))
    ]  # fmt: skip
    note = "first view: run 2 of 5 · load and the cold run 1 lie before it"
    assert process_note(attention.timeline.scene, 0) == note
    assert attention.toolbar.link_state.text() == (
        f"100{THIN}% of linkable time · 56{THIN}% of slices linked   agreement 1.00"
    )
    assert (
        attention.window.windowTitle()
        == "attn_xnnpack_x5.etdp, attn_teal_xnnpack.etrecord – Opscope"
    )
    assert shown_docks(attention) == DOCKS
    assert (
        attention.clock.text() == f"1 tick = 1{THIN}ns assumed · 627 slices and 100 computed ones"
    )


def test_where_runs_fill_the_span_the_first_view_is_all(desk, qtbot):
    open_sample(qtbot, desk, "delegate_handle_map")
    state, span = desk.session.state, desk.session.span_ns()
    assert state.run is None
    assert (state.t0, state.t1) == (-(span // 50), span + span // 50)
    assert desk.toolbar.run.currentText() == "All runs"


def test_a_profile_without_runs_offers_none(desk, qtbot, data):
    open_files(qtbot, desk, *(str(data / "torq" / name) for name in TORQ))
    assert runs_offered(desk) == ["No runs"]
    assert not desk.toolbar.run.isEnabled()
    assert not desk.commands.actions["go.next_run"].isEnabled()
    assert desk.clock.text().startswith("2 clocks, 1 assumed · ")


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_a_record_links_to_its_dump_whichever_comes_first(desk, qtbot, order):
    for i in order:
        open_files(qtbot, desk, (ATTENTION, ATTENTION_RECORD)[i])
    assert desk.session.traces[0].table.program.path == ATTENTION_RECORD
    assert desk.toolbar.link_state.text().endswith("agreement 1.00")
    assert desk._pages.currentWidget() is desk.timeline


def test_a_record_alone_shows_operators_and_says_what_is_missing(desk, qtbot):
    open_files(qtbot, desk, ATTENTION_RECORD)
    assert desk._pages.currentWidget() is desk._note
    assert desk.operators.table.model().rowCount() > 10
    assert not desk.toolbar._link_action.isVisible()
    assert not desk.commands.actions["view.fit"].isEnabled()
    assert desk.commands.actions["file.export_operators"].isEnabled()
    assert not desk.commands.actions["file.export_table"].isEnabled()
    assert not desk.commands.actions["file.export"].isEnabled()


def test_a_second_dump_is_added_and_the_view_stays(attention, qtbot):
    before = attention.session.state
    open_files(qtbot, attention, DEMO)
    session = attention.session
    assert [Path(t.trace.path).name for t in session.traces] == [
        "attn_xnnpack_x5.etdp", "demo_str_x4.etdp"
    ]  # fmt: skip
    assert (session.state.t0, session.state.t1) == (before.t0, before.t1)
    assert session.state.run == before.run
    assert has_own_clock(attention.timeline.scene, 1)


def test_a_dump_that_belongs_to_another_record_is_not_linked_and_says_so(desk, qtbot, data):
    record = data / "etrecord" / "cnn_standalone_NOdeepcopy.etrecord"
    open_files(qtbot, desk, data / "etdump" / "cnn_xnnpack3_x5.etdp", record)
    assert desk.session.traces[0].table.program is None
    said = "cnn_xnnpack3_x5.etdp and cnn_standalone_NOdeepcopy.etrecord do not belong together"
    assert message(desk).startswith(said)
    assert desk.toolbar.link_state.text() == "do not belong together"
    assert ("Warning", message(desk)) in problems(desk)


def test_a_warning_goes_when_it_holds_no_more_and_an_error_stays(desk, qtbot, data, tmp_path):
    names = ("etdump/multi_forward_decode_xnnpack_x3.etdp",
             "etrecord/multi_forward_decode_teal_xnnpack.etrecord")  # fmt: skip
    open_files(qtbot, desk, *(data / name for name in names), tmp_path / "gone.etdp")
    error, warning = message(desk).splitlines()
    assert "may be of decode or forward" in warning
    assert desk._message.action.text() == "Choose…"
    choose_method(desk.session, desk.session.traces[0].trace.path, "Execute 1", "forward")
    assert message(desk) == error
    assert not desk._message.action.isVisible()
    qtbot.keyClick(desk.window, Qt.Key.Key_Escape)
    assert message(desk) == ""


def test_one_foreign_record_can_be_linked_anyway_several_must_be_chosen_from(desk, qtbot, data):
    one, other = (
        data / "etdump" / f"{name}.etdp" for name in ("cnn_portable_x1", "cond_portable_x5")
    )
    open_files(qtbot, desk, one, ATTENTION_RECORD)
    assert desk._message.action.text() == "Link anyway"
    open_files(qtbot, desk, other)
    assert len(message(desk).splitlines()) == 2
    assert desk._message.action.text() == "Choose…"
    qtbot.mouseClick(desk._message.action, Qt.MouseButton.LeftButton)
    assert message(desk) == ""
    assert desk.links.isVisible()


def test_many_messages_are_counted_and_the_last_ones_shown(desk, qtbot, tmp_path):
    open_files(qtbot, desk, *(tmp_path / f"{i}.etdp" for i in range(7)))
    lines = message(desk).splitlines()
    assert len(lines) == 5
    assert lines[-1] == "and 3 more, see Problems"
    assert desk.problems.count == 7


def test_a_message_and_another_file_push_no_row_out_of_view(desk, qtbot, data):
    open_files(qtbot, desk, data / "etdump" / "cnn_portable_x10.etdp")
    for more in (ATTENTION_RECORD, DEMO):
        open_files(qtbot, desk, more)
        qtbot.waitUntil(lambda: desk.timeline.height() >= desk.timeline.content_height)


def test_what_cannot_be_checked_is_not_called_foreign(desk, qtbot):
    open_files(qtbot, desk, DEMO, ATTENTION_RECORD)
    assert "cannot be checked" in message(desk)
    assert desk.toolbar.link_state.text() != "do not belong together"


def test_an_explicit_pair_wins_and_an_impossible_one_says_why(desk, qtbot, data):
    dump = str(data / "etdump" / "cnn_xnnpack3_x5.etdp")
    record = str(data / "etrecord" / "cnn_standalone_NOdeepcopy.etrecord")
    with qtbot.waitSignal(desk.loader.all_done):
        desk.open([dump, record], Choices(((dump, record),)))
    assert desk.session.traces[0].table.program.path == record
    assert "They are linked because you chose so." in message(desk)
    with qtbot.waitSignal(desk.loader.all_done):
        desk.open([ATTENTION], Choices(((ATTENTION, DEMO_RECORD),)))
    assert f"{DEMO_RECORD} is not an open record or source" in message(desk)


def test_a_chosen_column_of_identifiers_is_remembered(desk, qtbot, data):
    files = [str(data / "torq" / "demo_manual_int_r1.csv"),
             str(data / "etrecord" / "demo_manual_int.etrecord")]  # fmt: skip
    open_files(qtbot, desk, *files)
    assert "Numbers match by chance too" in message(desk)
    with qtbot.waitSignal(desk.session.columns_remembered):
        set_identifier_column(desk.session, files[0], "job_id")
    assert list(desk.settings.identifier_columns().values()) == ["job_id"]
    desk.session.close_all()
    open_files(qtbot, desk, *files)
    assert desk.session.traces[0].table.program.path == files[1]
    with qtbot.waitSignal(desk.session.columns_remembered):
        match_automatically(desk.session, files[0])
    assert desk.settings.identifier_columns() == {}


def test_closing_all_returns_to_the_start_page(attention):
    attention.session.select_slice(SliceRef(0, 3))
    attention.commands.actions["file.close_all"].trigger()
    assert attention._pages.currentWidget() is attention.window.start_page
    assert attention.window.windowTitle() == "Opscope"
    assert shown_docks(attention) == set()
    assert attention.session.is_empty
    assert not attention.session.history.can_undo
    said = "Closed 2 files · Ctrl+Z opens them again"
    assert attention.window.status.said.text() == said
    assert not attention.commands.actions["file.close_all"].isEnabled()


def test_an_opened_file_is_the_first_of_the_recent_ones(attention):
    assert set(attention.settings.recent_files()) == {ATTENTION, ATTENTION_RECORD}
    menu = attention._recent_menu
    menu.aboutToShow.emit()
    texts = [action.text() for action in menu.actions() if action.text()]
    assert set(texts) == {Path(ATTENTION).name, Path(ATTENTION_RECORD).name, "Clear list"}


def test_a_recent_file_opens_again(attention, qtbot):
    attention.session.close_all()
    attention._recent_menu.aboutToShow.emit()
    chosen = next(a for a in attention._recent_menu.actions() if a.data() == ATTENTION)
    with qtbot.waitSignal(attention.loader.all_done):
        chosen.trigger()
    assert names(attention) == ["attn_xnnpack_x5.etdp"]


def test_a_name_that_is_not_unicode_opens(desk, qtbot, tmp_path):
    path = str(tmp_path / "caf\udce9.csv")
    shutil.copy(CSV, path)
    open_files(qtbot, desk, path)
    assert desk.session.workspace.paths == [path]
    assert message(desk) == ""


# -- dropping --------------------------------------------------------------------------------------


def dropped(qtbot, desk, *urls, onto=None):
    with qtbot.waitSignal(desk.loader.all_done, timeout=20_000):
        assert drop(desk, urls, onto=onto)
    settle(qtbot, desk)


def test_dropped_files_are_added(desk, qtbot):
    dropped(qtbot, desk, ATTENTION, ATTENTION_RECORD)
    assert len(desk.session.traces) == 1
    dropped(qtbot, desk, DEMO, DEMO_RECORD)
    assert len(desk.session.traces) == 2
    assert message(desk) == ""


def test_files_can_be_dropped_on_every_part(attention, qtbot):
    parts = attention.timeline, attention.operators, attention.source, attention.problems
    parts += attention.timeline.headers, attention.timeline.overview, attention.window.menuBar()
    parts += canvas(attention), attention.operators.table.viewport(), attention.details.viewport()
    for part in parts:
        attention.session.close_all()
        dropped(qtbot, attention, DEMO, onto=part)
        assert names(attention) == ["demo_str_x4.etdp"], part


@pytest.mark.parametrize("order", [(ATTENTION, ATTENTION_RECORD), (ATTENTION_RECORD, ATTENTION)])
def test_a_record_dropped_onto_an_open_profile_links_it(desk, qtbot, order):
    for path in order:
        dropped(qtbot, desk, path)
    (shown,) = desk.session.traces
    assert shown.table.program.path == ATTENTION_RECORD
    assert desk.toolbar.link_state.text().endswith("agreement 1.00")
    assert message(desk) == ""


def test_several_mixed_files_can_be_dropped_at_once(desk, qtbot, data):
    mixed = [data / "torq" / name for name in TORQ]
    dropped(qtbot, desk, ATTENTION, *map(str, mixed), DEMO_RECORD, ATTENTION_RECORD)
    assert len(desk.session.traces) == 3
    assert len(desk.session.workspace.paths) == 6
    assert desk.session.traces[0].table.program.path == ATTENTION_RECORD


def test_a_dropped_folder_with_nothing_in_it_says_so(attention, qtbot, tmp_path):
    before = attention.session.state, names(attention)
    assert drop(attention, [str(tmp_path)])
    settle(qtbot, attention)
    assert message(attention) == (
        f"{tmp_path.name}: no profile, record or source is in this folder"
    )
    assert (attention.session.state, names(attention)) == before


def test_the_one_file_of_a_dropped_folder_is_opened(desk, qtbot, tmp_path):
    shutil.copy(DEMO, tmp_path / "run.etdp")
    dropped(qtbot, desk, str(tmp_path))
    assert names(desk) == ["run.etdp"]


def test_of_a_dropped_folder_with_several_files_those_are_opened_that_are_checked(
    desk, qtbot, tmp_path
):
    (tmp_path / "deep").mkdir()
    for path, name in ((DEMO, "run.etdp"), (DEMO_RECORD, "deep/net.etrecord"), (CSV, "other.csv")):
        shutil.copy(path, tmp_path / name)
    (tmp_path / "model.py").write_text("import os\n")
    assert drop(desk, [str(tmp_path)])
    settle(qtbot, desk)
    dialog = desk.folder_drops.dialog
    assert names(desk) == []
    assert dialog.open_button.text() == "Open 3 files"
    listed = [dialog.model.item(row).text() for row in range(dialog.model.rowCount())]
    assert listed == ["model.py", "other.csv", "run.etdp", "deep/net.etrecord"]
    # By keyboard alone: the table has the focus, the space bar checks.
    assert dialog.focusWidget() is dialog.table
    qtbot.keyClick(dialog.table, Qt.Key.Key_Down)
    qtbot.keyClick(dialog.table, Qt.Key.Key_Space)
    assert dialog.open_button.text() == "Open 2 files"
    with qtbot.waitSignal(desk.loader.all_done, timeout=20_000):
        dialog.open_button.click()
    settle(qtbot, desk)
    assert sorted(names(desk)) == ["net.etrecord", "run.etdp"]
    assert desk.session.traces[0].table.program is not None


def test_a_dropped_folder_of_debug_info_opens_its_texts(desk, qtbot, tmp_path, data):
    text = "tiny_cnn.lowered_generic.mlir"
    (tmp_path / text).write_bytes((data / "torq" / text).read_bytes())
    (tmp_path / "main_dispatch_1.mlirb").write_bytes(b"ML\xefR\x06MLIR20.0\0")
    dropped(qtbot, desk, str(tmp_path))
    assert names(desk) == [text]
    assert message(desk).startswith("main_dispatch_1.mlirb: it is MLIR bytecode, not text")


REFUSED = {
    "a remote file": {"urls": ["https://example.org/run.etdp"]},
    "a text that is no file": {"text": "just words"},
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_is_no_local_file_is_refused_with_a_sentence(attention, what):
    before = attention.session.state, names(attention)
    drop(attention, **REFUSED[what])
    assert (attention.session.state, names(attention)) == before
    assert message(attention) != ""


@pytest.mark.parametrize("what", REFUSED)
def test_what_is_no_local_file_changes_nothing(attention, what):
    before = attention.session.state, names(attention)
    drop(attention, **REFUSED[what])
    assert not attention.is_loading
    assert (attention.session.state, names(attention)) == before


def test_a_remote_file_among_local_ones_is_named(attention, qtbot):
    dropped(qtbot, attention, DEMO, "https://example.org/run.etdp")
    assert "run.etdp" in message(attention)


# -- files that cannot be opened -------------------------------------------------------------------


def bad_files(folder, data):
    """Everything that people drop by mistake: name, and words that the message must have."""
    made = {
        "empty.etdp": (b"", "empty"),
        "truncated.etdp": ((data / "etdump" / "BAD_truncated.etdp").read_bytes(), ""),
        "other.zip": ((data / "etdump" / "BAD_zip.etdp").read_bytes(), "ZIP archive"),
        "photo.etdp": (b"\xff\xd8\xff\xe0\0\x10JFIF" + bytes(range(256)) * 20, "JPEG"),
        "tool.csv": (b"timestamp;value;unit\n1;2;mW\n3;4;mW\n", "no format that Opscope reads"),
        "wide.csv": ("process,thread,name\n".encode("utf-16"), "UTF-16"),
    }
    for name, (content, _) in made.items():
        (folder / name).write_bytes(content)
    told = {name: words for name, (_, words) in made.items()}
    return told | {"vanished.etdp": "no such file"}


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
        (entry,) = [e for e in attention.problems.model.entries if e.path == path]
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


def test_bad_files_among_good_ones_do_not_hold_those_up(desk, qtbot, tmp_path, data):
    bad_files(tmp_path, data)
    dropped(qtbot, desk, str(tmp_path / "empty.etdp"), DEMO, str(tmp_path / "photo.etdp"))
    assert names(desk) == ["demo_str_x4.etdp"]
    lines = message(desk).splitlines()
    assert sorted(Path(line.partition(":")[0]).name for line in lines) == [
        "empty.etdp", "photo.etdp"
    ]  # fmt: skip
    assert desk._docks.by_name["problems"].windowTitle() == "Problems (2)"


def test_a_file_that_opens_at_last_is_no_problem_any_more(desk, qtbot, tmp_path):
    path = tmp_path / "late.etdp"
    open_files(qtbot, desk, path)
    assert [word for word, _ in problems(desk)] == ["Error"]
    shutil.copy(DEMO, path)
    open_files(qtbot, desk, path)
    assert [word for word, _ in problems(desk) if word == "Error"] == []


def test_a_file_name_is_never_read_as_markup(desk, qtbot, tmp_path):
    open_files(qtbot, desk, tmp_path / "<b>bold</b>.etdp")
    assert desk._message._text.textFormat() == Qt.TextFormat.PlainText


# -- messages and Escape ---------------------------------------------------------------------------


class Blocked:
    """A reader, or an export job, that waits until it is told to end or to stop."""

    def __init__(self, result=None):
        self.begun, self.end = threading.Event(), threading.Event()
        self.result = result

    def __call__(self, *given):
        cancelled = given[-1]
        self.begun.set()
        while not self.end.wait(0.002):
            if cancelled():
                raise ReadCancelled if len(given) == 3 else WriteCancelled
        return self.result


def test_escape_cancels_the_load_then_hides_the_message_then_clears(attention, qtbot, tmp_path):
    attention.session.select_slice(SliceRef(0, 5))
    open_files(qtbot, attention, tmp_path / "none.etdp")
    attention.loader._reader = Blocked()
    attention.open([DEMO])
    assert attention.is_loading
    with qtbot.waitSignal(attention.loader.all_done):
        qtbot.keyClick(attention.window, Qt.Key.Key_Escape)
    assert names(attention) == [Path(ATTENTION).name, Path(ATTENTION_RECORD).name]
    assert "none.etdp" in message(attention)
    qtbot.keyClick(attention.window, Qt.Key.Key_Escape)
    assert message(attention) == ""
    assert attention.session.state.slice == SliceRef(0, 5)
    qtbot.keyClick(attention.window, Qt.Key.Key_Escape)
    assert attention.session.state.slice is None


def test_a_cancelled_load_is_told(attention, qtbot):
    attention.loader._reader = Blocked()
    attention.open([DEMO])
    with qtbot.waitSignal(attention.loader.all_done):
        qtbot.keyClick(attention.window, Qt.Key.Key_Escape)
    assert attention.window.status.said.text() == "demo_str_x4.etdp was not opened"


def test_progress_is_shown_late_and_can_be_cancelled(desk, qtbot):
    desk.loader._reader = Blocked()
    desk.window.status._late.setInterval(0)
    desk.open([DEMO])
    qtbot.waitUntil(desk.window.status.cancel.isVisible)
    with qtbot.waitSignal(desk.loader.all_done):
        qtbot.mouseClick(desk.window.status.cancel, Qt.MouseButton.LeftButton)
    assert not desk.window.status.cancel.isVisible()
    assert names(desk) == []


def test_several_loads_tell_how_far_each_is(desk, qtbot):
    """Two files are read at once; the others wait for them."""
    totals, begun, end = {DEMO: 4_000_000, CSV: 200_000_000}, threading.Semaphore(0), Blocked()

    def slow(path, progress, cancelled):
        progress(totals[path] // 4, totals[path])
        begun.release()
        return end(path, progress, cancelled)

    desk.loader._reader = slow
    desk.window.status._late.setInterval(0)
    desk.open([DEMO, CSV, ATTENTION])
    status = desk.window.status
    parts = (
        "demo_str_x4.etdp 1.0 MB of 4.0 MB", "demo_str_x4.csv 50 MB of 200 MB", "1 more"
    )  # fmt: skip
    told = "Reading " + " · ".join(parts)
    qtbot.waitUntil(lambda: status._task.toolTip().replace(THIN, " ") == told)
    qtbot.waitUntil(status.progress.isVisible)
    assert status.progress.value() == 250  # of 1000
    with qtbot.waitSignal(desk.loader.all_done):
        qtbot.keyClick(desk.window, Qt.Key.Key_Escape)
    assert not status.progress.isVisible()


def test_an_export_that_ends_leaves_the_progress_of_a_load(attention, qtbot, tmp_path, monkeypatch):
    reader, job = Blocked(), blocked_export(attention, monkeypatch)
    job.result = 1
    attention.window.status._late.setInterval(0)
    attention.loader._reader = reader
    attention.open([DEMO])
    qtbot.waitUntil(attention.window.status.cancel.isVisible)
    with qtbot.waitSignal(attention.saver.saved):
        attention.export(str(tmp_path / "out.csv"))
        job.end.set()
    assert attention.window.status.cancel.isVisible()
    with qtbot.waitSignal(attention.loader.all_done):
        qtbot.keyClick(attention.window, Qt.Key.Key_Escape)


# -- exporting -------------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", [".pftrace", ".csv"])
def test_an_export_appears_and_is_told(attention, qtbot, tmp_path, suffix):
    path = tmp_path / f"out{suffix}"
    with qtbot.waitSignal(attention.saver.saved, timeout=20_000):
        attention.export(str(path))
    assert path.stat().st_size > 1000
    assert attention.window.status.said.text().startswith(f"Wrote {path} · 727 slices")
    if suffix == ".csv":
        assert len(path.read_text().splitlines()) == 728
    assert message(attention) == ""


def test_an_export_into_no_folder_says_why(attention, qtbot, tmp_path):
    path = tmp_path / "none" / "out.csv"
    with qtbot.waitSignal(attention.saver.failed):
        attention.export(str(path))
    assert message(attention) == f"{path} was not written: No such file or directory"
    assert not attention.saver.is_busy


def test_a_name_that_no_exporter_knows_says_which_ones_there_are(attention, tmp_path):
    attention.export(str(tmp_path / "out.png"))
    assert ".pftrace" in message(attention)
    assert list(tmp_path.glob("out*")) == []


def test_a_record_alone_has_no_time_to_export_but_its_operators(desk, qtbot, tmp_path):
    open_files(qtbot, desk, ATTENTION_RECORD)
    desk.export(str(tmp_path / "out.pftrace"))
    assert message(desk).startswith("A record holds the model, not a run")
    path = tmp_path / "out.csv"
    with qtbot.waitSignal(desk.saver.saved):
        desk.export(str(path))
    assert path.exists()
    assert desk.window.status.said.text() == f"Wrote {path}"


def blocked_export(desk, monkeypatch):
    job = Blocked()
    monkeypatch.setattr("viewer.gui.window.controller.prepare", lambda workspace, path: job)
    return job


def test_escape_cancels_an_export_whose_progress_is_shown(attention, qtbot, tmp_path, monkeypatch):
    blocked_export(attention, monkeypatch)
    attention.window.status._late.setInterval(0)
    attention.export(str(tmp_path / "out.csv"))
    qtbot.waitUntil(attention.window.status.progress.isVisible)
    assert attention.window.status._task.text() == "Writing out.csv"
    with qtbot.waitSignal(attention.saver.failed):
        qtbot.keyClick(attention.window, Qt.Key.Key_Escape)
    assert message(attention) == "The export was cancelled; no file was written"
    assert not attention.window.status.progress.isVisible()
    assert list(tmp_path.glob("*out*")) == []


def test_escape_cancels_an_export_at_once(attention, qtbot, tmp_path, monkeypatch):
    job = blocked_export(attention, monkeypatch)
    attention.session.select_slice(SliceRef(0, 5))
    attention.export(str(tmp_path / "out.csv"))
    qtbot.keyClick(attention.window, Qt.Key.Key_Escape)
    stopped, kept = attention.saver._write.stop.is_set(), attention.session.state.slice
    job.end.set()
    qtbot.waitUntil(lambda: not attention.saver.is_busy)
    assert stopped
    assert kept == SliceRef(0, 5)


def test_a_second_export_waits_or_says_why(attention, qtbot, tmp_path, monkeypatch):
    job = blocked_export(attention, monkeypatch)
    job.result = 1
    attention.export(str(tmp_path / "out.csv"))
    try:
        attention.export(str(tmp_path / "other.csv"))
    finally:
        with qtbot.waitSignal(attention.saver.saved):
            job.end.set()


def test_icons_are_drawn_in_the_size_that_they_have(desk):
    """Another size would be taken from a pixmap of another scale, larger and blurred at 150 %."""
    assert desk.toolbar.iconSize().toTuple() == (ICON_SIZE, ICON_SIZE)


# -- quitting --------------------------------------------------------------------------------------


def living(*prefixes):
    return [t.name for t in threading.enumerate() if t.name.startswith(prefixes)]


def test_quitting_while_a_file_is_read_is_quick_and_leaves_no_thread(desk, qtbot):
    reader = Blocked()
    desk.loader._reader = reader
    desk.open([DEMO, CSV, ATTENTION])
    assert reader.begun.wait(5)
    began = time.monotonic()
    assert desk.window.close()
    assert time.monotonic() - began < 1
    assert living("read ") == []
    QCoreApplication.processEvents()
    assert names(desk) == []


def test_quitting_while_an_export_is_written_is_quick(attention, qtbot, tmp_path, monkeypatch):
    job = blocked_export(attention, monkeypatch)
    attention.export(str(tmp_path / "out.csv"))
    assert job.begun.wait(5)
    began = time.monotonic()
    assert attention.window.close()
    assert time.monotonic() - began < 1
    assert living("write ") == []
    QCoreApplication.processEvents()


def test_quitting_takes_questions_of_the_background_back(desk, qtbot, monkeypatch):
    monkeypatch.setattr("viewer.gui.qt.background._QUIT_SECONDS", 0.01)
    gate = threading.Event()
    latest = desk.window.findChildren(Latest)[0]
    latest.submit(gate.wait)
    desk.window.close()
    assert not latest.pending
    gate.set()


def test_the_window_lies_as_it_lay(desk, qtbot, qapp, tmp_path, monkeypatch):
    desk.window.resize(700, 600)
    desk.window.close()
    again = desk_of(qtbot, qapp, tmp_path, monkeypatch, size=None).window
    assert (again.width(), again.height()) == (700, 600)
    put_away(again, qapp)


# -- panels and toolbar follow ---------------------------------------------------------------------


def marked(desk):
    """Per trace the slices that are drawn above the rest."""
    session = desk.session
    wanted = session.state.operators
    return set(slices_of(session, *wanted).tolist()) if wanted else set()


def test_a_click_in_the_operators_panel_marks_its_slices_and_shows_them(attention, qtbot):
    table = attention.operators.table
    session = attention.session
    session.set_range(0, 1000)
    at = table.visualRect(table.model().index(0, 1)).center()
    qtbot.mouseClick(table.viewport(), Qt.MouseButton.LeftButton, pos=at)
    wanted = set(attention.operators.model.rows[0].operators)
    assert set(session.state.operators[1]) == wanted
    links = session.traces[0].table.links
    keys = session.traces[0].trace.slices.key.tolist()
    expected = {i for i, key in enumerate(keys) if wanted <= set(links[key].operators)}
    assert marked(attention) == expected != set()
    assert attention.timeline.scene.rasters[0].hits is not None
    state = session.state
    assert any(
        start < state.t1 and end > state.t0
        for start, end in (session.traces[0].span_ns(i) for i in expected)
    )
    session.clear_selection()
    assert attention.timeline.scene.rasters[0].hits is None


def test_the_details_panel_shows_what_a_click_selected(attention, qtbot):
    shown = attention.session.traces[0]
    run = shown.trace.runs[attention.session.state.run[1]]
    slices = shown.trace.slices
    index = next(
        i for i in range(len(slices))
        if run.start <= slices.start[i] < run.end and shown.link(i).operators
        and slices.end[i] - slices.start[i] > 1000
    )  # fmt: skip
    qtbot.mouseClick(canvas(attention), Qt.MouseButton.LeftButton, pos=place_of(attention, index))
    assert attention.session.state.slice == SliceRef(0, index)
    settle(qtbot, attention)
    texts = [w.accessibleName() for w in attention.details.findChildren(object)
             if hasattr(w, "accessibleName")]  # fmt: skip
    length = int(slices.end[index] - slices.start[index])
    assert any(f"{length / 1000:.3f}" in text for text in texts), texts
    assert attention.window.status.said.text().startswith("1 slice selected · ")


def test_light_and_dark_are_different_pictures(attention, qtbot):
    pictures = {}
    for choice in ("dark", "light", "dark"):
        attention.commands.actions[f"view.theme_{choice}"].trigger()
        settle(qtbot, attention)
        pictures.setdefault(choice, []).append(attention.timeline.grab().toImage())
        assert attention.commands.actions[f"view.theme_{choice}"].isChecked()
    assert pictures["dark"][0] == pictures["dark"][1]
    assert pictures["dark"][0] != pictures["light"][0]
    assert attention.theme.choice == "dark"
    corner = canvas(attention).grab().toImage().pixelColor(1, canvas(attention).height() - 1)
    assert corner == attention.theme.color("canvas")


def pick(combo, index):
    combo.setCurrentIndex(index)
    combo.activated.emit(index)


def test_color_by_name_paints_anew_and_undo_paints_back(attention, qtbot):
    before = canvas(attention).grab().toImage()
    pick(attention.toolbar.scheme, 1)
    assert attention.session.state.scheme == "name"
    assert canvas(attention).grab().toImage() != before
    attention.session.undo()
    assert attention.session.state.scheme == "operator"
    assert canvas(attention).grab().toImage() == before


def test_the_run_box_aligns_the_runs_and_shows_their_mean(attention, qtbot):
    box, session = attention.toolbar.run, attention.session
    pick(box, box.findText("All runs, aligned"))
    assert len(session.traces[0].trace.tracks) == 5
    assert box.currentText() == "All runs, aligned"
    pick(box, box.findText("Mean of runs"))
    assert session.traces[0].label(0) == "forward · mean of 5 runs"
    assert attention.commands.actions["go.runs_mean"].isChecked()
    qtbot.keyClick(attention.window, Qt.Key.Key_Z, Qt.KeyboardModifier.ControlModifier)
    assert box.currentText() == "All runs, aligned"
    pick(box, box.findText("All runs"))
    assert session.traces[0].trace is session.traces[0].file
    assert box.currentText() == "All runs"


def test_the_color_box_follows_undo(attention):
    pick(attention.toolbar.scheme, 1)
    attention.session.undo()
    assert attention.toolbar.scheme.currentData() == attention.session.state.scheme


def test_the_run_box_picks_a_run_and_follows_it(attention, qtbot):
    pick(attention.toolbar.run, attention.toolbar.run.findText("Run 4 of 5"))
    session = attention.session
    assert session.traces[0].trace.runs[session.state.run[1]].number == 4
    qtbot.keyClick(attention.window, Qt.Key.Key_P)
    assert attention.toolbar.run.currentText() == "Run 3 of 5"
    pick(attention.toolbar.run, 0)
    assert session.state.run is None


def test_the_run_box_follows_the_trace_of_the_selection(desk, qtbot):
    open_files(qtbot, desk, DEMO, CSV, ATTENTION)
    number = next(i for i, t in enumerate(desk.session.traces) if t.trace.path == ATTENTION)
    assert number != 0
    desk.session.select_slice(SliceRef(number, 3))
    assert "Run 5 of 5" in runs_offered(desk)


def test_the_link_pill_follows_the_trace_of_the_selection(desk, qtbot):
    open_files(qtbot, desk, DEMO, ATTENTION, ATTENTION_RECORD)
    told = set()
    for number in range(2):
        desk.session.select_slice(SliceRef(number, 3))
        told.add(desk.toolbar.link_state.text())
    assert len(told) == 2


def test_a_row_of_the_delegation_selects_on_the_timeline(attention, qtbot):
    attention._docks.show_panel("delegation")
    settle(qtbot, attention)
    rows = attention.delegation.model.rows
    attention.delegation.table.selectRow(next(i for i, r in enumerate(rows) if "ops" in r.name))
    qtbot.keyClick(attention.delegation.table, Qt.Key.Key_Return)
    assert attention.session.state.slice is not None
    assert "XnnpackBackend" in attention.session.traces[0].label(
        attention.session.state.slice.index
    )


def test_a_handle_map_is_exported_under_its_own_name(attention, qtbot, tmp_path, monkeypatch):
    asked = []

    def name(parent, title, start, filters):
        asked.append(Path(start).name)
        return str(tmp_path / "maps"), "Table, tab separated (*.tsv)"

    monkeypatch.setattr("viewer.gui.window.controller.QFileDialog.getSaveFileName", name)
    attention._docks.show_panel("handle_map")
    settle(qtbot, attention)
    with qtbot.waitSignal(attention.saver.saved):
        attention.handle_map.button.click()
    assert asked == ["attn_xnnpack_x5.handle_map.csv"]
    assert (tmp_path / "maps.tsv").read_text(encoding="utf-8").startswith("file\tmethod\t")


def test_the_graph_is_saved_as_a_picture_beside_the_profile(
    attention, qtbot, tmp_path, monkeypatch
):
    asked = []

    def name(parent, title, start, filters):
        asked.append(Path(start).name)
        return str(tmp_path / "graph"), "Picture, SVG (*.svg)"

    monkeypatch.setattr("viewer.gui.window.controller.QFileDialog.getSaveFileName", name)
    attention._docks.show_panel("graph")
    attention.session.select_operators(0, (1,))
    qtbot.waitUntil(lambda: attention.graph.view.picture is not None)
    with qtbot.waitSignal(attention.saver.saved):
        attention.graph.save_button.click()
    assert asked == ["attn_xnnpack_x5.graph.png"]
    assert b"<svg" in (tmp_path / "graph.svg").read_bytes()


def test_the_bottom_panels_hide_and_come_back(attention, qtbot):
    qtbot.keyClick(attention.window, Qt.Key.Key_Q)
    assert shown_docks(attention) == {"details"}
    assert not attention.commands.actions["view.panels"].isChecked()
    qtbot.keyClick(attention.window, Qt.Key.Key_Q)
    assert shown_docks(attention) == DOCKS


def test_hidden_panels_stay_hidden_when_a_file_is_added(attention, qtbot):
    qtbot.keyClick(attention.window, Qt.Key.Key_Q)
    open_files(qtbot, attention, DEMO)
    assert shown_docks(attention) == {"details"}


def test_the_pill_leads_to_the_problems(attention, qtbot):
    qtbot.mouseClick(attention.toolbar.link_state, Qt.MouseButton.LeftButton)
    assert attention.problems.isVisible()


# -- faults ----------------------------------------------------------------------------------------


def test_a_fault_in_painting_is_told_once_and_the_window_lives(attention, monkeypatch, capsys):
    crash_report.forget()
    view = attention.timeline.view
    canvas(attention).grab()

    def broken(*given):
        given[0].save()
        return [][3]

    monkeypatch.setattr(view.frames, "paint", broken)
    for _ in range(3):
        assert not canvas(attention).grab().isNull()
    told = capsys.readouterr().err
    assert told.count("IndexError: ") == 1
    assert "viewer.gui.timeline.painting.rows_item.RowsItem.paint" in told
    monkeypatch.undo()
    attention.session.select_slice(SliceRef(0, 5))
    assert not attention.window.grab().isNull()
    crash_report.forget()


def test_settling_leaves_the_processor_to_what_it_waits_for(desk, monkeypatch):
    gate = threading.Event()
    latest = desk.window.findChildren(Latest)[0]
    latest.submit(gate.wait)
    asked = []
    pending = Latest.pending.fget
    monkeypatch.setattr(Latest, "pending", property(lambda x: asked.append(1) or pending(x)))
    desk.window.settle(0.2)
    monkeypatch.undo()
    gate.set()
    latest.cancel()
    assert len(asked) < 1000


def test_settling_ends_when_all_is_answered(attention, qtbot):
    began = time.monotonic()
    attention.window.settle()
    assert time.monotonic() - began < 2
    assert attention.window.picture_png().startswith(b"\x89PNG")


def test_pointing_at_the_window_does_not_change_it(attention, qtbot):
    before = attention.session.state
    move(canvas(attention), QPoint(200, 80))
    assert attention.session.state == before


# -- clock rates -----------------------------------------------------------------------------------


@pytest.fixture
def cycles(desk, qtbot, data):
    """The window with a compile profile, whose text is found beside it."""
    open_files(qtbot, desk, data / "torq" / "compile_c3_taskid_mtu.csv")
    return desk


def clock_words(desk):
    return [action.text().replace("&", "") for action in desk.clock.menu().actions()
            if not action.isSeparator()]  # fmt: skip


def checked(desk):
    return [id for id in CLOCK_MENU if id != "-" and desk.commands.actions[id].isChecked()]


def test_the_clock_in_the_status_bar_is_the_handle_of_its_rate(cycles):
    assert cycles.clock.text() == f"800{THIN}MHz assumed · 44 slices"
    assert clock_words(cycles) == [
        "compile_c3_taskid_mtu.csv", "As assumed or stated", "800 MHz", "100 MHz",
        "Other clock rate…",
    ]  # fmt: skip
    assert checked(cycles) == ["clock.file"]
    before = cycles.window.status.range.text()
    cycles.commands.actions["clock.100"].trigger()
    assert cycles.clock.text() == f"100{THIN}MHz chosen · 44 slices"
    assert f"1 cycle = 10{THIN}ns, chosen" in cycles.clock.toolTip()
    assert checked(cycles) == ["clock.100"]
    assert cycles.window.status.range.text() != before
    cycles.commands.actions["go.undo"].trigger()
    assert (cycles.window.status.range.text(), checked(cycles)) == (before, ["clock.file"])
    assert cycles.clock.text() == f"800{THIN}MHz assumed · 44 slices"
    cycles.commands.actions["clock.800"].trigger()
    assert cycles.clock.text() == f"800{THIN}MHz chosen · 44 slices"


def test_any_rate_can_be_given_and_what_is_none_is_told(cycles, monkeypatch):
    answers = iter([("1.2 GHz", True), ("fast", True), ("7 GHz", False)])
    monkeypatch.setattr(QInputDialog, "getText", lambda *args, **more: next(answers))
    ask = cycles.commands.actions["clock.other"].trigger
    ask()
    assert cycles.clock.text().startswith(f"1.2{THIN}GHz chosen")
    assert message(cycles) == ""
    ask()
    assert message(cycles).startswith("The clock rate stays as it was: 'fast' is not a clock rate")
    ask()
    assert cycles.clock.text().startswith(f"1.2{THIN}GHz chosen")


def test_a_stated_clock_has_no_menu(desk, qtbot):
    open_files(qtbot, desk, CSV)
    assert desk.clock.menu() is None
    assert not desk.commands.actions["clock.other"].isEnabled()
    desk.commands.actions["file.close_all"].trigger()
    assert not desk.clock.isVisible()


def test_the_rate_of_estimates_is_chosen_where_only_debug_info_has_them(desk, qtbot, data):
    torq = data / "torq"
    open_files(
        qtbot, desk, torq / "host_h4_latest_2inv.csv", torq / "tiny_cnn.lowered_generic.mlir"
    )
    assert desk.clock.text().startswith(
        f"1 tick = 1000{THIN}ns · estimates at 800{THIN}MHz assumed"
    )
    assert clock_words(desk)[0] == "estimates of debug info"
    before = desk.window.status.range.text()
    desk.commands.actions["clock.100"].trigger()
    assert f"estimates at 100{THIN}MHz chosen" in desk.clock.text()
    assert checked(desk) == ["clock.100"]
    assert f"at 100{THIN}MHz chosen" in desk.estimates.note.text()
    assert desk.window.status.range.text() == before
    desk.commands.actions["go.undo"].trigger()
    assert f"at 800{THIN}MHz assumed" in desk.estimates.note.text()


# -- companions, and where sources lie -------------------------------------------------------------


def test_the_window_is_painted_once_docks_and_panels_have_followed_a_large_profile(
    desk, qtbot, monkeypatch
):
    monkeypatch.setattr(viewer.gui.session.workspace_edits, "AT_ONCE", -1)
    painted, told = desk.window.updatesEnabled, []
    desk.session.workspace_changed.connect(
        lambda: told.append((painted(), bool(shown_docks(desk))))
    )
    open_files(qtbot, desk, CSV)
    assert told == [(False, True)]
    assert painted()
    desk.commands.actions["file.close_all"].trigger()
    assert painted()
    assert not shown_docks(desk)


def test_closing_all_while_a_large_profile_is_coming_leaves_the_start_page(
    desk, qtbot, monkeypatch
):
    monkeypatch.setattr(viewer.gui.session.workspace_edits, "AT_ONCE", -1)
    desk.session.about_to_change.connect(desk.session.close_all)
    with qtbot.waitSignal(desk.session.about_to_change):
        desk.open([CSV])
    settle(qtbot, desk)
    assert desk.session.is_empty
    assert desk.window.updatesEnabled()
    assert not shown_docks(desk)


def test_a_large_profile_that_never_comes_leaves_a_window_that_is_painted(desk, qtbot, monkeypatch):
    monkeypatch.setattr("viewer.gui.window.controller.UNVEILED_AFTER_MS", 1)
    desk.session.about_to_change.emit()
    assert not desk.window.updatesEnabled()
    qtbot.waitUntil(desk.window.updatesEnabled)
    assert desk.window.pages.currentWidget() is desk.window.start_page
    assert not shown_docks(desk)


def test_zooming_hardly_ever_lays_out_the_status_bar(attention):
    """A label of another width lays out the window: every frame took as long as two."""
    widths, label = [], attention.window.status.range
    for span in range(100_000, 1_000_000, 9_999):
        attention.session.set_range(0, span)
        widths.append(label.width())
        assert label.width() >= label.sizeHint().width()
    assert len(set(widths)) <= 2

"""What is dropped: files anywhere on the window, folders, and what is refused."""

import shutil

import pytest
from PySide6.QtCore import Qt

from tests.gui.events import canvas, drop, settle
from tests.gui.window.shown import (
    ATTENTION,
    ATTENTION_RECORD,
    CSV,
    DEMO,
    DEMO_RECORD,
    TORQ,
    dropped,
    message,
    names,
)


def test_dropped_files_are_added(controller, qtbot):
    dropped(qtbot, controller, ATTENTION, ATTENTION_RECORD)
    assert len(controller.session.traces) == 1
    dropped(qtbot, controller, DEMO, DEMO_RECORD)
    assert len(controller.session.traces) == 2
    assert message(controller) == ""


@pytest.mark.slow
def test_files_can_be_dropped_on_every_part(attention, qtbot):
    for panel in ("problems", "details"):
        attention.docks.show_panel(panel)
    parts = (
        attention.timeline,
        attention.panels["operators"],
        attention.panels["source"],
        attention.panels["problems"],
    )
    parts += attention.timeline.headers, attention.timeline.overview, attention.window.menuBar()
    parts += (
        canvas(attention),
        attention.panels["operators"].table.viewport(),
        attention.panels["details"].viewport(),
    )
    for part in parts:
        attention.session.close_all()
        dropped(qtbot, attention, DEMO, onto=part)
        assert names(attention) == ["demo_str_x4.etdp"], part


@pytest.mark.parametrize("order", [(ATTENTION, ATTENTION_RECORD), (ATTENTION_RECORD, ATTENTION)])
def test_a_record_dropped_onto_an_open_profile_links_it(controller, qtbot, order):
    for path in order:
        dropped(qtbot, controller, path)
    (shown,) = controller.session.traces
    assert shown.table.program.path == ATTENTION_RECORD
    assert controller.toolbar.link_state.text().startswith("Linked · ")
    assert message(controller) == ""


def test_several_mixed_files_can_be_dropped_at_once(controller, qtbot, data):
    mixed = [data / "torq" / name for name in TORQ]
    dropped(qtbot, controller, ATTENTION, *map(str, mixed), DEMO_RECORD, ATTENTION_RECORD)
    assert len(controller.session.traces) == 3
    assert len(controller.session.workspace.paths) == 6
    assert controller.session.traces[0].table.program.path == ATTENTION_RECORD


def test_a_dropped_folder_with_nothing_in_it_says_so(attention, qtbot, tmp_path):
    before = attention.session.state, names(attention)
    assert drop(attention, [str(tmp_path)])
    settle(qtbot, attention)
    assert message(attention) == (
        f"{tmp_path.name}: no profile, ETRecord, program file or source in this folder"
    )
    assert (attention.session.state, names(attention)) == before


def test_the_one_file_of_a_dropped_folder_is_opened(controller, qtbot, tmp_path):
    shutil.copy(DEMO, tmp_path / "run.etdp")
    dropped(qtbot, controller, str(tmp_path))
    assert names(controller) == ["run.etdp"]


def test_of_a_dropped_folder_with_several_files_those_are_opened_that_are_checked(
    controller, qtbot, tmp_path
):
    (tmp_path / "deep").mkdir()
    for path, name in ((DEMO, "run.etdp"), (DEMO_RECORD, "deep/net.etrecord"), (CSV, "other.csv")):
        shutil.copy(path, tmp_path / name)
    (tmp_path / "model.py").write_text("import os\n")
    assert drop(controller, [str(tmp_path)])
    settle(qtbot, controller)
    dialog = controller.drops.dialog
    assert names(controller) == []
    assert dialog.open_button.text() == "Open 3 files"
    listed = [dialog.model.item(row).text() for row in range(dialog.model.rowCount())]
    assert listed == ["model.py", "other.csv", "run.etdp", "deep/net.etrecord"]
    # By keyboard alone: the table has the focus, the space bar checks.
    assert dialog.focusWidget() is dialog.table
    qtbot.keyClick(dialog.table, Qt.Key.Key_Down)
    qtbot.keyClick(dialog.table, Qt.Key.Key_Space)
    assert dialog.open_button.text() == "Open 2 files"
    with qtbot.waitSignal(controller.loader.all_done, timeout=20_000):
        dialog.open_button.click()
    settle(qtbot, controller)
    assert sorted(names(controller)) == ["net.etrecord", "run.etdp"]
    assert controller.session.traces[0].table.program is not None


def test_a_dropped_folder_of_debug_info_opens_its_texts(controller, qtbot, tmp_path, data):
    text = "tiny_cnn.lowered_generic.mlir"
    (tmp_path / text).write_bytes((data / "torq" / text).read_bytes())
    (tmp_path / "main_dispatch_1.mlirb").write_bytes(b"ML\xefR\x06MLIR20.0\0")
    dropped(qtbot, controller, str(tmp_path))
    assert names(controller) == [text]
    assert message(controller).startswith("main_dispatch_1.mlirb: it is MLIR bytecode, not text")


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
    assert not attention.opener.is_busy
    assert (attention.session.state, names(attention)) == before


def test_a_remote_file_among_local_ones_is_named(attention, qtbot):
    dropped(qtbot, attention, DEMO, "https://example.org/run.etdp")
    assert "run.etdp" in message(attention)


def test_a_folder_on_the_command_line_opens_as_a_dropped_one(controller, qtbot, tmp_path):
    shutil.copy(CSV, tmp_path / "run.csv")
    controller.window.open([str(tmp_path)])
    settle(qtbot, controller)
    qtbot.waitUntil(lambda: names(controller) == ["run.csv"])
    assert message(controller) == ""


def test_a_folder_of_several_files_offers_them_on_the_start_page(controller, qtbot, tmp_path):
    for name in ("a.csv", "b.csv"):
        shutil.copy(CSV, tmp_path / name)
    controller.window.open([str(tmp_path)])
    qtbot.waitUntil(lambda: controller.drops.dialog is not None)
    assert controller.window.pages.currentWidget() is controller.window.start_page
    controller.drops.dialog.open_requested.emit([str(tmp_path / "b.csv")])
    controller.drops.dialog.close()
    qtbot.waitUntil(lambda: names(controller) == ["b.csv"])


def test_a_banner_about_a_folder_goes_when_a_file_opens(controller, qtbot, tmp_path):
    (tmp_path / "notes.xyz").write_text("nothing")
    controller.window.open([str(tmp_path)])
    qtbot.waitUntil(lambda: message(controller) != "")
    assert controller.window.pages.currentWidget() is controller.window.start_page
    dropped(qtbot, controller, CSV)
    assert message(controller) == ""


def test_return_opens_all_that_is_checked(controller, qtbot, tmp_path):
    for path in (ATTENTION, ATTENTION_RECORD):
        shutil.copy(path, tmp_path)
    assert drop(controller, [str(tmp_path)])
    qtbot.waitUntil(lambda: controller.drops.dialog is not None)
    with qtbot.waitSignal(controller.loader.all_done, timeout=20_000):
        qtbot.keyClick(controller.drops.dialog.table, Qt.Key.Key_Return)
    settle(qtbot, controller)
    assert len(names(controller)) == 2

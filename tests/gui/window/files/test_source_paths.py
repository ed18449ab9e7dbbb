"""Sources that lie elsewhere than where they were recorded: located once, remembered, forgotten."""

import shutil
from pathlib import Path

import shiboken6
from PySide6.QtWidgets import QFileDialog

from tests.gui.events import SAMPLE, open_files, settle
from viewer.gui.window.main_window import MainWindow
from viewer.view.state import SliceRef

ATTENTION, ATTENTION_RECORD = SAMPLE["attention_xnnpack"].paths()


def names(desk):
    return [Path(path).name for path in desk.session.workspace.paths]


def test_a_source_is_located_once_for_all_paths_and_remembered(
    desk, qtbot, qapp, data, tmp_path, monkeypatch
):
    runs = tmp_path / "a/b/c/runs"  # too far down for its source to be found by itself
    runs.mkdir(parents=True)
    for path in (ATTENTION, ATTENTION_RECORD):
        shutil.copy(path, runs)
    here = tmp_path / "models" / "models.py"
    here.parent.mkdir()
    shutil.copy(Path(ATTENTION).parent / "models.py", here)
    open_files(qtbot, desk, *runs.iterdir())
    desk.session.select_operators(0, (9,))
    assert "models.py is not here" in desk.source.sentence
    chosen = [str(tmp_path / "gone.py"), "", str(here)]
    monkeypatch.setattr(QFileDialog, "getOpenFileName", lambda *args: (chosen.pop(0), ""))
    desk.source.locate_requested.emit(desk.source.place[0])
    assert "gone.py is no text of at most 8 MB" in desk.window.message.text
    desk.source.locate_requested.emit(desk.source.place[0])
    assert desk.settings.source_paths() == []
    desk.source.locate_requested.emit(desk.source.place[0])
    assert desk.source.sentence == ""
    assert desk.source.note.text().startswith(f"shown from {here}")
    assert desk.settings.source_paths() == [("/home/user", str(tmp_path))]
    again = MainWindow(desk.theme, desk.settings)
    assert [s.recorded for s in again.controller.session.workspace.choices.source_paths] == [
        "/home/user"
    ]
    again.close()
    shiboken6.delete(again)  # before the theme, which is the other window's
    (substitution,) = desk.session.workspace.choices.source_paths
    desk.source.forget_requested.emit(substitution)
    assert desk.settings.source_paths() == []
    assert "models.py is not here" in desk.source.sentence


def test_a_text_of_a_profile_is_located_opened_and_found_again(
    desk, qtbot, data, tmp_path, monkeypatch
):
    text = (data / "torq" / "compile_c3_taskid_mtu.csv").read_text()
    for name in ("a.csv", "b.csv"):
        (tmp_path / name).write_text(text.replace('"tiny_cnn.mlir"', '"/build/tiny_cnn.mlir"'))
    (tmp_path / "models").mkdir()
    moved = shutil.copy(data / "torq" / "tiny_cnn.mlir", tmp_path / "models")
    open_files(qtbot, desk, tmp_path / "a.csv")
    trace = desk.session.traces[0].trace
    placed = next(i for i in range(44) if desk.session.traces[0].link(i).detail and "tiny" in str(
        trace.keys.location[trace.slices.key[i]]))  # fmt: skip
    desk.session.select_slice(SliceRef(0, placed))
    assert desk.source.sentence.startswith("tiny_cnn.mlir is not here")
    monkeypatch.setattr(QFileDialog, "getOpenFileName", lambda *args: (moved, ""))
    with qtbot.waitSignal(desk.loader.all_done):
        desk.source.locate_requested.emit(desk.source.place[0])
    settle(qtbot, desk)
    assert names(desk) == ["a.csv", "tiny_cnn.mlir"]
    assert desk.session.traces[0].table.program.path == moved
    desk.commands.actions["file.close_all"].trigger()
    open_files(qtbot, desk, tmp_path / "b.csv")
    assert names(desk) == ["b.csv", "tiny_cnn.mlir"]

"""Files on their way in: the texts that a profile names come with it."""

import shutil
from pathlib import Path

import pytest
from PySide6.QtWidgets import QLabel

from tests.gui.events import open_files
from viewer.gui.session.linking import pair_files
from viewer.view.state import SliceRef


def names(desk):
    return [Path(path).name for path in desk.session.workspace.paths]


@pytest.fixture
def cycles(desk, qtbot, data):
    """The window with a compile profile, whose text is found beside it."""
    open_files(qtbot, desk, data / "torq" / "compile_c3_taskid_mtu.csv")
    return desk


def test_the_text_beside_a_profile_is_opened_with_it_and_can_be_unlinked(cycles, data):
    assert names(cycles) == ["compile_c3_taskid_mtu.csv", "tiny_cnn.mlir"]
    assert cycles.window.status.said.text() == (
        "tiny_cnn.mlir was opened with compile_c3_taskid_mtu.csv, which names it"
    )
    recent = cycles.settings.recent_files()
    assert recent == [str(data / "torq" / "compile_c3_taskid_mtu.csv")]
    said = [label.text() for label in cycles.links.findChildren(QLabel)]
    assert any("opened by itself, as the profile names it" in text for text in said)
    pair_files(cycles.session, recent[0], None)
    assert cycles.session.traces[0].table.program is None


def test_opening_the_profile_again_does_not_link_what_was_unlinked(cycles, qtbot, data):
    path = data / "torq" / "compile_c3_taskid_mtu.csv"
    pair_files(cycles.session, str(path), None)
    open_files(qtbot, cycles, path)
    assert cycles.session.traces[0].table.program is None


def test_a_text_that_is_asked_for_is_the_one_that_is_meant(desk, qtbot, data, tmp_path):
    shutil.copy(data / "torq" / "tiny_cnn.mlir", tmp_path / "mine.mlir")
    open_files(qtbot, desk, data / "torq" / "compile_c3_taskid_mtu.csv", tmp_path / "mine.mlir")
    assert names(desk) == ["compile_c3_taskid_mtu.csv", "mine.mlir"]


def test_a_text_beside_a_profile_that_cannot_be_read_is_told(desk, qtbot, data, tmp_path):
    shutil.copy(data / "torq" / "compile_c3_taskid_mtu.csv", tmp_path / "p.csv")
    (tmp_path / "tiny_cnn.mlir").write_bytes(b"ML\xefR bytecode")
    open_files(qtbot, desk, tmp_path / "p.csv")
    assert names(desk) == ["p.csv"]
    said = "p.csv was compiled from a text that cannot be read: tiny_cnn.mlir: it is MLIR bytecode"
    assert desk.window.message.text.startswith(said)


# -- files that are added --------------------------------------------------------------------------

SIX = "process,thread,name,start_ns,dur_ns\n" + "".join(f"p,t,s{i},{i * 10},5\n" for i in range(6))


def said(desk):
    return desk.window.status.said.text()


def test_a_file_that_is_added_is_told_with_the_key_that_leads_to_it(desk, qtbot, data, tmp_path):
    first, second = tmp_path / "first.csv", tmp_path / "mine.csv"
    for path in (first, second):
        path.write_text(SIX)
    open_files(qtbot, desk, first)
    assert said(desk) == "", "the first one is what is seen"
    open_files(qtbot, desk, second)
    assert said(desk) == (
        "Added mine.csv · 6 slices, below the others · Shift+F zooms to one file after the other"
    )
    desk.session.select_slice(SliceRef(0, 1))
    assert "Added" not in said(desk)
    desk.commands.take_key("view.fit_file", "Shift+F")
    desk.commands.give_key("view.fit_file", "Ctrl+9")
    (tmp_path / "third.csv").write_text(SIX)
    open_files(qtbot, desk, tmp_path / "third.csv")
    assert said(desk).startswith("Added third.csv · 6 slices")
    assert "Ctrl+9 zooms" in said(desk)


def test_a_record_that_is_added_and_a_file_that_is_read_again(desk, qtbot, data):
    path = data / "etdump" / "demo_str_x4.etdp"
    open_files(qtbot, desk, path)
    open_files(qtbot, desk, data / "etrecord" / "demo_str.etrecord")
    assert said(desk) == "Added demo_str.etrecord"
    open_files(qtbot, desk, path)
    assert "Added" not in said(desk)

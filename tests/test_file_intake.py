"""Files on their way in: the texts that a profile names come with it."""

import shutil
from pathlib import Path

import pytest
from PySide6.QtWidgets import QLabel

from tests.gui_events import open_files


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
    cycles.session.pair(recent[0], None)
    assert cycles.session.traces[0].table.program is None


def test_opening_the_profile_again_does_not_link_what_was_unlinked(cycles, qtbot, data):
    path = data / "torq" / "compile_c3_taskid_mtu.csv"
    cycles.session.pair(str(path), None)
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

"""Which files of a debug-info folder are opened."""

import os

import pytest

from viewer.formats.debug_info_folder import NoDebugInfo, files_of


def test_texts_are_opened_and_bytecode_that_has_none(tmp_path):
    for name in ("b.mlir", "b.mlirb", "a.mlirb", "notes.txt"):
        (tmp_path / name).write_text("")
    assert [os.path.basename(path) for path in files_of(str(tmp_path))] == ["a.mlirb", "b.mlir"]


def test_a_folder_without_any_says_so(tmp_path):
    (tmp_path / "notes.txt").write_text("")
    with pytest.raises(NoDebugInfo, match=r"no debug info is in this folder, neither \.mlir nor"):
        files_of(str(tmp_path))
    with pytest.raises(NoDebugInfo, match="it cannot be listed"):
        files_of(str(tmp_path / "missing"))

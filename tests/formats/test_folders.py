"""What a folder has to open: by content, within bounds, and nothing that only looks like it."""

import os
import shutil

import pytest

from viewer.formats import folders as folder_files
from viewer.formats.folders import NoDebugInfo, debug_info_of, files_in, look_through

DUMP, RECORD = "etdump/cnn_portable_x1.etdp", "etrecord/cnn_standalone_NOdeepcopy.etrecord"


@pytest.fixture
def folder(tmp_path, data):
    made = tmp_path / "run"
    (made / "deep" / "er").mkdir(parents=True)
    (made / "__init__").mkdir()
    shutil.copy(data / DUMP, made / "b.bin")
    shutil.copy(data / RECORD, made / "deep" / "a.etrecord")
    (made / "model.py").write_text("import torch\n")
    (made / "package.json").write_text('{"name": "x"}')
    (made / "trace.json").write_text('{"traceEvents": []}')
    (made / "notes.txt").write_text("import of nothing\nimport os\n")
    (made / "photo.jpg").write_bytes(b"\xff\xd8\xff\xe0")
    (made / "empty.csv").touch()
    (made / ".hidden.etdp").write_bytes((data / DUMP).read_bytes())
    return made


def names(found):
    return [(file.name, file.format, file.is_meant) for file in found.files]


def test_files_are_found_by_content_and_told_by_name(folder, data):
    found = look_through(str(folder))
    assert names(found) == [
        ("b.bin", "ETDump", True),
        ("model.py", "Python source", False),
        ("package.json", "Chrome trace", False),
        ("trace.json", "Chrome trace", True),
        ("deep/a.etrecord", "ETRecord", True),
    ]
    assert found.files[0].size == (data / DUMP).stat().st_size
    assert found.is_whole
    assert found.debug_info == []


def test_links_to_folders_and_what_lies_too_deep_are_left_out(folder, monkeypatch):
    (folder / "again").symlink_to(folder)
    (folder / "gone").symlink_to(folder / "nowhere")
    before = names(look_through(str(folder)))
    assert len(before) == 5
    monkeypatch.setattr(folder_files, "DEEPEST", 0)
    assert names(look_through(str(folder))) == before[:4]


@pytest.mark.parametrize(("bound", "value"), [("MOST_LOOKED_AT", 3), ("MOST_FOUND", 1)])
def test_a_bound_that_is_met_is_told(folder, monkeypatch, bound, value):
    monkeypatch.setattr(folder_files, bound, value)
    found = look_through(str(folder))
    assert not found.is_whole
    assert len(found.files) < 5


def test_a_folder_that_takes_too_long_is_told(folder):
    times = iter([0.0, 1.0, 2.0, 3.0, 4.0, 99.0])
    assert not look_through(str(folder), lambda: next(times)).is_whole


def test_a_folder_that_cannot_be_listed_has_nothing(tmp_path):
    assert look_through(str(tmp_path / "none")).files == ()


def test_a_folder_of_debug_info_alone_is_told(tmp_path, data):
    shutil.copy(data / "torq" / "tiny_cnn.lowered_generic.mlir", tmp_path / "a.mlir")
    (tmp_path / "b.mlirb").write_bytes(b"ML\xefR\x06MLIR20.0\0")
    found = look_through(str(tmp_path))
    assert [file.name for file in found.files] == ["a.mlir"]
    assert found.debug_info == [str(tmp_path / "a.mlir"), str(tmp_path / "b.mlirb")]
    shutil.copy(data / DUMP, tmp_path / "run.etdp")
    assert look_through(str(tmp_path)).debug_info == []


# -- a folder of Torq debug info ------------------------------------------------------------------


def test_texts_are_opened_and_bytecode_that_has_none(tmp_path):
    for name in ("b.mlir", "b.mlirb", "a.mlirb", "notes.txt"):
        (tmp_path / name).write_text("")
    assert [os.path.basename(path) for path in debug_info_of(str(tmp_path))] == [
        "a.mlirb",
        "b.mlir",
    ]


def test_a_folder_without_any_says_so(tmp_path):
    (tmp_path / "notes.txt").write_text("")
    with pytest.raises(NoDebugInfo, match=r"no debug info in this folder: neither \.mlir nor"):
        debug_info_of(str(tmp_path))
    with pytest.raises(NoDebugInfo, match="it cannot be listed"):
        debug_info_of(str(tmp_path / "missing"))


def test_a_program_file_is_found_by_its_content(tmp_path, data):
    shutil.copy(data / "pte" / "cond.pte", tmp_path / "model.bin")
    assert names(look_through(str(tmp_path))) == [("model.bin", "ExecuTorch program", True)]


def test_a_table_is_meant_if_it_shows_what_its_columns_are(tmp_path):
    (tmp_path / "known.csv").write_text("op,start_us,dur_us\na,1,2\nb,3,1\n")
    (tmp_path / "numbers.csv").write_text("epoch,loss\n1,2\n2,1\n")
    found = {file.name: file.is_meant for file in look_through(str(tmp_path)).files}
    assert found == {"known.csv": True, "numbers.csv": False}
    assert files_in([str(tmp_path)]) == [str(tmp_path / "known.csv")]

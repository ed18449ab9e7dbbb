"""Which files can be the debug buffer of an ETDump."""

import shutil
from pathlib import Path

import pytest

from tests.paths import DATA
from viewer.codecs.reading import UnreadableFile
from viewer.formats.executorch.debug_buffer import (
    buffers_next_to,
    is_debug_buffer,
    open_debug_buffer,
)


def written(folder, *names):
    for name in names:
        (folder / name).write_bytes(b"\0\1" * 20)


def test_its_own_name_comes_before_others_named_debug(tmp_path):
    written(tmp_path, "run.bin", "run.debug.bin", "debug_output.bin", "weights.bin", "run.etdp")
    found = buffers_next_to(str(tmp_path / "run.etdp"))
    names = [[Path(path).name for path in tier] for tier in found]
    assert names == [["run.bin", "run.debug.bin"], ["debug_output.bin", "run.debug.bin"]]
    assert buffers_next_to(str(tmp_path / "gone" / "run.etdp")) == []


def test_files_of_other_formats_are_none(tmp_path):
    shutil.copy(DATA / "etrecord/demo_str.etrecord", tmp_path / "run.bin")
    shutil.copy(DATA / "numbers/portable.etdp", tmp_path / "run.debug.bin")
    (tmp_path / "empty.bin").write_bytes(b"")
    assert not any(is_debug_buffer(str(path)) for path in tmp_path.iterdir())
    assert buffers_next_to(str(tmp_path / "run.etdp")) == []
    assert not is_debug_buffer(str(tmp_path))


def test_the_bytes_are_those_of_the_file(tmp_path):
    written(tmp_path, "run.bin")
    buffer = open_debug_buffer(str(tmp_path / "run.bin"))
    assert buffer.read(0, len(buffer)).tolist() == [0, 1] * 20
    with pytest.raises(UnreadableFile, match="there is no such file"):
        open_debug_buffer(str(tmp_path / "gone.bin"))
    with pytest.raises(UnreadableFile, match="this is a folder"):
        open_debug_buffer(str(tmp_path))

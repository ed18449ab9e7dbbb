"""Files that are mapped: their bytes, also after they were let go."""

import pytest

from viewer.formats.mapped_file import MappedFile


def test_bytes_are_those_of_the_file_also_after_they_were_let_go(tmp_path):
    content = bytes(range(256)) * 64
    (tmp_path / "a.bin").write_bytes(content)
    file = MappedFile(str(tmp_path / "a.bin"))
    assert file.bytes.tobytes() == content
    file.let_go(5000, 12_000)
    file.let_go(0, 1 << 40)
    assert file.bytes.tobytes() == content


def test_an_empty_file_has_no_bytes(tmp_path):
    (tmp_path / "a.bin").write_bytes(b"")
    file = MappedFile(str(tmp_path / "a.bin"))
    file.let_go(0, 10)
    assert (file.size, len(file.bytes)) == (0, 0)


def test_a_file_that_is_not_there_is_an_error(tmp_path):
    with pytest.raises(OSError):
        MappedFile(str(tmp_path / "gone.bin"))

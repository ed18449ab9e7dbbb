"""Packed and encoded texts are read in order, whole lines only, in little memory."""

import gzip
import io
import tracemalloc
import zipfile

import pytest

from viewer.codecs.reading import UnreadableFile
from viewer.formats import open_file
from viewer.formats.table.packed_text import (
    WINDOWS,
    TextLines,
    encoding_of,
    head_text,
    is_direct,
)

TEXT = "name,start_us,dur_us\nconv,1,2\nµ€😀,3,4\n"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("pack", [bytes, gzip.compress])
@pytest.mark.parametrize("step", [1, 7, 1 << 20])
def test_every_encoding_gives_the_same_lines(tmp_path, encoding, pack, step):
    path = tmp_path / "a.csv"
    data = TEXT.encode(encoding)
    path.write_bytes(pack(data))
    with TextLines(str(path)) as file:
        assert file.readline() == b"name,start_us,dur_us\n"
        assert b"".join(iter(lambda: file.read(step), b"")).decode() == TEXT.split("\n", 1)[1]
        assert file.source.share == 1
    assert head_text(pack(data)).lstrip("\ufeff") == TEXT
    assert is_direct(data) == encoding.startswith("utf-8")


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_a_text_of_a_spreadsheet_in_windows_1252(tmp_path, pack):
    path = tmp_path / "a.csv"
    text = "name;start (µs);dur (µs)\nfür “x”;1;2\n"
    path.write_bytes(pack(text.encode("cp1252")))
    trace = open_file(str(path))
    assert [trace.name(i) for i in range(len(trace.slices))] == ["für “x”"]
    assert trace.slices.start.tolist() == [1000]
    assert trace.slices.end.tolist() == [3000]
    assert [one.kind for one in trace.problems] == ["text that is not UTF-8: read as Windows-1252"]


@pytest.mark.parametrize(
    ("head", "name"),
    [
        ("größer, à la carte".encode("cp1252"), WINDOWS),
        ("größer".encode(), "utf-8"),
        ("größer".encode()[:4], "utf-8"),  # cut in a letter
        (b"gr\xf6\xdfer and " + "größer".encode(), "utf-8"),  # damaged in one place
        ("表の名前".encode("shift_jis"), "utf-8"),  # another encoding
        (b"conv \xff\0 relu", "utf-8"),
        (b"a\x81b", "utf-8"),
    ],
)
def test_windows_1252_is_taken_only_for_what_no_other_encoding_explains(head, name):
    assert encoding_of(head).name == name


@pytest.mark.parametrize(
    "head", [b"", b"\0", b"\0" * 50, b"a", b"\xff\xfe", b"\x1f\x8b", b"PK\x03\x04"]
)
def test_any_bytes_have_an_encoding(head):
    assert encoding_of(head).name in ("utf-8", "utf-16-le", "utf-16-be")
    head_text(head)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["gzip", "zip"])
def test_a_small_file_that_unpacks_to_a_huge_one_takes_little_memory(tmp_path, kind):
    path = tmp_path / "bomb.csv"
    head, line = b"name,start_us,dur_us\n", b"a,1,2\n"
    data = head + line * 10 + b"x" * (64 << 20)
    if kind == "gzip":
        path.write_bytes(gzip.compress(data))
    else:
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("a.csv", data)
    del data
    tracemalloc.start()
    try:
        with pytest.raises(
            UnreadableFile, match=r"a line of more than 16 MB|grows 300 times or more"
        ):
            open_file(str(path))
        assert tracemalloc.get_traced_memory()[1] < 150 << 20
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("cut", [0.2, 0.5, 0.9, 0.99])
def test_a_damaged_archive_is_one_clear_error(tmp_path, cut):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.csv", TEXT + "b,5,6\n" * 500)
    path = tmp_path / "a.zip"
    path.write_bytes(out.getvalue()[: int(len(out.getvalue()) * cut)])
    with pytest.raises(UnreadableFile, match="ZIP archive"):
        open_file(str(path))


def test_an_archive_with_a_changed_byte_is_damaged(tmp_path):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr("a.csv", TEXT)
    data = bytearray(out.getvalue())
    data[data.index(b"conv")] ^= 1
    path = tmp_path / "a.zip"
    path.write_bytes(data)
    with pytest.raises(UnreadableFile, match="ZIP archive is damaged"):
        open_file(str(path))

"""What is packed with Zstandard, xz or bzip2 is read like gzip: members, damage, bombs."""

import bz2
import lzma
import sys

import pytest

from viewer.codecs.packed_stream import PackedStream, packing_of
from viewer.codecs.reading import UnreadableFile

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

CHECKED = {zstd.CompressionParameter.checksum_flag: 1}
PACKERS = {
    "Zstandard": lambda data: zstd.compress(data, options=CHECKED),
    "xz": lambda data: lzma.compress(data, preset=1),
    "bzip2": lambda data: bz2.compress(data, 1),
}
# Of numbers that hardly repeat, so that a member has several blocks.
TEXT = "".join(f"{n * n * 7919 % 1000003}," for n in range(60_000)).encode()
SMALL = TEXT[:500]


def read(path, most=1 << 20):
    with PackedStream(str(path)) as source:
        parts = []
        while part := source.read(most):
            assert len(part) <= most or source.fault
            parts.append(part)
        return b"".join(parts), source.fault


@pytest.fixture(params=PACKERS)
def packer(request):
    return request.param


def pack(packer, data):
    return PACKERS[packer](data)


@pytest.mark.parametrize("most", [7, 4096, 1 << 20])
def test_the_bytes_come_out_in_order(packer, most, tmp_path):
    path = tmp_path / "a"
    for data in (SMALL, b"", TEXT if most > 7 else SMALL):
        path.write_bytes(pack(packer, data))
        assert packing_of(path.read_bytes()) == packer
        assert read(path, most) == (data, "")


def test_members_one_after_another_are_one_text(packer, tmp_path):
    path = tmp_path / "a"
    one, zeros = pack(packer, SMALL), bytes(64)
    empty = pack(packer, b"")
    path.write_bytes(one + empty + pack(packer, TEXT) + zeros + one + zeros)
    assert read(path) == (SMALL + TEXT + SMALL, "")


def test_a_frame_that_is_skipped_may_come_first(tmp_path):
    path = tmp_path / "a"
    path.write_bytes(b"\x50\x2a\x4d\x18\x04\0\0\0abcd" + zstd.compress(SMALL))
    assert packing_of(path.read_bytes()) == "Zstandard"
    assert read(path) == (SMALL, "")


def test_bytes_behind_are_named(packer, tmp_path):
    path = tmp_path / "a"
    path.write_bytes(pack(packer, SMALL) + b"no member")
    assert read(path) == (SMALL, f"bytes behind the {packer} file: not read")


def test_a_cut_file_has_what_is_before_the_cut(packer, tmp_path):
    path = tmp_path / "a"
    packed = pack(packer, TEXT)
    for size in (len(packed) - 1, len(packed) * 9 // 10):
        path.write_bytes(packed[:size])
        text, fault = read(path)
        assert TEXT.startswith(text)
        assert len(text) > len(TEXT) // 3
        assert fault == f"the {packer} file is truncated"


def test_a_damaged_file_has_what_is_before_the_damage(packer, tmp_path):
    path = tmp_path / "a"
    packed = pack(packer, TEXT)
    at = len(packed) * 9 // 10
    path.write_bytes(packed[:at] + bytes(each ^ 0xFF for each in packed[at : at + 64]))
    text, fault = read(path, 1 << 16)
    assert len(text) > len(TEXT) // 3
    assert TEXT.startswith(text[: len(TEXT) // 3])
    assert fault.startswith(f"the {packer} file is")


@pytest.mark.parametrize("most", [64, 1 << 20])
def test_a_wrong_checksum_loses_no_text(packer, most, tmp_path):
    path = tmp_path / "a"
    packed = bytearray(pack(packer, SMALL))
    index = 4 * (int.from_bytes(packed[-8:-4], "little") + 1)  # of xz, behind the check of the data
    packed[{"Zstandard": -1, "xz": -12 - index - 1, "bzip2": 10}[packer]] ^= 1
    path.write_bytes(packed)
    text, fault = read(path, most)
    assert SMALL.startswith(text)
    assert len(SMALL) - len(text) < 256
    assert fault.startswith(f"the {packer} file is damaged")


@pytest.mark.slow
def test_what_grows_beyond_all_measure_is_refused(packer, tmp_path):
    path = tmp_path / "a"
    path.write_bytes(pack(packer, bytes(32 << 20)))
    with pytest.raises(UnreadableFile, match="grows 300 times or more when unpacked"):
        read(path)


def test_other_bytes_are_not_packed():
    for head in (b"", b"BZh", b"BZh9 is a text", b"\x1f\x8b\x08", b"name,start_ns,dur_ns\n"):
        assert packing_of(head) == ""

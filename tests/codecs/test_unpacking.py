"""What is unpacked has one budget, and damage of gzip is the same in all formats."""

import gzip
import io
import json
import os
import struct
import tempfile
import zipfile
import zlib

import pytest

from tests.builders.workbooks import sheet_of
from viewer.codecs import unpacking
from viewer.codecs.reading import UnreadableFile
from viewer.formats import open_file

MB = 1 << 20


def plain_files():
    events = [{"ph": "X", "name": f"op {i}", "ts": i, "dur": 1, "pid": 1} for i in range(300)]
    rows = [f"p,t,op {i},{10 * i},5" for i in range(300)]
    trace = bytearray()
    from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb

    for i in range(300):
        one = pb.Trace()
        if i == 0:
            packet = one.packet.add(trusted_packet_sequence_id=1)
            packet.track_descriptor.uuid, packet.track_descriptor.name = 1, "track"
        for kind in (1, 2):
            packet = one.packet.add(trusted_packet_sequence_id=1, timestamp=10 * i + kind)
            packet.track_event.type, packet.track_event.track_uuid = kind, 1
            if kind == 1:
                packet.track_event.name = f"op {i}"
        trace += one.SerializeToString()
    return {
        "json": json.dumps({"traceEvents": events}, indent=0).encode(),
        "csv": "\n".join(["process,thread,name,start_ns,dur_ns", *rows, ""]).encode(),
        "pb": bytes(trace),
    }


FILES = plain_files()


def opened(tmp_path, data, suffix):
    path = tmp_path / f"a.{suffix}.gz"
    path.write_bytes(data)
    trace = open_file(str(path))
    return len(trace.slices), [one.kind for one in trace.problems]


def of_end(packed, crc=0, size=0):
    """The same with another checksum or size at the end."""
    wrong_crc, wrong_size = struct.unpack("<II", packed[-8:])
    return packed[:-8] + struct.pack("<II", wrong_crc ^ crc, wrong_size ^ size)


@pytest.mark.parametrize("suffix", FILES)
@pytest.mark.parametrize(
    ("damage", "kinds"),
    [
        (lambda p: gzip.compress(b"") + p, []),
        (lambda p: gzip.compress(b"") * 3 + b"\0" * 512 + p, []),
        (lambda p: p + b"\0" * 512, []),
        (lambda p: of_end(p, crc=1), ["the gzip is damaged"]),
        (lambda p: of_end(p, size=1), ["the gzip is damaged"]),
        (lambda p: gzip.compress(b"") + of_end(p, crc=1), ["the gzip is damaged"]),
        (lambda p: p[:-8], ["the gzip is truncated"]),
        (lambda p: p[:-1], ["the gzip is truncated"]),
        (lambda p: p + b"garbage", ["the gzip is damaged"]),
    ],
)
def test_all_content_of_a_damaged_gzip_is_shown_and_the_damage_counted(
    damage, kinds, suffix, tmp_path
):
    count, problems = opened(tmp_path, damage(gzip.compress(FILES[suffix])), suffix)
    assert count == 300
    assert [kind.partition(" (")[0].partition(":")[0] for kind in problems] == kinds


@pytest.mark.parametrize("suffix", FILES)
def test_what_is_before_the_cut_of_a_gzip_is_shown(suffix, tmp_path):
    packed = gzip.compress(FILES[suffix], 1)
    count, problems = opened(tmp_path, packed[: len(packed) // 2], suffix)
    assert 100 < count < 300
    assert any(kind.startswith("the gzip is truncated") for kind in problems)


def test_members_of_a_gzip_are_one_file(tmp_path):
    half = FILES["csv"].index(b"op 150") - 4
    packed = gzip.compress(FILES["csv"][:half]) + gzip.compress(FILES["csv"][half:])
    assert opened(tmp_path, packed, "csv") == (300, [])


# -- budgets ---------------------------------------------------------------------------------------


@pytest.fixture
def scratch(tmp_path, monkeypatch):
    """The temporary folder, and the most bytes that were in it."""
    folder = tmp_path / "scratch"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    most = [0]
    usage = unpacking.shutil.disk_usage

    def measured(path):
        sizes = (os.path.getsize(os.path.join(path, name)) for name in os.listdir(path))
        most[0] = max(most[0], sum(sizes))
        return usage(path)

    monkeypatch.setattr(unpacking.shutil, "disk_usage", measured)
    yield most
    assert list(folder.iterdir()) == []


def lying_archive(stated):
    """An archive of a member that grows 1000 times, with another packed size in its directory."""
    deflate = zlib.compressobj(9, zlib.DEFLATED, -15)
    head = b"process,thread,name,start_ns,dur_ns\n"
    packed = (
        deflate.compress(head) + deflate.compress(b"p,t,name,1,2\n" * (5 * MB)) + deflate.flush()
    )
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr(zipfile.ZipInfo("a.csv"), packed)
    data = bytearray(out.getvalue())
    unpacked = len(head) + 13 * 5 * MB
    for at, method, size in ((0, 8, 18), (data.rindex(b"PK\x01\x02"), 10, 20)):
        struct.pack_into("<H", data, at + method, zipfile.ZIP_DEFLATED)
        struct.pack_into("<II", data, at + size, stated or len(packed), unpacked)
    return bytes(data)


@pytest.mark.slow
@pytest.mark.parametrize("stated", [0, 80_000, 1 << 31])
def test_a_member_that_grows_beyond_measure_is_refused_after_a_few_bytes(stated, tmp_path, scratch):
    path = tmp_path / "a.zip"
    path.write_bytes(lying_archive(stated))
    with pytest.raises(UnreadableFile, match=r"grows 300 times or more|is damaged"):
        open_file(str(path))
    assert scratch[0] < 64 * MB


def test_a_full_disk_is_named_before_it_is_full(tmp_path, monkeypatch, scratch):
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.csv", FILES["csv"])
    assert len(open_file(str(path)).slices) == 300
    usage = (1 << 40, 1 << 40, MB)
    monkeypatch.setattr(
        unpacking.shutil, "disk_usage", lambda path: type("Usage", (), {"free": usage[2]})
    )
    with pytest.raises(UnreadableFile, match="needs more room than the temporary folder"):
        open_file(str(path))


def rows_of(count):
    """Rows whose operations are one shared text."""
    return lambda text: (
        f'<row><c r="A{y}"><v>{y}</v></c><c r="C{y}" t="s"><v>{text}</v></c>'
        f'<c r="G{y}"><v>{2 * y}</v></c><c r="H{y}"><v>{2 * y + 1}</v></c></row>'
        for y in range(3, count + 3)
    )


@pytest.mark.slow
def test_cells_refer_to_shared_texts_and_copy_none(tmp_path, scratch):
    path = tmp_path / "a.xlsx"
    path.write_bytes(sheet_of(rows_of(3000), "x" * 10_000))
    trace = open_file(str(path))
    assert len(trace.slices) == 3002
    assert "x" * 10_000 in trace.strings
    assert scratch[0] == 0


@pytest.mark.slow
def test_texts_that_would_fill_the_disk_are_refused(tmp_path, scratch):
    path = tmp_path / "a.xlsx"
    path.write_bytes(sheet_of(rows_of(12_000), "x" * 64_000))
    with pytest.raises(UnreadableFile, match="which no usual file does"):
        open_file(str(path))
    assert scratch[0] == 0


@pytest.mark.slow
def test_empty_rows_are_skipped(tmp_path, scratch):
    path = tmp_path / "a.xlsx"
    some = "".join(f'<row r="{y}" spans="1:9"/>' for y in range(3, 60_000))
    path.write_bytes(sheet_of(lambda _: [some]))
    assert len(open_file(str(path)).slices) == 2
    path.write_bytes(sheet_of(lambda _: ["<row/>" * 2_000_000]))
    with pytest.raises(UnreadableFile, match="grows 150 times or more"):
        open_file(str(path))
    assert scratch[0] == 0

"""Which members of a record are read, what is cut out of them, and archives that are damaged."""

import struct
import tracemalloc
import zipfile
import zlib
from dataclasses import replace
from pathlib import Path

import pytest

from tests.builders.record_cases import (
    DATA,
    GRAPH,
    graph,
    growth,
    made,
    members,
    node,
    read,
    readable,
    record,
)
from viewer.codecs.reading import UnreadableFile
from viewer.formats.executorch.etrecord.archive import EDGE, MAGIC


def test_pickles_are_never_loaded(tmp_path, monkeypatch):
    parts = members("demo_str.etrecord")
    blobs = [n for n in parts if n.endswith(("_state_dict", "_constants", "_example_inputs"))]
    assert blobs
    for name in (*blobs, "reference_outputs", "representative_inputs"):
        parts[name] = b"\x80\x04cos\nsystem\n(S'exit 1'\ntR."
    path = record(tmp_path / "r", parts)
    broken = bytearray(path.read_bytes())
    at = broken.find(b"cos\nsystem")
    while at >= 0:  # wrong checksums: reading any of them would raise
        broken[at] ^= 1
        at = broken.find(b"cos\nsystem", at)
    path.write_bytes(broken)
    opened: list[str] = []
    original = zipfile.ZipFile.open

    def spy(archive, name, *rest, **more):
        opened.append(getattr(name, "filename", name))
        return original(archive, name, *rest, **more)

    monkeypatch.setattr(zipfile.ZipFile, "open", spy)
    found = read(path).methods
    opened_here = set(opened)
    methods = read(DATA / "demo_str.etrecord").methods
    assert found == tuple(replace(method, constants={}) for method in methods)
    assert {n.partition("/")[0] for n in opened_here} <= {
        EDGE, "exported_program", "debug_handle_map", "delegate_map", "export_graph_id",
        "instruction_id_to_num_outs_map",
    }  # fmt: skip
    assert not opened_here & set(blobs)


def test_a_method_may_be_called_like_a_blob(tmp_path):
    parts = {MAGIC: "", "debug_handle_map": '{"update_state_dict": {"0": 1}}', "delegate_map": "{}",
             f"{EDGE}/update_state_dict": graph(node())}  # fmt: skip
    (method,) = read(record(tmp_path / "r", parts)).methods
    assert (method.name, len(method.operators)) == ("update_state_dict", 1)


def test_a_member_twice_and_an_encrypted_one(tmp_path):
    path = made(tmp_path, node())
    with pytest.warns(UserWarning, match="Duplicate"), zipfile.ZipFile(path, "a") as archive:
        archive.writestr(GRAPH, graph(node(), node(debug_handle="2")))
    assert len(read(path).operators) == 2
    data = bytearray(made(tmp_path, node()).read_bytes())
    at = data.find(b"PK\x01\x02")
    while at >= 0:
        data[at + 8] |= 1
        at = data.find(b"PK\x01\x02", at + 1)
    path.write_bytes(data)
    with pytest.raises(UnreadableFile, match="encrypted"):
        read(path)


@pytest.mark.slow
def test_a_zip_bomb_is_refused_before_it_unpacks(tmp_path):
    parts = {MAGIC: "", "debug_handle_map": " " * 50_000_000}
    with pytest.raises(UnreadableFile, match="would unpack to 50,000,000 bytes"):
        read(record(tmp_path / "r", parts, zipfile.ZIP_DEFLATED))


def test_a_member_packed_just_below_the_limit_is_refused_too(tmp_path):
    text = "[" + "".join("[]," * 4000 + f"{i}," for i in range(100)) + "[]]"
    path = made(tmp_path, **{GRAPH: text})
    packed = record(tmp_path / "p", members_of(path), zipfile.ZIP_DEFLATED)
    assert len(text) > 100 * packed.stat().st_size
    with pytest.raises(UnreadableFile):
        read(packed)


def members_of(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as archive:
        return {i.filename: archive.read(i) for i in archive.infolist()}


def test_a_damaged_lzma_member(tmp_path):
    path = record(tmp_path / "r", members("demo_str.etrecord"), zipfile.ZIP_LZMA)
    data = bytearray(path.read_bytes())
    at = data.find(GRAPH.encode()) + len(GRAPH) + 4
    data[at : at + 5] = b"\xff" * 5
    path.write_bytes(data)
    assert not readable(path)


def with_weights(path: Path, size: int) -> Path:
    """A record whose lowered module has `size` bytes of base64, in the two places of 1.5."""
    parts = members("cnn_standalone_after_tobackend.etrecord")
    weights = ("Aa9+/zZ0" * (size // 16)).encode()
    for start in (b'\\"original_state_dict\\": \\"', b'{\\\\\\"buffers\\\\\\": [\\\\\\"'):
        assert start in parts[GRAPH]
        parts[GRAPH] = parts[GRAPH].replace(start, start + weights, 1)
    return record(path, parts)


def test_weights_are_cut_out_before_anything_is_parsed(tmp_path):
    size = 8 << 20
    path = with_weights(tmp_path / "r", size)
    assert path.stat().st_size > size
    tracemalloc.start()
    try:
        program = read(path)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < size / 2
    assert program.methods == read(DATA / "cnn_standalone_after_tobackend.etrecord").methods
    assert program.problems == ()


def test_weights_are_cut_wherever_their_pieces_begin(tmp_path):
    expected = read(DATA / "cnn_standalone_after_tobackend.etrecord").methods
    for size in range(3 << 14, (3 << 14) + 9 * 2000, 2000):
        assert read(with_weights(tmp_path / "r", size)).methods == expected


def test_backslashes_beside_weights_take_linear_time(tmp_path):
    small, large = (
        made(
            tmp_path / str(size),
            **{GRAPH: graph(node(note="processed_bytes" + "\\" * size))},
        )
        for size in (30_000, 120_000)
    )
    assert growth(small, large) < 8


def test_members_that_share_their_bytes_are_counted_together(tmp_path):
    """Each stored member holds all that follow it: n members of a file of one."""
    content, entries = b" " * 200_000, b""
    made_of = []
    for number in reversed(range(400)):
        name = f"{EDGE}/m{number}".encode()
        sizes = (zlib.crc32(content), len(content), len(content), len(name))
        made_of.append((name, sizes))
        content = struct.pack("<4s5H3I2H", b"PK\3\4", 20, 0, 0, 0, 0, *sizes, 0) + name + content
    for name, sizes in made_of:
        at = len(content) - sizes[1] - len(name) - 30
        rest = (*sizes, 0, 0, 0, 0, 0, at)
        entries += struct.pack("<4s6H3I5H2I", b"PK\1\2", 20, 20, 0, 0, 0, 0, *rest)
        entries += name
    end = struct.pack("<4s4H2IH", b"PK\5\6", 0, 0, 400, 400, len(entries), len(content), 0)
    path = tmp_path / "r.etrecord"
    path.write_bytes(content + entries + end)
    with pytest.raises(UnreadableFile, match="unpack"):
        read(path)

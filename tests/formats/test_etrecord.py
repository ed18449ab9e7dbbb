"""ETRecords of all generations, and files that only look like one."""

import io
import json
import random
import struct
import time
import zipfile
import zlib
from pathlib import Path

import pytest

from viewer.formats import ReadCancelled, UnreadableFile, no_progress, open_file
from viewer.formats.etrecord import EDGE, FORMAT, MAGIC, sniff
from viewer.program.graph import Program

DATA = Path(__file__).parent.parent / "data" / "etrecord"
GRAPH = f"{EDGE}/forward"


def read(path: Path) -> Program:
    found = open_file(str(path))
    assert isinstance(found, Program)
    return found


def members(name: str) -> dict[str, bytes]:
    with zipfile.ZipFile(DATA / name) as archive:
        return {i.filename: archive.read(i) for i in archive.infolist()}


def record(path: Path, parts: dict[str, bytes | str], how: int = zipfile.ZIP_STORED) -> Path:
    with zipfile.ZipFile(path, "w", how) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return path


def node(**metadata: object) -> dict:
    return {
        "name": "relu", "target": "torch.ops.aten.relu.default", "inputs": [], "outputs": [],
        "metadata": {"debug_handle": "1", **metadata},
    }  # fmt: skip


def graph(*nodes: dict) -> str:
    return json.dumps({"graph_module": {"graph": {"nodes": nodes, "tensor_values": {}}}})


def made(path: Path, *nodes: dict, **parts: str) -> Path:
    return record(path / "made.etrecord", {
        MAGIC: "", GRAPH: graph(*nodes), "debug_handle_map": '{"forward": {"0": 1}}',
        "delegate_map": "{}", **parts,
    })  # fmt: skip


# -- generations -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "generation"),
    [("0.1/demo_str_gen0.1.etrecord", "0.1-0.3"), ("0.6.0/demo_str.etrecord", "0.4-0.7"),
     ("1.0.1/demo_generated_int.etrecord", "1.0-1.1"), ("demo_str.etrecord", "1.2+")],
)  # fmt: skip
def test_one_model_through_the_generations(path, generation):
    program = read(DATA / path)
    (method,) = program.methods
    assert (program.generation, program.problems) == (generation, ())
    assert method.name == "forward"
    assert [op.ops[0] for op in method.operators] == [
        "aten.convolution.default", "aten.relu.default", "aten.convolution.default",
        "aten.relu.default", "aten.tan.default",
    ]  # fmt: skip
    assert [op.module_path for op in method.operators] == ["conv1", "relu1", "conv2", "relu2", ""]
    assert all(op.source is not None for op in method.operators[:4])
    assert set(method.delegates) == {0}
    assert method.delegates[0].is_filled


def test_the_third_generation_is_not_taken_for_the_fourth():
    assert read(DATA / "0.1/demo_str_gen0.3.etrecord").generation == "0.1-0.3"


@pytest.mark.parametrize("path", sorted(DATA.rglob("[!b]*.etrecord")), ids=lambda p: p.name)
def test_every_record_reads_the_same_under_another_name(path, tmp_path):
    (tmp_path / "unknown").write_bytes(path.read_bytes())
    one, other = read(path), read(tmp_path / "unknown")
    assert (one.methods, one.problems, one.generation) == (
        other.methods, other.problems, other.generation,
    )  # fmt: skip
    for number, operator in enumerate(one.operators):
        assert operator.index == number
    for method in one.methods:
        assert method.operators
        stated = json.loads(members(str(path.relative_to(DATA)))["debug_handle_map"])[method.name]
        if not one.problems:
            assert {str(k): list(v) for k, v in method.handles.items()} == {
                k: v if isinstance(v, list) else [v] for k, v in stated.items()
            }


def test_lowered_modules_are_searched_for_operators():
    program = read(DATA / "1.0.1/cnn_xnnpack_lowered.etrecord")
    (method,) = program.methods
    assert "executorch_call_delegate" not in {op.op for op in method.operators}
    for handles in method.handles.values():
        assert set(handles) & set(method.by_handle)


def test_a_graph_without_deepcopy_is_told_and_linked_by_instruction():
    program = read(DATA / "cnn_standalone_NOdeepcopy.etrecord")
    (problem,) = program.problems
    assert "without deepcopy" in problem.kind
    assert all(handles == (i,) for i, handles in program.methods[0].handles.items())


def test_one_method_of_another_name_finds_its_graph(tmp_path):
    parts = members("demo_str.etrecord")
    for name in ("debug_handle_map", "delegate_map"):
        parts[name] = parts[name].replace(b'"forward"', b'"encode"')
    (method,) = read(record(tmp_path / "r", parts)).methods
    assert (method.name, len(method.operators), len(method.handles)) == ("encode", 5, 1)


def test_a_save_that_failed_half_way():
    with pytest.raises(UnreadableFile, match="neither an edge dialect program nor a debug handle"):
        read(DATA / "broken_partial_save.etrecord")


# -- what is never opened --------------------------------------------------------------------------


def test_pickles_are_never_opened(tmp_path, monkeypatch):
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
    assert read(path).methods == read(DATA / "demo_str.etrecord").methods
    assert {n.partition("/")[0] for n in opened} <= {
        EDGE, "debug_handle_map", "delegate_map", "export_graph_id",
        "instruction_id_to_num_outs_map",
    }  # fmt: skip
    assert not set(opened) & set(blobs)


def test_a_method_may_be_called_like_a_blob(tmp_path):
    parts = {MAGIC: "", "debug_handle_map": '{"update_state_dict": {"0": 1}}', "delegate_map": "{}",
             f"{EDGE}/update_state_dict": graph(node())}  # fmt: skip
    (method,) = read(record(tmp_path / "r", parts)).methods
    assert (method.name, len(method.operators)) == ("update_state_dict", 1)


# -- hostile files ---------------------------------------------------------------------------------


def readable(path: Path) -> bool:
    """Whether it reads; any exception but UnreadableFile fails the test."""
    try:
        read(path)
    except UnreadableFile:
        return False
    return True


@pytest.mark.parametrize("seed", range(4))
def test_damaged_bytes_give_a_program_or_one_error(seed, tmp_path):
    dice = random.Random(seed)
    path = tmp_path / "r.etrecord"
    good = (DATA / "demo_str.etrecord").read_bytes()
    directory = good.rfind(b"PK\x01\x02", 0, good.find(b"PK\x01\x02") + 1)
    outcomes = set()
    for _ in range(100):
        data = bytearray(good)
        first = dice.choice([0, directory])
        for _ in range(dice.choice([1, 4, 40])):
            data[dice.randrange(first, len(data))] = dice.randrange(256)
        if dice.random() < 0.3:
            del data[dice.randrange(len(data)) :]
        path.write_bytes(data)
        outcomes.add(readable(path))
    assert outcomes == {True, False}


HOSTILE = (
    None, True, -1, 1.5, 10**40, 2**63, "", "x", "9" * 30, [], {}, [[]], {"a": {}}, float("nan"),
)  # fmt: skip


def scrambled(value: object, dice: random.Random, share: float) -> object:
    if dice.random() < share:
        return dice.choice(HOSTILE)
    if isinstance(value, dict):
        return {k: scrambled(v, dice, share) for k, v in value.items()}
    if isinstance(value, list):
        return [scrambled(v, dice, share) for v in value]
    return value


@pytest.mark.parametrize("name", ["demo_str.etrecord", "1.0.1/cnn_xnnpack_lowered.etrecord"])
def test_values_of_other_types_never_raise(name, tmp_path):
    parts = members(name)
    dice = random.Random(1)
    blobs = ("_state_dict", "_constants", "_example_inputs")
    wanted = ("debug_handle_map", "delegate_map", EDGE)
    texts = {
        n: json.loads(v)
        for n, v in parts.items()
        if n.partition("/")[0] in wanted and not n.endswith(blobs)
    }
    for _ in range(25):
        share = dice.choice([0.001, 0.01, 0.1])
        parts.update({n: json.dumps(scrambled(v, dice, share)).encode() for n, v in texts.items()})
        readable(record(tmp_path / "r", parts))


def test_nesting_without_end(tmp_path):
    inner = {"nodes": [node()]}
    for _ in range(40):
        branch = {"target": "cond", "inputs": [{"arg": {"as_graph": {"graph": inner}}}]}
        inner = {"nodes": [branch]}
    program = read(made(tmp_path, **{GRAPH: json.dumps({"graph_module": {"graph": inner}})}))
    assert "nested more than 20 deep" in program.problems[0].kind
    for deep in ("[" * 10**6, '{"graph_module":' * 10**5 + "1" + "}" * 10**5):
        problem = read(made(tmp_path, **{GRAPH: deep})).problems[0]
        assert "not valid JSON" in problem.kind


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


def test_a_line_number_of_5000_digits(tmp_path):
    trace = f'  File "m.py", line {"9" * 5000}, in f\n    x\n'
    assert readable(made(tmp_path, node(stack_trace=trace)))


def seconds(path: Path) -> float:
    began = time.perf_counter()
    readable(path)
    return time.perf_counter() - began


def test_blanks_in_a_stack_trace_take_linear_time(tmp_path):
    trace = 'File "m.py", line 1, in a' + " " * 30_000 + "b"
    assert seconds(made(tmp_path, node(stack_trace=trace))) < 0.3


def test_backslashes_beside_weights_take_linear_time(tmp_path):
    text = graph(node(note="processed_bytes" + "\\" * 30_000))
    assert seconds(made(tmp_path, **{GRAPH: text})) < 0.2


def test_reading_can_be_cancelled_and_tells_its_progress():
    path = str(DATA / "demo_str.etrecord")
    with pytest.raises(ReadCancelled):
        FORMAT.read(path, no_progress, lambda: True)
    seen: list[tuple[int, int]] = []
    FORMAT.read(path, lambda done, total: seen.append((done, total)), lambda: False)
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)
    assert seen[-1][0] == seen[-1][1] > 0


def test_other_zips_are_no_records(tmp_path):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("word/document.xml", "x")
    assert not sniff(buffer.getvalue())
    (tmp_path / "x.etrecord").write_bytes(buffer.getvalue())
    with pytest.raises(UnreadableFile, match="without the member ETRECORD_V0"):
        read(tmp_path / "x.etrecord")


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

"""ETRecords of all generations, and files that only look like one."""

import io
import json
import random
import struct
import time
import tracemalloc
import zipfile
import zlib
from pathlib import Path

import pytest

from viewer.formats import ReadCancelled, UnreadableFile, no_progress, open_file
from viewer.formats.etrecord import FORMAT, sniff
from viewer.formats.etrecord_members import EDGE, MAGIC
from viewer.program.graph import Program, Tensor, parse_frames

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


def test_a_graph_without_deepcopy_is_told_and_its_handles_are_translated_back():
    program = read(DATA / "cnn_standalone_NOdeepcopy.etrecord")
    (problem,) = program.problems
    assert "without deepcopy" in problem.kind
    copied = read(DATA / "cnn_standalone_deepcopy.etrecord")
    assert program.methods[0].handles == copied.methods[0].handles
    assert [
        (o.debug_handle, o.label, o.base_names, [n.name for n in o.nodes])
        for o in program.operators
    ] == [
        (o.debug_handle, o.label, o.base_names, [n.name for n in o.nodes]) for o in copied.operators
    ]


def test_branches_without_deepcopy_count_their_instructions_on_their_own():
    """Both branches and the graph around them have an instruction 0: only one of them is linked."""
    method = read(DATA / "cond_standalone_NOdeepcopy.etrecord").methods[0]
    assert method.handles == {0: (1,), 1: (1,), 9: (3,)}
    assert [(h, method.by_handle[h].base_names) for h in (1, 3)] == [
        (1, {"permute_copy", "addmm"}), (3, {"tanh"}),
    ]  # fmt: skip
    assert [op.op for op in method.operators if op.debug_handle < 0] == [
        "add",
        "sin",
        "mul",
        "cond",
    ]


def test_one_method_of_another_name_finds_its_graph(tmp_path):
    parts = members("demo_str.etrecord")
    for name in ("debug_handle_map", "delegate_map"):
        parts[name] = parts[name].replace(b'"forward"', b'"encode"')
    (method,) = read(record(tmp_path / "r", parts)).methods
    assert (method.name, len(method.operators), len(method.handles)) == ("encode", 5, 1)


def test_a_save_that_failed_half_way_shows_its_aten_program():
    program = read(DATA / "broken_partial_save.etrecord")
    (problem,) = program.problems
    assert "unfinished" in problem.kind
    (method,) = program.methods
    assert [op.label for op in method.operators] == [
        "fc · linear",
        "add",
        "sin",
        "mul",
        "cond",
        "mul",
    ]
    assert (method.handles, method.delegates, method.by_handle) == ({}, {}, {})
    assert method.operators[-1].source.line == 94


def test_a_save_that_failed_before_the_first_program(tmp_path):
    with pytest.raises(UnreadableFile, match="neither a program nor a debug handle map"):
        read(record(tmp_path / "r", {MAGIC: ""}))


def test_a_save_that_failed_before_the_maps_keeps_its_operators(tmp_path):
    parts = members("demo_str.etrecord")
    for name in ("debug_handle_map", "delegate_map"):
        del parts[name]
    program = read(record(tmp_path / "r", parts))
    assert "no debug_handle_map" in program.problems[0].kind
    assert len(program.operators) == 5
    assert not program.methods[0].is_mapped


def test_maps_of_a_method_without_graph_are_told(tmp_path):
    maps = '{"forward": {"0": 1}, "decode": {"0": 1}}'
    program = read(made(tmp_path, node(), debug_handle_map=maps))
    assert [(m.name, len(m.operators)) for m in program.methods] == [("forward", 1), ("decode", 0)]
    (problem,) = program.problems
    assert ("no graph of a method" in problem.kind, problem.first) == (True, "decode")


def test_one_program_is_not_given_to_one_of_several_other_methods(tmp_path):
    maps = '{"encode": {"0": 1}, "decode": {"0": 1}}'
    program = read(made(tmp_path, node(), debug_handle_map=maps))
    assert {m.name: len(m.operators) for m in program.methods} == {
        "forward": 1, "encode": 0, "decode": 0,
    }  # fmt: skip


# -- graphs ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["cnn_portable", "demo_str", "demo_manual_int"])
def test_nodes_before_1_0_are_called_as_their_own_inspector_called_them(name):
    answer = json.loads((DATA / f"0.6.0/{name}_x3.inspector_0.6.0.json").read_text())
    traces = {
        key: text
        for block in answer["event_blocks"]
        for event in block["events"]
        for key, text in event["stack_traces"].items()
    }
    nodes = {
        n.name + "_": n for o in read(DATA / f"0.6.0/{name}.etrecord").operators for n in o.nodes
    }
    assert set(traces) == set(nodes)
    for key, text in traces.items():
        assert nodes[key].frames == parse_frames(text)


def test_nodes_of_several_outputs_before_1_0_are_numbered_per_graph():
    """The record is packed: it holds layer norms and splits, which have several outputs each."""
    names = json.loads((DATA / "0.6.0/attn_portable_x3.inspector_0.6.0.names.json").read_text())
    nodes = {
        n.name + "_" for o in read(DATA / "0.6.0/attn_portable.etrecord").operators for n in o.nodes
    }
    assert "aten_native_layer_norm_default_3_" in names
    assert set(names) <= nodes


def test_edge_nodes_know_the_aten_nodes_that_they_came_from():
    program = read(DATA / "cnn_toedge_portable.etrecord")
    nodes = [n for o in program.operators for n in o.nodes]
    assert [n.aten for n in nodes] == [
        "conv2d", "batch_norm", "relu", "max_pool2d", "conv2d_1", "relu_1", "mean", "linear",
        "linear", "softmax",
    ]  # fmt: skip
    assert {n.aten for n in nodes} == {n.name for n in program.graphs[0].nodes}
    assert program.operators[7].aten == ("linear",)


def test_only_the_method_that_was_exported_has_aten_nodes():
    program = read(DATA / "multi_forward_decode_toedge_portable.etrecord")
    found = {m.name: {n.aten for o in m.operators for n in o.nodes} for m in program.methods}
    assert found == {"forward": {"linear", "relu"}, "decode": {""}}


def test_a_graph_id_that_was_used_again_names_no_aten_node(tmp_path):
    parts = members("cnn_toedge_portable.etrecord")
    parts["exported_program"] = parts["exported_program"].replace(b'"name": "relu"', b'"name": "r"')
    program = read(record(tmp_path / "r", parts))
    assert [o.aten for o in program.operators][1:4] == [("batch_norm",), (), ("max_pool2d",)]


@pytest.mark.parametrize(
    "path", ["cnn_toedge_portable.etrecord", "0.6.0/cnn_portable.etrecord",
             "1.0.1/cnn_xnnpack_lowered.etrecord"],
)  # fmt: skip
def test_inputs_know_the_parameters_and_buffers_that_they_are(path):
    norm = next(n for o in read(DATA / path).operators for n in o.nodes if "norm" in n.op)
    assert [(t.parameter, t.dtype, t.shape) for t in norm.inputs[1:]] == [
        ("features.1.weight", "f32", (8,)), ("features.1.bias", "f32", (8,)),
        ("features.1.running_mean", "f32", (8,)), ("features.1.running_var", "f32", (8,)),
    ]  # fmt: skip
    assert norm.inputs[0].parameter == ""


def test_parameters_in_the_unions_of_the_first_releases():
    first = read(DATA / "0.1/demo_str_gen0.1.etrecord").operators[0].nodes[0]
    assert [t.parameter for t in first.inputs] == ["", "conv1.weight", "conv1.bias"]
    assert first.inputs[1].shape == (4, 3, 3, 3)


def test_unions_of_the_torch_2_2_nightlies(tmp_path):
    def tagged(kind: str, value: object) -> dict:
        return {"$type": kind, "$value": value}

    relu = node() | {
        "inputs": [{"name": "self", "arg": tagged("as_tensor", {"name": "p_w"})}],
        "outputs": [tagged("as_tensor", {"name": "relu"})],
    }
    weight = {"arg": {"name": "p_w"}, "parameter_name": "fc.w"}
    program = {"graph_module": {
        "graph": {"nodes": [relu], "tensor_values": {
            "p_w": {"dtype": 7, "sizes": [tagged("as_int", 3)]}}},
        "signature": {"input_specs": [tagged("parameter", weight)]},
    }}  # fmt: skip
    (operator,) = read(made(tmp_path, **{GRAPH: json.dumps(program)})).operators
    assert operator.nodes[0].inputs == (Tensor("p_w", "f32", (3,), "fc.w"),)
    assert operator.nodes[0].outputs[0].name == "relu"


def test_symbolic_sizes_are_shown_with_the_size_at_export():
    program = read(DATA / "mlp_dynamic_toedge_portable.etrecord")
    gelu = next(o for o in program.operators if o.op == "gelu").nodes[0]
    assert gelu.inputs[0].shape == (1, "s27 (8)", 64)
    assert program.operators[0].nodes[0].name == "sym_size"


def test_optional_and_nested_tensors_are_inputs_too(tmp_path):
    arguments = [
        {"as_optional_tensors": [{"as_tensor": {"name": "a"}}, {"as_none": True}]},
        {"as_nested_tensors": [[{"name": "b"}], [{"name": "c"}]]},
        {"as_tensors": [{"name": "d"}]},
    ]
    one = node() | {"inputs": [{"name": "", "arg": a} for a in arguments]}
    (operator,) = read(made(tmp_path, one)).operators
    assert [t.name for t in operator.nodes[0].inputs] == ["a", "b", "c", "d"]


def test_code_that_torch_made_is_not_the_users_line():
    """Branches of torch.cond are traced through generated code; nodes of passes have no module."""
    cond = read(DATA / "cond_toedge_portable.etrecord")
    assert [op.source.line for op in cond.operators] == [92, 93, 93, 93, 93, 94]
    size = read(DATA / "mlp_dynamic_toedge_portable.etrecord").operators[0]
    assert (size.label, size.module_path, size.source.is_library) == ("sym_size", "", True)


def test_extra_graphs_are_kept_by_name_and_are_no_methods():
    program = read(DATA / "cnn_standalone_after_tobackend.etrecord")
    assert [m.name for m in program.methods] == ["forward"]
    assert {g.name: len(g.nodes) for g in program.graphs} == {
        "exported_program": 9, "aten_copy/forward": 9,
    }  # fmt: skip
    assert program.graphs[1].nodes[0].op == "aten.conv2d.default"


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
        EDGE, "exported_program", "debug_handle_map", "delegate_map", "export_graph_id",
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


def test_half_a_surrogate_pair_and_bytes_that_are_no_utf8(tmp_path):
    trace = '  File "m.py", line 1, in f\n    x = "\ud83d"\n'
    program = read(made(tmp_path, node(stack_trace=trace)))
    assert program.operators[0].source.text == 'x = "\ufffd"'
    assert "surrogate" in program.problems[0].kind
    pair = node(stack_trace=trace.replace("\ud83d", "\U0001f600"))
    assert read(made(tmp_path, pair)).problems == ()
    text = graph(node(note="x")).encode().replace(b'"x"', b'"\xff\xed\xa0\x80"')
    (problem,) = read(made(tmp_path, **{GRAPH: text})).problems
    assert (problem.kind[:18], problem.first) == ("text is not UTF-8:", GRAPH)


def test_a_key_twice_in_a_map_is_told_and_the_last_one_counts(tmp_path):
    program = read(made(tmp_path, node(), debug_handle_map='{"forward": {"0": 7, "0": 1}}'))
    assert program.methods[0].handles == {0: (1,)}
    assert [p.kind for p in program.problems] == ["a key is there twice: the last one counts"]


def test_numbers_that_are_no_handles_are_told(tmp_path):
    entries = (
        '{"forward": {"0": NaN, "1": -1, "-1": 1, "2": 1e999, "3": [1, "x"], "4": 10'
        + "0" * 30
        + "}}"
    )
    program = read(made(tmp_path, node(), debug_handle_map=entries))
    assert program.methods[0].handles == {}
    (problem,) = program.problems
    assert ("not instruction -> handles" in problem.kind, problem.count) == (True, 6)
    digits = '{"forward": {"0": %s}}' % ("9" * 9000)
    assert "not valid JSON" in read(made(tmp_path, debug_handle_map=digits)).problems[0].kind


def test_commas_in_a_module_stack_take_linear_time(tmp_path):
    assert seconds(made(tmp_path, node(nn_module_stack="a" * 10**6 + ",b,c"))) < 1


def test_many_names_that_are_taken_take_linear_time(tmp_path):
    def outputs(name: str) -> list[dict]:
        return [{"as_tensor": {"name": name}}]

    named = [node() | {"name": "", "outputs": outputs(n)} for i in range(5000)
             for n in ("a", f"a_{'0' * (i % 8)}7")]  # fmt: skip
    assert seconds(made(tmp_path, *named)) < 2


# -- weights ---------------------------------------------------------------------------------------


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

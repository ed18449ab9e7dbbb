"""ETRecords of all generations, unfinished ones, and files that only look like one."""

import io
import json
import zipfile

import pytest

from tests.builders.record_cases import DATA, made, members, node, read, record
from viewer.codecs.reading import ReadCancelled, UnreadableFile, no_progress
from viewer.formats.executorch.etrecord.archive import MAGIC
from viewer.formats.executorch.etrecord.reader import FORMAT, sniff


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
    assert "incomplete" in problem.kind
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


def test_extra_graphs_are_kept_by_name_and_are_no_methods():
    program = read(DATA / "cnn_standalone_after_tobackend.etrecord")
    assert [m.name for m in program.methods] == ["forward"]
    assert {g.name: len(g.nodes) for g in program.graphs} == {
        "exported_program": 9, "aten_copy/forward": 9,
    }  # fmt: skip
    assert program.graphs[1].nodes[0].op == "aten.conv2d.default"


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
    with pytest.raises(UnreadableFile, match="not an ETRecord"):
        read(tmp_path / "x.etrecord")

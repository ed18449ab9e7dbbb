"""Pairs of operators, compared with labeled edits: no wrong pair, and none is missing."""

import json
from collections import Counter
from dataclasses import replace

import pytest

from tests.builders.nested_program import nested_program
from tests.paths import DATA
from viewer.analysis.comparison.evidence import Evidence
from viewer.analysis.comparison.operator_pairs import Grade, grouped, pair_operators
from viewer.analysis.flows.dataflow import dataflow_of
from viewer.formats import open_file
from viewer.program.frames import Frame
from viewer.program.program import GraphNode, Method, Operator, Program, Tensor

EDITS = sorted(path.name for path in (DATA / "compare").iterdir() if path.is_dir())


def programs(edit):
    return [open_file(str(DATA / f"compare/{edit}/{side}.etrecord")) for side in "ab"]


def handle(program, index):
    operator = program.operators[index]
    return f"{operator.method}:{operator.debug_handle}"


def handles(a, b, pairs):
    return {(handle(a, pair.a), handle(b, pair.b)) for pair in pairs.pairs}


@pytest.mark.parametrize("edit", EDITS)
def test_an_edit_pairs_exactly_what_belongs_together(edit):
    a, b = programs(edit)
    truth = json.loads((DATA / f"compare/{edit}/truth.json").read_text())
    expected = {tuple(pair) for pair in truth["pairs"]}
    expected |= {
        (x, y) for group in truth["groups"] for x in group["a"] for y in group["b"]
    }  # fmt: skip
    assert handles(a, b, pair_operators(a, b)) == expected


@pytest.mark.parametrize("edit", EDITS)
def test_swapped_arms_have_the_same_pairs(edit):
    a, b = programs(edit)
    back = {(y, x) for x, y in handles(b, a, pair_operators(b, a))}
    assert handles(a, b, pair_operators(a, b)) == back


def grades(edit):
    return Counter(pair.grade for pair in pair_operators(*programs(edit)).pairs)


def test_grades_say_how_sure_a_pair_is():
    assert set(grades("01_reexport")) == {Grade.SAME}
    assert set(grades("06_portable_vs_xnnpack")) <= {Grade.SAME, Grade.MOVED}
    assert grades("20_bn_folded")[Grade.GROUP] == 3
    assert set(grades("09_wider")) == {Grade.RESIZED}
    assert set(grades("17_fp16")) == {Grade.OTHER_TYPE}
    assert grades("02_module_renamed")[Grade.MOVED] == 12  # all below blocks


def test_a_pair_says_what_differs():
    whys = {pair.why for pair in pair_operators(*programs("02_module_renamed")).pairs}
    assert (
        "same constants, shapes, data types, inputs and outputs; another source line, "
        "module blocks.0.dw is stages.0.depthwise"
    ) in whys
    assert "same constants, shapes, data types, outputs, source line and module" in whys


def test_calls_of_a_loop_with_other_rounds_are_not_called_the_same():
    pairs = pair_operators(*programs("24_loop_2_to_3")).pairs
    of_loop = [pair for pair in pairs if "times in A" in pair.why]
    assert len(of_loop) >= 2
    assert all(pair.grade is not Grade.SAME for pair in of_loop)


def test_the_same_record_is_decided_by_debug_handles():
    a, b = programs("01_reexport")
    assert pair_operators(a, a).same_program
    assert pair_operators(a, b).same_program
    assert not pair_operators(*programs("09_wider")).same_program


def renamed_method(program: Program, name: str) -> Program:
    (method,) = program.methods
    operators = tuple(replace(op, method=name) for op in method.operators)
    return replace(program, methods=(replace(method, name=name, operators=operators),))


def test_a_single_method_of_another_name_is_the_same():
    a, b = programs("01_reexport")
    found = pair_operators(a, renamed_method(b, "encode"))
    assert found.methods == (("forward", "encode"),)
    assert len(found.pairs) == len(a.operators)


def test_equal_modules_of_which_one_is_gone_stay_unpaired():
    """Three equal convolutions under new names, and four before: none can be told from another."""
    a, b = programs("05_swapped")
    names = {op.module_path for op in a.operators}
    assert {"first", "second"} <= names

    def renamed(program: Program, left: set[str]) -> Program:
        (method,) = program.methods
        operators = []
        for op in method.operators:
            if op.module_path in left:
                continue
            path = {"first": "one", "second": "two"}.get(op.module_path, op.module_path)
            nodes = tuple(
                replace(
                    n, modules=(*n.modules[:-1], (path, n.modules[-1][1])),
                    frames=n.frames if path == op.module_path else (),
                )
                for n in op.nodes
            )  # fmt: skip
            operators.append(replace(op, index=len(operators), nodes=nodes))
        made = Method(method.name, tuple(operators))
        return replace(program, methods=(made,))

    found = pair_operators(a, renamed(b, {"second"}))
    kept = renamed(b, {"second"})
    assert "one" not in {kept.operators[pair.b].module_path for pair in found.pairs}


def model(*calls):
    """A program of (module, op, text, output shape)."""
    operators = []
    for path, op, text, shape in calls:
        inner = (("", "Net"), (path, f"torch.nn.{op.title()}")) if path else (("", "Net"),)
        node = GraphNode(
            f"n{len(operators)}", f"aten.{op}.default", len(operators) + 1,
            frames=(Frame("net.py", 1, "forward", text),), modules=inner, source_op=f"aten.{op}.x",
            outputs=(Tensor(f"o{len(operators)}", "f32", shape),),
        )  # fmt: skip
        operators.append(Operator(len(operators), "forward", len(operators) + 1, (node,)))
    return Program("m", "test", "", (Method("forward", tuple(operators)),))


def test_what_could_be_several_is_unpaired_with_a_reason():
    a = model(("", "neg", "", (8,)), ("fc", "linear", "x = self.fc(x)", (8,)))
    b = model(
        ("", "neg", "", (8,)), ("", "neg", "", (8,)), ("fc", "linear", "x = self.fc(x)", (8,))
    )
    found = pair_operators(a, b)
    assert [(pair.a, pair.b) for pair in found.pairs] == [(1, 2)]
    assert found.alike[0] == {0: "1 of A and 2 of B are alike"}
    assert set(found.alike[1]) == {0, 1}


def test_a_program_whose_constants_changed_places_is_another():
    a, _ = programs("05_swapped")
    (method,) = a.methods
    other = {"first": "second", "second": "first"}
    swapped = {
        f"{other.get(path.partition('.')[0], path.partition('.')[0])}.{path.partition('.')[2]}": own
        for path, own in method.constants.items()
    }
    b = replace(a, methods=(replace(method, constants=swapped),))
    found = pair_operators(a, b)
    assert not found.same_program
    paths = {(a.operators[p.a].module_path, b.operators[p.b].module_path) for p in found.pairs}
    assert ("first", "second") in paths


def layers(*names, shape=(8,)):
    return [(name, "linear", f"x = self.{name}(x)", shape) for name in names]


def names(a, b):
    found = pair_operators(a, b).pairs
    return [(a.operators[p.a].module_path, b.operators[p.b].module_path) for p in found]


def test_equal_layers_with_numbers_in_their_names_are_paired_by_name():
    three, two = model(*layers("fc1", "fc2", "fc3")), model(*layers("fc1", "fc3"))
    assert names(three, two) == [("fc1", "fc1"), ("fc3", "fc3")]
    assert names(model(*layers("fc1", "fc2")), model(*layers("fc2", "fc1"))) == [
        ("fc1", "fc1"), ("fc2", "fc2")
    ]  # fmt: skip


def test_elements_of_a_list_run_in_another_order_keep_their_numbers():
    a, b = model(*layers("l.0", "l.1", "out")), model(*layers("l.1", "l.0", "out"))
    assert names(a, b) == [("l.0", "l.0"), ("l.1", "l.1"), ("out", "out")]


def test_a_list_that_moved_by_one_is_paired_by_its_shapes():
    def stack(*sizes):
        return model(*(
            (f"l.{i}", "linear", "x = layer(x)", (size,)) for i, size in enumerate(sizes)
        ))  # fmt: skip

    assert names(stack(8, 16, 32), stack(16, 32, 64)) == [("l.1", "l.0"), ("l.2", "l.1")]


def test_one_of_three_layers_is_not_the_one_that_they_were_fused_into():
    a, b = model(*layers("q", "k", "v")), model(*layers("qkv", shape=(24,)))
    assert names(a, b) == []


def test_modules_on_different_sides_of_a_paired_one_are_not_the_same():
    a, b = model(*layers("pre", "mid")), model(*layers("mid", "post"))
    assert names(a, b) == [("mid", "mid")]


def test_programs_without_a_common_method_are_not_the_same():
    a = model(*layers("fc"))
    two = replace(a, methods=(renamed_method(a, "x").methods[0], renamed_method(a, "y").methods[0]))
    other = replace(
        a, methods=(renamed_method(a, "u").methods[0], renamed_method(a, "v").methods[0])
    )
    assert not pair_operators(two, other).same_program


def groups(a, b, pairs):
    x, y = a.methods[0], b.methods[0]
    found = Evidence(x, y, (dataflow_of(a), dataflow_of(b)))
    back = {j: i for i, j in pairs.items()}
    return [(g.a, g.b) for g in grouped(found, pairs, back)]


def program(*ops, edges):
    return nested_program([""] * len(ops), edges, ops)


STAR = [(0, 1), (0, 2), (0, 3), (1, 4), (2, 4), (3, 4)]


def test_several_layers_of_one_input_are_one():
    three = program("norm", "linear", "linear", "linear", "mul", edges=STAR)
    one = program("norm", "linear", "mul", edges=[(0, 1), (1, 2)])
    assert groups(three, one, {0: 0, 4: 2}) == [((1, 2, 3), (1,))]
    assert groups(one, three, {0: 0, 2: 4}) == [((1,), (1, 2, 3))]


def test_two_single_layers_of_one_input_leave_open_which_one_it_is():
    three = program("norm", "linear", "linear", "linear", "mul", edges=STAR)
    two = program("norm", "linear", "linear", "mul", edges=[(0, 1), (0, 2), (1, 3), (2, 3)])
    assert groups(three, two, {0: 0, 4: 3}) == []


def test_attention_by_hand_is_one_operator():
    by_hand = program("linear", "transpose", "matmul", "mul", "softmax", "matmul", "linear",
                      edges=[(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 6)])  # fmt: skip
    attention = program("linear", "scaled_dot_product_attention", "linear",
                        edges=[(0, 1), (1, 2)])  # fmt: skip
    assert groups(by_hand, attention, {0: 0, 6: 2}) == [((1, 2, 3, 4, 5), (1,))]
    assert groups(by_hand, attention, {}) == []


def test_a_batch_norm_belongs_to_what_it_is_folded_into():
    a = program("convolution", "batch_norm", "relu", edges=[(0, 1), (1, 2)])
    b = program("convolution", "relu", edges=[(0, 1)])
    assert groups(a, b, {0: 0, 2: 1}) == [((0, 1), (0,))]

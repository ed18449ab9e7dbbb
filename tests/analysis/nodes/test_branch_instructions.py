"""The kernels between the jumps of a program file are the graph's nodes in branches."""

import json
import random

import numpy as np
import pytest

from tests.builders.workspaces import workspace_of
from viewer.analysis.nodes.instruction_nodes import branch_nodes
from viewer.model.trace import KeyKind
from viewer.program.executables import ExecutableMethod, Instruction, InstructionKind, Tensors
from viewer.program.program import GraphNode, Method, Operator, Program

KERNEL, MOVE, JUMP = (
    InstructionKind.KERNEL_CALL,
    InstructionKind.MOVE_CALL,
    InstructionKind.JUMP_FALSE_CALL,
)


def executable(*instructions):
    return ExecutableMethod("forward", instructions, (), Tensors.empty())


def method(*ops, handles=None):
    """A method with nodes (op, branch), one operator each."""
    operators = tuple(
        Operator(i, "forward", i + 1, (GraphNode(f"n{i}", op, i + 1, branch=branch, position=i),))
        for i, (op, branch) in enumerate(ops)
    )
    return Method("forward", operators, handles or {})


def found(source, ran):
    return branch_nodes(Program("p", "ETRecord", "", (source,)), source, ran)


CONDITIONAL = executable(
    Instruction(0, JUMP, target=3),
    Instruction(1, KERNEL, "aten::sin.out"),
    Instruction(2, JUMP, target=4),
    Instruction(3, KERNEL, "aten::cos.out"),
    Instruction(4, KERNEL, "aten::tanh.out"),
)
SIN, COS = ("aten.sin.default", "true branch of cond"), ("aten.cos.default", "false branch of cond")
COND, TANH = ("higher_order.cond", ""), ("aten.tanh.default", "")


def test_kernels_in_branches_have_their_operators_in_order():
    source = method(SIN, COS, COND, TANH, handles={4: (4,)})
    assert found(source, CONDITIONAL) == {1: 0, 3: 1}


def test_if_the_lists_differ_nothing_is_known():
    assert found(method(COS, SIN, COND, handles={4: (4,)}), CONDITIONAL) == {}
    assert found(method(SIN, COND, handles={4: (4,)}), CONDITIONAL) == {}


def test_a_program_without_jumps_has_no_branches():
    straight = executable(Instruction(0, KERNEL, "aten::sin.out"))
    assert found(method(("aten.sin.default", "")), straight) == {}


def test_a_jump_to_nowhere_ends_with_the_program():
    wild = executable(
        Instruction(0, JUMP, target=2**40),
        Instruction(1, KERNEL, "aten::sin.out"),
        Instruction(2, MOVE),
    )
    assert found(method(SIN), wild) == {1: 0}


def test_the_order_of_the_graph_counts_and_not_that_of_the_operators():
    """The first and the third node have one debug handle, as quantizing nodes have a neighbor's."""
    sin = [GraphNode(f"n{i}", "aten.sin.default", 1, branch="b", position=i) for i in (0, 2)]
    other = GraphNode("n1", "aten.sin.default", 2, branch="b", position=1)
    source = Method(
        "forward", (Operator(0, "forward", 1, tuple(sin)), Operator(1, "forward", 2, (other,)))
    )
    ran = executable(
        Instruction(0, JUMP, target=4),
        *(Instruction(i, KERNEL, "aten::sin.out") for i in (1, 2, 3)),
    )
    names = [source.operators[0].nodes[0], source.operators[0].nodes[1], other]
    assert {i: names[node].name for i, node in found(source, ran).items()} == {
        1: "n0", 2: "n1", 3: "n2",
    }  # fmt: skip


def test_a_graph_of_unknown_order_decides_nothing():
    node = GraphNode("n0", "aten.sin.default", 1, branch="b")
    source = Method("forward", (Operator(0, "forward", 1, (node,)),))
    assert found(source, CONDITIONAL) == {}


class Emitter:
    """Emits random control flow as ExecuTorch does, with the node of every kernel."""

    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.nodes: list[GraphNode] = []
        self.instructions: list[Instruction] = []
        self.truth: dict[int, str] = {}  # instruction -> name of its node
        self.top: set[int] = set()  # instructions that have a debug handle
        self.value = 0

    def new(self):
        self.value += 1
        return self.value

    def emit(self, kind, name="", node=None, values=(), target=-1):
        at = len(self.instructions)
        self.instructions.append(Instruction(at, kind, name, values, target))
        if node is not None:
            self.truth[at] = node
        return at

    def node(self, op, branch):
        name = f"{op.rpartition('.')[2]}_{len(self.nodes)}"
        self.nodes.append(GraphNode(name, op, 1, branch=branch, position=len(self.nodes)))
        return name

    def operator(self, branch):
        op = self.rng.choice(["sin", "cos", "add", "select_copy", "view_copy", "copy_"])
        name = self.node(f"aten.{op}.default", branch)
        if op == "view_copy" and self.rng.random() < 0.5:
            return  # memory planning left it out
        overload = "int_out" if op == "select_copy" else "out"
        kernel = {"view_copy": "executorch_prim::et_view.default", "copy_": "aten::copy_"}
        at = self.emit(KERNEL, kernel.get(op, f"aten::{op}.{overload}"), name, (self.new(),) * 4)
        if not branch:
            self.top.add(at)

    def block(self, branch, depth):
        for _ in range(self.rng.randint(1, 4)):
            if depth and self.rng.random() < 0.3:
                self.rng.choice([self.cond, self.map, self.scan])(branch, depth - 1)
            else:
                self.operator(branch)

    def jump(self, at, target):
        self.instructions[at] = Instruction(at, JUMP, "", (0,), target)

    def cond(self, branch, depth):
        first = self.emit(JUMP)
        self.block("true branch of cond", depth)
        self.emit(MOVE)
        skip = self.emit(JUMP)
        self.jump(first, len(self.instructions))
        self.block("false branch of cond", depth)
        self.emit(MOVE)
        self.jump(skip, len(self.instructions))
        self.node("higher_order.cond", branch)

    def map(self, branch, depth):
        self.loop("map_impl", branch, depth, 0, 1, 1)

    def scan(self, branch, depth):
        rng = self.rng
        self.loop("scan", branch, depth, rng.randint(1, 3), rng.randint(1, 3), rng.randint(1, 2))

    def loop(self, name, branch, depth, carried, inputs, outputs):
        count, size, own = self.new(), self.new(), []
        own.append(self.emit(KERNEL, "aten::sym_size.int", values=(9, 9, size)))
        own += [self.emit(KERNEL, "aten::copy_") for _ in range(carried)]
        start = len(self.instructions)
        select = "aten::select_copy.int_out"
        own += [self.emit(KERNEL, select, values=(9, 9, count, 9, 9)) for _ in range(inputs)]
        self.block(f"body of {name}", depth)
        own += [self.emit(KERNEL, "aten::copy_") for _ in range(carried)]
        store = "executorch_prim::et_copy_index.tensor"
        own += [self.emit(KERNEL, store, values=(9, 9, count)) for _ in range(outputs)]
        own.append(self.emit(KERNEL, "executorch_prim::add.Scalar", values=(count, 9, count)))
        done = self.new()
        own.append(self.emit(KERNEL, "executorch_prim::eq.Scalar", values=(count, size, done)))
        self.emit(JUMP, target=start)
        own.append(self.emit(KERNEL, "executorch_prim::sub.Scalar", values=(count, size, count)))
        node = self.node(f"higher_order.{name}", branch)
        self.truth |= dict.fromkeys(own, node)


@pytest.mark.parametrize("seed", range(150))
def test_whatever_is_in_loops_and_branches_has_its_node(seed):
    emitter = Emitter(seed)
    emitter.block("", 3)
    operator = Operator(0, "forward", 1, tuple(emitter.nodes))
    source = Method("forward", (operator,), dict.fromkeys(emitter.top, (1,)))
    mapping = found(source, executable(*emitter.instructions))
    named = {i: emitter.nodes[node].name for i, node in mapping.items()}
    inside = {i: name for i, name in emitter.truth.items() if i not in emitter.top}
    assert named.items() <= inside.items()  # nothing is wrong
    lost = {emitter.instructions[i].name for i in inside.keys() - named.keys()}
    assert lost <= {"executorch_prim::et_view.default"}  # several views, of which some did not run


def test_a_body_of_which_a_delegate_took_a_part_has_the_nodes_of_unique_kernels():
    emitter = Emitter(0)

    def body(branch, depth):
        for op in ("sin", "mul", "cos", "mul"):
            emitter.node(f"aten.{op}.default", branch)
        emitter.emit(InstructionKind.DELEGATE_CALL)
        emitter.emit(KERNEL, "aten::cos.out")
        emitter.emit(KERNEL, "aten::mul.out")

    emitter.block = body
    emitter.map("", 0)
    operator = Operator(0, "forward", 1, tuple(emitter.nodes))
    ran = executable(*emitter.instructions)
    mapping = found(Method("forward", (operator,)), ran)
    named = {ran.instructions[i].name: emitter.nodes[node].op for i, node in mapping.items()}
    assert named["aten::cos.out"] == "aten.cos.default"
    assert "aten::mul.out" not in named
    assert named["aten::sym_size.int"] == "higher_order.map_impl"


def test_every_instruction_of_two_maps_has_its_node(data):
    """Of the loop too, which belongs to the node of the map."""
    path = data / "pte" / "et_map"
    truth = json.loads(path.with_suffix(".truth.json").read_text())["forward"]
    space = workspace_of(*(f"{path}.{end}" for end in ("etdp", "etrecord", "pte")))
    (trace,) = space.traces
    table = space.links(trace)
    ran = set()
    for key in np.flatnonzero(trace.keys.kind == KeyKind.OPERATOR_CALL).tolist():
        instruction = int(trace.keys.instruction[key])
        wanted = truth[instruction]["nodes"]
        nodes = table.nodes(key)
        assert [node.name for node in nodes] == [one["name"] for one in wanted]
        assert [[node.source.path, node.source.line] for node in nodes] == [
            one["line"] for one in wanted
        ]
        assert [node.debug_handle for node in nodes] == [one["handle"] for one in wanted]
        ran.add(instruction)
    assert len(ran) == 24
    assert (
        "has instruction 4 around the body of "
        in table.links[np.flatnonzero(trace.keys.instruction == 4)[0]].detail
    )

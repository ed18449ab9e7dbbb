"""Slices of inferences whose method is open: linked to what all possible methods agree on."""

import json
import random
from dataclasses import replace

import numpy as np
import pytest

from tests.builders.etdump_cases import read_path
from tests.builders.etdump_writer import framework, operator
from viewer.analysis.links.link_table import LinkState, Reason
from viewer.analysis.links.linker import link
from viewer.formats import open_file
from viewer.model.trace import KeyKind, RunKind
from viewer.program.program import Frame, GraphNode, Method, Operator, Program
from viewer.workspace.workspace import Workspace

OPS = ("add", "mul", "sin", "relu", "tanh")
FILES = ("net.py", "block.py")
MODULES = ("", "a", "a.b")


@pytest.mark.parametrize("with_program", [False, True])
def test_prefill_and_decode_are_linked_to_what_they_agree_on(data, with_program):
    path = data / "pte" / "et_step"
    space = Workspace()
    for end in ("etdp", "etrecord", "pte")[: 3 if with_program else 2]:
        space.open(f"{path}.{end}")
    (trace,) = space.traces
    table = space.links(trace)
    truth = json.loads(path.with_suffix(".truth.json").read_text())
    linked = 0
    for i in range(len(trace.slices)):
        key = int(trace.slices.key[i])
        if trace.keys.kind[key] not in (KeyKind.OPERATOR_CALL, KeyKind.KERNEL):
            continue
        (prefill,), (decode,) = (
            method[int(trace.keys.instruction[key])]["nodes"] for method in truth.values()
        )
        if prefill["handle"] is None:  # the write-back of the cache
            assert table.links[key].reason is Reason.NOT_IN_MAP
            continue
        (node,) = table.nodes(key)
        place = [node.source.path, node.source.line]
        assert place == prefill["line"] == decode["line"]
        assert node.module_path == prefill["module"] == decode["module"]
        assert table.links[key].detail.startswith("decode and prefill agree on this. ")
        linked += 1
    assert linked == 88
    assert table.methods_of_scope(0) == ("decode", "prefill")
    assert table.method_text(0) == "decode or prefill"


def test_where_methods_differ_the_reason_names_them(data):
    """Each calls its own layer, in its own line."""
    trace, record = (open_file(str(data / "pte" / f"multi3.{end}")) for end in ("etdp", "etrecord"))
    table = link(trace, record)
    (detail, *_) = (x.detail for x in table.links if x.reason is Reason.METHOD_UNDECIDED)
    assert detail == (
        "The methods forward and prefill have the same instructions, but not the same operators "
        "here, and the ETDump does not name the one that ran: forward: fc · linear "
        "(/home/user/models/m.py:257); prefill: fc · linear (/home/user/models/m.py:266)"
    )


def method_of(name: str, nodes: list[GraphNode], first: int, handles: list[int]) -> Method:
    """A method whose instruction i has the handle `handles[i]`, of which it is one node."""
    grouped: dict[int, list[GraphNode]] = {}
    for handle, node in zip(handles, nodes, strict=True):
        grouped.setdefault(handle, []).append(replace(node, debug_handle=handle))
    operators = tuple(
        Operator(first + i, name, handle, tuple(own))
        for i, (handle, own) in enumerate(grouped.items())
    )
    return Method(name, operators, {i: (handle,) for i, handle in enumerate(handles)})


def node(rng: random.Random, number: int, op: str) -> GraphNode:
    frame = Frame(f"/home/user/{rng.choice(FILES)}", rng.randint(1, 3), "forward", "")
    modules = tuple((path, "Block") for path in [rng.choice(MODULES)] if path)
    name = f"{op}_{number}"
    return GraphNode(
        name, f"aten.{op}.default", -1, (frame,), modules, source_op=op, position=number
    )


def other(rng: random.Random, one: GraphNode) -> GraphNode:
    """The same kernel of another line or module."""
    if rng.random() < 0.5:
        (frame,) = one.frames
        return replace(one, frames=(replace(frame, line=frame.line + 10),))
    return replace(one, modules=(("elsewhere", "Block"),))


@pytest.mark.parametrize("seed", range(60))
def test_the_links_of_open_inferences_are_those_of_agreement(dump, seed):
    rng = random.Random(seed)
    names = ["decode", "prefill", "encode"][: rng.randint(2, 3)]
    length = rng.randint(1, 8)
    ops = [rng.choice(OPS) for _ in range(length)]
    common = [node(rng, i, op) for i, op in enumerate(ops)]
    differs = [rng.random() < 0.3 for _ in range(length)]
    methods, first = [], 0
    for number, name in enumerate(names):
        nodes = [
            other(rng, one) if different and number == len(names) - 1 else one
            for one, different in zip(common, differs, strict=True)
        ]
        handles = [i + 1 + rng.randint(0, 3) * 10 for i in range(length)]
        methods.append(method_of(name, nodes, first, handles))
        first += len(methods[-1].operators)
    record = Program("net.etrecord", "ETRecord", "", tuple(methods))

    runs, truth, at, loaded = [], [], 0, []
    queue = [*names]
    while queue or rng.random() < 0.7:
        at += 1000
        if queue and (not loaded or rng.random() < 0.5):
            loaded.append(queue.pop(0))
            runs.append(("Default", [framework("Program::load_method", at, at + 10)]))
            ran, at = loaded[-1], at + 1000
        else:
            ran = rng.choice(loaded)
        events = []
        for i, op in enumerate(ops):
            start = at + 10 * i + 1
            events += [
                operator(f"native_call_{op}.out", i, start + 1, start + 2),
                operator("OPERATOR_CALL", i, start, start + 3),
            ]
        runs.append(("Execute", [*events, framework("Method::execute", at, at + 500)]))
        truth.append(ran)

    trace = read_path(dump(*runs))
    assert len({run.scope for run in trace.inferences()}) == 1
    # Runs of one part are of one method, and a part is as large as what is certain.
    parts: dict[int, set[str]] = {}
    for run, ran in zip(trace.inferences(), truth, strict=True):
        parts.setdefault(run.part, set()).add(ran)
    assert all(len(own) == 1 for own in parts.values())
    loads = [i for i, run in enumerate(trace.runs) if run.kind is RunKind.LOAD]
    assert len({trace.runs[i + 1].part for i in loads}) == len(names)

    table = link(trace, record)
    assert set(table.methods_of_scope(0)) == set(names)
    for key in np.flatnonzero(trace.keys.instruction >= 0).tolist():
        if trace.keys.kind[key] not in (KeyKind.KERNEL, KeyKind.OPERATOR_CALL):
            continue
        instruction, found = int(trace.keys.instruction[key]), table.links[key]
        if differs[instruction]:
            assert found.reason is Reason.METHOD_UNDECIDED
            assert not found.operators
            assert all(name in found.detail for name in names)
            continue
        assert found.reason.state is LinkState.LINKED
        (linked,) = table.nodes(key)
        wanted = common[instruction]
        assert (linked.op, linked.source, linked.modules) == (
            wanted.op, wanted.source, wanted.modules,
        )  # fmt: skip

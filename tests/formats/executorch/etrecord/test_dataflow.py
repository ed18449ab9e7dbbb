"""What operators of a record take of one another: compared with a search through the raw JSON."""

import json
from collections import defaultdict

import pytest

from tests.builders.record_cases import DATA, made, members, read
from viewer.analysis.flows.dataflow import dataflow_of
from viewer.program.dataflow import NO_GRAPH, NO_INPUTS, ExternalInput

# Those whose graphs carry instruction ids or no handles at all cannot be searched by handle.
RECORDS = sorted(
    path for path in DATA.rglob("*.etrecord")
    if not any(word in path.name for word in ("NOdeepcopy", "broken", "transform", "session"))
    and "0.1" not in str(path.relative_to(DATA))
)  # fmt: skip


def names_in(value):
    """Every value that an argument names, wherever it stands in it."""
    if isinstance(value, list):
        return [name for each in value for name in names_in(each)]
    if not isinstance(value, dict) or "graph" in value:
        return []
    own = [value[key] for key in ("name", "as_name") if isinstance(value.get(key), str)]
    return own or [name for each in value.values() for name in names_in(each)]


class RawGraph:
    """Values and operators of one method as a plain graph: who is made of whom, by one search."""

    def __init__(self, program):
        self.made_of = defaultdict(set)
        self._scopes = 0
        self.outputs = self.walk(program["graph_module"], None)

    def walk(self, module, operands):
        scope = self._scopes = self._scopes + 1
        graph = module["graph"]
        kept = {}
        for spec in (module.get("signature") or {}).get("input_specs", []):
            ((kind, content),) = spec.items()
            if kind != "user_input":
                path = next(v for k, v in content.items() if k.endswith("_name"))
                kept[content["arg"]["name"]] = path
        inputs = [names_in(argument)[0] for argument in graph["inputs"]]
        free = [name for name in inputs if name not in kept]
        for name in inputs:
            if name in kept:
                self.made_of[scope, name].add(ExternalInput(kept[name], True))
            elif operands is None:
                self.made_of[scope, name].add(ExternalInput(name, False))
        for name, operand in zip(free, operands or [], strict=bool(operands)):
            self.made_of[scope, name].add(operand)
        for node in graph["nodes"]:
            self.node(scope, node)
        return [(scope, name) for output in graph["outputs"] for name in names_in(output)]

    def node(self, scope, node):
        arguments = [item["arg"] for item in node["inputs"]]
        taken = [(scope, name) for argument in arguments for name in names_in(argument)]
        results = [(scope, name) for output in node["outputs"] for name in names_in(output)]
        if node["target"].endswith("executorch_call_delegate"):
            lowered = json.loads(arguments[0]["as_string"])["original_module"]
            inside = self.walk(lowered["graph_module"], taken)
            for result, inner in zip(results, inside, strict=True):
                self.made_of[result].add(inner)
            return
        graphs = [i for i, argument in enumerate(arguments) if "as_graph" in argument]
        if graphs:
            behind = [
                (scope, name) for argument in arguments[graphs[-1] + 1 :]
                for name in names_in(argument)
            ]  # fmt: skip
            for i in graphs:
                taken += self.walk(arguments[i]["as_graph"], behind)
        handle = node["metadata"].get("debug_handle")
        is_operator = handle is not None and "getitem" not in node["target"]
        for result in results:
            self.made_of[result].update([("operator", int(handle))] if is_operator else taken)
        if is_operator:
            self.made_of["takes", int(handle)].update(taken)

    def takes(self, handle):
        """The operators and outer values that one reaches without going through another."""
        found, seen, todo = set(), set(), list(self.made_of["takes", handle])
        while todo:
            one = todo.pop()
            if isinstance(one, ExternalInput) or one[0] == "operator":
                found.add(one)
            elif one not in seen:
                seen.add(one)
                assert self.made_of[one], one
                todo += self.made_of[one]
        return found - {("operator", handle)}


def raw_programs(path):
    """Method -> its edge program, for methods stored under their own names."""
    parts = members(str(path.relative_to(DATA)))
    prefix = "edge_dialect_exported_program"
    found = {}
    for name, content in parts.items():
        method = name.partition("/")[2] or "forward"
        if name.split("/")[0] == prefix and not name.endswith(
            ("_state_dict", "_constants", "_example_inputs")
        ):
            found[method] = json.loads(content)
    return found


@pytest.mark.parametrize("path", RECORDS, ids=lambda p: str(p.relative_to(DATA)))
def test_every_operator_takes_what_a_search_of_the_raw_graph_finds(path):
    program = read(path)
    flow = dataflow_of(program)
    stored = raw_programs(path)
    compared = 0
    for method in program.methods:
        raw = RawGraph(stored[method.name] if len(stored) > 1 else next(iter(stored.values())))
        for operator in method.operators:
            if operator.debug_handle < 0:
                continue
            assert operator.index not in flow.unknown
            by_handle = {
                ("operator", program.operators[i].debug_handle)
                for i in flow.inputs_of(operator.index)
            }
            given = set(flow.given.get(operator.index, ()))
            assert by_handle | given == raw.takes(operator.debug_handle), operator.label
            compared += 1
    assert compared


def test_a_record_that_was_translated_back_says_the_same_as_one_that_was_not():
    flows = [
        dataflow_of(read(DATA / f"{name}.etrecord"))
        for name in ("cnn_standalone_deepcopy", "cnn_standalone_NOdeepcopy")
    ]
    assert flows[0].inputs.tolist() == flows[1].inputs.tolist() != []
    assert flows[0].input_ptr.tolist() == flows[1].input_ptr.tolist()


def test_what_is_inside_a_delegate_takes_what_the_call_was_given():
    program = read(DATA / "1.0.1/cnn_xnnpack_lowered.etrecord")
    flow = dataflow_of(program)
    assert flow.inputs_of(0).tolist() == []
    assert ExternalInput("x", False) in flow.given[0]
    for before, after in zip(program.operators[:-1], program.operators[1:], strict=True):
        assert before.index in flow.inputs_of(after.index)


def test_an_unfinished_record_says_why_it_knows_nothing():
    program = read(DATA / "broken_partial_save.etrecord")
    assert set(dataflow_of(program).unknown) == set(range(len(program.operators)))
    assert set(dataflow_of(program).unknown.values()) == {NO_GRAPH}
    assert not len(dataflow_of(program).inputs)


# -- graphs made by hand ---------------------------------------------------------------------------


def tensor(*names):
    if len(names) == 1:
        return {"as_tensor": {"name": names[0]}}
    return {"as_tensors": [{"name": name} for name in names]}


def call(name, handle, takes, *, op="aten.relu.default", gives=None):
    metadata = {} if handle is None else {"debug_handle": str(handle)}
    return {
        "name": name, "target": f"torch.ops.{op}", "inputs": [{"arg": a} for a in takes],
        "outputs": gives or [tensor(name)], "metadata": metadata,
    }  # fmt: skip


def inner(inputs, nodes, outputs):
    graph = {
        "inputs": [tensor(name) for name in inputs], "nodes": nodes,
        "outputs": [tensor(name) for name in outputs], "tensor_values": {},
    }  # fmt: skip
    return {"as_graph": {"name": "body", "graph": graph}}


def flow_of(tmp_path, inputs, *nodes):
    whole = {"graph_module": {"graph": inner(inputs, nodes, [])["as_graph"]["graph"]}}
    path = made(tmp_path, **{"edge_dialect_exported_program/forward": json.dumps(whole)})
    program = read(path)
    ops = {op.debug_handle: op.index for op in program.operators}
    handles = {index: handle for handle, index in ops.items()}
    flow = dataflow_of(program)
    return {
        handle: (
            sorted(handles[i] for i in flow.inputs_of(index).tolist()),
            [g.name for g in flow.given.get(index, ())],
            flow.unknown.get(index, ""),
        )
        for handle, index in ops.items()
    }


def test_nodes_that_are_no_operators_are_passed_through(tmp_path):
    found = flow_of(
        tmp_path, ["x"],
        call("a", 1, [tensor("x")]),
        call("no_handle", None, [tensor("a")], op="aten.alias.default"),
        call("item", 9, [tensor("no_handle")], op="_operator.getitem"),
        call("b", 2, [tensor("item")]),
    )  # fmt: skip
    assert found == {1: ([], ["x"], ""), 2: ([1], [], "")}


def test_what_a_loop_carries_comes_from_its_operand_and_from_its_own_body(tmp_path):
    """The body swaps its two values: each of them comes from both operands, after enough rounds."""
    body = inner(["i", "j"], [call("t", 3, [tensor("i")])], ["j", "t"])
    decides = inner(["i", "j"], [call("c", 4, [tensor("i")])], ["c"])
    found = flow_of(
        tmp_path, ["x", "y"],
        call("a", 1, [tensor("x")]),
        call("b", 2, [tensor("y")]),
        call("w", 5, [decides, body, tensor("a", "b"), {"as_ints": []}],
             op="higher_order.while_loop", gives=[tensor("w0", "w1")]),
        call("z", 6, [tensor("w1")]),
    )  # fmt: skip
    assert found[3] == ([1, 2], [], "")  # and itself, which is no edge
    assert found[4] == ([1, 2, 3], [], "")
    assert found[6] == ([5], [], "")


def test_branches_with_other_inputs_than_operands_are_not_guessed_at(tmp_path):
    branch = inner(["i", "j"], [call("t", 3, [tensor("i")])], ["t"])
    found = flow_of(
        tmp_path, ["x"],
        call("a", 1, [tensor("x")]),
        call("k", 5, [tensor("x"), branch, branch, tensor("a")], op="higher_order.cond"),
        call("z", 6, [tensor("k")]),
    )  # fmt: skip
    assert found[3] == ([], [], NO_INPUTS)
    assert found[6] == ([5], [], "")


def test_a_value_that_nothing_makes_leaves_the_inputs_unknown(tmp_path):
    found = flow_of(
        tmp_path, ["x"],
        call("a", 1, [tensor("x")]),
        call("b", 2, [tensor("a"), tensor("ghost")]),
        call("c", 3, [tensor("b")]),
    )  # fmt: skip
    assert found == {1: ([], ["x"], ""), 2: ([], [], NO_INPUTS), 3: ([2], [], "")}


def test_a_delegate_without_its_module_leaves_what_it_makes_unknown(tmp_path):
    found = flow_of(
        tmp_path, ["x"],
        call("a", 1, [tensor("x")]),
        call("d", None, [{"as_string": "{"}, tensor("a")], op="executorch_call_delegate"),
        call("b", 2, [tensor("d")]),
    )  # fmt: skip
    assert found[2] == ([], [], NO_INPUTS)


def test_odd_values_are_read_without_a_fault(tmp_path):
    deep = {"as_tensors": []}
    for _ in range(200):
        deep = {"as_nested_tensors": [[deep], 7, None, "x"]}
    found = flow_of(
        tmp_path, ["x"],
        call("a", 1, [deep, {"as_tensors": []}, {}, None, 3, {"as_tensor": None}, [[]]]),
        call("b", 2, [tensor("a")], gives=[{"as_tensors": []}, 5]),
    )  # fmt: skip
    assert found[2] == ([1], [], "")

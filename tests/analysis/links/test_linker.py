"""Links, compared event by event with the answers of ExecuTorch's own Inspector.

The Inspector is wrong in a few known ways. Each difference must be one of them, and the tests name
it; any other difference is a fault of ours.
"""

import json
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from tests.builders import etdump_writer as logged
from tests.paths import DATA, SAMPLES
from viewer.analysis.links import linker as linking
from viewer.analysis.links.link_table import Link, LinkState, LinkTable, Reason
from viewer.formats import open_file
from viewer.model.trace import KeyKind, Trace
from viewer.program.debug_handles import DelegateMap
from viewer.program.program import GraphNode, Method, Operator, Program
from viewer.workspace.workspace import Workspace


def linked(dump: Path, record: Path) -> LinkTable:
    """The links of a pair, whether or not the two belong together."""
    workspace = Workspace()
    trace, program = workspace.open(str(dump)), workspace.open(str(record))
    assert isinstance(trace, Trace)
    workspace.pair(trace.path, program.path)
    return workspace.links(trace)


@dataclass(frozen=True)
class Answer:
    handles: tuple[int, ...]
    ops: frozenset[tuple[str, int]]
    backend: str
    is_delegated: bool


def theirs(event: dict) -> Answer:
    handles = event["debug_handles"]
    if isinstance(handles, int):
        handles = [handles]
    return Answer(
        tuple(handles or ()),
        frozenset(Counter(event["op_types"]).items()),
        event["delegate_backend_name"] or "",
        event["is_delegated_op"],
    )


def ours(table: LinkTable, key: int) -> Answer:
    link = table.links[key]
    scope = int(table.trace.keys.scope[key])
    ops: Counter[str] = Counter()
    if link.operators and table.program is not None:
        method = table.program.method(table.method_of_scope(scope) or "")
        assert method is not None
        for handle in link.handles:
            operator = method.by_handle.get(handle)
            ops.update(node.op for node in operator.nodes if operator)
    return Answer(
        link.handles,
        frozenset(ops.items()),
        link.backend,
        table.trace.keys.kind[key] == KeyKind.DELEGATE_EVENT,
    )


def key_of(trace: Trace, event: dict) -> int:
    """The key of an Inspector event: its identifier or name, and its instruction outside loads."""
    keys = trace.keys
    identifier = event["delegate_debug_identifier"]
    found = []
    for k in range(len(keys)):
        is_event = keys.kind[k] == KeyKind.DELEGATE_EVENT
        name = trace.strings[int(keys.name[k])]
        same = (
            is_event and type(keys.identifier[k]) is type(identifier)
            and keys.identifier[k] == identifier
            if identifier is not None
            else not is_event and name == event["name"]
        )  # fmt: skip
        # The runtime writes chain -1 and instruction 0 where there is no instruction.
        if same and int(keys.instruction[k]) in (event["instruction_id"], -1):
            found.append(k)
    assert len(found) == 1, (event["name"], identifier, found)
    return found[0]


def fault(kind: KeyKind, link: Link, event: dict, gold: Answer, own: Answer) -> str:
    """The Inspector's fault behind a difference, "" if it is none of the known ones."""
    if kind == KeyKind.FRAMEWORK and not own.handles and event["instruction_id"] == 0:
        return "framework scopes get the handles of instruction 0"
    if link.reason is Reason.OUTSIDE_CALLS and gold.handles == own.handles == ():
        return "events of a delegate's init get the backend of instruction 0"
    if gold.handles == own.handles and not gold.ops and kind == KeyKind.DELEGATE_CALL:
        return "lowered modules are not searched"
    if kind == KeyKind.DELEGATE_EVENT and gold.backend == own.backend and gold.handles:
        return "an identifier that contains another gets its handles"
    if kind == KeyKind.DELEGATE_EVENT and link.reason is Reason.NO_DELEGATE_MAP:
        return "an event of a call that the record does not know gets the handles of a kernel"
    if "".join(op for op, _ in gold.ops).endswith("out"):
        return "a graph without deepcopy is off by one"
    return ""


FRAMEWORK = "framework scopes get the handles of instruction 0"
INIT = "events of a delegate's init get the backend of instruction 0"
CONTAINED = "an identifier that contains another gets its handles"
LOWERED = "lowered modules are not searched"

ETDUMP, RECORD, GOLD = DATA / "etdump", DATA / "etrecord", DATA / "inspector"
OLD, MID = RECORD / "0.6.0", RECORD / "1.0.1"
ATTENTION = SAMPLES / "attention_xnnpack"

PAIRS = [
    *(
        (ETDUMP / f"{dump}.etdp", RECORD / f"{record}.etrecord",
         GOLD / f"{dump}__{record}.json", faults)
        for dump, record, faults in (
            ("cnn_portable_x2_debug", "cnn_toedge_portable", {FRAMEWORK}),
            ("cnn_runtimeapi_x3", "cnn_toedge_portable", {FRAMEWORK}),
            ("cnn_xnnpack_x10", "cnn_teal_xnnpack", {FRAMEWORK}),
            ("cond_portable_x5", "cond_toedge_portable", {FRAMEWORK}),
            ("demo_generated_int_x4", "demo_generated_int", {FRAMEWORK, INIT}),
            ("demo_manual_int_x4", "demo_manual_int", {FRAMEWORK, INIT, CONTAINED}),
            ("demo_portable_x3", "demo_portable", {FRAMEWORK}),
            ("demo_str_x4", "demo_str", {FRAMEWORK, INIT}),
            ("SYN_qnn_like", "demo_str", {FRAMEWORK}),
            ("SYN_repeat_in_run", "cnn_toedge_portable", {FRAMEWORK}),
        )
    ),
    *(
        (folder / f"{name}_x3.etdp", folder / f"{name}.etrecord",
         folder / f"{name}_x3.inspector_{folder.name}.json", faults)
        for folder, name, faults in (
            (OLD, "cnn_portable", {FRAMEWORK}),
            (OLD, "cnn_bundled", {FRAMEWORK}),
            (OLD, "demo_generated_int", {FRAMEWORK, INIT}),
            (OLD, "demo_manual_int", {FRAMEWORK, INIT, CONTAINED}),
            (OLD, "demo_str", {FRAMEWORK, INIT}),
            (MID, "cnn_ge_xnnpack", {FRAMEWORK}),
            (MID, "cnn_xnnpack_lowered", {FRAMEWORK, LOWERED}),
            (MID, "cnn_portable", {FRAMEWORK}),
            (MID, "cnn_bundled", {FRAMEWORK}),
            (MID, "cnn_ge_portable", {FRAMEWORK}),
            (MID, "demo_generated_int", {FRAMEWORK, INIT}),
            (MID, "demo_manual_int", {FRAMEWORK, INIT, CONTAINED}),
            (MID, "demo_ge_manual_int", {FRAMEWORK, INIT, CONTAINED}),
            (MID, "demo_str", {FRAMEWORK, INIT}),
        )
    ),
]  # fmt: skip


@pytest.mark.parametrize(
    ("dump", "record", "golden", "faults"), PAIRS,
    ids=[f"{r.parent.name}-{d.stem}-{r.stem}" for d, r, _, _ in PAIRS],
)  # fmt: skip
def test_every_difference_from_the_inspector_is_a_known_fault_of_it(dump, record, golden, faults):
    table = linked(dump, record)
    found = set()
    events = [e for b in json.loads(golden.read_text())["event_blocks"] for e in b["events"]]
    assert events
    for event in events:
        key = key_of(table.trace, event)
        gold, own = theirs(event), ours(table, key)
        if gold != own:
            kind = KeyKind(table.trace.keys.kind[key])
            why = fault(kind, table.links[key], event, gold, own)
            assert why, (event["name"], event["instruction_id"], gold, own)
            found.add(why)
    assert found == faults


# -- what the Inspector cannot answer --------------------------------------------------------------


def answers(table: LinkTable) -> dict[str, tuple[Reason, list[str]]]:
    """Per slice name (distinct here) its reason and the operators of its link."""
    return {
        table.trace.strings[int(table.trace.keys.name[k])]: (
            link.reason, [op.op for op in table.operators(k)],
        )
        for k, link in enumerate(table.links)
    }  # fmt: skip


def test_string_identifiers_are_looked_up_exactly():
    found = answers(linked(ETDUMP / "demo_str_x4.etdp", RECORD / "demo_str.etrecord"))
    assert found["Fancy Fusion"] == (Reason.BY_IDENTIFIER, ["convolution", "relu"])
    assert found["DEMO_INIT"][0] is Reason.OUTSIDE_CALLS
    assert found["Method::execute"] == (Reason.FRAMEWORK, [])
    unknown = [name for name, (why, _) in found.items() if why is Reason.IDENTIFIER_UNKNOWN]
    assert len(unknown) == 1


def test_number_10_is_not_found_under_1_or_0():
    table = linked(ETDUMP / "demo_manual_int_x4.etdp", RECORD / "demo_manual_int.etrecord")
    handles = {
        table.trace.keys.identifier[k]: link.handles
        for k, link in enumerate(table.links)
        if link.reason is Reason.BY_IDENTIFIER
    }
    record = table.program
    assert record is not None
    stated = record.methods[0].delegates[0].entries
    assert stated is not None
    assert handles[10] == stated["10"] != stated["1"] != stated["0"]
    assert all(handles[i] == stated[str(i)] for i in handles)


def test_an_event_that_is_not_linked_knows_the_operators_of_its_call():
    table = linked(ETDUMP / "cnn_xnnpack_x10.etdp", RECORD / "cnn_teal_xnnpack.etrecord")
    events = [link for link in table.links if link.reason is Reason.NO_DELEGATE_MAP]
    assert events
    for link in events:
        assert not link.operators
        assert link.near
        assert link.detail == "XnnpackBackend wrote no debug handle map"


def test_methods_with_the_same_instructions_are_left_undecided_and_named():
    table = linked(
        ETDUMP / "multi_forward_decode_converts_x3.etdp",
        RECORD / "multi_forward_decode_teal_xnnpack.etrecord",
    )
    undecided = [x for x in table.links if x.reason is Reason.METHOD_UNDECIDED]
    assert undecided
    assert "decode and forward" in undecided[0].detail
    assert not any(x.operators for x in table.links)


def test_each_run_is_linked_to_its_own_method():
    table = linked(
        ETDUMP / "multi_forward_decode_portable_x3.etdp",
        RECORD / "multi_forward_decode_toedge_portable.etrecord",
    )
    ops: dict[str, set[str]] = {}
    for k, link in enumerate(table.links):
        if link.operators:
            method = table.method_of_scope(int(table.trace.keys.scope[k])) or ""
            ops.setdefault(method, set()).update(op.op for op in table.operators(k))
    assert ops == {"forward": {"linear", "relu"}, "decode": {"linear", "sigmoid"}}


def test_a_record_without_deepcopy_links_as_the_copied_one():
    dump = ETDUMP / "cnn_portable_x10.etdp"
    table = linked(dump, RECORD / "cnn_standalone_NOdeepcopy.etrecord")
    copied = linked(dump, RECORD / "cnn_standalone_deepcopy.etrecord")
    assert table.links == copied.links
    for k in np.flatnonzero(table.trace.keys.kind == KeyKind.KERNEL).tolist():
        name = table.trace.strings[int(table.trace.keys.name[k])].removeprefix("native_call_")
        (operator,) = table.operators(k)
        assert f"aten.{name}" in operator.ops


def test_branches_without_deepcopy_are_never_taken_for_the_graph_around_them():
    dump = ETDUMP / "cond_portable_x5.etdp"
    table = linked(dump, RECORD / "cond_standalone_NOdeepcopy.etrecord")
    copied = linked(dump, RECORD / "cond_toedge_portable.etrecord")
    for k, link in enumerate(table.links):
        assert link.reason == copied.links[k].reason
        named = [(op.label, op.base_names) for op in table.operators(k)]
        assert named == [(op.label, op.base_names) for op in copied.operators(k)]


@pytest.mark.parametrize(("release", "shift"), [("0.3", 0), ("0.1", 1)])
@pytest.mark.parametrize("name", ["cnn_portable", "demo_str"])
def test_the_first_releases_link_as_the_later_ones(name, release, shift):
    """Made from the record of 0.6.0; release 0.1 counts debug handles from 0 instead of 1."""
    dump = OLD / f"{name}_x3.etdp"
    table = linked(dump, RECORD / "0.1" / f"{name}_gen{release}.etrecord")
    later = linked(dump, OLD / f"{name}.etrecord")
    linked_keys = [k for k, link in enumerate(later.links) if link.operators]
    assert len(linked_keys) == {"cnn_portable": 20, "demo_str": 6}[name]
    for k, link in enumerate(later.links):
        assert table.links[k].reason is link.reason
        assert tuple(h + shift for h in table.links[k].handles) == link.handles
        assert [o.label for o in table.operators(k)] == [o.label for o in later.operators(k)]
        assert [o.source for o in table.operators(k)] == [o.source for o in later.operators(k)]


def test_kernels_inside_of_branches_say_so_and_which_operators_stand_there():
    table = linked(
        ETDUMP / "cond_nested_portable_x4.etdp", RECORD / "cond_nested_toedge_portable.etrecord"
    )
    found = {}
    for k in np.flatnonzero(table.trace.keys.kind == KeyKind.KERNEL).tolist():
        link = table.links[k]
        if link.reason is Reason.IN_BRANCH:
            assert link.reason.state is LinkState.UNLINKED
            near = [table.program.operators[i].debug_handle for i in link.near]
            found[int(table.trace.keys.instruction[k])] = (near, link.detail.split("; ")[1])
    # As in the instruction list of the .pte, whose 9 and 10 (exp, sub) no run came to.
    assert found == {
        3: ([4], "sigmoid is in the true branch of cond"),
        5: ([9], "cos is in the true branch of cond"),
        6: ([10, 8], "mul is in the true branch of cond and the false branch of cond"),
        12: ([6], "add is in the true branch of cond"),
        15: ([7], "sin is in the false branch of cond"),
        16: ([10, 8], "mul is in the true branch of cond and the false branch of cond"),
    }


def test_what_no_map_can_have_says_why():
    def details(dump: str, record: str) -> set[str]:
        table = linked(ETDUMP / dump, RECORD / record)
        rest = (link.detail for link in table.links if link.reason is Reason.NOT_IN_MAP)
        return {
            detail.partition("any instruction")[0].split(" for instruction ")[1] for detail in rest
        }

    assert details("buffer_portable_x3.etdp", "buffer_toedge_portable.etrecord") == {
        f"{i}: copy_ writes back a buffer or the state of a loop, which export adds without one"
        for i in (9, 10)
    }
    assert details("words_failing_x3.etdp", "words_toedge_portable.etrecord") == {
        f"{i}, and no kernel ran in it: probably a primitive of the runtime, such as a "
        "view or arithmetic on sizes"
        for i in (2, 5, 7)
    }


def test_an_operator_that_a_pass_replaced_is_linked_and_that_is_said():
    table = linked(ETDUMP / "cnn_transform_x3.etdp", RECORD / "cnn_transform_portable.etrecord")
    clamps = {
        (link.reason, next(op.label for op in table.operators(k)), link.detail)
        for k, link in enumerate(table.links)
        if table.trace.strings[int(table.trace.keys.name[k])] == "native_call_clamp.out"
    }
    assert clamps == {
        (Reason.REPLACED, f"f.{layer} · relu", f"Instruction {i} → debug handle {i + 1}. "
         "A transform pass replaced relu with clamp")
        for i, layer in ((2, 2), (5, 5))
    }  # fmt: skip


def test_an_unfinished_record_links_nothing_and_says_why():
    table = linked(ETDUMP / "cond_portable_x5.etdp", RECORD / "broken_partial_save.etrecord")
    assert not table.trace_match.match.checkable
    linkable = [x for x in table.links if x.reason.state is not LinkState.NOT_LINKABLE]
    assert {x.reason for x in linkable} == {Reason.NOT_IN_MAP}
    assert {x.detail for x in linkable} == {"The ETRecord maps no instruction to any debug handle"}


def test_every_linked_key_has_operators_and_no_other_has():
    for dump, record, _, _ in PAIRS:
        for link in linked(dump, record).links:
            assert bool(link.operators) == (link.reason.state is LinkState.LINKED)


def test_the_profile_as_a_plain_csv_names_the_same_operators():
    folder = SAMPLES / "plain_csv"
    plain = linked(folder / "demo_str_x4.csv", folder / "demo_str.etrecord")
    dump = linked(ETDUMP / "demo_str_x4.etdp", RECORD / "demo_str.etrecord")

    def by_identifier(table: LinkTable) -> dict:
        return {
            table.trace.keys.identifier[k]: link.operators
            for k, link in enumerate(table.links)
            if link.operators and table.trace.keys.kind[k] == KeyKind.DELEGATE_EVENT
        }

    assert by_identifier(plain) == by_identifier(dump)
    assert len(by_identifier(plain)) == 5


def test_torq_locations_find_the_operations_of_the_text():
    folder = DATA / "torq"
    table = linked(folder / "compile_c0_callsite.csv", folder / "tiny_cnn.mlir")
    assert {x.reason for x in table.links} == {Reason.BY_LOCATION}
    lines = (folder / "tiny_cnn.mlir").read_text().splitlines()
    for k in range(len(table.links)):
        for operator in table.operators(k):
            assert operator.source is not None
            assert operator.nodes[0].op in lines[operator.source.line - 1]


@pytest.mark.parametrize("program", ["tiny_cnn.mlir", "demo_str.etrecord"])
def test_a_pair_of_different_kinds_links_nothing_and_says_so(program, tmp_path):
    other = {
        "tiny_cnn.mlir": (ETDUMP / "demo_str_x4.etdp", DATA / "torq" / program),
        "demo_str.etrecord": (
            DATA / "torq" / "compile_c0_callsite.csv", RECORD / program,
        ),
    }  # fmt: skip
    table = linked(*other[program])
    assert not any(link.operators for link in table.links)
    assert not any(link.reason.state is LinkState.LINKED for link in table.links)


def test_reading_a_record_alone_gives_a_program():
    assert isinstance(open_file(str(RECORD / "demo_str.etrecord")), Program)


def test_keys_of_operators_are_those_whose_links_name_them():
    sample = SAMPLES / "attention_xnnpack"
    table = linked(next(sample.glob("*.etdp")), next(sample.glob("*.etrecord")))
    for operators in ((9,), (9, 10), table.sets[-1], (), (10_000,)):
        any_of = [bool(set(operators) & set(x.operators)) for x in table.links]
        just = [bool(operators) and set(operators) == set(x.operators) for x in table.links]
        assert table.keys_of(operators).tolist() == any_of
        assert table.keys_of(operators, exact=True).tolist() == just


# -- debug handle map files ------------------------------------------------------------------------


def by_name(table: LinkTable) -> dict[str, Link]:
    """Identifier, else name -> what its link says."""
    keys = table.trace.keys
    return {
        str(keys.identifier[k])
        if keys.identifier[k] is not None
        else table.trace.strings[int(keys.name[k])]: link
        for k, link in enumerate(table.links)
    }


def handle_map(calls: dict) -> Program:
    operators = tuple(
        Operator(i, "forward", i, (GraphNode("", f"debug handle {i}", i),)) for i in range(9)
    )
    delegates = {at: DelegateMap("Npu", entries) for at, entries in calls.items()}
    of_calls = {at: tuple(h for own in calls[at].values() for h in own) for at in calls if at >= 0}
    method = Method("forward", operators, of_calls, delegates, delegates_only=True)
    return Program("m.json", "Debug handle map", "", (method,))


@pytest.fixture
def run(dump) -> Trace:
    events = [
        logged.delegate("a", 0, 0, 4), logged.delegate(10, 0, 5, 6), logged.delegate("10", 0, 7, 8),
        logged.delegate("x", 0, 8, 9), logged.operator("DELEGATE_CALL", 0, 0, 10),
        logged.operator("native_call_add.out", 1, 11, 12),
        logged.operator("OPERATOR_CALL", 1, 11, 12),
        logged.framework("Method::execute", 0, 32),
    ]  # fmt: skip
    trace = open_file(str(dump(("Execute", events))))
    assert isinstance(trace, Trace)
    return trace


@pytest.mark.parametrize("at", [0, -1])
def test_events_are_linked_by_their_instruction_or_that_of_any_call(run, at):
    table = linking.link(run, handle_map({at: {"a": (1, 2), 10: (3,), "10": (4,)}}))
    keys = run.keys
    answers = {
        keys.identifier[k]: (table.links[k].reason, table.links[k].handles)
        for k in np.flatnonzero(keys.kind == KeyKind.DELEGATE_EVENT).tolist()
    }
    assert answers == {
        "a": (Reason.BY_IDENTIFIER, (1, 2)), 10: (Reason.BY_IDENTIFIER, (3,)),
        "10": (Reason.BY_IDENTIFIER, (4,)), "x": (Reason.IDENTIFIER_UNKNOWN, ()),
    }  # fmt: skip
    assert by_name(table)["a"].backend == "Npu"
    call = by_name(table)["DELEGATE_CALL"]
    if at == 0:  # its map names what is in it
        assert (call.reason, call.operators) == (Reason.BY_INSTRUCTION, (1, 2, 3, 4))
    else:
        assert call.reason is Reason.ONLY_DELEGATES
        assert call.detail == (
            "A debug handle map does not include the operators of the delegate call at "
            "instruction 0"
        )
        assert by_name(table)["x"].backend == ""  # it may be another backend's


def test_what_runs_outside_of_delegates_is_not_in_a_map(run):
    found = by_name(linking.link(run, handle_map({0: {"a": (1,)}})))
    for name in ("native_call_add.out", "OPERATOR_CALL"):
        assert found[name].reason is Reason.ONLY_DELEGATES
        assert "operators outside delegates" in found[name].detail
    assert by_name(linking.link(run, handle_map({7: {"a": (1,)}})))["a"].detail == (
        "The debug handle map has no delegate at instruction 0"
    )

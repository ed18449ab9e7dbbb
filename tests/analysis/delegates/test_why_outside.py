"""Why operators were not delegated: what a log says, what the files show, and nothing."""

from dataclasses import replace

import pytest

from tests.paths import DATA
from viewer.analysis.delegates.delegation import recorded
from viewer.analysis.delegates.why_outside import NOT_KNOWN, WhyOutside, logged_reasons
from viewer.program.debug_handles import DelegateMap
from viewer.program.program import GraphNode, Method, Operator, Program, Rejection, Tensor
from viewer.reports.delegation import delegation_facts, delegation_text
from viewer.workspace.workspace import Workspace

FILES = DATA / "partition_log"


def linears(*dtypes: str) -> Program:
    """Linear operators in a row with their dtypes, all but the last one delegated."""
    operators = tuple(
        Operator(
            i, "forward", i + 1,
            (
                GraphNode(
                    f"n{i}", "aten.linear.default", i + 1,
                    inputs=(Tensor(f"v{i}", dtype, (1, 8)),),
                    outputs=(Tensor(f"v{i + 1}", dtype, (1, 8)),),
                ),
            ),
        )
        for i, dtype in enumerate(dtypes)
    )  # fmt: skip
    inside = tuple(range(1, len(dtypes)))
    maps = {0: DelegateMap("Npu", {0: inside})}
    handles = {0: inside, 1: (len(dtypes),)}
    return Program("record", "ETRecord", "", (Method("forward", operators, handles, maps),))


def test_types_and_neighbors_are_named() -> None:
    record = linears("f32", "f32", "f32", "f32", "i64")
    assert WhyOutside(record, {}, {0, 1, 2, 3}).named(4) == (
        "linear (i64): 4 of 5 linear are delegated, of f32; its neighbor is delegated"
    )


def test_dynamic_shapes_are_named() -> None:
    record = linears("f32", "f32")
    last = record.methods[0].operators[1]
    node = replace(last.nodes[0], inputs=(Tensor("v1", "f32", ("s0", 8)),))
    method = replace(
        record.methods[0], operators=(record.methods[0].operators[0], replace(last, nodes=(node,)))
    )
    why = WhyOutside(replace(record, methods=(method,)), {}, {0})
    assert "its shapes are dynamic" in why.text(1)


def test_nothing_is_known_of_an_operator_in_a_program_without_delegates() -> None:
    assert WhyOutside(linears("f32"), {}, ()).named(0) == ""


def test_a_delegated_operator_has_no_reason() -> None:
    assert WhyOutside(linears("f32", "f32"), {0: "a pass before rejected it"}, {0}).text(0) == ""


def test_what_is_said_of_a_node_comes_before_its_type() -> None:
    record = linears("f32", "f32", "f32")
    of_type = Rejection("", "aten.Linear.default", "not supported")
    assert logged_reasons(record, [of_type]) == dict.fromkeys(range(3), "not supported")
    several = [of_type, Rejection("n1", "", "too large"), Rejection("n1", "", "of another type")]
    assert logged_reasons(record, several)[1] == "too large; of another type"
    assert logged_reasons(record, []) == {}


def workspace_of(*names: str) -> Workspace:
    workspace = Workspace()
    for name in names:
        workspace.open(str(FILES / name))
    return workspace


LOGGED = {
    "mean": "mean.dim only supports keepdim=True",
    "softmax": "dim must be the last dim, got dim = 0 for tensor of rank 2",
    "add": "invalid dtype",
}


@pytest.mark.parametrize("names", [("net.etrecord",), ("net.etdp", "net.etrecord")])
def test_each_row_has_what_the_log_says(names: tuple[str, ...]) -> None:
    """In any order of opening; an operator that the log does not name says so."""
    for order in ((*names, "xnnpack.log"), ("xnnpack.log", *names)):
        (file,) = delegation_facts(workspace_of(*order))["files"]
        rows = {row["label"]: row for row in file["stayed_outside"]}
        assert {label: rows[label]["why"] for label in LOGGED} == LOGGED
        assert [label for label, row in rows.items() if row["why_is_logged"]] == [
            label for label in rows if label in LOGGED
        ]
        assert rows["cumsum"]["why"].startswith("the partitioner's log has no reason; it is the")


def test_the_text_lists_reasons_or_says_once_that_none_is_known() -> None:
    text = delegation_text(delegation_facts(workspace_of("net.etrecord", "xnnpack.log")))
    assert "invalid dtype" in text
    assert NOT_KNOWN not in text
    record = linears("f32")
    bare = replace(record, methods=(replace(record.methods[0], delegates={}),))
    workspace = Workspace()
    workspace.add(bare)
    assert delegation_text(delegation_facts(workspace)).count(NOT_KNOWN) == 1


def test_a_log_of_another_model_says_nothing() -> None:
    workspace = workspace_of("net.etrecord", "xnnpack.log")
    (record,) = (one for one in workspace.programs if one.methods)
    assert len(workspace.rejected(record)) == 3
    assert workspace.rejected(linears("f32")) == {}
    assert not any(row.is_logged for row in recorded(record).not_delegated_rows)

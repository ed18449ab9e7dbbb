"""Agreement: real pairs that belong together against all that do not."""

from pathlib import Path

import pytest

from viewer.formats import open_file
from viewer.model.trace import Trace
from viewer.program.agreement import BELONG, fit
from viewer.program.graph import Program

DATA = Path(__file__).parent.parent / "data"

# The records of one row hold the same method, so their dumps fit them all.
FAMILIES = {
    "cnn_portable": (
        ["cnn_portable_x1", "cnn_portable_x2_debug", "cnn_portable_x10", "cnn_runtimeapi_x3"],
        ["cnn_toedge_portable", "cnn_standalone_deepcopy", "cnn_standalone_NOdeepcopy"],
    ),
    "cnn_xnnpack": (["cnn_xnnpack_x10"], ["cnn_teal_xnnpack", "cnn_session_xnnpack"]),
    "cond": (["cond_portable_x5"], ["cond_toedge_portable"]),
    "demo_generated_int": (["demo_generated_int_x4"], ["demo_generated_int"]),
    "demo_manual_int": (["demo_manual_int_x4"], ["demo_manual_int"]),
    "demo_portable": (["demo_portable_x3"], ["demo_portable"]),
    "demo_str": (["demo_str_x4"], ["demo_str"]),
    "multi_portable": (
        ["multi_encode_decode_portable_x3", "multi_forward_decode_portable_x3"],
        ["multi_encode_decode_toedge_portable", "multi_forward_decode_toedge_portable"],
    ),
    "multi_xnnpack": (["multi_forward_decode_xnnpack_x3"], ["multi_forward_decode_teal_xnnpack"]),
}


@pytest.fixture(scope="module")
def traces() -> dict[str, Trace]:
    return {
        name: open_file(str(DATA / "etdump" / f"{name}.etdp"))
        for dumps, _ in FAMILIES.values()
        for name in dumps
    }


@pytest.fixture(scope="module")
def programs() -> dict[str, Program]:
    return {
        name: open_file(str(DATA / "etrecord" / f"{name}.etrecord"))
        for _, records in FAMILIES.values()
        for name in records
    }


@pytest.mark.parametrize("family", FAMILIES)
def test_true_pairs_reach_the_threshold(family, traces, programs):
    dumps, records = FAMILIES[family]
    for dump in dumps:
        for record in records:
            found = fit(traces[dump], programs[record]).agreement
            assert found.value >= BELONG, (dump, record, str(found))
            assert found.belongs


@pytest.mark.parametrize("family", FAMILIES)
def test_false_pairs_with_evidence_stay_at_half_or_below(family, traces, programs):
    others = [r for name, (_, records) in FAMILIES.items() if name != family for r in records]
    for dump in FAMILIES[family][0]:
        for record in others:
            found = fit(traces[dump], programs[record]).agreement
            assert found.value <= 0.5 or not found.checkable, (dump, record, str(found))


def test_a_fully_delegated_pair_without_identifiers_cannot_be_checked(traces, programs):
    found = fit(
        traces["multi_forward_decode_xnnpack_x3"], programs["multi_forward_decode_teal_xnnpack"]
    )
    assert not found.agreement.checkable
    assert str(found.agreement) == "cannot be checked: nothing to compare"
    assert set(map(frozenset, found.undecided)) == {frozenset(), frozenset({"decode", "forward"})}


def test_one_branch_of_a_condition_a_run_is_averaged_not_joined(traces, programs):
    found = fit(traces["cond_portable_x5"], programs["cond_toedge_portable"]).agreement
    assert round(found.value, 2) == 0.69
    assert found.evidence == 5


def test_an_unknown_identifier_costs_its_share_of_the_call(traces, programs):
    found = fit(traces["demo_str_x4"], programs["demo_str"]).agreement
    assert (round(found.value, 4), found.evidence) == (0.8333, 6)  # 5 of 6 identifiers


def test_scopes_are_attributed_to_methods(traces, programs):
    found = fit(
        traces["multi_forward_decode_portable_x3"], programs["multi_forward_decode_toedge_portable"]
    )
    assert {m for m in found.methods if m} == {"forward", "decode"}
    assert not any(found.undecided)

"""What `opscope estimates` prints, as data and as text."""

from pathlib import Path

import pytest

from tests.builders.torq_host_trace import DISPATCH, host_trace
from viewer.analysis.torq.estimates import NO_HOST_CYCLES, Estimates
from viewer.reports.delegation import NO_ESTIMATES, estimate_facts, estimate_text
from viewer.workspace.snapshot import estimates_of_workspace
from viewer.workspace.workspace import Workspace


@pytest.fixture
def made(data) -> Estimates:
    space = Workspace()
    space.add(host_trace())
    for name in ("tiny_cnn.lowered_generic.mlir", "tiny_cnn.mlir"):
        space.open(str(data / "torq" / name))
    return estimates_of_workspace(space)


def test_facts_have_times_in_ns_and_operators_with_their_lines(made):
    facts = estimate_facts(made)
    assert facts["ns_per_cycle"] == 1.25
    assert [Path(s["path"]).name for s in facts["sources"]] == [
        "tiny_cnn.lowered_generic.mlir", "host.csv"
    ]  # fmt: skip
    assert facts["actions"][3] == {
        "dispatch": DISPATCH, "start_action": 3, "action": 4, "job": 0,
        "operation": "nss_program_0", "operators": ["tosa.conv2d@L11", "tosa.clamp@L13"],
        "on_npu": True, "estimate_cycles": 55002, "estimate_ns": 68752.5, "runs": 1,
        "mean_ns": 123_000.0, "p50_ns": 123_000.0, "min_ns": 123_000.0, "max_ns": 123_000.0,
        "ratio": 1.789, "reason": None,
    }  # fmt: skip
    assert facts["actions"][0]["reason"] == NO_HOST_CYCLES
    assert facts["operators"][2]["operators"] == ["tosa.depthwise_conv2d@L14", "tosa.rescale@L17"]


def test_the_text_has_aligned_columns_and_each_reason_once(made):
    lines = estimate_text(made).split("\n")
    job = next(line for line in lines if "nss_program_0" in line)
    assert job.split() == [
        "3", "..", "4", "0", "nss_program_0", "tosa.conv2d@L11", "+", "tosa.clamp@L13",
        "68.752", "µs",
        *["123.000", "µs"] * 4, "1", "1.79",
    ]  # fmt: skip
    table = lines[lines.index(DISPATCH) + 1 :][:13]
    assert {len(line) for line in table} == {len(table[0])}
    assert sum(NO_HOST_CYCLES in line for line in lines) == 1


def test_where_nothing_can_be_compared_the_text_says_what_to_open():
    assert estimate_text(estimates_of_workspace(Workspace())) == NO_ESTIMATES

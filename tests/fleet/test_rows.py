"""The rows of a profile are the figures of the cost panels and of comparisons."""

import numpy as np
import pytest

from tests.paths import DATA, SAMPLES
from viewer.analysis.comparison.sessions import sessions_of
from viewer.analysis.cost.costs import Costs
from viewer.fleet.rows import ProfileRows
from viewer.model.figures import STEADY
from viewer.workspace.workspace import Workspace

DUMPS, RECORDS = DATA / "etdump", DATA / "etrecord"
PROFILES = {
    "portable": (DUMPS / "cnn_portable_x10.etdp", RECORDS / "cnn_toedge_portable.etrecord"),
    "delegate": (DUMPS / "cnn_xnnpack_x10.etdp", RECORDS / "cnn_teal_xnnpack.etrecord"),
    "branches": (DUMPS / "cond_portable_x5.etdp", RECORDS / "cond_toedge_portable.etrecord"),
    "pytorch": (DATA / "chrome_json/torch_training.json.gz",),
}


def rows_of(*paths):
    space = Workspace()
    for path in paths:
        space.open(str(path))
    return ProfileRows(space)


@pytest.mark.slow
@pytest.mark.parametrize("paths", PROFILES.values(), ids=list(PROFILES))
def test_times_per_inference_add_up_to_the_costs(paths):
    made = rows_of(*paths)
    rows = made.of("inference_operators")
    table, rate = made.table, made.rate.ns_per_tick
    costs = Costs(table)
    (session,) = sessions_of(table, float(rate))
    place = {(run.number, table.method_of_scope(run.scope)): run for run in session.runs}
    sums = {}
    for number, method, own, shared in zip(
        rows["inference"], rows["method"], rows["self_ns"], rows["shared_ns"], strict=True
    ):
        assert (own == 0) != (shared == 0) or own == shared == 0
        one = sums.setdefault((number, method), [0, 0])
        one[0] += own
        one[1] += shared
    assert sums
    for (number, method), (own, shared) in sums.items():
        run = place.get((number, method)) or next(r for r in session.runs if r.number == number)
        expected = costs.of_run(run)
        single = sum(row.ticks for row in expected.rows if not row.is_shared)
        assert own == pytest.approx(single * float(rate), abs=len(rows["id"]))
        assert shared == pytest.approx(expected.shared * float(rate), abs=len(rows["id"]))


def test_shared_time_is_one_row_of_its_set(tmp_path):
    rows = rows_of(*PROFILES["delegate"]).of("inference_operators")
    shared = [i for i, count in enumerate(rows["operators"]) if count > 1]
    assert shared
    assert all(rows["self_ns"][i] == 0 and "+" in rows["id"][i] for i in shared)
    assert {rows["backend"][i] for i in shared} == {"XnnpackBackend"}


def test_calls_are_the_slices_of_the_costs():
    made = rows_of(*PROFILES["portable"])
    rows = made.of("inference_operators")
    operators = made.table.program.operators
    slices = {
        "+".join(str(operators[i].debug_handle) for i in row.operators): row.slices
        for row in Costs(made.table).rows(STEADY)
    }
    counted: dict[str, int] = {}
    for one, calls in zip(rows["id"], rows["calls"], strict=True):
        counted[one] = counted.get(one, 0) + calls
    assert counted == {one: slices[one] for one in counted}


def test_without_a_record_rows_are_calls_as_in_a_comparison():
    made = rows_of(PROFILES["portable"][0])
    rows = made.of("inference_operators")
    (session,) = made.sessions
    (times,) = session.methods
    assert set(rows["level"]) == {"calls"}
    assert sum(rows["self_ns"]) == int(np.nansum(times.ticks))
    assert len(set(rows["id"])) == len(times.parts)


def test_events_inside_delegate_calls_do_not_count_twice():
    made = rows_of(PROFILES["delegate"][0])
    rows, inferences = made.of("inference_operators"), made.of("inferences")
    long = dict(zip(inferences["inference"], inferences["dur_ns"], strict=True))
    (session,) = made.sessions
    assert any(part.id.event for times in session.methods for part in times.parts)
    for number in set(rows["inference"]):
        own = [ns for n, ns in zip(rows["inference"], rows["self_ns"], strict=True) if n == number]
        assert 0 < sum(own) <= long[number]


def test_a_plain_table_has_names():
    rows = rows_of(DATA / "table_csv/two_threads.csv").of("inference_operators")
    assert set(rows["level"]) == {"names"}
    assert set(rows["method"]) == {None}


def test_inferences_have_those_that_warm_up():
    made = rows_of(*PROFILES["portable"])
    rows = made.of("inferences")
    assert rows["inference"] == list(range(1, 11))
    assert [s is None for s in rows["session"]] == rows["warm_up"]
    steady = [n for n, warm in zip(rows["inference"], rows["warm_up"], strict=True) if not warm]
    assert sorted(set(made.of("inference_operators")["inference"])) == steady


def test_findings_and_slices():
    sample = SAMPLES / "attention_xnnpack"
    made = rows_of(sample / "attn_xnnpack_x5.etdp", sample / "attn_teal_xnnpack.etrecord")
    assert made.of("findings")["rank"][0] == 1
    slices = made.of("slices")
    assert len(slices["name"]) == len(made.trace.slices)


def test_inferences_have_phases_and_the_time_between_them():
    rows = rows_of(DATA / "phases" / "llm_200.etdp").of("inferences")
    assert rows["phase"] == ["prefill", *["decode"] * 200]
    assert rows["gap_ns"] == [None, *[1_500_000] * 200]


def test_operators_per_inference_are_of_the_phase_with_most_inferences():
    rows = rows_of(DATA / "phases" / "llm_200.etdp").of("inference_operators")
    assert 1 not in rows["inference"]

"""What a comparison of profiles gets wrong easily; each has a test with its name."""

from dataclasses import replace

import pytest

from tests.analysis.comparison.test_comparison import BASE, by_label, sessions
from tests.analysis.comparison.test_rows import arms
from tests.analysis.comparison.test_sessions import whole
from tests.builders.compare_sessions import arm
from tests.builders.etdump_writer import Run, operator, write_dump
from viewer.analysis.comparison.arms import Arm
from viewer.analysis.comparison.comparison import Comparison, Doubt, Verdict

PROVEN = {Verdict.SLOWER, Verdict.FASTER}


def pairs_of(comparison):
    """The labels of both sides of each row in both arms."""
    return {
        tuple(
            arm.program.operators[arm.parts[parts[0]].operators[0]].label
            for arm, parts in ((comparison.a, row.a), (comparison.b, row.b))
        )
        for row in comparison.rows
        if row.a and row.b
    }


def test_a_against_a(tmp_path):
    a = sessions(tmp_path, "a", BASE)
    comparison = Comparison(a, a)
    assert {one.change for one in comparison.compared} == {0.0}
    assert not {one.verdict for one in comparison.compared} & PROVEN


def test_a_and_b_swapped(tmp_path):
    a = sessions(tmp_path, "a", BASE)
    b = sessions(tmp_path, "b", {**BASE, "conv.out": 130_000})
    there, back = by_label(Comparison(a, b)), by_label(Comparison(b, a))
    for label, one in there.items():
        assert back[label].change_ns == pytest.approx(-one.change_ns)
    assert (there["conv.out"].verdict, back["conv.out"].verdict) == (
        Verdict.SLOWER, Verdict.FASTER,
    )  # fmt: skip


def test_one_renamed_module():
    pairs = pairs_of(Comparison(*arms("02_module_renamed")))
    assert any(a.partition(" · ")[0] != b.partition(" · ")[0] for a, b in pairs)
    assert all(a.rpartition(" · ")[2] == b.rpartition(" · ")[2] for a, b in pairs)


@pytest.mark.parametrize("edit", ["05_swapped", "16_methods_swapped"])
def test_swapped_layers_and_methods_in_another_order(edit):
    comparison = Comparison(*arms(edit))
    assert comparison.rows
    assert all(row.a and row.b for row in comparison.rows)


def test_fused_in_b():
    """A batch norm that B folds into the convolution is one row with it, and no time is divided."""
    comparison = Comparison(*arms("20_bn_folded"))
    joined = [row for row in comparison.rows if len(row.a) > len(row.b) >= 1]
    assert joined
    parts = [part for row in comparison.rows for part in row.a]
    assert len(parts) == len(set(parts))


def test_an_operator_only_in_b(tmp_path):
    a = sessions(tmp_path, "a", BASE)
    found = by_label(Comparison(a, sessions(tmp_path, "b", {**BASE, "new.out": 9_000})))
    assert found["new.out"].doubt is Doubt.ONLY_IN_ONE
    assert not {one.verdict for one in found.values()} & PROVEN


def test_a_clock_restart(tmp_path):
    """A device that restarted while it recorded one file made two sessions."""
    runs = []
    for began in (10_000_000, 20_000_000, 1_000, 5_000_000):
        call = operator("OPERATOR_CALL", 0, began + 100, began + 300, chain=0)
        runs.append(Run("Execute", [call, whole(began, began + 900)]))
    assert len(arm(write_dump(tmp_path / "d.etdp", runs)).sessions) == 2


def test_cycles_against_ns(data):
    cycles = arm(data / "torq" / "compile_c3_taskid_mtu.csv")
    ns = arm(data / "compare" / "06_portable_vs_xnnpack" / "a.etdp")
    assert cycles.units == {"cycle"}
    found = [*Comparison(cycles, ns).compared, Comparison(cycles, ns).inference]
    assert not {one.verdict for one in found} & {*PROVEN, Verdict.NO_CHANGE}
    assert Comparison(cycles, ns).inference.doubt is Doubt.DIFFERENT_CLOCKS


def test_one_run(tmp_path):
    """A session of one inference has a median; one session of it proves nothing."""
    whole = sessions(tmp_path, "a", BASE, [0.0])
    one = Arm((replace(whole.sessions[0], runs=whole.sessions[0].runs[:1]),))
    assert {row.doubt for row in Comparison(one, whole).compared} <= {
        Doubt.ONE_SESSION, Doubt.BELOW_CLOCK,
    }  # fmt: skip


def test_medians_of_0(tmp_path):
    a = sessions(tmp_path, "a", {**BASE, "add.out": 0})
    found = by_label(Comparison(a, sessions(tmp_path, "b", {**BASE, "add.out": 0})))
    assert (found["add.out"].change, found["add.out"].verdict) == (None, Verdict.CANNOT_TELL)


def test_a_drift_of_5_percent(tmp_path):
    """All operators 5 % slower is the device, and within the threshold."""
    a = sessions(tmp_path, "a", BASE)
    b = sessions(tmp_path, "b", {name: round(1.049 * ns) for name, ns in BASE.items()})
    assert not {one.verdict for one in Comparison(a, b).compared} & PROVEN


def test_one_bad_session_of_five(tmp_path):
    noise = [0.0, 0.01, -0.01, 0.02]
    a, b = sessions(tmp_path, "a", BASE, noise), sessions(tmp_path, "b", BASE, [*noise, 2.0])
    assert not {one.verdict for one in Comparison(a, b).compared} & PROVEN


def test_sessions_that_ran_different_methods():
    """Their inferences add up only the methods that all sessions ran, and a note says so."""
    a, b = arms("16_methods_swapped")
    session = b.sessions[0]
    methods = b.methods[0]
    assert len(methods) == 2
    scopes = {run.scope for run in session.runs if session.method_of(run.scope)[0] == methods[0]}
    one = Arm((replace(session, runs=tuple(r for r in session.runs if r.scope in scopes)),))
    comparison = Comparison(a, one)
    assert comparison.inference.b_ns == pytest.approx(one.inference[0])
    assert comparison.inference.a_ns < a.inference[0]
    assert comparison.notes == (
        f"The inference adds up {methods[0]} of 2 methods, as not every session ran the others.",
    )
    assert Comparison(a, b).notes == ()

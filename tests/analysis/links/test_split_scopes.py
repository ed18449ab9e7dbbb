"""Inferences with a scope of their own: only scopes differ, and links follow the chosen methods."""

from dataclasses import replace

import numpy as np
import pytest

from tests.paths import DATA
from viewer.analysis.cost.costs import Costs
from viewer.analysis.links.linker import link
from viewer.analysis.links.match import match_trace
from viewer.analysis.sequence.phases import ScopePart, split_scopes
from viewer.formats import open_file
from viewer.model.inference_views import with_methods
from viewer.model.trace import RunKind, Trace
from viewer.model.warm_up import with_warm_up
from viewer.program.program import Program

PREFILL, FORWARD = ScopePart(0, frozenset({1, 3})), ScopePart(0, frozenset({2, 4}))


@pytest.fixture(scope="module")
def multi() -> Trace:
    """Inferences 1 and 3 of Execute 1 are prefill, 2 and 4 forward; those of Execute 2 decode."""
    return open_file(str(DATA / "pte" / "multi3.etdp"))


@pytest.fixture(scope="module")
def record() -> Program:
    return open_file(str(DATA / "pte" / "multi3.etrecord"))


def scopes(trace: Trace) -> list[tuple[str, int, int]]:
    """(name of the scope, its index, number) of every inference."""
    return [(trace.scopes[r.scope].name, r.scope, r.number) for r in trace.inferences()]


def test_only_the_scopes_of_the_chosen_inferences_differ(multi):
    split = split_scopes(multi, [PREFILL])
    assert [scope.name for scope in split.scopes] == ["Execute 1", "Execute 2", "load", "Execute 1"]
    assert [one for one in scopes(split) if one[0] == "Execute 1"] == [
        ("Execute 1", 3, 1), ("Execute 1", 0, 2), ("Execute 1", 3, 3), ("Execute 1", 0, 4),
    ]  # fmt: skip
    for name in ("kind", "name", "instruction", "identifier", "location"):
        before, after = getattr(multi.keys, name), getattr(split.keys, name)
        assert np.array_equal(before[multi.slices.key], after[split.slices.key])
    changed = multi.keys.scope[multi.slices.key] != split.keys.scope[split.slices.key]
    own = [run for run in multi.inferences() if PREFILL.has(run)]
    spans = [(multi.slices.start >= run.start) & (multi.slices.end <= run.end) for run in own]
    on_track = multi.slices.row_track[multi.slices.rows()] == own[0].track
    assert np.array_equal(changed, (spans[0] | spans[1]) & on_track)
    assert split.slices.start is multi.slices.start
    assert not split.slices.key.flags.writeable


def test_no_key_is_left_without_a_slice(multi):
    """Else a scope without inferences would look as if its method were not decided."""
    split = split_scopes(multi, [PREFILL, FORWARD])
    assert np.bincount(split.slices.key, minlength=len(split.keys)).all()
    assert 0 not in split.keys.scope
    assert {run.scope for run in split.inferences()} == {1, 3, 4}


def test_each_part_is_linked_and_charged_to_its_method(multi, record):
    split = split_scopes(multi, [PREFILL, FORWARD])
    table = link(split, record, match_trace(split, record, {3: "prefill", 4: "forward"}))
    costs, methods = Costs(table), []
    for run in split.inferences():
        ran = {record.operators[i].method for row in costs.of_run(run).rows for i in row.operators}
        methods.append(ran)
    assert methods == [{"prefill"}, {"decode"}, {"forward"}, {"decode"}] * 2
    alone = link(multi, record, match_trace(multi, record, {0: "prefill"}))
    first, third = (run for run in multi.inferences() if PREFILL.has(run))
    for run in (first, third):
        assert costs.of_run(run) == Costs(alone).of_run(run)


def test_the_inferences_that_warm_up_are_those_of_the_load(multi):
    """Of the seven that follow the last load of the scope, the first one warms up."""
    multi = with_methods(multi, [0], [])
    ran = [run for run in multi.runs if run.scope == 0 and run.kind is RunKind.INFERENCE]
    more = [replace(run, number=run.number + 4, start=run.start + 10**9) for run in ran]
    more = [replace(run, end=run.end + 10**9) for run in more]
    runs = with_warm_up([*multi.runs, *more], [track.process for track in multi.tracks])
    split = split_scopes(replace(multi, runs=runs), [ScopePart(0, frozenset({2, 5, 6}))])
    of_method = [run for run in split.runs if run.warms_up and run.scope != 1]
    assert [(run.number, run.scope) for run in of_method] == [(2, 3)]


def test_what_nobody_chose_stays_undecided(multi, record):
    split = split_scopes(multi, [ScopePart(0, frozenset({1}))])
    found = match_trace(split, record, {3: "prefill"})
    assert found.methods == (None, "decode", None, "prefill")
    assert set(found.undecided[0]) == {"prefill", "forward"}
    assert found.undecided[3] == ()


def test_kernels_that_passes_replaced_stay_linked_in_every_part():
    dump, record = (open_file(str(DATA / "pte" / f"tpass2.{end}")) for end in ("etdp", "etrecord"))
    before = match_trace(dump, record)
    (scope,) = {run.scope for run in dump.inferences()}
    assert before.replaced[scope]
    split = split_scopes(dump, [ScopePart(scope, frozenset({1}))])
    after = match_trace(split, record)
    assert after.replaced[scope] == after.replaced[-1] == before.replaced[scope]
    assert after.methods[scope] == after.methods[-1] == before.methods[scope]

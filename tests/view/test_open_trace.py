"""What follows from slices alone is worked out once, whatever the rate of their clock."""

from fractions import Fraction

from tests.builders.workspaces import opened
from viewer.model.inference_views import Inferences
from viewer.view import open_trace
from viewer.view.open_trace import OpenTrace, views_of
from viewer.workspace.workspace import Workspace

CYCLES = "compile_c0_callsite.csv"


def shown(space: Workspace, known: OpenTrace | None = None) -> OpenTrace:
    as_run = Inferences.AS_RUN
    views = {} if known is None else {(known.file, as_run): known}
    return views_of(space, {as_run}, views)[space.traces[0], as_run]


def test_another_rate_shares_the_facts_of_the_ticks(monkeypatch):
    counted = []
    busy_of_tracks = open_trace.busy_of_tracks

    def count(trace):
        counted.append(trace)
        return busy_of_tracks(trace)

    monkeypatch.setattr(open_trace, "busy_of_tracks", count)
    space = opened(CYCLES)
    before = shown(space)
    assert not before.facts.busy_is_known
    tracks = before.tracks
    space.set_clock(space.traces[0].path, Fraction(10))
    after = shown(space, before)
    assert after is not before
    assert after.rate != before.rate
    assert after.tracks is tracks
    # What is worked out later is known on both sides too.
    assert len(after.facts.busy) == len(space.traces[0].tracks)
    assert before.facts.busy_is_known
    assert before.facts.busy is after.facts.busy
    assert counted == [space.traces[0]]


def test_nothing_changed_is_the_same_object():
    space = opened(CYCLES)
    before = shown(space)
    assert shown(space, before) is before

"""What a profile computes besides its tables."""

import sys

import pytest

import viewer
from tests.builders.profiles import ATTENTION, CHROME, profile
from viewer.api import profile as profile_module


def test_a_query_is_that_of_the_search():
    slices = profile().slices
    found = profile().query("dur > 10us")
    assert found.index.tolist() == slices.index[slices.dur_ns > 10_000].tolist()
    linked = profile().query("op:linear inference:2")
    assert set(linked.inference) == {2}
    assert linked.operators.str.contains("linear|addmm|view").all()
    for wrong in ("dur >", "", "dur > 100 cycles", "opp:linear"):
        with pytest.raises(ValueError, match=r"\w"):
            profile().query(wrong)


def test_costs_add_up_to_the_whole():
    costs = profile().cost()
    executed = profile().slices.query("name == 'Method::execute'").dur_ns.sum()
    assert costs.time_ns.sum() == executed
    assert costs.share.sum() == pytest.approx(1, abs=1e-4)
    modules = profile().modules
    rest = costs[costs.operators.map(len) == 0].time_ns.sum()
    assert modules.self_ns.sum() + modules.shared_ns.sum() + rest == executed
    second = profile().inferences.dur_ns[1]
    assert profile().cost(inference=2).time_ns.sum() == second


def test_flows_are_rows_of_the_slices():
    flows, slices = profile().flows, profile().slices
    ends = slices.start_ns + slices.dur_ns
    proven = flows[flows.kind == "proven"]
    assert len(proven)
    later = slices.start_ns[proven.consumer].to_numpy() >= ends[proven.producer].to_numpy()
    assert later.all()


def test_wrong_groups_and_inferences_are_errors():
    with pytest.raises(ValueError, match="no statistics by unit"):
        profile(CHROME).stats("unit")
    with pytest.raises(ValueError, match="there is no inference 9"):
        profile().stats("name", inference=9)


@pytest.mark.parametrize(
    ("ask", "why"),
    [
        (lambda profile: profile.stats("name", span=(5, 1)), "ends before it begins"),
        (lambda profile: profile.calls(span=(5, 1)), "ends before it begins"),
        (lambda profile: profile.calls(depth=0), "at least 1"),
        (lambda profile: profile.calls(min_percent=500), "from 0 to 100"),
        (lambda profile: profile.calls("line"), "use one of name, operator, module, type"),
        (lambda profile: profile.calls("zz"), "use one of name, operator, module, type"),
    ],
)
def test_what_the_commands_refuse_is_an_error_in_python_too(ask, why):
    with pytest.raises(ValueError, match=why):
        ask(profile())


def test_chosen_columns_of_slices():
    table = profile().slices_with("dur_ns", "name")
    assert table.columns.tolist() == ["dur_ns", "name"]
    with pytest.raises(KeyError, match="slices have no column 'nope'"):
        profile().slices_with("nope")


def test_two_profiles_are_in_one_table():
    both = viewer.open(*profile().files, *CHROME)
    parts = [profile().slices, profile(CHROME).slices]
    assert len(both.slices) == sum(map(len, parts))
    assert both.slices.dur_ns.sum() == sum(part.dur_ns.sum() for part in parts)


def test_a_perfetto_trace_opens_again(tmp_path):
    path = tmp_path / "out.pftrace"
    profile().to_perfetto(path)
    again = viewer.open(path).slices
    assert len(again) == len(profile().slices)
    assert again.operators.value_counts().to_dict() == (
        profile().slices.operators.value_counts().to_dict()
    )
    with pytest.raises(ValueError, match="the name must end in one of"):
        profile().to_perfetto(tmp_path / "out.csv")


def test_a_notebook_shows_a_page_or_without_a_profile_the_text():
    assert "<svg" in profile()._repr_mimebundle_()["text/html"]
    record = profile(ATTENTION[1:])
    assert record._repr_mimebundle_() == {"text/plain": repr(record)}


def test_the_window_opens_in_a_process_of_its_own(monkeypatch):
    started = []
    monkeypatch.setattr(
        profile_module.subprocess, "Popen", lambda command, **rest: started.append(command)
    )
    profile().show()
    dump, record = profile().files
    viewer.open(dump, record, pair={dump: record}, clock="800MHz", part=()).show()
    start = [sys.executable, "-m", "viewer"]
    options = ["--pair", f"{dump}={record}", "--clock", "800MHz"]
    assert started == [[*start, dump, record], [*start, *options, dump, record]]

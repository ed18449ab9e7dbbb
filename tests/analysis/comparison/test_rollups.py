"""The times of groups of slices: they are the costs of the panels, and add up."""

from dataclasses import replace

import numpy as np
import pytest

from tests.analysis.comparison.test_rows import arms
from tests.builders.compare_sessions import arm
from tests.builders.path_arms import arm_of_traces, nested
from tests.paths import DATA
from viewer.analysis.comparison.levels import LEVELS, MODULE, NAME, TYPE, UNIT
from viewer.analysis.comparison.rollups import _united, group_of_slices, rolled_times
from viewer.analysis.cost.costs import Costs
from viewer.analysis.statistics.npu_units import UnitOverview
from viewer.analysis.torq.measured_actions import identified_slices
from viewer.formats import open_file
from viewer.model import intervals
from viewer.model.recorded_names import ACTION, LOCATION, TASK
from viewer.program.program import type_of


def totals(one, level):
    """The total time of every group over the inferences of the first session."""
    (times,) = one.by(level)._times[0]
    return {part.name: np.nan_to_num(times.ticks[:, i]).sum() for i, part in enumerate(times.parts)}


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("edit", ["06_portable_vs_xnnpack", "16_methods_swapped"])
def test_the_groups_of_a_level_have_all_the_time_of_operators(edit, level):
    for one in arms(edit):
        session = one.sessions[0]
        cost = Costs(session.table)
        of_sets = cost.ticks_of_node_sets(session.runs)
        medians = [np.median(own[own > 0]) for own in of_sets.T if (own > 0).any()]
        of_one = sum(totals(one, level).values()) / len(session.runs)
        assert of_one == pytest.approx(sum(medians))


def test_names_are_those_of_all_processes():
    names = ("<method items at 0x7f0e4703d0c0>", "<method items at 0x55d0c0aa>")
    a, b = (arm_of_traces(nested(name, {name: 100})) for name in names)
    assert [totals(one, NAME) for one in (a, b)] == [{"<method items>": 100}] * 2
    assert group_of_slices(a.sessions[0], NAME)[0] == [("<method items>",)]


def test_self_times_by_name_are_those_of_the_inferences():
    """Time that no event of a delegate accounts for is in its call alone, not once more."""
    one = arm(DATA / "etdump/cnn_xnnpack_x10.etdp")
    found = totals(one, NAME)
    assert found["DELEGATE_CALL"] > 0
    assert "unattributed" not in found
    assert sum(found.values()) == sum(run.end - run.start for run in one.sessions[0].runs)


def test_an_event_that_took_0_ran():
    """XNNPACK counts whole µs: of a short kernel, most inferences have 0, and so has the median."""
    one = arm(DATA / "etdump/cnn_xnnpack_x10.etdp")
    (times,) = one.by(NAME)._times[0]
    names = [part.name for part in times.parts]
    own = times.ticks[:, names.index("Transpose (ND, X32) #1")]
    assert (own > 0).any()
    assert np.median(own) == 0


def test_types_are_those_of_the_operators():
    a, _ = arms("09_wider")
    assert set(totals(a, TYPE)) == {type_of(op) for op in a.program.operators}


def test_time_that_modules_share_is_a_group_of_its_own():
    _, b = arms("06_portable_vs_xnnpack")
    shared = [name for name in totals(b, MODULE) if " + " in name]
    assert shared
    parts = {part.name: part.id.group for part in b.by(MODULE).parts}
    assert all(len(parts[name]) > 1 for name in shared)


def test_a_profile_without_inferences_is_one():
    one = arm(DATA / "table_csv/two_threads.csv")
    (session,) = one.sessions
    assert session.is_whole
    assert totals(one, NAME) == {
        "frame": 1_000_000, "resize": 4_000_000, "normalize": 1_000_001, "send": 123,
        'model "v2"': 9_999_999,
    }  # fmt: skip


def test_estimates_are_not_measured():
    one = arm(DATA.parents[1] / "resources/samples/torq_npu/compile.csv").by(NAME)
    assert one.parts
    assert not one.is_measured.any()


def test_a_group_is_the_sum_of_the_medians_of_what_is_in_it():
    """In each inference another call is interrupted; the sum of the medians does not show it."""
    (session,) = arms("06_portable_vs_xnnpack")[0].sessions
    (times,) = rolled_times(session, "module")
    alone = [rolled_times(replace(session, runs=(run,)), "module")[0] for run in session.runs]
    by_part = {part.id: times.ticks[0, i] for i, part in enumerate(times.parts)}
    assert np.ptp(times.ticks, axis=0).max() == 0  # the same in every inference
    for part, ticks in by_part.items():
        own = [
            one.ticks[0, i] for one in alone for i, p in enumerate(one.parts) if p.id == part
        ]  # fmt: skip
        assert min(own) <= ticks <= max(own)


TASKS = DATA / "torq/compile_c3_taskid_mtu.csv"


@pytest.mark.parametrize("level", [LOCATION, TASK])
def test_units_that_work_at_once_for_a_location_count_once(level):
    trace = arm(TASKS).sessions[0].table.trace
    names, group = identified_slices(trace, level)
    for number, name in enumerate(names):
        own = group == number
        expected = intervals.length(trace.slices.start[own], trace.slices.end[own])
        assert totals(arm(TASKS), level)[" + ".join(name)] == expected


def test_every_run_has_its_own_times():
    """The jobs of a host profile are on a track without runs."""
    one = arm(DATA / "torq/host_h4_latest_2inv.csv")
    session = one.sessions[0]
    (times,) = one.by(ACTION)._times[0]
    number = [part.name for part in times.parts].index("action 4")
    trace = session.table.trace
    jobs = [i for i in range(len(trace.slices)) if trace.name(i) == "job 0"]
    lengths = [int(trace.slices.end[i] - trace.slices.start[i]) for i in jobs]
    assert len(session.runs) == 2
    assert times.ticks[:, number].tolist() == lengths


def test_units_have_the_times_of_their_overview():
    found = totals(arm(TASKS), UNIT)
    overview = UnitOverview(arm(TASKS).sessions[0].table.trace).rows()
    assert found == {row.label: row.ticks for row in overview if row.ticks and row.key != "overall"}
    (times,) = arm(TASKS).by(UNIT)._times[0]
    assert not times.measured.any()


def test_profiles_without_units_have_no_unit_rows():
    assert totals(arm(DATA / "chrome_json/torch_training.json.gz"), UNIT) == {}


def test_unions_of_any_length_are_exact():
    start = np.array([0, 5, 2**61, 0, 3])
    end = np.array([10, 7, 2**61 + 4, 2, 4])
    place = np.array([0, 0, 0, 2, 2])
    assert _united(place, start, end, 3).tolist() == [14, 0, 3]
    assert _united(place[3:], start[3:], end[3:], 3).tolist() == [0, 0, 3]
    assert _united(place[:0], start[:0], end[:0], 2).tolist() == [0, 0]


def test_units_that_a_table_of_layers_states_have_the_times_of_their_layers():
    one = arm_of_traces(open_file(str(DATA / "layers/aihub_profile.json")))
    assert totals(one, UNIT) == {"NPU": 217_000, "CPU": 940_000}
    groups, of_slice = group_of_slices(one.sessions[0], UNIT)
    assert [groups[i][0] for i in of_slice.tolist()] == ["NPU", "NPU", "NPU", "CPU", "NPU"]

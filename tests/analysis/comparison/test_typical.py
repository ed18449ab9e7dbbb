"""The inference that shows an arm best."""

from tests.builders.compare_sessions import INFERENCES, arm, write_session, write_sessions
from tests.builders.workspaces import workspace_of
from tests.paths import DATA
from viewer.analysis.comparison.arms import Arm, typical_run
from viewer.workspace.comparison_arms import arm_of
from viewer.workspace.workspace import Workspace


def test_it_has_no_interrupted_call_though_most_inferences_have_one(tmp_path):
    times = {name: [100_000] * INFERENCES for name in ("a.out", "b.out", "c.out")}
    for n in range(3, INFERENCES - 1):
        times[list(times)[n % 3]][n] = 5_000_000
    _, run = typical_run(arm(write_session(tmp_path / "run.etdp", times)))
    assert run.number == INFERENCES


def test_parts_that_make_up_for_each_other_do_not_make_it_typical(tmp_path):
    # Inference 5 takes exactly as long as the medians add up to, but neither part does.
    times = {"a.out": [1_000] * INFERENCES, "b.out": [9_000] * INFERENCES}
    for n in range(INFERENCES):
        times["b.out"][n] += 50
    times["a.out"][4], times["b.out"][4] = 9_050, 1_000
    _, run = typical_run(arm(write_session(tmp_path / "run.etdp", times)))
    assert run.number != 5


def test_the_time_between_its_calls_is_usual_too(tmp_path):
    # The calls of inference 7 take exactly the median time, those of others 10 ns more or less.
    times = {"a.out": [990] * 6 + [1_000] + [1_010] * 4 + [990]}
    path = write_session(tmp_path / "run.etdp", times, gaps={6: 500_000})
    _, run = typical_run(arm(path))
    assert run.number != 7


def test_it_is_of_the_session_nearest_to_the_medians(tmp_path):
    sessions = [{"a.out": ns} for ns in (100, 200, 1_000)]
    session, _ = typical_run(arm(*write_sessions(tmp_path, "s", *sessions)))
    assert session.name == "s1.etdp"


def test_a_chosen_method_decides_where_there_are_several():
    workspace = Workspace()
    for name in ("multi3.etdp", "multi3.etrecord", "multi3.pte"):
        workspace.open(str(DATA / "pte" / name))
    found = arm_of(workspace)
    for method in ("Execute 1", "decode"):
        session, run = typical_run(found, method)
        assert session.method_of(run.scope)[0] == method
    assert typical_run(found, "no such method")[1] == typical_run(found)[1]


def test_an_arm_without_sessions_has_none():
    assert typical_run(Arm(())) is None


def test_a_profile_without_methods_has_its_only_run(tmp_path):
    workspace = workspace_of(DATA / "chrome_json" / "kineto_cpu.json")
    found = arm_of(workspace)
    assert typical_run(found)[1] in found.sessions[0].runs

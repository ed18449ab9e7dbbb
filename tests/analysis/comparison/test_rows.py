"""Rows: calls that share operators are one, and every row of a labeled edit has its true calls."""

import json
from fractions import Fraction

import pytest

from tests.analysis.comparison.test_operator_pairs import EDITS
from tests.builders.compare_sessions import arm, write_sessions
from tests.builders.stretched_traces import TRAINING, write_stretched
from tests.paths import DATA
from viewer.analysis.comparison.comparison import Comparison, Doubt, Verdict
from viewer.analysis.comparison.levels import CALLS, LEVELS, LINE, MODULE, NAME, SET, TYPE
from viewer.analysis.comparison.operator_pairs import Grade
from viewer.analysis.comparison.rows import DELEGATE_EVENT, paired_operators, rows_of
from viewer.model.recorded_names import ACTION, LOCATION, TASK
from viewer.workspace.comparison_arms import arm_of
from viewer.workspace.workspace import Workspace


def arms(edit):
    return [
        arm(*(DATA / f"compare/{edit}/{side}.{end}" for end in ("etrecord", "etdp")))
        for side in "ab"
    ]


def rows(a, b):
    return rows_of(a, b, paired_operators(a, b))


def calls(arm_of_rows, parts):
    found = (arm_of_rows.parts[number].id for number in parts)
    return frozenset((one.method, one.instruction) for one in found)


@pytest.mark.parametrize("edit", EDITS)
def test_rows_have_exactly_the_calls_that_can_be_compared(edit):
    a, b = arms(edit)
    truth = json.loads((DATA / f"compare/{edit}/truth.json").read_text())
    expected = {
        (frozenset(map(tuple, row["a"])), frozenset(map(tuple, row["b"]))) for row in truth["rows"]
    }
    found = {(calls(a, r.a), calls(b, r.b)) for r in rows(a, b) if r.level == CALLS}
    assert found == expected


@pytest.mark.parametrize("edit", EDITS)
def test_every_part_is_in_one_row(edit):
    a, b = arms(edit)
    found = rows(a, b)
    for side, one in ((lambda r: r.a, a), (lambda r: r.b, b)):
        assert sorted(n for row in found for n in side(row)) == list(range(len(one.parts)))


def test_kernels_against_the_delegate_call_that_took_them_over_are_a_group():
    a, b = arms("06_portable_vs_xnnpack")
    groups = [row for row in rows(a, b) if row.grade is Grade.GROUP]
    assert groups
    assert all(len(row.a) > len(row.b) >= 1 for row in groups)
    assert {row.why for row in groups} == {"they share operators"}


def test_events_of_a_delegate_are_rows_under_their_calls():
    a, b = arms("06_portable_vs_xnnpack")
    only_b = [row for row in rows(a, b) if row.level == DELEGATE_EVENT]
    assert {row.grade for row in only_b} == {Grade.ONLY_B}
    same = [row for row in rows(b, b) if row.level == DELEGATE_EVENT]
    assert len(same) == len(only_b)
    assert {row.grade for row in same} == {Grade.SAME}
    assert same[0].label.endswith("(XnnpackBackend)")


def test_without_a_record_calls_are_paired_by_name_in_order(tmp_path):
    a = arm(*write_sessions(tmp_path, "a", {"conv.out": 10, "add.out": 20}))
    b = arm(*write_sessions(tmp_path, "b", {"mul.out": 5, "conv.out": 10, "add.out": 20}))
    found = {(row.label, row.grade) for row in rows(a, b)}
    assert found == {
        ("conv.out", Grade.BY_NAME), ("add.out", Grade.BY_NAME), ("mul.out", Grade.ONLY_B)
    }  # fmt: skip


def test_calls_are_added_up_by_delegate_and_those_of_no_delegate_apart():
    a, b = arms("06_portable_vs_xnnpack")
    comparison = Comparison(a, b, level="delegate")
    labels = {row.label: (bool(row.a), bool(row.b)) for row in comparison.rows}
    assert labels["XnnpackBackend"] == (False, True)
    assert labels["(not delegated)"][0]
    fall = comparison.waterfall
    assert fall.a + fall.pairs + fall.only_a + fall.only_b + fall.rest == pytest.approx(fall.b)


def test_the_whole_inference_can_be_all_that_is_compared():
    a, b = arms("06_portable_vs_xnnpack")
    comparison = Comparison(a, b, level="inference")
    assert comparison.rows == ()
    assert comparison.inference.b_ns == Comparison(a, b).inference.b_ns


def rows_by(edit, level):
    return {row.label: row for row in Comparison(*arms(edit), level).rows}


def test_renamed_modules_are_one_row_each():
    found = rows_by("02_module_renamed", MODULE)
    assert (found["blocks.0.dw"].grade, found["blocks.0.dw"].why) == (
        Grade.MOVED, "blocks.0.dw is stages.0.depthwise"
    )  # fmt: skip
    assert found["stem"].grade is Grade.SAME
    assert all(row.a and row.b for row in found.values())


def test_lines_are_paired_by_what_is_on_them_and_not_by_their_number():
    found = rows_by("11_file_moved", LINE)
    assert all(row.a and row.b for row in found.values())
    assert {row.grade for row in found.values()} == {Grade.MOVED}


def test_types_are_paired_by_name():
    found = rows_by("12_wrapped", TYPE)
    assert found["convolution"].grade is Grade.SAME
    assert {label for label, row in found.items() if row.grade is Grade.ONLY_B} == {
        "mul", "sub", "softmax"
    }  # fmt: skip


def test_types_that_share_their_time_on_one_side_are_one_row():
    found = rows_by("06_portable_vs_xnnpack", TYPE)
    assert all(row.a and row.b for row in found.values())
    assert found["layer_norm"].grade is Grade.SAME
    assert Grade.GROUP in {row.grade for row in found.values()}


def test_modules_that_a_delegate_joined_are_a_group():
    grades = {row.grade for row in rows_by("06_portable_vs_xnnpack", MODULE).values()}
    assert Grade.GROUP in grades


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("edit", ["06_portable_vs_xnnpack", "10_blocks_6_to_8", "20_bn_folded"])
def test_every_group_is_in_one_row_and_the_waterfall_adds_up(edit, level):
    comparison = Comparison(*arms(edit), level)
    for side, one in ((lambda r: r.a, comparison.a), (lambda r: r.b, comparison.b)):
        assert sorted(n for row in comparison.rows for n in side(row)) == list(
            range(len(one.parts))
        )
    fall = comparison.waterfall
    assert fall.a + fall.pairs + fall.only_a + fall.only_b + fall.rest == pytest.approx(fall.b)


def test_profiles_without_a_record_are_compared_by_the_names_of_slices():
    one = arm(DATA / "chrome_json/torch_training.json.gz")
    comparison = Comparison(one, one)
    assert {row.grade for row in comparison.rows} == {Grade.BY_NAME}
    csv = arm(DATA / "table_csv/two_threads.csv")
    assert {row.level for row in Comparison(csv, csv).rows} == {NAME}


TORQ = DATA / "torq"


def changes(comparison):
    return {
        row.label: (one.change, one.doubt)
        for row, one in zip(comparison.rows, comparison.compared, strict=True)
    }


def test_two_compile_profiles_are_compared_by_location_without_a_verdict():
    a, b = arm(TORQ / "compile_c3_taskid.csv"), arm(TORQ / "compile_c3_taskid_mtu.csv")
    comparison = Comparison(a, b)
    assert comparison.a.level == LOCATION
    found = changes(comparison)
    assert found["tiny_cnn.mlir:15:10"] == (0, Doubt.NOT_MEASURED)
    assert found["tiny_cnn.mlir:18:10"][0] > 0.4
    assert comparison.inference.doubt is Doubt.NOT_MEASURED
    assert {(row.grade, row.why) for row in comparison.rows} == {(Grade.BY_NAME, "same location")}


@pytest.mark.parametrize("level", ["inference", TASK, "unit", LOCATION])
def test_many_estimates_prove_nothing(level, tmp_path):
    def estimates(name, step):
        paths = [tmp_path / f"{name}{i}.csv" for i in range(3)]
        text = (TORQ / "compile_c2_actionindex_callsite.csv").read_text()
        header, *rows = text.replace("actionIndex", "taskId").splitlines()
        for number, path in enumerate(paths):
            cells = [row.split(",", 3) for row in rows]
            factor = step + number
            path.write_text("\n".join([
                header, *(f"{t},{int(d) * factor},{int(s) * factor},{r}" for t, d, s, r in cells)
            ]))  # fmt: skip
        return arm(*paths)

    comparison = Comparison(estimates("a", 100), estimates("b", 200), level)
    for one in (*comparison.compared, comparison.inference):
        assert (one.verdict, one.doubt) == (Verdict.CANNOT_TELL, Doubt.NOT_MEASURED)


def test_estimates_and_measurements_are_paired_by_action_if_nothing_else_is_stated():
    estimated = TORQ / "compile_c2_actionindex_callsite.csv"
    measured = arm(TORQ / "host_h4_latest.csv")
    comparison = Comparison(arm(estimated), measured)
    assert comparison.a.level == ACTION
    assert changes(comparison)["action 4"] == (None, Doubt.DIFFERENT_CLOCKS)
    assert comparison.inference.change_ns == 0
    assert comparison.waterfall is None


def test_the_rate_of_the_cycles_gives_the_ratio_of_estimates_and_measurements():
    workspace = Workspace()
    trace = workspace.open(str(TORQ / "compile_c2_actionindex_callsite.csv"))
    workspace.set_clock(trace.path, Fraction(5, 4))
    comparison = Comparison(arm_of(workspace), arm(TORQ / "host_h4_latest.csv"))
    change, doubt = changes(comparison)["action 4"]
    assert (round(change, 3), doubt) == (1.052, Doubt.NOT_MEASURED)
    assert comparison.inference.doubt is Doubt.NOT_MEASURED


def test_units_that_work_at_once_have_no_waterfall():
    comparison = Comparison(*(arm(TORQ / f"host_h4_latest{end}.csv") for end in ("", "_2inv")),
                            "unit")  # fmt: skip
    assert changes(comparison)["NSS jobs"][0] == pytest.approx(11 / 403, abs=1e-4)
    assert comparison.waterfall is None


def test_what_profiles_do_not_state_is_said():
    one = arm(TORQ / "compile_c3_taskid.csv")
    comparison = Comparison(one, one, ACTION)
    assert comparison.rows == ()
    assert comparison.notes == (
        "The profiles of A state no action.", "The profiles of B state no action."
    )  # fmt: skip


def test_operators_of_one_text_are_those_of_its_locations():
    """Locations that one profile fuses and the other does not share operators."""
    text = TORQ / "tiny_cnn.mlir"
    a, b = (arm(TORQ / f"compile_c0_{name}.csv", text) for name in ("callsite", "mixed_locs"))
    comparison = Comparison(a, b)
    assert comparison.a.level == SET
    rows = {row.label: row for row in comparison.rows}
    conv = rows["tosa.conv2d@L11"]
    assert [b.by(SET).parts[i].name for i in conv.b] == ["tosa.clamp@L13 + tosa.conv2d@L11"]
    assert rows["func.func@L2"].a == ()


@pytest.fixture(scope="module")
def training(tmp_path_factory):
    """Three profiles of a training each; aten::mm takes three times as long in B."""
    folder = tmp_path_factory.mktemp("training")
    shares = (0.99, 1.0, 1.01)
    a = [write_stretched(folder / f"a{n}.json.gz", whole=n) for n in shares]
    b = [write_stretched(folder / f"b{n}.json.gz", "aten::mm", 3, 1.002 * n) for n in shares]
    return arm(*a), arm(*b)


def verdicts(comparison):
    return {
        row.label: one.verdict
        for row, one in zip(comparison.rows, comparison.compared, strict=True)
        if one.verdict in (Verdict.SLOWER, Verdict.FASTER)
    }


@pytest.mark.slow
def test_a_slower_call_of_a_pytorch_profile_is_found_at_every_level(training):
    slow = Verdict.SLOWER
    assert verdicts(Comparison(*training)) == {
        "Net_0.MultiheadAttention_0 · aten::mm": slow, "Net_0.Linear_0 · aten::mm": slow,
    }  # fmt: skip
    assert verdicts(Comparison(*training, NAME)) == {"aten::mm": slow}
    assert verdicts(Comparison(*training, TYPE)) == {"aten::mm": slow}
    assert verdicts(Comparison(*training, MODULE)) == {"Net_0.Linear_0": slow}
    by_line = changes(Comparison(*training, LINE))
    assert max(by_line, key=lambda label: abs(by_line[label][0] or 0)) == "train.py:27"


def test_pytorch_profiles_of_two_processes_and_versions_are_paired_completely(tmp_path):
    """Addresses of objects differ, a module was renamed, and a line moved."""
    other = {"MultiheadAttention_0": "Attention_0", "train.py(27)": "train.py(29)"}
    b = arm(write_stretched(tmp_path / "b.json.gz", renamed=other))
    a = arm(TRAINING)
    for level in (CALLS, MODULE, LINE, TYPE):
        rows = Comparison(a, b, level).rows
        assert [row.label for row in rows if not (row.a and row.b)] == []
    module = {row.label: row for row in Comparison(a, b, MODULE).rows}
    assert module["Net_0.MultiheadAttention_0"].why == (
        "Net_0.MultiheadAttention_0 is Net_0.Attention_0"
    )
    alone = {row.label for row in Comparison(a, b, NAME).rows if not (row.a and row.b)}
    assert alone == {
        "nn.Module: MultiheadAttention_0", "nn.Module: Attention_0",
        "train.py(27): forward", "train.py(29): forward",
    }  # fmt: skip

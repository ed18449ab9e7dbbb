"""`opscope prove`: no difference over the samples, and each planted fault is one."""

from dataclasses import fields, replace
from itertools import count

import numpy as np
import pytest

from tests.paths import DATA, SAMPLES
from viewer.analysis import summaries
from viewer.analysis.calls import call_tree
from viewer.analysis.comparison import comparison
from viewer.analysis.comparison.arms import Arm
from viewer.analysis.delegates import delegation, handle_maps
from viewer.analysis.findings import inferences as finding_inferences
from viewer.analysis.findings.findings import FindingsAnalysis
from viewer.analysis.links import coverage
from viewer.analysis.statistics import grouping, npu_units, occurrences
from viewer.prove.raw import Verdict
from viewer.reports import compare as compare_module
from viewer.reports import proof as proof_module
from viewer.reports import proof as proved_statistics
from viewer.reports import stats as stats_module
from viewer.reports import summary as summary_module
from viewer.reports.proof import check_arms, proof
from viewer.view.sessions.opened_files import opened_files

ATTENTION = (
    "attention_xnnpack/attn_xnnpack_x5.etdp",
    "attention_xnnpack/attn_teal_xnnpack.etrecord",
)
TORQ = ("torq_npu/compile.csv", "torq_npu/host.csv", "torq_npu/tiny_cnn.mlir")
CSV = ("plain_csv/demo_str_x4.csv", "plain_csv/demo_str.etrecord")
HANDLES = ("delegate_handle_map/demo_str_x4.etdp", "delegate_handle_map/demo_str.etrecord")


def proof_of(names):
    return proof(opened_files([str(SAMPLES / name) for name in names]).workspace)


@pytest.mark.slow
@pytest.mark.parametrize("names", [ATTENTION, TORQ, CSV, HANDLES])
def test_samples_have_no_difference(names):
    facts = proof_of(names)
    assert facts["differences"] == []
    unchecked = sum(figure["count"] for figure in facts["unchecked"])
    assert facts["checked"] > 1_000
    assert unchecked <= 0.05 * (facts["checked"] + unchecked)


def profiles():
    """Every file of the tests, alone and with the models of its folder."""
    for folder in sorted({path.parent for path in DATA.rglob("*") if path.is_file()}):
        files = sorted(path for path in folder.iterdir() if path.is_file())
        models = [path for path in files if path.suffix in (".etrecord", ".mlir", ".pte")]
        for path in files:
            if path not in models and path.suffix != ".md":
                yield (path,)
                if models and len(models) <= 3:
                    yield path, *models


@pytest.mark.nightly
@pytest.mark.timeout(3600)
def test_files_of_all_kinds_have_no_difference():
    checked, unchecked, differing = 0, 0, {}
    for paths in profiles():
        workspace = opened_files([str(path) for path in paths]).workspace
        if workspace.traces:
            facts = proof(workspace)
            checked += facts["checked"]
            unchecked += sum(figure["count"] for figure in facts["unchecked"])
            if facts["differences"]:
                differing[paths] = facts["differences"]
    assert differing == {}
    assert checked > 100_000
    assert unchecked <= 0.05 * (checked + unchecked)


@pytest.mark.nightly
@pytest.mark.parametrize("case", sorted(p.name for p in (DATA / "compare").iterdir() if p.is_dir()))
def test_comparisons_of_edits_have_no_difference(case):
    assert compared(case).differences == []


def first_plus_one(values):
    values = values.copy()
    values[np.flatnonzero(values)[:1]] += 1
    return values


def spread_fault(name):
    def plant(monkeypatch):
        real = occurrences.grouped

        def wrong(*arguments):
            figures = real(*arguments)
            return replace(figures, **{name: first_plus_one(getattr(figures, name))})

        monkeypatch.setattr(occurrences, "grouped", wrong)

    return plant


def table_fault(name):
    """Plants a fault in what a table of groups has: total, own, wall, ungrouped."""

    def plant(monkeypatch):
        real, place = grouping.table_of, {"total": 2, "own": 3, "wall": 4, "ungrouped": 6}[name]

        def wrong(*arguments):
            changed = list(arguments)
            value = changed[place]
            changed[place] = value + 1 if isinstance(value, int) else first_plus_one(value)
            return real(*changed)

        monkeypatch.setattr(grouping, "table_of", wrong)

    return plant


def path_fault(place):
    def plant(monkeypatch):
        real = call_tree.CallTree._with_figures

        def wrong(tree, *arguments):
            changed = list(arguments)
            changed[place] = first_plus_one(changed[place])
            return real(tree, *changed)

        monkeypatch.setattr(call_tree.CallTree, "_with_figures", wrong)

    return plant


def caller_fault(place):
    def plant(monkeypatch):
        from viewer.analysis.calls import call_tree

        real = call_tree._figures

        def wrong(*arguments):
            figures = real(*arguments)
            figures[place] = first_plus_one(figures[place])
            return figures

        monkeypatch.setattr(call_tree, "_figures", wrong)

    return plant


def result_fault(place, name):
    """Plants a fault in a function: its numbers are larger, more at each call; or no slice is."""

    def plant(monkeypatch):
        real, calls = getattr(place, name), count(1)

        def wrong(*arguments, **options):
            result = real(*arguments, **options)
            if isinstance(result, int):
                return result + 1_000 * next(calls)
            return (
                np.where(result, result + 1, result)
                if result.dtype.kind == "i"
                else ~result & result
            )

        monkeypatch.setattr(place, name, wrong)

    return plant


def field_fault(place, name, field):
    """Plants a fault in a field of what a function returns, or of the last of them."""

    def plant(monkeypatch):
        real = getattr(place, name)

        def changed(value):
            if isinstance(value, dict):
                return {key: changed(part) for key, part in value.items()}
            if isinstance(value, tuple):
                return (*value[:-1], changed(value[-1]))
            return replace(value, **{field: getattr(value, field) + 1_000})

        monkeypatch.setattr(
            place, name, lambda *arguments, **options: changed(real(*arguments, **options))
        )

    return plant


def parted_fault(name):
    """Plants a fault in the groups by two keys."""

    def plant(monkeypatch):
        real = grouping.Grouping.parted

        def wrong(*arguments, **options):
            parted = real(*arguments, **options)
            return replace(parted, **{name: first_plus_one(getattr(parted, name))})

        monkeypatch.setattr(grouping.Grouping, "parted", wrong)

    return plant


def range_fault(place, name):
    """Plants a fault in what a function returns for a range."""

    def plant(monkeypatch):
        real = getattr(place, name)

        def wrong(*arguments, **options):
            result = real(*arguments, **options)
            if arguments[-1] is None and arguments[-2] is None:
                return result
            return ~result & result if result.dtype == np.bool_ else result + 1

        monkeypatch.setattr(place, name, wrong)

    return plant


def row_fault(place, name, key):
    """Plants a fault in a number of the facts that a function returns."""

    def plant(monkeypatch):
        real = getattr(place, name)

        def wrong(*arguments, **options):
            facts = real(*arguments, **options)
            return facts | {key: facts[key] + 1} if facts.get(key) is not None else facts

        monkeypatch.setattr(place, name, wrong)

    return plant


def median_fault(monkeypatch):
    real = stats_module.medians_per_inference
    monkeypatch.setattr(
        stats_module,
        "medians_per_inference",
        lambda *arguments: {group: ticks + 0.5 for group, ticks in real(*arguments).items()},
    )


def base_fault(monkeypatch):
    real = summary_module._base_facts
    monkeypatch.setattr(
        summary_module, "_base_facts", lambda base: real(replace(base, count=base.count + 1))
    )


def mean_fault(monkeypatch):
    real = summary_module._mean_facts

    def wrong(*arguments):
        return {name: ns + 1 for name, ns in real(*arguments).items()}

    monkeypatch.setattr(summary_module, "_mean_facts", wrong)


FAULTS = {
    **{f"two keys {name}": parted_fault(name) for name in ("self_ticks", "wall", "total")},
    "ranges total": range_fault(grouping, "inclusive"),
    "ranges starts": range_fault(occurrences, "starts_between"),
    **{
        f"means {name}": row_fault(stats_module, "per_inference_row", f"{name}_per_inference_ns")
        for name in ("total", "self", "wall")
    },
    "means median": median_fault,
    "summary base": base_fault,
    "summary mean": mean_fault,
    **{
        f"stats {name}": spread_fault(name) for name in ("count", "avg", "min", "max", "p50", "p90")
    },
    **{f"stats {name}": table_fault(name) for name in ("total", "own", "wall", "ungrouped")},
    **{
        f"delegation {name}": result_fault(delegation, name)
        for name in ("total_per_group", "length_within", "covered_ticks", "stated_per_key")
    },
    "delegation starts": result_fault(delegation, "starts_within"),
    **{
        f"links {name}": result_fault(coverage, name)
        for name in ("stated_per_key", "covered_ticks")
    },
    "maps": result_fault(handle_maps, "total_per_group"),
    **{
        f"summary median {name}": field_fault(summaries, "times_of_methods", name)
        for name in ("median", "runs")
    },
    "summary wall time": field_fault(summaries, "wall_time", "ticks"),
    "summary rate": field_fault(summaries, "rate_of", "ticks"),
    **{
        f"summary slowest {name}": field_fault(finding_inferences, "slowest_inference", name)
        for name in ("ticks", "median")
    },
    "summary whole": field_fault(FindingsAnalysis, "context", "whole_ticks"),
    **{
        f"summary expensive {name}": field_fault(summaries, "Expensive", name)
        for name in ("ticks", "wall")
    },
    "calls total": path_fault(0),
    "calls count": path_fault(1),
    **{f"callers {name}": caller_fault(i) for i, name in enumerate(("total", "self", "count"))},
}


def compared(case="05_swapped"):
    arms = [opened_files([str(DATA / "compare" / case / f"{side}.{end}")
                          for end in ("etdp", "etrecord")]).workspace for side in "ab"]  # fmt: skip
    verdict = Verdict()
    check_arms(verdict, *arms)
    return verdict


@pytest.mark.slow
def test_a_comparison_has_no_difference():
    verdict = compared()
    assert verdict.checked > 50
    assert not verdict.differences
    assert not verdict.unchecked


def session_fault(name):
    def plant(monkeypatch):
        real = getattr(Arm, name)
        monkeypatch.setattr(Arm, name, lambda *arguments: real(*arguments) + 1_000)

    return plant


def change_fault(monkeypatch):
    real = comparison.Figures.of

    def wrong(figures, row):
        compared_row = real(figures, row)
        return replace(compared_row, change=(compared_row.change or 0) + 0.01)

    monkeypatch.setattr(comparison.Figures, "of", wrong)


def waterfall_fault(name):
    def plant(monkeypatch):
        real = comparison.Waterfall
        place = [field.name for field in fields(real)].index(name)

        def wrong(*values):
            return real(*values[:place], values[place] + 1_000, *values[place + 1 :])

        monkeypatch.setattr(comparison, "Waterfall", wrong)

    return plant


def drift_fault(monkeypatch):
    real = comparison.drifts_of
    monkeypatch.setattr(
        comparison,
        "drifts_of",
        lambda *arguments: tuple(None if d is None else d + 0.01 for d in real(*arguments)),
    )


FAULTS_OF_COMPARISONS = {
    "drift": drift_fault,
    **{
        f"rates {name}": row_fault(compare_module, "rate_facts", name)
        for name in ("per_second", "gap_ns", "idle_share")
    },
    "rows": session_fault("_medians"),
    "inference": session_fault("inference_of"),
    "change": change_fault,
    **{f"waterfall {name}": waterfall_fault(name) for name in ("pairs", "only_a", "only_b")},
}


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS_OF_COMPARISONS)
def test_a_fault_planted_in_a_comparison_is_a_difference(monkeypatch, fault):
    FAULTS_OF_COMPARISONS[fault](monkeypatch)
    assert compared().differences


# What checks the figures that a fault is in, by the first word of its name.
CHECKS = {
    **dict.fromkeys(("stats", "two", "ranges", "means"), "check_statistics"),
    **dict.fromkeys(("calls", "callers"), "_check_calls"),
    **dict.fromkeys(("delegation", "links", "maps"), "_check_delegation"),
    "summary": "_check_summary",
}


def check_alone(monkeypatch, check, keys=("name", "operator", "thread")):
    """Let a proof check one kind of figures; statistics by some keys."""
    monkeypatch.setattr(proved_statistics, "KEYS", keys)
    for other in {*CHECKS.values()} - {check}:
        monkeypatch.setattr(proof_module, other, lambda *_: None)


@pytest.mark.slow
@pytest.mark.parametrize("check", sorted({*CHECKS.values()}))
def test_each_check_alone_has_no_difference(monkeypatch, check):
    check_alone(monkeypatch, check)
    facts = proof_of(HANDLES)
    assert facts["checked"] > 20
    assert facts["differences"] == []


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_a_difference(monkeypatch, fault):
    check_alone(monkeypatch, CHECKS[fault.split()[0]])
    FAULTS[fault](monkeypatch)
    assert proof_of(HANDLES)["differences"] != []


@pytest.mark.slow
def test_a_fault_planted_in_the_overview_of_units_is_a_difference(monkeypatch):
    check_alone(monkeypatch, "check_statistics", ("unit",))
    result_fault(npu_units, "_length_within")(monkeypatch)
    assert any("stats by unit" in each["figure"] for each in proof_of(TORQ)["differences"])


@pytest.mark.slow
def test_what_another_clock_timed_is_listed_as_not_checked():
    facts = proof(opened_files([str(DATA / "delegate_clocks" / "vulkan_shaders.etdp")]).workspace)
    assert facts["differences"] == []
    assert any("durations" in each["figure"] and "clock" in each["reason"]
               for each in facts["unchecked"])  # fmt: skip


@pytest.mark.slow
def test_large_profiles_are_not_checked(monkeypatch):
    monkeypatch.setattr(proof_module, "MOST_SLICES", 10)
    facts = proof_of(CSV)
    assert facts["checked"] == 0
    assert {"more than" in each["reason"] for each in facts["unchecked"]} == {True}

"""A comparison as text and as Markdown."""

import random
from dataclasses import replace
from itertools import product

import pytest

from tests.analysis.comparison.test_comparison import BASE, NOISE, sessions
from tests.analysis.comparison.test_rows import arms
from tests.builders.compare_sessions import arm, write_session
from tests.builders.path_arms import arm_of_traces, nested
from tests.paths import DATA
from viewer.analysis.comparison.comparison import CHANGED, Comparison, Doubt, Verdict
from viewer.analysis.comparison.path_changes import PathComparison
from viewer.reports.compare import compare_facts
from viewer.reports.compare_text import (
    compare_markdown,
    compare_text,
    difference_text,
    interval_text,
    median_text,
    sentence,
    sentence_of,
)


@pytest.fixture
def slower(tmp_path):
    a = sessions(tmp_path, "a", BASE)
    return Comparison(a, sessions(tmp_path, "b", {**BASE, "add.out": 60_000}))


def test_the_answer_comes_first_and_then_the_largest_change(slower):
    lines = compare_text(slower).splitlines()
    assert lines[0] == "A: 4 sessions of 9 inferences (a0.etdp and 3 more)"
    assert lines[2].startswith("B is slower than A: +25.")
    assert lines[2].endswith("µs per inference.")
    rows = [line for line in lines if ".out" in line]
    cells = [cell.strip() for cell in rows[0].split("  ") if cell.strip()]
    assert cells[:2] == ["+40.220 µs", "3.00 x"]
    assert cells[-3:] == ["slower", "by name", "add.out"]
    assert "in B" in lines[-1]


def test_all_rows_are_shown_only_on_request():
    comparison = Comparison(*arms("10_blocks_6_to_8"))
    short, long = compare_text(comparison), compare_text(comparison, everything=True)
    assert "26 more rows: 26 inconclusive. --all shows them." in short
    assert "more rows" not in long
    assert long.count("inconclusive: one session") == 28 + 1  # and the whole inference


def test_people_read_what_a_time_is_below_and_scripts_a_stable_reason(slower):
    (line,) = (line for line in compare_text(slower).splitlines() if "tiny.out" in line)
    assert "inconclusive: below clock resolution" in line
    (row,) = (row for row in compare_facts(slower)["rows"] if row["label"] == "tiny.out")
    assert row["reason"] == "below the clock"


def test_too_few_sessions_are_explained(tmp_path):
    few = (sessions(tmp_path, name, BASE, NOISE[:1]) for name in "ab")
    text = compare_text(Comparison(*few))
    assert "Whether B is slower or faster is inconclusive: one session" in text
    assert "A verdict needs at least 3 sessions in each arm." in text


@pytest.mark.parametrize("seed", range(8))
def test_no_sentence_has_a_claim_and_its_denial(slower, seed):
    """What was measured without a verdict stands in a sentence of its own."""
    rng = random.Random(seed)
    for verdict, doubt in product(Verdict, (None, *Doubt)):
        a_ns, b_ns = rng.uniform(1, 1e9), rng.uniform(1, 1e9)
        one = replace(
            slower.inference, a_ns=a_ns, b_ns=b_ns, change=b_ns / a_ns - 1,
            verdict=verdict, doubt=doubt,
        )  # fmt: skip
        for text in sentence_of(one, files=rng.random() < 0.5).split(". "):
            has_figure = " %" in text or " x," in text
            claims = any(word in text for word in ("slower than", "faster than", "as long as"))
            assert not (("inconclusive" in text or "cannot" in text) and (has_figure or claims))
            assert not (verdict in CHANGED and not has_figure and claims)


def test_markdown_is_a_table_whose_cells_cannot_end_it(slower):
    text = compare_markdown(slower, ["B: x | y"])
    table = [line for line in text.splitlines() if line.startswith("|")]
    assert len({line.replace("\\|", "").count("|") for line in table}) == 1
    assert len(table) == 2 + 4
    assert "> B: x \\| y" in text


def test_of_a_deep_path_the_last_calls_are_shown():
    calls = {"a": {"b": {"c": {"d": {"e": 500}}}}}
    a, b = (arm_of_traces(nested(name, calls)) for name in "ab")
    lines = compare_text(PathComparison(a, b), everything=True).splitlines()
    found = [line.split("by name")[1].strip() for line in lines if "by name" in line]
    assert found == ["a", "a > b", "a > b > c", "a > b > c > d", "… > b > c > d > e"]


def test_sentences(tmp_path, slower):
    a = sessions(tmp_path, "c", BASE)
    assert sentence(Comparison(a, a)) == (
        "An inference takes as long in B as in A (0.0 %, 0 per inference)."
    )
    assert sentence(Comparison(slower.b, slower.a)).startswith("B is faster than A: −20.")
    assert sentence(Comparison(arm(), arm())) == "There is no inference in both arms to compare."


def test_medians_are_whole_ns_as_in_tables():
    assert median_text(876.5) == "876\u202fns"
    assert difference_text(-876.5) == "\u2212876\u202fns"
    assert difference_text(-0.25) == "0"


def test_both_ends_of_an_interval_have_one_form(slower):
    one = slower.inference
    assert interval_text(replace(one, interval=(0.05, 0.5))) == "+5.0 % to +50.0 %"
    assert interval_text(replace(one, interval=(-0.1, 1.16))) == "0.90 x to 2.16 x"


def test_the_smallest_detectable_change_is_stated(slower):
    assert "Smallest detectable change in the median row: " in compare_text(slower)


def test_a_drift_within_sessions_is_on_its_row(tmp_path):
    times = {"add.out": [20_000] * 8 + [30_000] * 4, "mul.out": [30_000] * 12}
    one = arm(write_session(tmp_path / "a.etdp", times))
    text = compare_text(Comparison(one, one))
    add, mul = (line for line in text.splitlines() if ".out" in line)
    assert "one session; drift within sessions +50.0 %" in add
    assert "drift" not in mul
    assert (
        "Inference: 54.000 µs → 54.000 µs, common factor 1.000; drift within sessions +18.5 %"
        in text
    )
    assert "drift within sessions +50.0 %" in compare_markdown(Comparison(one, one))


def test_relative_times_are_announced_with_the_common_factor(slower):
    text = compare_text(Comparison(slower.a, slower.b, relative=True))
    assert ", common factor 1.25" in text
    assert "Times of rows are relative to the inference" in text
    assert "+40.220 µs by the common factor" in text.splitlines()[-1]
    assert "relative" not in compare_text(slower)
    assert ", common factor 1.25" in compare_text(slower)


def test_estimates_and_assumed_clocks_are_announced():
    estimated, measured = (
        arm(DATA / "torq" / f"{name}.csv")
        for name in ("compile_c2_actionindex_callsite", "host_h4_latest")
    )
    text = compare_text(Comparison(estimated, estimated))
    assert text.startswith("A: 1 session (compile_c2_actionindex_callsite.csv)")
    assert "Profile: 165.261 µs" in text
    assert "The clock of A and B is assumed: 1 cycle = 1.25 ns. --clock sets it." in text
    assert text.endswith("Estimates are not measured, so there is no verdict.")
    text = compare_text(Comparison(estimated, measured))
    assert "A and B have different clocks, so their times cannot be compared." in text
    (row,) = (line for line in text.splitlines() if line.endswith("action 4"))
    assert row.lstrip().startswith("59.941")  # neither a difference nor a ratio
    assert "A verdict needs" not in text
    assert sentence(Comparison(estimated, measured)).startswith("A and B have different clocks")

"""Figures of phases and methods in every text and data face: none covers several."""

import json

import pytest

from tests.builders.command_line import run
from tests.builders.workspaces import workspace_of
from tests.paths import DATA
from viewer.api.opening import open as opened
from viewer.reports.summary import summary_facts

LLM, STEPS, TWO = (
    str(DATA / "phases" / name) for name in ("llm_200.etdp", "sus_steps.etdp", "encdec.etdp")
)


def answer(capsys, *arguments: str) -> dict:
    code, out, _ = run(capsys, *arguments, "--json")
    assert code == 0
    return json.loads(out)


def summary(path: str) -> dict:
    workspace = workspace_of(path)
    (file,) = summary_facts(workspace)["files"]
    return file


def test_inferences_have_phases_and_gaps(capsys):
    (file,) = answer(capsys, "info", LLM)["files"]
    first, second, *_ = file["inferences"]
    assert (first["phase"], first["gap_ns"], first["warm_up"]) == ("prefill", None, False)
    assert (second["phase"], second["gap_ns"]) == ("decode", 1_500_000)


def test_inferences_of_one_phase_have_none(capsys):
    (file,) = answer(capsys, "info", STEPS)["files"]
    assert {one["phase"] for one in file["inferences"]} == {None}
    assert {one["gap_ns"] for one in file["inferences"][1:]} == {5_000_000}


def test_info_lists_phases_with_rates_and_the_evidence(capsys):
    _, out, _ = run(capsys, "info", LLM)
    assert "decode: 200 steps, median 5.378 ms; 145.6 steps per second of wall time" in out
    assert "phases: operators take 13.7 to 14.9 times as long" in out


@pytest.mark.parametrize(
    ("path", "rows"),
    [
        (LLM, [("decode", 200), ("prefill", 1)]),
        (TWO, [("Execute 2", 60), ("Execute 1", 3)]),
        (STEPS, [("Execute", 200)]),
    ],
)
def test_statistics_by_phase(capsys, path, rows):
    found = answer(capsys, "stats", path, "--by", "phase")["rows"]
    assert sorted((row["label"], row["count"]) for row in found) == sorted(rows)
    assert sum(row["share"] for row in found) == pytest.approx(1)


def test_statistics_of_one_phase(capsys):
    facts = answer(capsys, "stats", LLM, "--by", "name", "--phase", "decode")
    longest = {row["label"]: row["max_ns"] for row in facts["rows"]}
    assert longest["DELEGATE_CALL"] < 3_000_000
    assert facts["files"][0]["phase"] == "decode"
    assert answer(capsys, "stats", LLM, "--by", "name")["files"][0]["phases"] == [
        "prefill",
        "decode",
    ]


def test_a_phase_that_is_not_there_is_wrong_usage(capsys):
    code, _, err = run(capsys, "stats", LLM, "--by", "name", "--phase", "idle")
    assert code == 2
    assert "has no phase 'idle'; it has prefill, decode" in err


def test_python_has_the_figures_of_a_phase():
    profile = opened(LLM)
    rows = profile.stats("name", phase="decode")
    assert rows.set_index("label").loc["DELEGATE_CALL", "count"] == 400
    assert profile.inferences["phase"].value_counts().to_dict() == {"decode": 200, "prefill": 1}
    assert profile.inferences["gap_ns"].isna().sum() == 1


def test_the_summary_has_levels_and_rates():
    (steps,) = summary(STEPS)["phases"]
    assert [one["first_inference"] for one in steps["levels"]] == [1, 81, 141]
    assert (steps["phase"], round(steps["per_second"])) == (None, 32)
    decode, prefill = summary(LLM)["phases"]
    assert (decode["phase"], round(decode["per_second"])) == ("decode", 146)
    assert decode["idle_share"] == pytest.approx(0.218, abs=0.001)
    assert (prefill["phase"], prefill["per_second"]) == ("prefill", None)
    assert [one["method"] for one in summary(LLM)["methods"]] == ["decode", "prefill"]


def test_the_summary_of_two_methods_has_the_slowest_of_all():
    file = summary(TWO)
    assert file["slowest"]["ns"] == 6_800_150
    assert file["median"] is None
    assert file["phase"] == "Execute 1"
    assert file["whole_ns"] == 3 * 6_800_150
    assert all(one["share"] <= 1 for one in file["most_expensive"]["rows"])


def test_the_report_states_levels_phases_and_rates(capsys, tmp_path):
    texts = {}
    for path in (LLM, STEPS, TWO):
        target = tmp_path / "report.md"
        assert run(capsys, "report", "--markdown", path, "-o", str(target))[0] == 0
        texts[path] = target.read_text()
    assert "19.506 ms → 36.986 ms" in texts[STEPS]
    assert "from inference 141 on 1.9 times" in texts[STEPS]
    assert "steps of decode per second of wall time: **145.6**" in texts[LLM]
    assert "the inference of prefill: **78.478 ms**" in texts[LLM]
    assert "slowest inference: **6.800 ms**" in texts[TWO]
    before, decode = texts[LLM].split("\n**decode**\n")
    assert "\n**prefill**\n" in before
    (row,) = (line for line in decode.splitlines() if "DELEGATE" in line)
    assert "| 400 |" in row


def test_the_html_report_has_a_table_for_each_phase(capsys, tmp_path):
    target = tmp_path / "report.html"
    assert run(capsys, "report", LLM, "-o", str(target))[0] == 0
    page = target.read_text()
    assert "<h3>llm_200.etdp, prefill</h3>" in page
    assert "<h3>llm_200.etdp, decode</h3>" in page

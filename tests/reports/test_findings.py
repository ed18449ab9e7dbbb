"""`opscope findings`: the same findings as data and as text, of all runs or of one."""

import json

import pytest

from tests.builders.delegation_cases import DATA, SAMPLES
from viewer.analysis.findings.finding import Family
from viewer.cli import main

ATTENTION = [
    str(SAMPLES / "attention_xnnpack" / name)
    for name in ("attn_xnnpack_x5.etdp", "attn_teal_xnnpack.etrecord")
]


@pytest.fixture
def answer(capsys):
    """What the command prints for some files: (exit code, text, stderr)."""

    def ask(*arguments):
        code = main(["findings", *map(str, arguments)])
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return ask


def test_the_data_list_every_check(answer):
    code, out, _ = answer(*ATTENTION, "--json")
    (file,) = json.loads(out)["files"]
    kinds = [one["kind"] for one in (*file["findings"], *file["not_told"])]
    assert code == 0
    assert sorted(kinds) == sorted(family.key for family in Family)
    assert (file["run"], file["scope"]) == (None, "4 inferences after warm-up")
    gaps = next(one for one in file["findings"] if one["kind"] == "gaps")
    assert (gaps["ticks"], gaps["ns"], gaps["share"]) == (15_117, 15_117, 0.072139)
    assert gaps["severity"] == "low"
    assert gaps["threshold"].startswith("Reported when gaps are at least 5 %")
    assert all(one["threshold"].startswith("Reported when") for one in file["not_told"])
    assert gaps["place"]["end_ticks"] - gaps["place"]["start_ticks"] == 240
    largest = next(one for one in file["findings"] if one["kind"] == "largest")
    assert ["blocks.0 · scaled_dot_product_attention"] in largest["place"]["operators"]


def test_the_warm_up_can_be_included(answer):
    _, out, _ = answer(*ATTENTION, "--include-warmup", "--json")
    (file,) = json.loads(out)["files"]
    gaps = next(one for one in file["findings"] if one["kind"] == "gaps")
    assert (file["scope"], gaps["ticks"]) == ("all 5 inferences", 19_054)


def test_of_one_inference(answer):
    _, out, _ = answer(*ATTENTION, "--run", "3", "--json")
    (file,) = json.loads(out)["files"]
    assert (file["run"], file["scope"]) == (3, "inference 3")
    gaps = next(one for one in file["findings"] if one["kind"] == "gaps")
    assert gaps["ticks"] == 3770


def test_the_text_is_ranked_and_has_no_rules(answer):
    _, out, _ = answer(*ATTENTION)
    titles = [line for line in out.splitlines() if line[:3].strip().isdigit()]
    assert titles[:2] == [
        "  1 high   Speed up 2 operators and 3 groups of operators with shared time: "
        "up to 28.380 µs of 52.388 µs (54.2 %) per inference",
        "  2 high   Delegate 8 operators that ran outside: "
        "up to 18.134 µs of 52.388 µs (34.6 %) per inference",
    ]
    assert out.endswith("\n  2 checks passed\n  4 checks do not apply to this trace\n")
    assert "Reported when" not in out


def test_the_rules_and_the_other_checks_are_an_option(answer):
    _, out, _ = answer(*ATTENTION, "--rules")
    assert "\n           Rule: Reported when gaps are at least 5 % of the time" in out
    assert (
        "  2 checks passed:\n    No operator: no operator's slice runs in 7.7 % of 4 inferences"
        in out
    )
    assert "    Estimates: no estimates of what this profile measured are open\n" in out
    assert out.count("Rule: ") == len(Family)


def facts_of(answer, name):
    _, out, _ = answer(DATA / "phases" / name, "--json")
    (file,) = json.loads(out)["files"]
    return file


def test_levels_of_a_change_are_data(answer):
    file = facts_of(answer, "sus_steps.etdp")
    (change,) = (one for one in file["findings"] if one["kind"] == "changes")
    assert change["severity"] == "high"
    assert "from inference 81 on 1.25 times, from inference 141 on 1.9 times" in change["title"]
    first, second, third = change["levels"]
    assert (first["first_inference"], first["factor"]) == (1, 1)
    assert (second["first_inference"], round(second["factor"], 2)) == (81, 1.25)
    assert (third["first_inference"], round(third["factor"], 2)) == (141, 1.9)
    assert [round(one["p50_ns"] / 1e6, 1) for one in (first, second, third)] == [19.5, 24.4, 37.0]
    assert change["phase"] is None
    assert "All operators change by the same factor" in change["advice"]


def test_findings_of_a_language_model_are_of_a_phase(answer):
    file = facts_of(answer, "llm_200.etdp")
    kinds = {(one["kind"], one["phase"]) for one in file["findings"]}
    assert {("changes", "decode"), ("between", "decode"), ("largest", "prefill")} <= kinds
    assert not any(kind == "warm_up" for kind, _ in kinds)
    (trend,) = (one for one in file["findings"] if one["kind"] == "changes")
    assert "llama::custom_sdpa.out takes 8.1" in trend["title"]
    assert trend["levels"] == []
    (between,) = (one for one in file["findings"] if one["kind"] == "between")
    assert "145.6 steps per second of wall time" in between["detail"].lower()
    assert "21.8 % of the wall time" in between["title"]


def test_findings_of_two_methods_are_of_one(answer):
    file = facts_of(answer, "encdec.etdp")
    assert file["scope"] == (
        "57 inferences after warm-up of Execute 2 and all 3 inferences of Execute 1"
    ) or file["scope"] == (
        "all 3 inferences of Execute 1 and 57 inferences after warm-up of Execute 2"
    )
    assert {one["phase"] for one in file["findings"]} == {"Execute 1", "Execute 2"}


def test_without_a_finding_the_text_says_so(answer):
    _, out, _ = answer(DATA / "table_csv" / "semicolons_bom.csv")
    assert "\n  No findings.\n" in out


def test_a_profile_with_one_finding(answer):
    _, out, _ = answer(DATA / "table_csv" / "two_threads.csv", "--json")
    (file,) = json.loads(out)["files"]
    assert {one["kind"] for one in file["not_told"]} | {"largest"} == {f.key for f in Family}


def test_estimates_lead_to_rows_of_the_file(answer):
    torq = SAMPLES / "torq_npu"
    _, out, _ = answer(*sorted(torq.glob("*.csv")), *sorted(torq.glob("*.mlir")), "--json")
    host = json.loads(out)["files"][1]
    off = next(one for one in host["findings"] if one["kind"] == "estimates")
    assert off["title"] == (
        "Look into 2 of 4 estimated actions above twice the estimate: "
        "up to 196.000 µs (23.7 % of the time of estimated actions)"
    )
    assert len(off["place"]["source_rows"]) == 4


def test_a_record_alone_has_no_findings(answer):
    assert answer(ATTENTION[1])[:2] == (0, "nothing open has slices\n")


def test_a_file_without_the_inference_is_noted_next_to_one_that_has_it(answer):
    jobs = str(DATA / "torq" / "runtime_r0_nss.csv")
    code, out, err = answer(*ATTENTION, jobs, "--run", "3", "--json")
    assert code == 0
    assert [file["run"] for file in json.loads(out)["files"]] == [3]
    assert f"opscope: note: {jobs}: it has no inference 3" in err


def test_an_inference_that_does_not_exist_is_wrong_usage(answer):
    code, out, err = answer(*ATTENTION, "--run", "9")
    assert (code, out) == (2, "")
    assert err == "opscope: there is no inference 9: the inferences are numbered 1 to 5\n"


def test_a_file_that_cannot_be_read_is_one_line_and_exit_1(answer):
    code, out, err = answer("gone.etdp", *ATTENTION)
    assert code == 1
    assert err.startswith("opscope: gone.etdp: there is no such file")
    assert "1 high   Speed up 2 operators" in out


@pytest.fixture
def far(tmp_path):
    """A table with a stray event of 1970 next to twenty of today."""
    path = tmp_path / "far.csv"
    lines = [f"step,{1_764_000_000_000_000 + 100 * i},50" for i in range(20)]
    path.write_text("\n".join(["name,start_us,duration_us", "stray,0,5", *lines, ""]))
    return path


def test_far_times_come_first_with_the_range_of_the_rest(answer, far, capsys):
    _, out, _ = answer(far)
    assert out.splitlines()[2:5] == [
        "  1 low    Zoom to the rest: 1 slice is 56 years before it",
        "           The 20 other slices take 1.950 ms of 56 years. Far away: stray.",
        "           --range 1764000000000000000ns:1764000000001950001ns",
    ]
    _, out, _ = answer(far, "--json")
    (file,) = json.loads(out)["files"]
    place = file["findings"][0]["place"]
    assert place["range"] == "1764000000000000000ns:1764000000001950001ns"
    assert main(["stats", str(far), "--by", "name", "--range", place["range"], "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert [(row["label"], row["count"]) for row in rows] == [("step", 20)]

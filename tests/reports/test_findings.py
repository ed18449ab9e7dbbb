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


def test_the_data_have_every_rule_told_or_not_told(answer):
    code, out, _ = answer(*ATTENTION, "--json")
    (file,) = json.loads(out)["files"]
    kinds = [one["kind"] for one in (*file["findings"], *file["not_told"])]
    assert code == 0
    assert sorted(kinds) == sorted(family.key for family in Family)
    assert (file["run"], file["scope"]) == (None, "all 5 inferences")
    gaps = next(one for one in file["findings"] if one["kind"] == "gaps")
    assert (gaps["ticks"], gaps["ns"], gaps["share"]) == (19_054, 19_054, 0.058695)
    assert gaps["place"]["end_ticks"] - gaps["place"]["start_ticks"] == 240
    largest = next(one for one in file["findings"] if one["kind"] == "largest")
    assert ["blocks.0 · scaled_dot_product_attention"] in largest["place"]["operators"]


def test_of_one_inference(answer):
    _, out, _ = answer(*ATTENTION, "--run", "3", "--json")
    (file,) = json.loads(out)["files"]
    assert (file["run"], file["scope"]) == (3, "run 3")
    gaps = next(one for one in file["findings"] if one["kind"] == "gaps")
    assert gaps["ticks"] == 3770


def test_the_text_is_ranked_and_says_each_rule(answer):
    _, out, _ = answer(*ATTENTION)
    assert "  1. 3 operators and 2 sets of operators that share slices take 51.2 %" in out
    assert "Told when these gaps are at least 5 % of it." in out
    assert "rules that do not apply" in out
    assert "estimates: no estimates of what this profile measured are open" in out


def test_a_profile_in_which_no_rule_is_met(answer):
    _, out, _ = answer(DATA / "table_csv" / "two_threads.csv", "--json")
    (file,) = json.loads(out)["files"]
    assert {one["kind"] for one in file["not_told"]} | {"largest"} == {f.key for f in Family}


def test_estimates_lead_to_rows_of_the_file(answer):
    torq = SAMPLES / "torq_npu"
    _, out, _ = answer(*sorted(torq.glob("*.csv")), *sorted(torq.glob("*.mlir")), "--json")
    host = json.loads(out)["files"][1]
    off = next(one for one in host["findings"] if one["kind"] == "estimates")
    assert off["title"] == "2 of 4 estimated actions took more than twice their estimate"
    assert len(off["place"]["source_rows"]) == 4


def test_a_record_alone_has_no_findings(answer):
    assert answer(ATTENTION[1])[:2] == (0, "nothing open has slices\n")


def test_a_file_without_the_run_is_told_beside_one_that_has_it(answer):
    jobs = str(DATA / "torq" / "runtime_r0_nss.csv")
    code, out, err = answer(*ATTENTION, jobs, "--run", "3", "--json")
    assert code == 0
    assert [file["run"] for file in json.loads(out)["files"]] == [3]
    assert f"opscope: note: {jobs}: it has no inference 3" in err


def test_a_run_that_is_not_there_is_wrong_usage(answer):
    code, out, err = answer(*ATTENTION, "--run", "9")
    assert (code, out) == (2, "")
    assert err == "opscope: there is no run 9: the inferences are numbered 1 to 5\n"


def test_a_file_that_cannot_be_read_is_one_line_and_exit_1(answer):
    code, out, err = answer("gone.etdp", *ATTENTION)
    assert code == 1
    assert err.startswith("opscope: gone.etdp: there is no such file")
    assert "1. 3 operators" in out

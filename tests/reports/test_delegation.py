"""`opscope delegation`: the same figures as data and as text, and what is not known in words."""

import json

import pytest

from tests.builders.delegation_cases import DATA, SAMPLES
from tests.builders.workspaces import workspace_of
from viewer.analysis.delegates.delegation import Delegation, DelegationReport
from viewer.cli import main

ATTENTION = [
    str(SAMPLES / "attention_xnnpack" / name)
    for name in ("attn_xnnpack_x5.etdp", "attn_teal_xnnpack.etrecord")
]
DEMO = [str(DATA / "etdump/demo_str_x4.etdp"), str(DATA / "etrecord/demo_str.etrecord")]


@pytest.fixture
def answer(capsys):
    """What the command prints for some files: (exit code, text, stderr)."""

    def ask(*arguments):
        code = main(["delegation", *map(str, arguments)])
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return ask


def test_the_data_add_up_and_are_those_of_the_report(answer):
    code, out, _ = answer(*ATTENTION, "--json", "--include-warmup")
    (file,) = json.loads(out)["files"]
    assert code == 0
    parts = ("delegated_ticks", "outside_ticks", "neither_ticks")
    assert sum(file[part] for part in parts) == file["whole_ticks"] == 324_625
    space = workspace_of(*ATTENTION)
    report = Delegation(space.links(space.traces[0])).report()
    assert [row["time_ticks"] for row in file["delegates"]] == [x.ticks for x in report.instances]
    assert sum(row["time_ticks"] for row in file["stayed_outside"]) == report.not_delegated
    unlinked = sum(row["slices"] for row in file["unlinked"] if row["linkable"])
    assert unlinked == file["coverage"]["linkable"] - file["coverage"]["linked"] == 270


def test_the_whole_is_summed_once_not_for_every_row(answer, monkeypatch):
    """A profile may have 100,000 rows."""
    sums = []
    whole = DelegationReport.whole.fget
    monkeypatch.setattr(
        DelegationReport, "whole", property(lambda report: sums.append(0) or whole(report))
    )
    assert answer(*ATTENTION, "--json")[0] == 0
    assert len(sums) == 1


def test_the_warm_up_is_left_out_unless_it_is_included(answer):
    _, out, _ = answer(*ATTENTION, "--json")
    (file,) = json.loads(out)["files"]
    assert (file["whole_ticks"], file["warm_up"], file["unfinished"]) == (209_553, 1, 0)
    assert "Not counted: 1 warm-up inference" in answer(*ATTENTION)[1]


def test_the_text_says_the_upper_bound_and_what_to_do(answer):
    _, out, _ = answer(*ATTENTION)
    assert "XnnpackBackend · 5 ops  forward           17          5  18.727 µs   8.9%" in out
    assert "upper bound on savings" in out
    assert (
        "its nodes have the debug handles. The 10 delegate calls themselves are linked to 32" in out
    )
    assert "XnnpackBackend wrote no debug handle map (90 logged identifiers)" in out


def test_the_text_lists_what_is_odd_in_a_map(answer):
    _, out, _ = answer(*DEMO)
    assert "not in map  not in map" in out
    assert "Fancy Fusion" not in out  # it is registered and logged


def test_a_record_alone_has_no_times(answer):
    code, out, _ = answer(DEMO[1], "--json")
    (file,) = json.loads(out)["files"]
    assert (code, file["clock"], file["whole_ns"]) == (0, None, None)
    assert file["delegates"][0]["operators"][0] == "conv1 · convolution"
    assert len(file["handle_map"]) == 5
    assert "demo_str.etrecord: no profile" in answer(DEMO[1])[1]


def test_what_is_not_known_is_said(answer):
    _, out, _ = answer(DEMO[0])
    assert "operators unknown: No matching ETRecord is open" in out
    _, out, _ = answer(DATA / "etdump/SYN_qnn_like.etdp")
    assert "unattributed unknown: the delegate's events have a separate clock" in out


def test_a_profile_of_an_npu_has_no_delegate_calls(answer):
    _, out, _ = answer(DATA / "torq/compile_c3_taskid.csv", DATA / "torq/tiny_cnn.mlir")
    assert "no delegate calls" in out
    assert "43 of 43 linkable slices" in out


def test_nothing_that_could_be_delegated(answer):
    code, out, _ = answer(DATA / "torq/tiny_cnn.mlir")
    assert (code, out) == (0, "no open file has slices, or operators that could be delegated\n")


def test_a_file_that_cannot_be_read_is_one_line_and_exit_1(answer):
    code, out, err = answer("gone.etdp", *DEMO)
    assert code == 1
    assert err.startswith("opscope: gone.etdp: there is no such file")
    assert "BackendStrDemo · 5 ops" in out


PHASES = str(DATA / "phases/llm_200.etdp")


def test_totals_of_several_phases_say_so_and_each_phase_has_its_own(answer):
    code, out, _ = answer(PHASES, "--json")
    (file,) = json.loads(out)["files"]
    assert code == 0
    assert file["phase"] is None
    assert [own["phase"] for own in file["of_phases"]] == ["prefill", "decode"]
    assert sum(own["whole_ticks"] for own in file["of_phases"]) == file["whole_ticks"]
    assert sum(own["delegated_ticks"] for own in file["of_phases"]) == file["delegated_ticks"]
    for own in file["of_phases"]:
        parts = [own[f"{part}_ticks"] for part in ("delegated", "outside", "neither")]
        assert sum(parts) == own["whole_ticks"]
    _, text, _ = answer(PHASES)
    assert "total of all methods and phases" in text
    assert "covers prefill and decode; --phase shows one" in text


def test_one_phase_is_that_of_the_summary(answer):
    _, out, _ = answer(PHASES, "--phase", "decode", "--json")
    (file,) = json.loads(out)["files"]
    assert (file["phase"], file["of_phases"]) == ("decode", [])
    share = file["delegated_ticks"] / file["whole_ticks"]
    assert share == pytest.approx(0.752, abs=0.0005)
    assert "total of decode" in answer(PHASES, "--phase", "decode")[1]


def test_a_phase_that_is_not_there_names_those_that_are(answer):
    code, out, err = answer(PHASES, "--phase", "warm")
    assert (code, out) == (2, "")
    assert "it has prefill, decode" in err


def test_one_method_has_no_phases(answer):
    _, out, _ = answer(*ATTENTION, "--json")
    (file,) = json.loads(out)["files"]
    assert (file["phase"], file["of_phases"]) == (None, [])

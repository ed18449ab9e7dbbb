"""`opscope compare`: arms, folders, records, rules and exit codes."""

import json
import shutil
from pathlib import Path

import pytest

from tests.analysis.comparison.test_comparison import BASE, NOISE
from tests.builders.compare_sessions import varied, write_sessions
from tests.paths import DATA
from viewer.cli import main

EDIT = DATA / "compare/06_portable_vs_xnnpack"
METHODS = DATA / "compare/16_methods_swapped"


@pytest.fixture
def slower(tmp_path):
    """Files of two arms: one operator of B takes 30 % longer."""
    a = write_sessions(tmp_path / "a", "a", *varied(BASE, NOISE))
    b = write_sessions(tmp_path / "b", "b", *varied({**BASE, "add.out": 26_000}, NOISE))
    return [*map(str, a), "--with", *map(str, b)]


@pytest.mark.slow
def test_two_arms_are_compared(slower, capsys):
    assert main(["compare", *slower]) == 0
    assert "slower" in capsys.readouterr().out


@pytest.mark.parametrize("level", ["module", "line", "type", "node", "path"])
def test_rows_of_every_level(level, capsys):
    files = [str(EDIT / f"{side}.{end}") for side in "ab" for end in ("etdp", "etrecord")]
    assert main(["compare", *files[:2], "--with", *files[2:], "--by", level, "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert {row["level"] for row in rows} == {level}
    sides = [row[side] for row in rows for side in "ab" if row[side]]
    assert all(side["instructions"] == [] for side in sides)


@pytest.mark.parametrize("form", ["--markdown", "--all"])
def test_call_paths_are_compared(slower, capsys, form):
    assert main(["compare", *slower, "--by", "path", form]) == 0
    (row,) = [line for line in capsys.readouterr().out.splitlines() if "add.out" in line]
    assert "Method::execute > OPERATOR_CALL > native_call_add.out" in row
    assert "slower" in row


@pytest.mark.slow
def test_call_paths_are_saved_as_a_flame_graph(slower, tmp_path, capsys):
    svg = tmp_path / "changes.svg"
    assert main(["compare", *slower, "--by", "path", "-o", str(svg)]) == 0
    assert "▲ native_call_add.out" in svg.read_text("utf-8")
    missing = str(tmp_path / "none" / "x.svg")
    assert main(["compare", *slower, "--by", "path", "-o", missing]) == 1
    with pytest.raises(SystemExit) as usage:
        main(["compare", *slower, "-o", str(svg)])
    assert usage.value.code == 2
    assert "--by path" in capsys.readouterr().err


def test_an_input_is_never_overwritten(slower, tmp_path, capsys):
    noise = str(tmp_path / "noise.json")
    shutil.copytree(tmp_path / "a", tmp_path / "more")
    in_a_folder = str(next((tmp_path / "more").glob("*.etdp")))
    for arguments in (
        [*slower, "-o", slower[0]],
        [*slower, "-o", slower[-1]],
        [*slower, "--noise", noise, "-o", noise],
        [*slower, str(tmp_path / "more"), "-o", in_a_folder],
        ["--null", *slower[:3], "-o", slower[0]],
    ):
        output = Path(arguments[-1])
        if not output.exists():
            assert main(["compare", "--null", *slower[:3], "-o", str(output)]) == 0
        before = output.read_bytes()
        with pytest.raises(SystemExit) as usage:
            main(["compare", *arguments])
        assert usage.value.code == 2
        assert f"{output}: this is an input file" in capsys.readouterr().err
        assert output.read_bytes() == before


def test_a_call_path_can_fail_a_rule(slower, capsys):
    assert main(["compare", *slower, "--by", "path", "--fail-if", "slower > 25%"]) == 3
    assert "native_call_add.out" in capsys.readouterr().err


def test_torq_estimates_against_measurements(tmp_path, capsys):
    a, b = (
        shutil.copy(DATA / "torq" / f"{name}.csv", tmp_path)
        for name in ("compile_c2_actionindex_callsite", "host_h4_latest")
    )
    assert main(["compare", str(a), "--with", str(b), "--json"]) == 0
    rate = ["--clock", "compile_c2_actionindex_callsite.csv=800MHz"]
    assert main(["compare", str(a), "--with", str(b), "--by", "action", "--json", *rate]) == 0
    first, second = (
        json.loads(text if text.startswith("{") else "{" + text)
        for text in capsys.readouterr().out.split("\n{")
    )
    for facts, reason, known in (
        (first, "different clocks", False),
        (second, "not measured", True),
    ):
        row = next(row for row in facts["rows"] if row["label"] == "action 4")
        assert (row["level"], row["reason"]) == ("action", reason)
        assert (row["change"] is not None) == known


def test_inferences_of_one_file_are_compared_without_a_verdict(capsys):
    dump, record = str(EDIT / "a.etdp"), str(EDIT / "a.etrecord")
    numbers = ["--inferences", "1", "--with-inferences", "2-5"]
    assert main(["compare", dump, record, *numbers, "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert (facts["arms"]["a"]["runs"], facts["arms"]["b"]["runs"]) == ([1], [4])
    assert {row["reason"] for row in facts["rows"]} == {"one session"}
    assert all(row["grade"] == "same" for row in facts["rows"])


def test_inferences_that_do_not_exist_are_an_error(slower, capsys):
    numbers = ["--inferences", "1", "--with-inferences", "900", "--fail-if", "slower"]
    assert main(["compare", slower[0], *numbers, "--fail-if-unknown"]) == 1
    assert "arm B (inference 900): there is no inference to compare" in capsys.readouterr().err


def test_two_methods_of_one_file_are_paired_whatever_their_names(capsys):
    files = [str(METHODS / "a.etdp"), str(METHODS / "a.etrecord")]
    assert main(["compare", *files, "--arm-method", "encode", "--with-method", "decode"]) == 0
    text = capsys.readouterr().out
    assert text.startswith("A: method encode of a.etdp, 4 inferences\nB: method decode of a.etdp,")
    split = ["--arm-method", "encode", "--with-method", "decode", "--json"]
    assert main(["compare", *files, *split]) == 0
    facts = json.loads(capsys.readouterr().out)
    sides = {row["label"]: (row["a"], row["b"]) for row in facts["rows"]}
    assert sides["fc1 · linear"][0]["handles"] == ["encode:1"]
    assert sides["fc1 · linear"][1]["handles"] == ["decode:1"]
    assert sides["relu"][1]["handles"] == ["decode:2"]
    assert sides["sigmoid"][0] is None
    assert {row["reason"] for row in facts["rows"]} == {"one session", "only in one arm"}
    assert facts["inference"]["a_ns"] > 0 < facts["inference"]["b_ns"]


def test_methods_without_an_etrecord_have_the_names_of_their_runs(capsys):
    dump = str(METHODS / "a.etdp")
    names = ["--arm-method", "Execute 1", "--with-method", "Execute 2", "--json"]
    assert main(["compare", dump, *names]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert {row["grade"] for row in rows if row["a"] and row["b"]} == {"by_name"}


def test_a_method_that_no_inference_ran_is_wrong_usage(capsys):
    files = [str(METHODS / "a.etdp"), str(METHODS / "a.etrecord")]
    with pytest.raises(SystemExit) as ended:
        main(["compare", *files, "--arm-method", "encode", "--with-method", "train"])
    assert ended.value.code == 2
    assert "'train'; the methods are: decode, encode" in capsys.readouterr().err


def test_one_method_of_two_arms_of_files(capsys):
    files = [str(METHODS / f"{side}.{end}") for side in "ab" for end in ("etdp", "etrecord")]
    names = ["--arm-method", "decode", "--with-method", "decode", "--json"]
    assert main(["compare", *files[:2], "--with", *files[2:], *names]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert {row["grade"] for row in facts["rows"]} == {"same"}
    assert facts["arms"]["a"]["choice"] == "method decode"


def test_a_copy_of_a_recording_is_no_other_session(slower, tmp_path, capsys):
    copy = shutil.copy(slower[0], tmp_path / "copy.etdp")
    assert main(["compare", slower[0], str(copy), "--with", slower[-1]]) == 1
    assert "a0.etdp and copy.etdp are the same recording" in capsys.readouterr().err


def test_noise_is_measured_stored_and_used(slower, tmp_path, capsys):
    noise = str(tmp_path / "noise.json")
    assert main(["compare", "--null", str(tmp_path / "a"), "-o", noise]) == 0
    one = [slower[0], "--with", slower[-1]]
    assert main(["compare", *one, "--json"]) == 0
    assert main(["compare", *one, "--noise", noise, "--json"]) == 0
    first, second = capsys.readouterr().out.split("\n{")[:2]
    assert '"ci": [' not in first
    assert '"ci": [' in second


def test_noise_of_one_session_or_from_no_file_is_an_error(slower, tmp_path, capsys):
    assert main(["compare", "--null", slower[0]]) == 1
    assert main(["compare", *slower, "--noise", str(tmp_path / "no.json")]) == 1
    assert capsys.readouterr().err.count("\n") == 2


def test_relative_times(slower, capsys):
    assert main(["compare", *slower, "--relative"]) == 0
    assert "Times of rows are relative to the inference" in capsys.readouterr().out


def test_relative_times_without_inferences_are_wrong_usage(capsys):
    whole = str(DATA / "torq/compile_c3_taskid.csv")
    with pytest.raises(SystemExit) as ended:
        main(["compare", whole, "--with", whole, "--relative"])
    assert ended.value.code == 2
    assert "not every profile has inferences" in capsys.readouterr().err


def test_folders_stand_for_their_files(slower, tmp_path, capsys):
    assert main(["compare", str(tmp_path / "a"), "--with", str(tmp_path / "b"), "--json"]) == 0
    of_folders = json.loads(capsys.readouterr().out)
    assert main(["compare", *slower, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["rows"] == of_folders["rows"]


def test_the_record_of_one_arm_is_that_of_both(capsys):
    dump, record = str(EDIT / "b.etdp"), str(EDIT / "b.etrecord")
    answers = []
    for files in ([dump, record, "--with", dump], [dump, "--with", dump, record]):
        assert main(["compare", *files, "--json"]) == 0
        answers.append(json.loads(capsys.readouterr().out))
    assert answers[0]["rows"] == answers[1]["rows"]
    assert answers[0]["pairing"]["pairs"]
    assert all(row["grade"] == "same" for row in answers[0]["rows"])


@pytest.mark.parametrize(
    ("rule", "code", "said"),
    [
        (["--fail-if", "slower > 5%"], 3, "slower > 5%: add.out"),
        (["--fail-if", "slower > 50%"], 0, ""),
        (["--fail-if", "slower > 50%", "--fail-if-unknown"], 0, ""),
        (["--fail-if", "faster > 50%"], 0, ""),
    ],
)
def test_exit_codes_of_rules(slower, capsys, rule, code, said):
    assert main(["compare", *slower, *rule]) == code
    assert said in capsys.readouterr().err


def test_what_cannot_be_excluded_has_an_exit_code(slower, capsys):
    two = [slower[0], slower[1], "--with", slower[-2], slower[-1]]
    rule = ["--fail-if", "slower > 5%"]
    assert main(["compare", *two, *rule]) == 0
    assert main(["compare", *two, *rule, "--fail-if-unknown"]) == 4
    assert "cannot be excluded" in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments",
    [
        ["--inferences", "first"],
        ["--fail-if", "slowly"],
        ["--fail-if-unknown"],
        ["--json", "--markdown"],
    ],
)
def test_wrong_usage(slower, arguments):
    with pytest.raises(SystemExit) as ended:
        main(["compare", *slower, *arguments])
    assert ended.value.code == 2


def test_one_arm_alone_is_wrong_usage(slower):
    for more in (
        [],
        ["--inferences", "1"],
        ["--arm-method", "Execute"],
        ["--inferences", "1", "--with-method", "Execute"],
        ["--split-at", "warm", "--inferences", "1"],
        ["--null", "--split-at", "warm"],
        ["--null", "--relative"],
    ):
        with pytest.raises(SystemExit) as ended:
            main(["compare", slower[0], *more])
        assert ended.value.code == 2


def test_an_arm_without_a_profile_is_an_error(slower, capsys):
    record = str(EDIT / "a.etrecord")
    assert main(["compare", slower[0], "--with", record]) == 1
    assert "arm B: there is no inference" in capsys.readouterr().err


def test_an_arm_of_two_programs_is_an_error(capsys):
    other = DATA / "compare/20_bn_folded"
    a = [str(folder / f"a.{end}") for folder in (EDIT, other) for end in ("etdp", "etrecord")]
    assert main(["compare", *a, "--with", str(EDIT / "b.etdp"), str(EDIT / "b.etrecord")]) == 1
    assert "arm A: its profiles belong to different ETRecords" in capsys.readouterr().err
    mixed = [str(EDIT / "a.etdp"), str(other / "a.etdp"), str(EDIT / "a.etrecord")]
    assert main(["compare", *mixed, "--with", str(EDIT / "a.etdp")]) == 1
    assert "a.etdp is not linked to a.etrecord, and others are" in capsys.readouterr().err


def test_an_arm_of_two_kinds_of_profiles_is_an_error(slower, capsys):
    other = str(DATA / "torq/host_h4_latest.csv")
    assert main(["compare", slower[0], other, "--with", slower[-1]]) == 1
    said = "arm A: its profiles have different formats, ETDump and Torq host profile"
    assert said in capsys.readouterr().err


def test_profiles_of_no_time_have_no_change(tmp_path, capsys):
    event = '{"ph": "X", "name": "a", "ts": 0, "dur": 0, "pid": 1, "tid": 1}'
    path = tmp_path / "no_time.json"
    path.write_text(f'{{"traceEvents": [{event}]}}')
    for level in ("operator", "name", "unit", "location", "line", "inference"):
        assert main(["compare", str(path), "--with", str(path), "--by", level]) == 0
        assert "takes no time in A or in B" in capsys.readouterr().out


def test_times_that_are_no_numbers_are_no_slices(tmp_path, capsys):
    rows = ["process,thread,name,start_ns,dur_ns", "p,t,a,0,nan", "p,t,b,nan,5", "p,t,c,3,4"]
    path = tmp_path / "times.csv"
    path.write_text("\n".join(rows))
    assert main(["compare", str(path), "--with", str(path), "--json"]) == 0
    assert [row["label"] for row in json.loads(capsys.readouterr().out)["rows"]] == ["c"]


def test_a_session_file_stands_for_its_profiles(slower, tmp_path, capsys):
    inputs = [{"path": "a/a0.etdp"}, {"path": "a/a1.etdp"}, {"path": "a/gone.etdp"}]
    path = tmp_path / "work.opscope"
    for count, code in ((2, 0), (3, 1)):
        path.write_text(json.dumps({"opscope_session": 1, "inputs": inputs[:count]}))
        assert main(["compare", str(path), "--with", slower[-1], "--json"]) == code
        said = capsys.readouterr()
        assert json.loads(said.out)["arms"]["a"]["sessions"] == 2
        assert ("gone.etdp was not found" in said.err) == (count == 3)


@pytest.mark.slow
def test_hundreds_of_sessions(tmp_path, capsys):
    shares = [i / 5000 for i in range(100)]
    write_sessions(tmp_path / "a", "a", *varied(BASE, shares))
    write_sessions(tmp_path / "b", "b", *varied({**BASE, "add.out": 26_000}, shares))
    assert main(["compare", str(tmp_path / "a"), "--with", str(tmp_path / "b"), "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["arms"]["b"]["sessions"] == 100
    verdicts = {row["label"]: row["verdict"] for row in facts["rows"]}
    assert (verdicts["add.out"], verdicts["mul.out"]) == ("slower", "no_change")


def test_an_empty_folder_is_wrong_usage(slower, tmp_path, capsys):
    (tmp_path / "empty").mkdir()
    with pytest.raises(SystemExit) as ended:
        main(["compare", slower[0], "--with", str(tmp_path / "empty")])
    assert ended.value.code == 2
    assert "no profile or ETRecord" in capsys.readouterr().err


def test_an_unreadable_file_is_reported_and_the_others_compared(slower, tmp_path, capsys):
    bad = tmp_path / "bad.etdp"
    bad.write_bytes(b"no dump")
    assert main(["compare", str(bad), *slower]) == 1
    told = capsys.readouterr()
    assert str(bad) in told.err
    assert "add.out" in told.out


@pytest.mark.parametrize(("suffix", "start"), [(".json", "{"), (".md", "A: "), (".txt", "A: ")])
def test_output_files_have_the_form_of_their_suffix(slower, tmp_path, suffix, start):
    out = tmp_path / f"out{suffix}"
    assert main(["compare", *slower, "-o", str(out)]) == 0
    assert out.read_text().startswith(start)
    assert ("| ---: |" in out.read_text()) == (suffix == ".md")


def test_an_output_that_cannot_be_written_is_one_line(slower, tmp_path, capsys):
    assert main(["compare", *slower, "-o", str(tmp_path / "no/out.json")]) == 1
    assert capsys.readouterr().err.count("\n") == 1


def test_options_for_a_file_apply_to_its_arm(slower, capsys):
    name = slower[0].rpartition("/")[2]
    assert main(["compare", *slower, "--clock", f"{name}=1GHz"]) == 0
    assert "1GHz" not in capsys.readouterr().err

"""`opscope calls` as scripts and people use it: rows, trees, stacks, ranges and errors."""

import json
import shutil
from collections import Counter

import pytest

from tests.builders.command_line import run
from tests.builders.workspaces import workspace_of
from tests.paths import DATA
from viewer.reports.calls import CallOptions, calls, calls_text, folded
from viewer.reports.parts import NoSuchRun
from viewer.reports.stats import NoSuchGroups
from viewer.workspace.workspace import Workspace

CNN = str(DATA / "etdump" / "cnn_portable_x10.etdp")
RECORD = str(DATA / "etrecord" / "cnn_toedge_portable.etrecord")
C3 = str(DATA / "torq" / "compile_c3_taskid.csv")
DEMO = [str(DATA / "etdump" / "demo_str_x4.etdp"), str(DATA / "etrecord" / "demo_str.etrecord")]
THREADS = str(DATA / "table_csv" / "two_threads.csv")


def answer(capsys, *arguments: str) -> dict:
    code, out, err = run(capsys, "calls", *arguments, "--json")
    assert (code, err) == (0, "")
    return json.loads(out)


def by_path(facts: dict) -> dict[tuple[str, ...], tuple[int, int, int]]:
    return {
        tuple(row["path"]): (row["total_ns"], row["self_ns"], row["count"]) for row in facts["rows"]
    }


# -- JSON ------------------------------------------------------------------------------------------


def test_json_has_the_keys_that_scripts_rely_on(capsys):
    facts = answer(capsys, CNN)
    assert list(facts) == ["opscope", "schema", "by", "bottom_up", "range_ns", "files", "rows"]
    assert (facts["by"], facts["bottom_up"], facts["range_ns"]) == ("name", False, None)
    (file,) = facts["files"]
    assert file["threads"] == [
        {
            "process": "cnn_portable_x10.etdp", "thread": "Execute", "total_ticks": 3021759,
            "total_ns": 3021759,
        }
    ]  # fmt: skip
    assert (file["total_ns"], file["row_count"]) == (3021759, len(facts["rows"]))
    assert file["rows_left_out"] == 0
    assert (file["foreign"], file["derived"], file["inference"]) == (0, 0, None)
    assert facts["rows"][0] == {
        "file": CNN, "path": ["cnn_portable_x10.etdp", "Execute", "Method::execute"],
        "thread": 0,
        "total_ticks": 3004263, "total_ns": 3004263, "self_ticks": 11804, "self_ns": 11804,
        "count": 10,
    }  # fmt: skip
    assert sum(row["self_ns"] for row in facts["rows"]) == file["total_ns"]


def test_ticks_are_rounded_down_to_whole_ns(capsys):
    """A cycle of 800 MHz is 1.25 ns."""
    for row in answer(capsys, C3)["rows"]:
        assert row["total_ns"] == row["total_ticks"] * 5 // 4
        assert row["self_ns"] == row["self_ticks"] * 5 // 4


def test_rows_are_in_preorder_and_the_largest_come_first(capsys):
    rows = answer(capsys, CNN)["rows"]
    seen = set()
    for row in rows:
        path = tuple(row["path"])
        assert len(path) == 3 or path[:-1] in seen
        seen.add(path)
    calls_ = [row["total_ns"] for row in rows if len(row["path"]) == 5]
    assert calls_[:8] == sorted(calls_[:8], reverse=True)


def test_bottom_up_has_the_callers_after_the_name(capsys):
    facts = answer(capsys, CNN, "--bottom-up")
    found = by_path(facts)
    name = "native_call_convolution.out"
    path = (name, "OPERATOR_CALL", "Method::execute", "Execute", "cnn_portable_x10.etdp")
    for length in range(1, 6):
        assert found[path[:length]] == (2678518, 2678518, 20)
    names = [row for row in facts["rows"] if len(row["path"]) == 1]
    assert sum(row["self_ns"] for row in names) == facts["files"][0]["total_ns"]
    assert [row["self_ns"] for row in names] == sorted(
        (row["self_ns"] for row in names), reverse=True
    )


def test_operators_are_frames(capsys):
    facts = answer(capsys, CNN, RECORD, "--by", "operator")
    stated = json.loads(run(capsys, "stats", CNN, RECORD, "--by", "operator", "--json")[1])["rows"]
    frames = {row["path"][-1]: row for row in facts["rows"] if len(row["path"]) == 4}
    for row in stated:
        own = frames[row["label"]]
        for name in ("total_ticks", "total_ns", "self_ticks", "self_ns", "count"):
            assert own[name] == row[name]


def test_a_range_and_an_inference_are_the_same_part(capsys):
    facts = answer(capsys, CNN, "--inference", "4")
    (file,) = facts["files"]
    assert file["inference"].endswith(" · run 4 of 10")
    assert {row["inference"] for row in facts["rows"]} == {file["inference"]}
    start = json.loads(run(capsys, "stats", CNN, "--by", "name", "--json")[1])["files"][0]
    first, last = (tick - start["range_ticks"][0] for tick in file["range_ticks"])
    same = answer(capsys, CNN, "--range", f"{first}:{last}")
    assert by_path(same) == by_path(facts)
    assert file["total_ns"] == last - first
    assert by_path(answer(capsys, CNN, "--run", "4")) == by_path(facts)


def test_depth_and_min_leave_out_rows_and_change_none(capsys):
    every = by_path(answer(capsys, CNN))
    assert by_path(answer(capsys, CNN, "--depth", "2")) == {
        path: figures for path, figures in every.items() if len(path) <= 4
    }
    assert by_path(answer(capsys, CNN, "--min", "5")) == {
        path: figures for path, figures in every.items() if figures[0] >= 0.05 * 3021759
    }
    inverted = by_path(answer(capsys, CNN, "--bottom-up", "--depth", "1"))
    assert {len(path) for path in inverted} == {1}
    few = by_path(answer(capsys, CNN, "--bottom-up", "--min", "5"))
    assert {path[0] for path in few} == {
        "native_call_convolution.out", "native_call_max_pool2d_with_indices.out"
    }  # fmt: skip


def test_files_are_answered_one_by_one(capsys):
    facts = answer(capsys, CNN, C3)
    assert [file["path"] for file in facts["files"]] == [CNN, C3]
    first = facts["files"][0]["row_count"]
    assert {row["file"] for row in facts["rows"][:first]} == {CNN}
    assert {row["file"] for row in facts["rows"][first:]} == {C3}


# -- text ------------------------------------------------------------------------------------------


def test_threads_of_one_name_have_their_own_rows_and_shares(capsys):
    """Two scopes that run the same method have its name."""
    multi = DATA / "pte" / "multi3.etdp", DATA / "pte" / "multi3.etrecord"
    methods = ("--method", "Execute 1=forward", "--method", "Execute 2=forward")
    facts = json.loads(run(capsys, "calls", *map(str, multi), *methods, "--json")[1])
    (file,) = (one for one in facts["files"] if one["threads"])
    totals = [0] * len(file["threads"])
    for row in facts["rows"]:
        if len(row["path"]) == 3:
            totals[row["thread"]] += row["total_ticks"]
    assert totals == [one["total_ticks"] for one in file["threads"]]
    names = [(one["process"], one["thread"]) for one in file["threads"]]
    assert len(set(names)) < len(names)
    text = run(capsys, "calls", *map(str, multi), *methods)[1]
    assert text.count("multi3.etdp > forward") == names.count(("multi3.etdp", "forward")) == 2


def test_the_text_is_a_tree_below_its_threads(capsys):
    code, out, _ = run(capsys, "calls", THREADS)
    assert code == 0
    lines = out.splitlines()
    head = next(line for line in lines if line.endswith("Name"))
    assert head.split("  ")[-1] == "Name"
    for title in ("Total", "Self", "Count", "% of thread"):
        assert title in head
    facts = answer(capsys, THREADS)
    threads = facts["files"][0]["threads"]
    assert len(threads) == 2
    for one in threads:
        assert any(line.endswith(f"{one['process']} > {one['thread']}") for line in lines)
    indent = head.index("Name")
    for row in facts["rows"]:
        text = "  " * (len(row["path"]) - 2) + row["path"][-1]
        assert any(line[indent:] == text for line in lines)


def test_the_text_has_the_largest_rows_and_counts_the_rest():
    space = workspace_of(CNN)
    every = calls(space, CallOptions())
    text = calls_text(calls(space, CallOptions(most=3)))
    assert text.splitlines()[-1] == f"{len(every['rows']) - 3} rows not shown"
    shown = [line.split("  ")[-1].strip() for line in text.splitlines()[-4:-1]]
    assert shown == ["Method::execute", "OPERATOR_CALL", "native_call_convolution.out"]
    assert "not shown" not in calls_text(every)


def test_the_text_says_what_is_left_out(capsys):
    out = run(capsys, "calls", *DEMO)[1]
    assert "28 derived slices left out" in out
    out = run(capsys, "calls", str(DATA / "etdump" / "SYN_qnn_like.etdp"))[1]
    assert "slices with separate clocks left out" in out


def test_shares_are_of_the_thread_also_if_rows_are_left_out(capsys):
    out = run(capsys, "calls", CNN, "--min", "50")[1]
    (line,) = (line for line in out.splitlines() if line.endswith("Method::execute"))
    assert line.split()[-2] == "99.4"


def test_a_text_has_40_rows_and_bottom_up_three_levels_unless_limited(capsys):
    kineto = str(DATA / "chrome_json" / "kineto_cpu.json")
    count = len(answer(capsys, kineto)["rows"])
    assert count > 40
    out = run(capsys, "calls", kineto)[1]
    assert out.splitlines()[-1] == f"{count - 40} rows not shown"
    out = run(capsys, "calls", kineto, "--min", "0")[1]
    assert "not shown" not in out
    out = run(capsys, "calls", CNN, "--bottom-up")[1]
    names = [line[line.index("native_call_mean") :] for line in out.splitlines() if "mean" in line]
    assert names == ["native_call_mean.out"]
    below = out[out.index("native_call_mean.out") :].splitlines()[1:4]
    assert [line.split()[-1] for line in below[:2]] == ["OPERATOR_CALL", "Method::execute"]
    assert below[2].split()[-1] != "Execute"


def test_an_empty_range_says_so(capsys):
    code, out, _ = run(capsys, "calls", CNN, "--range", "10s:11s")
    assert code == 0
    assert out.splitlines()[-1] == "nothing in this range"


# -- stacks ----------------------------------------------------------------------------------------


def stacks(out: str) -> dict[str, int]:
    return {path: int(value) for path, _, value in (s.rpartition(" ") for s in out.splitlines())}


def test_stacks_have_the_self_time_of_every_path(capsys):
    found = stacks(run(capsys, "calls", CNN, "--folded")[1])
    expected = {
        ";".join(row["path"]): row["self_ns"]
        for row in answer(capsys, CNN)["rows"]
        if row["self_ns"]
    }
    assert found == expected
    assert sum(found.values()) == 3021759


def test_a_semicolon_in_a_name_becomes_a_colon(capsys):
    """The identifier of an event of this dump is "sin:0;a=b"."""
    found = stacks(run(capsys, "calls", *DEMO, "--folded")[1])
    path = "demo_str_x4.etdp;forward;Method::execute;DELEGATE_CALL;sin:0:a=b"
    assert found[path] == 120290


def test_stacks_bottom_up_are_those_top_down_reversed(capsys):
    found = stacks(run(capsys, "calls", CNN, "--folded")[1])
    inverted = stacks(run(capsys, "calls", CNN, "--folded", "--bottom-up")[1])
    assert inverted == {";".join(path.split(";")[::-1]): value for path, value in found.items()}


def test_stacks_of_several_profiles_begin_with_the_file(capsys):
    found = stacks(run(capsys, "calls", CNN, C3, "--folded")[1])
    files = Counter(path.split(";")[0] for path in found)
    assert set(files) == {"cnn_portable_x10.etdp", "compile_c3_taskid.csv"}


def test_names_that_become_equal_are_one_line():
    rows = [
        {"file": "a", "path": ["p", "", name], "self_ns": 5} for name in ("x;y", "x:y", "x\n;y")
    ]
    facts = {"files": [{"path": "a"}], "rows": rows, "bottom_up": False}
    assert folded(facts).splitlines() == ["p;(no name);x:y 10", "p;(no name);x :y 5"]


# -- errors ----------------------------------------------------------------------------------------


def test_a_key_that_no_file_has_is_an_error_that_lists_the_others(capsys):
    code, out, err = run(capsys, "calls", CNN, "--by", "operator")
    assert (code, out) == (1, "")
    assert err == (
        "opscope: no call tree by operator: No open ETRecord or source matches the trace. "
        "The keys are name\n"
    )


def test_a_key_that_one_file_lacks_is_noted(capsys):
    code, out, err = run(capsys, "calls", CNN, RECORD, THREADS, "--by", "operator", "--json")
    assert code == 0
    assert [file["missing"] is None for file in json.loads(out)["files"]] == [True, False]
    assert f"note: {THREADS}: no call tree by operator" in err


def test_an_inference_that_does_not_exist_is_wrong_usage(capsys):
    code, out, err = run(capsys, "calls", CNN, "--inference", "11")
    assert (code, out) == (2, "")
    assert err == "opscope: there is no inference 11: the inferences are numbered 1 to 10\n"
    code, _, err = run(capsys, "calls", CNN, THREADS, "--inference", "1")
    assert code == 0
    assert err == f"opscope: note: {THREADS}: it has no inference 1\n"


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (["--depth", "0"], "--depth 0: it must be at least 1"),
        (["--min", "101"], "--min 101: it must be a percentage from 0 to 100"),
        (["--min", "nan"], "--min nan: it must be a percentage from 0 to 100"),
        (["--folded", "--json"], "not allowed with argument"),
        (["--folded", "--min", "1"], "--depth and --min cannot be used with --folded"),
        (["--range", "0:1ms", "--inference", "1"], "cannot be used together"),
        (["--range", "1ms"], "'1ms' is not a range"),
        (["--by", "thread"], "invalid choice"),
        (["-o", CNN], "this is an input file and would be overwritten"),
    ],
)
def test_wrong_usage(capsys, options, why):
    code, out, err = run(capsys, "calls", CNN, *options)
    assert (code, out) == (2, "")
    assert why in err


def test_a_file_that_cannot_be_read_leaves_the_others(capsys, tmp_path):
    missing = str(tmp_path / "gone.etdp")
    code, out, err = run(capsys, "calls", CNN, missing)
    assert code == 1
    assert "Method::execute" in out
    assert missing in err
    assert run(capsys, "calls", missing)[0] == 1


def test_output_goes_to_a_file(capsys, tmp_path):
    to = tmp_path / "run.json"
    code, out, err = run(capsys, "calls", CNN, "--json", "-o", str(to))
    assert (code, out, err) == (0, "", "")
    assert json.loads(to.read_text(encoding="utf-8")) == answer(capsys, CNN)
    code, _, err = run(capsys, "calls", CNN, "-o", str(tmp_path / "gone" / "x"))
    assert code == 1
    assert "it cannot be written" in err


def test_a_file_without_slices_has_no_tree(capsys, tmp_path):
    empty = tmp_path / "empty.etdp"
    shutil.copy(DATA / "etdump" / "SYN_no_runs.etdp", empty)
    code, out, err = run(capsys, "calls", str(empty))
    assert (code, out) == (1, "")
    assert err


def test_without_a_profile_there_is_no_tree():
    space = Workspace()
    with pytest.raises(NoSuchGroups, match="no profile is open"):
        calls(space, CallOptions())
    space.open(THREADS)
    with pytest.raises(NoSuchRun, match="there is no inference 1: no file has inferences"):
        calls(space, CallOptions(inference=1))


# -- sampled profiles ------------------------------------------------------------------------------


def test_stacks_with_counts_alone_are_told_in_samples(capsys):
    path = str(DATA / "samples" / "p02_collapsed.txt")
    file = answer(capsys, path)["files"][0]
    assert (file["clock"]["unit"], file["sampled"], file["total_ticks"]) == ("sample", True, 44)
    _, out, _ = run(capsys, "calls", path)
    lines = [line.split() for line in out.splitlines()]
    assert ["Total", "Self", "Samples", "%", "of", "thread", "Name"] in lines
    assert ["30", "samples", "30", "samples", "30", "68.2", "compute"] in lines
    assert "clock 1 sample = 1.000 ms (assumed)" in out


def test_a_rate_that_the_user_states_makes_times_of_samples(capsys):
    path = str(DATA / "samples" / "p02_collapsed.txt")
    _, out, _ = run(capsys, "calls", path, "--clock", "100Hz")
    assert "440.000 ms" in out
    assert "samples  " not in out

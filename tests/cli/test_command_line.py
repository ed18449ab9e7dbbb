"""The command line as scripts use it: exit codes, what is on stdout and stderr, JSON and files."""

import csv
import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.builders.command_line import run
from tests.paths import DATA, ROOT
from viewer import SCHEMA, __version__
from viewer.cli import main

SAMPLES = ROOT / "resources" / "samples"


@pytest.fixture
def controller(tmp_path, monkeypatch) -> Path:
    """A working folder with a dump, its record, another record and a Torq pair."""
    for path in (
        DATA / "etdump" / "demo_str_x4.etdp",
        DATA / "etrecord" / "demo_str.etrecord",
        DATA / "etrecord" / "demo_generated_int.etrecord",
        DATA / "torq" / "compile_c0_callsite.csv",
        DATA / "torq" / "tiny_cnn.mlir",
    ):
        shutil.copy(path, tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def rows(path: str) -> list[dict[str, str]]:
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


DUMP, RECORD, OTHER = "demo_str_x4.etdp", "demo_str.etrecord", "demo_generated_int.etrecord"
COLUMNS = [
    "process", "thread", "depth", "name", "start_ns", "dur_ns", "start_ticks", "dur_ticks",
    "inference", "method", "instruction_id", "identifier", "debug_handles", "operators", "node",
    "op_type", "module", "source", "link_reason", "timing", "derived", "native_start", "native_dur",
    "native_unit", "metadata", "called_from",
]  # fmt: skip

NUMBER = (int, float)
FILE = {"path": str, "format": str, "generation": str, "kind": str, "tracks": int, "slices": int,
        "untimed": dict, "derived": int, "unattributed": dict, "origin": int, "clock": dict,
        "inferences": list,
        "problems": list}  # fmt: skip
LINK = {"trace": str, "program": str, "method": str, "linkable": int, "linked": int,
        "coverage": NUMBER, "covered_time": NUMBER, "by_reason": dict, "match": NUMBER,
        "agreement": NUMBER, "evidence": int}  # fmt: skip


# -- info ------------------------------------------------------------------------------------------


def test_info_json_has_the_keys_and_types_that_scripts_rely_on(controller, capsys):
    code, out, err = run(capsys, "info", "--json", RECORD, DUMP)
    facts = json.loads(out)
    assert (code, err) == (0, "")
    assert set(facts) == {
        "opscope",
        "schema",
        "files",
        "links",
        "identifier_columns",
        "session_sets",
    }
    assert facts["identifier_columns"] == []
    assert (facts["opscope"], facts["schema"]) == (__version__, SCHEMA)
    trace, program = facts["files"]
    assert {k: isinstance(trace[k], t) for k, t in FILE.items()} == dict.fromkeys(FILE, True)
    assert set(FILE) <= set(program)
    assert (trace["kind"], program["kind"]) == ("trace", "program")
    assert (trace["path"], program["path"]) == (DUMP, RECORD)
    assert (trace["slices"], trace["derived"], trace["tracks"]) == (35, 28, 1)
    assert trace["clock"] == {
        "unit": "ns", "ns_per_tick": 1, "rate": "1 GHz", "origin": "assumed", "assumed": True,
        "domain": "",
        "zeros": {},
        "zero_errors": {},
        "shared": "",
    }  # fmt: skip
    (link,) = facts["links"]
    assert {k: isinstance(link[k], t) for k, t in LINK.items()} == dict.fromkeys(LINK, True)
    assert (link["trace"], link["program"], link["method"]) == (DUMP, RECORD, "forward")
    assert (link["linkable"], link["linked"], link["evidence"]) == (28, 24, 6)
    assert (link["coverage"], link["match"]) == (round(24 / 28, 4), 0.8333)
    assert link["agreement"] == link["match"]
    assert sum(link["by_reason"].values()) == 35


def test_reasons_are_named_in_the_text_as_in_the_window(capsys):
    cnn = (
        DATA / "etdump" / "cnn_portable_x10.etdp",
        DATA / "etrecord" / "cnn_toedge_portable.etrecord",
    )
    text = run(capsys, "info", *map(str, cnn))[1]
    assert "linked by: operator calls, by instruction (200)" in text
    (link,) = json.loads(run(capsys, "info", "--json", *map(str, cnn))[1])["links"]
    assert link["by_reason"]["instruction in the debug handle map"] == 200


def test_problems_have_kind_count_and_first(controller, capsys):
    shutil.copy(DATA / "etdump" / "SYN_wraparound.etdp", "a.etdp")
    (file,) = json.loads(run(capsys, "info", "--json", "a.etdp")[1])["files"]
    assert file["problems"]
    for problem in file["problems"]:
        assert set(problem) == {"kind", "count", "first"}


def test_events_without_a_time_are_counted_by_kind_and_are_no_problem(controller, capsys):
    shutil.copy(DATA / "etdump" / "SYN_untimed_kinds.etdp", "a.etdp")
    (file,) = json.loads(run(capsys, "info", "--json", "a.etdp")[1])["files"]
    assert file["untimed"] == {"allocation": 5, "debug": 15}
    assert file["problems"] == []
    told = run(capsys, "info", "a.etdp")[1]
    assert "5 allocation events, 15 debug events: in order, without times" in told
    assert "bundled inputs: 2" in told


def test_a_clock_of_800_mhz_and_one_link_entry_per_method(controller, capsys):
    facts = json.loads(run(capsys, "info", "--json", "compile_c0_callsite.csv", "tiny_cnn.mlir")[1])
    assert facts["files"][0]["clock"]["ns_per_tick"] == 1.25
    assert [x["coverage"] for x in facts["links"]] == [1.0]
    for name in ("multi_forward_decode_toedge_portable.etrecord",):
        shutil.copy(DATA / "etrecord" / name, name)
    shutil.copy(DATA / "etdump" / "multi_forward_decode_portable_x3.etdp", "m.etdp")
    facts = json.loads(run(capsys, "info", "--json", "m.etdp", name)[1])
    assert {"forward", "decode"} <= {x["method"] for x in facts["links"]}


def test_a_record_of_another_model_is_warned_about_on_stderr(controller, capsys):
    code, out, err = run(capsys, "info", "--json", DUMP, OTHER)
    assert code == 0
    assert f"{DUMP} does not match {OTHER}" in err
    (link,) = json.loads(out)["links"]
    assert (link["linked"], link["match"], link["evidence"]) == (0, 0.0, 6)


def test_info_for_people_says_the_same(controller, capsys):
    code, out, _ = run(capsys, "info", DUMP, RECORD)
    assert code == 0
    assert "35 slices on 1 track," in out
    assert "24 of 28 linkable slices (85.7%" in out
    assert "match: 0.83, 6 names compared" in out


def test_info_lists_the_graphs_of_a_record_apart_from_its_methods(controller, capsys):
    name = "cnn_standalone_after_tobackend.etrecord"
    shutil.copy(DATA / "etrecord" / name, name)
    (file,) = json.loads(run(capsys, "info", "--json", name)[1])["files"]
    assert file["methods"] == {"forward": 9}
    assert file["graphs"] == {"exported_program": 9, "aten_copy/forward": 9}
    out = run(capsys, "info", name)[1]
    assert "graphs before lowering: exported_program (9 nodes), aten_copy/forward (9 nodes)" in out


def test_a_column_of_identifiers_is_told_with_its_coverage_and_chosen(controller, capsys):
    for name in ("torq/demo_manual_int_r1.csv", "etrecord/demo_manual_int.etrecord"):
        shutil.copy(DATA / name, Path(name).name)
    files = ("demo_manual_int_r1.csv", "demo_manual_int.etrecord")
    code, out, err = run(capsys, "info", "--json", *files)
    (entry,) = json.loads(out)["identifier_columns"]
    assert entry == {
        "trace": files[0], "program": files[1], "column": "job_id", "in_force": False, "by": None,
        "values": 5, "known": 5, "identifiers": 5, "met": 5, "words": 0, "of_slices": 1.0,
        "of_time": 1.0,
    }  # fmt: skip
    assert "Numbers can match by chance, so they were not linked" in err
    for said in ("job_id", f"{files[0]}=job_id"):
        code, out, err = run(capsys, "info", "--json", *files, "--identifier-column", said)
        (entry,) = json.loads(out)["identifier_columns"]
        assert (entry["in_force"], entry["by"], err) == (True, "user", "")
        (link,) = json.loads(out)["links"]
        assert (link["linked"], link["match"]) == (5, 1.0)
    out = run(capsys, "info", *files, "--identifier-column", "job_id")[1]
    assert "identifiers in column job_id (by user): 5 of 5 values in the map" in out
    code, _, err = run(capsys, "export", *files, "-o", "x.csv", "--identifier-column", "job_id")
    assert code == 0
    told = {row["identifier"]: row["debug_handles"] for row in rows("x.csv")}
    assert told == {"10": "[1, 2]", "1": "[3, 4]", "100": "[5]", "0": "[5]", "7": "[5]"}


def test_a_column_that_no_profile_has_is_answered_with_those_that_there_are(controller, capsys):
    code, _, err = run(capsys, "info", "compile_c0_callsite.csv", "--identifier-column", "a=b")
    assert code == 2
    assert err.splitlines()[-1] == (
        "opscope info: error: --identifier-column a=b: no open profile has such a column; the "
        "columns are event, location, type, name"
    )
    code, _, err = run(capsys, "info", DUMP, "--identifier-column", f"{DUMP}=name")
    assert code == 2
    assert f"the slices of {DUMP} already have operator IDs" in err


# -- clocks, companions and where sources lie ------------------------------------------------------

CYCLES, TEXT = "compile_c0_callsite.csv", "tiny_cnn.mlir"


@pytest.mark.parametrize(
    ("given", "clock"),
    [
        ((), {"ns_per_tick": 1.25, "rate": "800 MHz", "origin": "assumed", "assumed": True}),
        (("100MHz",), {"ns_per_tick": 10, "rate": "100 MHz", "origin": "chosen", "assumed": False}),
        ((f"{CYCLES}=1.2 GHz", "100MHz"),
         {"ns_per_tick": 5 / 6, "rate": "1.2 GHz", "origin": "chosen", "assumed": False}),
    ],
)  # fmt: skip
def test_the_clock_rate_of_cycles_is_assumed_or_chosen(controller, capsys, given, clock):
    arguments = [word for rate in given for word in ("--clock", rate)]
    code, out, err = run(capsys, "info", "--json", CYCLES, *arguments)
    assert (code, err) == (0, "")
    told = json.loads(out)["files"][0]["clock"]
    assert told == {
        "unit": "cycle",
        "domain": "",
        "zeros": {},
        "zero_errors": {},
        "shared": "",
        **clock,
    }


def test_a_chosen_rate_is_told_to_people_and_exported(controller, capsys):
    code, out, _ = run(capsys, "info", CYCLES, "--clock", "100 MHz")
    assert code == 0
    assert "clock: 1 cycle = 10 ns, 100 MHz (chosen)" in out
    assert run(capsys, "export", CYCLES, "-o", "slow.csv", "--clock", f"{CYCLES}=100MHz")[0] == 0
    assert run(capsys, "export", CYCLES, "-o", "fast.csv")[0] == 0
    for slow, fast in zip(rows("slow.csv"), rows("fast.csv"), strict=True):
        assert (slow["start_ticks"], slow["dur_ticks"]) == (fast["start_ticks"], fast["dur_ticks"])
        assert int(slow["dur_ns"]) == 10 * int(slow["dur_ticks"])


QNN = "SYN_qnn_like.etdp"


@pytest.mark.parametrize(
    "clock", [f"{QNN}:cycles=800MHz", ":cycles=800MHz", f"./{QNN}:cycles=800MHz"]
)
def test_the_rate_of_a_delegates_clock_gives_its_events_a_duration_in_ns(controller, capsys, clock):
    shutil.copy(DATA / "etdump" / QNN, controller)
    assert run(capsys, "export", QNN, "-o", "out.csv", "--clock", clock)[0] == 0
    found = {row["native_dur"]: row["native_ns"] for row in rows("out.csv")}
    assert found == {"": "", "5000": "6250", "1200": "1500", "300": "375"}


def test_a_colon_in_the_name_of_a_file_is_no_clock_of_a_delegate(controller, capsys):
    shutil.copy(DATA / "etdump" / QNN, controller / "a:b.etdp")
    code, out, err = run(capsys, "info", "a:b.etdp", "--clock", "a:b.etdp=100MHz")
    assert (code, err) == (0, "")
    assert "(chosen)" in out


@pytest.mark.parametrize(
    ("clock", "why"),
    [
        (":QnnBackend=1MHz", "no open profile has this delegate clock; the clocks are cycles"),
        (f"{QNN}:QnnBackend=1MHz", "has no delegate clock 'QnnBackend'; it has cycles"),
        ("gone.etdp:cycles=1MHz", "gone.etdp is not an open profile"),
        (f"{QNN}:cycles=fast", "'fast' is not a clock rate"),
    ],
)
def test_a_delegates_clock_that_is_not_there_is_wrong_usage(controller, capsys, clock, why):
    shutil.copy(DATA / "etdump" / QNN, controller)
    code, out, err = run(capsys, "info", QNN, "--clock", clock)
    assert (code, out) == (2, "")
    assert why in err


@pytest.mark.parametrize(
    ("clock", "why"),
    [
        ("fast", "'fast' is not a clock rate"),
        (f"{CYCLES}=", "'' is not a clock rate"),
        ("0MHz", "not a whole number of Hz between"),
        ("gone.csv=800MHz", "gone.csv is not an open profile"),
        ("plain.csv=800MHz", "states its clock rate"),
    ],
)
def test_a_clock_rate_that_cannot_be_is_wrong_usage(controller, capsys, clock, why):
    Path("plain.csv").write_text("process,thread,name,start_ns,dur_ns\np,t,a,0,5\n")
    code, out, err = run(capsys, "info", CYCLES, "plain.csv", "--clock", clock)
    assert (code, out) == (2, "")
    assert why in err


def test_the_text_beside_a_profile_is_opened_with_it_and_that_is_said(controller, capsys):
    code, out, err = run(capsys, "info", "--json", CYCLES)
    facts = json.loads(out)
    assert (code, err) == (0, "")
    assert [(f["path"], f.get("found_for")) for f in facts["files"]] == [
        (CYCLES, None), (TEXT, CYCLES)
    ]  # fmt: skip
    assert [link["coverage"] for link in facts["links"]] == [1.0]
    assert f"opened because {CYCLES} names it" in run(capsys, "info", CYCLES)[1]
    asked = json.loads(run(capsys, "info", "--json", CYCLES, TEXT)[1])
    assert asked["files"][1]["found_for"] is None


def test_a_text_beside_a_profile_that_cannot_be_read_stops_nothing(controller, capsys):
    Path(TEXT).write_bytes(b"ML\xefR bytecode")
    code, out, err = run(capsys, "info", "--json", CYCLES)
    assert code == 0
    assert [f["path"] for f in json.loads(out)["files"]] == [CYCLES]
    assert err.startswith(f"opscope: warning: {CYCLES} refers to a source that cannot be read")


def test_where_sources_lie_can_be_said(controller, capsys):
    Path("models").mkdir()
    shutil.move(TEXT, "models")
    recorded = Path(CYCLES).read_text().replace('"tiny_cnn.mlir"', '"/build/tiny_cnn.mlir"')
    Path(CYCLES).write_text(recorded)
    assert json.loads(run(capsys, "info", "--json", CYCLES)[1])["links"] == []
    found = run(capsys, "info", "--json", CYCLES, "--source-path", "/build=models")[1]
    assert json.loads(found)["links"][0]["coverage"] == 1.0
    for wrong in ("models", "=", "/build="):
        code, _, err = run(capsys, "info", CYCLES, "--source-path", wrong)
        assert code == 2
        assert "write it as FROM=TO" in err
    code, _, err = run(capsys, "info", CYCLES, "--source-path", "/build=nowhere")
    assert code == 2
    assert "nowhere does not exist" in err


# -- unreadable inputs -----------------------------------------------------------------------------


def test_unreadable_files_are_named_and_the_others_answered(controller, capsys):
    Path("folder").mkdir()
    os.mkfifo("pipe.etdp")
    Path("empty.etdp").touch()
    Path("photo.jpg").write_bytes(b"\xff\xd8\xff\xe0" + bytes(100))
    Path("utf16.csv").write_bytes("process,thread\n".encode("utf-16"))
    shutil.copy(DATA / "etdump" / "BAD_truncated.etdp", "cut.etdp")
    Path("kernel.mlir").symlink_to("/proc/kmsg")  # to read it waits for the next message
    bad = ["folder", "gone.etdp", "/dev/null", "pipe.etdp", "empty.etdp", "photo.jpg", "utf16.csv",
           "cut.etdp", "kernel.mlir"]  # fmt: skip
    code, out, err = run(capsys, "info", "--json", *bad, DUMP, RECORD)
    assert code == 1
    assert len(err.splitlines()) == len(bad)
    for path, line in zip(bad, err.splitlines(), strict=True):
        assert line.startswith(f"opscope: {path}")
    facts = json.loads(out)
    assert [f["path"] for f in facts["files"]] == [DUMP, RECORD]
    assert len(facts["links"]) == 1


def test_nothing_readable_is_still_valid_json(controller, capsys):
    code, out, err = run(capsys, "info", "--json", "gone.etdp")
    assert code == 1
    empty = {"files": [], "links": [], "identifier_columns": [], "session_sets": []}
    assert json.loads(out) == {"opscope": __version__, "schema": SCHEMA, **empty}
    assert err == "opscope: gone.etdp: there is no such file. Check the path\n"


def test_a_file_without_permission(controller, capsys, monkeypatch):
    def refused(path, mode):
        raise PermissionError(13, "Permission denied", path)

    monkeypatch.setattr("viewer.formats.open", refused, raising=False)
    code, _, err = run(capsys, "info", DUMP)
    assert (code, err) == (1, f"opscope: {DUMP}: no permission to read it\n")


@pytest.mark.parametrize("name", ["sp ace.etdp", "ü☃.etdp", "-dash.etdp", "a=b.etdp", "info"])
def test_files_may_have_any_name(controller, capsys, name):
    shutil.copy(DUMP, name)
    code, out, err = run(capsys, "info", "--json", "--", name)
    assert (code, err) == (0, "")
    assert json.loads(out)["files"][0]["path"] == name


def test_one_line_for_each_unreadable_file_whatever_its_name(controller, capsys):
    assert len(run(capsys, "info", "gone\nfile.etdp")[2].splitlines()) == 1


def as_command(*arguments: str | bytes, **environment: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-m", "viewer", *arguments], capture_output=True, timeout=60, check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
    )  # fmt: skip


@pytest.mark.slow
def test_a_terminal_that_is_not_utf8(controller):
    found = as_command("info", DUMP, RECORD, PYTHONIOENCODING="ascii")
    assert (found.returncode, b"Traceback" in found.stderr) == (0, False)


@pytest.mark.slow
def test_a_file_that_names_a_method_with_a_lone_surrogate(controller):
    with zipfile.ZipFile("odd.etrecord", "w") as archive:
        archive.writestr("ETRECORD_V0", "")
        archive.writestr("debug_handle_map", '{"\\ud800": {"0": 1}}')
    found = as_command("info", "odd.etrecord")
    assert (found.returncode, b"Traceback" in found.stderr) == (0, False)


# -- export ----------------------------------------------------------------------------------------


def test_export_csv_has_the_columns_and_links(controller, capsys):
    assert run(capsys, "export", DUMP, RECORD, "-o", "s.csv") == (0, "", "")
    table = rows("s.csv")
    assert list(table[0])[: len(COLUMNS)] == COLUMNS
    assert len([row for row in table if row["derived"] != "true"]) == 35
    fused = [r for r in table if r["identifier"] == "Fancy Fusion"]
    assert len(fused) == 4
    for row in fused:
        assert json.loads(row["operators"]) == ["aten.convolution.default", "aten.relu.default"]
        assert json.loads(row["debug_handles"]) == [1, 2]
        assert row["source"].startswith("/home/user/models/models.py:")
        assert (row["method"], row["instruction_id"]) == ("forward", "0")
    for row in table:
        assert json.loads(row["debug_handles"]) or not json.loads(row["operators"])
        assert row["link_reason"]
        if row["name"].startswith(("Method::", "Program::")):
            assert (row["operators"], row["identifier"]) == ("[]", "")
    unknown = [r for r in table if r["link_reason"] == "identifier not in the debug handle map"]
    assert len(unknown) == 4
    assert {r["operators"] for r in unknown} == {"[]"}


def test_export_of_events_without_a_time_has_a_row_an_event(controller, capsys):
    shutil.copy(DATA / "etdump" / "SYN_untimed_kinds.etdp", "a.etdp")
    assert run(capsys, "export", "a.etdp", "-o", "t.csv", "--table", "untimed")[0] == 0
    table = rows("t.csv")
    assert len(table) == 20
    assert (table[0]["name"], table[0]["bytes"]) == ("method_allocator", str(2**64 - 1))
    assert (table[4]["value"], table[4]["offset"]) == ("f32 1 × 3 × 8 × 8", "64")


def test_a_table_that_cannot_be_is_told(controller, capsys):
    code, _, err = run(capsys, "export", DUMP, "-o", "t.csv", "--table", "untimed")
    assert code == 1
    assert "No open file has events without a time" in err
    assert not Path("t.csv").exists()
    code, _, err = run(capsys, "export", DUMP, "-o", "t.pftrace", "--table", "untimed")
    assert code == 2
    assert "must end in one of .csv, .tsv" in err


def test_export_of_a_range_has_the_slices_that_touch_it_whole(controller, capsys):
    """Of the whole table the rows that share time with 20 us to 40 us, from the first start on."""
    run(capsys, "export", DUMP, RECORD, "-o", "all.csv")
    code, _, _ = run(capsys, "export", DUMP, RECORD, "-o", "part.csv", "--range", "20us:40us")
    assert code == 0
    with open("all.csv", newline="") as file:
        every = list(csv.DictReader(file))
    zero = min(int(row["start_ns"]) for row in every)
    meant = [
        row for row in every
        if int(row["start_ns"]) - zero < 40_000
        and int(row["start_ns"]) - zero + max(int(row["dur_ns"]), 1) > 20_000
    ]  # fmt: skip
    with open("part.csv", newline="") as file:
        assert list(csv.DictReader(file)) == meant
    assert 0 < len(meant) < len(every)
    run(capsys, "export", DUMP, RECORD, "-o", "part.pftrace", "--range", "20us:40us")
    data = Path("part.pftrace").read_bytes()
    names = {row["name"] for row in meant}
    assert data.count(b"range_start_ns") > 0
    assert all(name.encode() in data for name in names)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["-o", "x.csv", "--range", "5"], "write START:END"),
        (["-o", "x.csv", "--range", "5:1"], "ends before it begins"),
        (["-o", "x.csv", "--table", "statistics", "--range", "1:2"], "--range applies only to"),
    ],
)
def test_a_range_that_is_none_is_wrong_usage(controller, capsys, options, said):
    with pytest.raises(SystemExit) as ended:
        main(["export", DUMP, *options])
    assert ended.value.code == 2
    assert said in capsys.readouterr().err


def test_the_exported_csv_opens_again_with_the_same_operators(controller, capsys):
    run(capsys, "export", DUMP, RECORD, "-o", "s.csv")
    run(capsys, "export", "s.csv", RECORD, "-o", "again.tsv")
    with open("again.tsv", newline="", encoding="utf-8") as file:
        again = list(csv.DictReader(file, delimiter="\t"))
    first = rows("s.csv")
    same = ("process", "thread", "depth", "name", "start_ns", "dur_ns", "identifier",
            "instruction_id", "operators", "debug_handles", "source")  # fmt: skip
    assert [[r[c] for c in same] for r in again] == [[r[c] for c in same] for r in first]


def test_a_record_alone(controller, capsys):
    code, _, err = run(capsys, "export", RECORD, "-o", "x.pftrace")
    assert code == 1
    assert "This file has no timing data" in err
    assert not Path("x.pftrace").exists()
    assert run(capsys, "export", RECORD, "-o", "x.csv") == (0, "", "")
    assert [r["operator"] for r in rows("x.csv")] == [
        "convolution", "relu", "convolution", "relu", "tan",
    ]  # fmt: skip


@pytest.mark.parametrize("suffix", [".pftrace", ".pb", ".pftrace.gz", ".pb.gz", ".PFTRACE"])
def test_perfetto_suffixes(controller, capsys, suffix):
    assert run(capsys, "export", DUMP, RECORD, "-o", f"x{suffix}") == (0, "", "")
    head = Path(f"x{suffix}").read_bytes()[:2]
    assert head == b"\x1f\x8b" if suffix.endswith(".gz") else head[:1] == b"\x0a"


@pytest.mark.parametrize("output", ["missing/x.csv", "missing/x.pftrace", "taken.csv"])
def test_what_cannot_be_written_is_one_line_and_exit_1(controller, capsys, output):
    Path("taken.csv").mkdir()
    code, _, err = run(capsys, "export", DUMP, RECORD, "-o", output)
    assert code == 1
    assert err.startswith(f"opscope: {output}: it cannot be written (")
    assert len(err.splitlines()) == 1
    assert not [p for p in Path().rglob("*") if p.name.endswith(".part")]


def test_info_says_how_much_of_the_delegate_calls_is_unattributed(controller, capsys):
    code, out, _ = run(capsys, "info", DUMP, "--json")
    calls = [r for r in rows_of_dump(DUMP) if r["name"] == "DELEGATE_CALL"]
    events = [r for r in rows_of_dump(DUMP) if r["identifier"] and r["instruction_id"]]
    whole = sum(int(r["dur_ticks"]) for r in calls)
    covered = sum(int(r["dur_ticks"]) for r in events)
    facts = json.loads(out)["files"][0]["unattributed"]
    assert (code, facts) == (0, {"ticks": whole - covered, "of_ticks": whole})
    out = run(capsys, "info", DUMP)[1]
    assert f"{(whole - covered) / whole:.1%} of the time of delegate calls that log events" in out


def rows_of_dump(path: str) -> list[dict[str, str]]:
    assert main(["export", path, "-o", "all.csv"]) == 0
    return rows("all.csv")


def test_an_unreadable_input_beside_a_readable_one_still_exports(controller, capsys):
    code, _, err = run(capsys, "export", "gone.etdp", DUMP, "-o", "s.csv")
    assert (code, len(rows("s.csv"))) == (1, 63)
    assert err.startswith("opscope: gone.etdp: there is no such file")
    assert run(capsys, "export", "gone.etdp", "-o", "none.csv")[0] == 1
    assert not Path("none.csv").exists()


def test_an_input_is_never_overwritten(controller, capsys):
    before = Path("compile_c0_callsite.csv").read_bytes()
    code, _, _ = run(capsys, "export", "compile_c0_callsite.csv", "-o", "./compile_c0_callsite.csv")
    assert code != 0
    assert Path("compile_c0_callsite.csv").read_bytes() == before


def test_two_dumps_of_the_same_name_stay_apart_in_a_table(controller, capsys):
    for folder, dump in (("a", "demo_str_x4.etdp"), ("b", "cnn_portable_x1.etdp")):
        Path(folder).mkdir()
        shutil.copy(DATA / "etdump" / dump, Path(folder) / "run.etdp")
    assert run(capsys, "export", "a/run.etdp", "b/run.etdp", "-o", "s.csv")[0] == 0
    assert len({(r["process"], r["thread"]) for r in rows("s.csv")}) == 2


# -- pairs and usage -------------------------------------------------------------------------------


TWINS = (
    str(DATA / "etdump" / "multi_forward_decode_converts_x3.etdp"),
    str(DATA / "etrecord" / "multi_forward_decode_teal_xnnpack.etrecord"),
)


def test_a_method_that_no_record_can_tell_is_chosen(controller, capsys):
    links = json.loads(run(capsys, "info", "--json", *TWINS)[1])["links"]
    assert sum(link["linked"] for link in links) == 0
    code, out, _ = run(capsys, "info", "--json", *TWINS, "--method", "Execute 2=decode")
    links = {link["method"]: link["linked"] for link in json.loads(out)["links"]}
    assert (code, links["decode"]) == (0, 3)
    assert sum(links.values()) == 3  # the other runs are not known to be of forward
    both = ("--method", "Execute 2=decode", "--method", "Execute 1=forward")
    code, out, _ = run(capsys, "info", "--json", *TWINS, *both)
    links = {link["method"]: link["linked"] for link in json.loads(out)["links"]}
    assert (code, links["decode"], links["forward"]) == (0, 3, 3)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("Execute 2", "write it as NAME=METHOD"),
        (
            "Execute 9=decode",
            "no inferences have this name; the names are Execute 1, Execute 2, load",
        ),
        ("Execute 1=encode", "has no method 'encode'; it has decode, forward"),
        ("Execute 1:1", "or NAME:NUMBERS=METHOD"),
        ("Execute 1:9=decode", "there is no inference 9: they are numbered 1-3"),
    ],
)
def test_a_method_that_does_not_exist_is_wrong_usage(controller, capsys, text, why):
    code, _, err = run(capsys, "info", *TWINS, "--method", text)
    assert code == 2
    assert why in err


def test_the_method_of_each_inference_is_in_info_tables_and_statistics(
    controller, capsys, data, tmp_path
):
    files = [str(data / "pte" / f"multi3.{end}") for end in ("etdp", "etrecord")]
    options = ["--method", "Execute 1:1,3=prefill", "--method", "multi3.etdp:Execute 1:2,4=forward"]
    facts = json.loads(run(capsys, "info", "--json", *files, *options)[1])
    told = [one["method"] for one in facts["files"][0]["inferences"]]
    assert told == ["prefill", "decode", "forward", "decode"] * 2
    to = tmp_path / "slices.csv"
    assert run(capsys, "export", "--table", "slices", *files, *options, "-o", str(to))[0] == 0
    with open(to, encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["name"] == "Method::execute"]
    assert (
        sorted(row["method"] for row in rows) == ["decode"] * 4 + ["forward"] * 2 + ["prefill"] * 2
    )
    found = json.loads(run(capsys, "stats", "--json", "--by", "run", *files, *options)[1])
    assert [row["label"] for row in found["rows"]][:3] == [
        "prefill · run 1 of 4", "decode · run 1 of 4", "forward · run 2 of 4",
    ]  # fmt: skip


def test_an_inference_that_did_not_finish_says_so(controller, capsys, data):
    code, out, _ = run(capsys, "info", "--json", str(data / "etdump/words_failing_x3.etdp"))
    assert code == 0
    (file,) = json.loads(out)["files"]
    assert [(one["index"], one["method"], one["finished"]) for one in file["inferences"]] == [
        (1, None, False),
        (2, None, True),
        (3, None, True),
    ]
    assert file["inferences"][0]["label"] == "Execute · run 1 of 3, did not finish"


def test_the_inferences_that_warm_up_are_marked(controller, capsys, data):
    code, out, _ = run(capsys, "info", "--json", str(data / "etdump/cnn_portable_x10.etdp"))
    assert code == 0
    (file,) = json.loads(out)["files"]
    assert [one["warm_up"] for one in file["inferences"]] == [True] * 2 + [False] * 8


def test_pair_links_what_does_not_belong_together_and_warns(controller, capsys):
    code, out, err = run(capsys, "info", "--json", DUMP, OTHER, RECORD, "--pair", f"{DUMP}={OTHER}")
    assert code == 0
    assert "They are linked because you chose so" in err
    (link,) = json.loads(out)["links"]
    assert link["program"] == OTHER
    assert link["match"] == 0.0


@pytest.mark.parametrize(
    ("pair", "why"),
    [(DUMP, "write it as DUMP=RECORD"), (f"{DUMP}=", "write it as DUMP=RECORD"),
     (f"={RECORD}", "write it as DUMP=RECORD"), (f"{DUMP}=other", "other is not an open ETRecord"),
     (f"{RECORD}={DUMP}", "is not an open profile")],
)  # fmt: skip
def test_a_wrong_pair_is_wrong_usage(controller, capsys, pair, why):
    code, out, err = run(capsys, "info", DUMP, RECORD, "--pair", pair)
    assert (code, out) == (2, "")
    assert why in err


def test_a_pair_with_an_unreadable_file_is_that_files_fault(controller, capsys):
    code, out, err = run(capsys, "info", DUMP, "gone", "--pair", f"{DUMP}=gone")
    assert code == 1
    assert DUMP in out
    assert len(err.splitlines()) == 1


def test_a_pair_may_spell_a_path_differently(controller, capsys):
    assert run(capsys, "info", DUMP, RECORD, "--pair", f"./{DUMP}={RECORD}")[0] == 0


def test_a_pair_may_name_files_without_their_folders(controller, capsys):
    Path("runs").mkdir()
    dump = shutil.copy(DUMP, "runs/first.etdp")
    code, out, _ = run(capsys, "info", "--json", dump, RECORD, "--pair", f"first.etdp={RECORD}")
    assert code == 0
    assert [link["program"] for link in json.loads(out)["links"]] == [RECORD]


def test_a_name_of_two_files_is_wrong_usage(controller, capsys):
    Path("runs").mkdir()
    again = shutil.copy(DUMP, f"runs/{DUMP}")
    shutil.copytree("runs", "other")
    files = (again, f"other/{DUMP}", RECORD)
    code, _, err = run(capsys, "info", *files, "--pair", f"{DUMP}={RECORD}")
    assert code == 2
    assert f"2 open files are named {DUMP}: give the path of one" in err


def test_a_clock_may_name_its_file_without_the_folder(controller, capsys):
    Path("runs").mkdir()
    dump = shutil.copy(DUMP, "runs/first.etdp")
    assert run(capsys, "info", dump, "--clock", "first.etdp=800MHz")[0] == 0


def test_a_pair_of_names_that_hold_an_equals_sign(controller, capsys):
    shutil.copy(DUMP, "x=1.etdp")
    assert run(capsys, "info", "x=1.etdp", RECORD, "--pair", f"x=1.etdp={RECORD}")[0] == 0


@pytest.mark.parametrize(
    "arguments",
    [("info",), ("info", "--bogus", DUMP), ("export", DUMP), ("export", "-o", "x.csv"),
     ("export", DUMP, "-o", "x.json"), ("export", DUMP, "-o", "csv"),
     ("screenshot", DUMP), ("screenshot", DUMP, "-o", "x.jpg"),
     ("screenshot", DUMP, "-o", "x.png", "--size", "12"),
     ("screenshot", DUMP, "-o", "x.png", "--size", "1x1"),
     ("screenshot", DUMP, "-o", "x.png", "--range", "5"),
     ("screenshot", DUMP, "-o", "x.png", "--range", "2ms:1ms"),
     ("screenshot", DUMP, "-o", "x.png", "--theme", "blue"), ("--theme", "blue")],
)  # fmt: skip
def test_wrong_usage_is_exit_2_and_writes_nothing(controller, capsys, arguments):
    before = sorted(Path().iterdir())
    code, out, err = run(capsys, *arguments)
    assert (code, out) == (2, "")
    assert err.startswith("opscope")
    assert sorted(Path().iterdir()) == before


def test_version_and_help(capsys):
    assert run(capsys, "--version")[:2] == (0, f"opscope {__version__}\n")
    for command in ((), ("info",), ("export",), ("screenshot",)):
        code, out, _ = run(capsys, *command, "--help")
        assert code == 0
        assert "--pair DUMP=RECORD" in out


@pytest.mark.slow
def test_the_reader_of_the_output_may_go_away(controller):
    command = f"{sys.executable} -m viewer info --json {DUMP} | true"
    found = subprocess.run(
        ["sh", "-c", command], capture_output=True, timeout=60, check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert found.stderr == b""


# -- Torq debug info -------------------------------------------------------------------------------

LOWERED, BYTECODE = "tiny_cnn.lowered_generic.mlir", "main_dispatch_1.mlirb"


@pytest.fixture
def debug_info(controller) -> Path:
    """A folder with the text of one dispatch, and of another its bytecode alone."""
    folder = controller / "debug info"
    folder.mkdir()
    shutil.copy(DATA / "torq" / LOWERED, folder)
    (folder / BYTECODE).write_bytes(b"ML\xefR\x06MLIR20.0\0")
    shutil.copy(DATA / "torq" / "compile_c3_taskid_mtu.csv", controller)
    return folder


def test_a_debug_info_folder_opens_its_texts_and_names_what_to_do_with_bytecode(capsys, debug_info):
    code, out, err = run(capsys, "info", "--json", "tiny_cnn.mlir", "--debug-info", "debug info")
    assert code == 1
    (line,) = err.splitlines()
    assert line.startswith(f"opscope: debug info/{BYTECODE}: it is MLIR bytecode, not text. ")
    assert line.endswith(f"--mlir-print-local-scope -o {BYTECODE[:-1]}")
    files = {Path(file["path"]).name: file for file in json.loads(out)["files"]}
    assert files[LOWERED]["dispatches"] == {
        "main_dispatch_0_conv_56x56x32_i8": {"actions": 16, "jobs": 4, "tasks": 45}
    }
    assert files["tiny_cnn.mlir"]["dispatches"] == {}
    (debug_info / BYTECODE).unlink()
    code, out, err = run(capsys, "info", "--debug-info", "debug info")
    assert (code, err) == (0, "")
    assert "16 actions, 4 NSS jobs, 45 tasks" in out


def test_a_folder_without_debug_info_says_so_and_the_rest_is_answered(capsys, debug_info):
    empty = debug_info / "empty"
    empty.mkdir()
    code, out, err = run(capsys, "info", "tiny_cnn.mlir", "--debug-info", str(empty))
    assert code == 1
    assert "tiny_cnn.mlir" in out
    assert "no debug info in this folder" in err
    code, _, err = run(capsys, "info")
    assert (code, "nothing to open: give FILES or --debug-info DIR" in err) == (2, True)
    # As a file, a folder stands for all that can be opened in it.
    code, out, _ = run(capsys, "info", "debug info")
    assert (code, "tiny_cnn" in out) == (0, True)


def test_estimates_as_text_and_as_json(capsys, debug_info):
    (debug_info / BYTECODE).unlink()
    files = ("compile_c3_taskid_mtu.csv", "tiny_cnn.mlir", "--debug-info", "debug info")
    code, out, err = run(capsys, "estimates", *files, "--json")
    assert (code, err) == (0, "")
    facts = json.loads(out)
    assert [row["estimate_cycles"] for row in facts["actions"] if row["job"] is not None] == [
        55002, 70555, 10491, 30020
    ]  # fmt: skip
    code, out, _ = run(capsys, "estimates", *files)
    assert code == 0
    assert "nss_program_2" in out
    assert "tosa.cast@L15" in out
    code, out, err = run(capsys, "estimates", "tiny_cnn.mlir")
    assert (code, out) == (1, "")
    assert err.startswith("opscope: No open file has actions")


def test_the_rate_of_the_cycles_in_debug_info_can_be_chosen_without_a_profile(capsys, debug_info):
    (debug_info / BYTECODE).unlink()
    host = str(DATA / "torq" / "host_h4_latest_2inv.csv")
    asked = ("estimates", host, "--debug-info", "debug info")
    assert run(capsys, *asked)[1].startswith("clock: 1 cycle = 1.25 ns, 800 MHz (assumed)\n")
    code, out, err = run(capsys, *asked, "--clock", "100MHz", "--json")
    facts = json.loads(out)
    assert (code, err) == (0, "")
    assert (facts["rate"], facts["rate_origin"]) == ("100 MHz", "chosen")
    job = next(row for row in facts["actions"] if row["job"] == 0)
    assert (job["estimate_cycles"], job["estimate_ns"]) == (55002, 550_020)


def test_inferences_are_told_with_ranges_that_stats_takes(capsys):
    host = str(DATA / "torq" / "host_h4_latest_2inv.csv")
    (file,) = json.loads(run(capsys, "info", host, "--json")[1])["files"]
    first, second = file["inferences"]
    assert (first["label"], first["dur_ns"]) == ("inference · run 1 of 2", 1_118_000)
    span = f"{second['start_ns']}ns:{second['start_ns'] + second['dur_ns']}ns"
    assert f"inference · run 2 of 2: 1.158\u202fms, --range {span}" in run(capsys, "info", host)[1]
    (of_run,) = json.loads(
        run(capsys, "stats", host, "--by", "unit", "--range", span, "--json")[1]
    )["files"]
    assert of_run["whole_ns"] == 1_158_000


def test_info_of_a_torq_profile_and_a_debug_handle_map(capsys):
    """Its ten rows, of five events that the map has, are linked by the event's name."""
    files = [str(DATA / "torq/demo_str_c1.csv"), str(DATA / "debug_handle_map/demo_str.json")]
    code, out, err = run(capsys, "info", *files)
    assert (code, err) == (0, "")
    assert "  Debug handle map version 1\n  forward (5 operators)\n" in out
    assert "10 of 10 linkable slices (100.0%), 100.0% of linkable time" in out
    assert "match: 1.00, 5 names compared" in out
    code, out, _ = run(capsys, "stats", *files, "--by", "operator", "--json")
    assert code == 0
    found = {row["label"]: (row["count"], row["total_ticks"]) for row in json.loads(out)["rows"]}
    # Six of the ten rows are of tan, each of 80 cycles.
    assert found["tan"] == (6, 480)
    assert sum(count for count, _ in found.values()) == 10


def test_a_program_without_a_console_has_no_output_to_flush(data, monkeypatch):
    """As `opscope-gui` on Windows, where Python has neither of the two."""
    monkeypatch.setattr(sys, "stdout", None)
    monkeypatch.setattr(sys, "stderr", None)
    assert main(["info", str(data / "table_csv/two_threads.csv")]) == 0


def test_no_cache_has_a_window_of_its_own_process_without_kept_columns(monkeypatch, controller):
    from viewer.gui.app import application

    options: list[dict[str, object]] = []
    monkeypatch.setattr(application, "run", lambda *_, **named: options.append(named) or 0)
    assert [main([DUMP, *more]) for more in ([], ["--no-cache"])] == [0, 0]
    assert [each["keep_columns"] for each in options] == [True, False]
    assert [each["alone"] for each in options] == [False, True]

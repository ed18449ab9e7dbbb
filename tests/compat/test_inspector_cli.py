"""`opscope inspect` as scripts call it: arguments, exit codes, stdout, stderr and files."""

import json
import random
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.compat.inspector.test_official import DATA, GOLDEN
from viewer import __version__
from viewer.cli import main
from viewer.formats.executorch.logged_profile import logged_profile
from viewer.workspace.workspace import Workspace

DUMP, RECORD, OTHER = "demo_str_x4.etdp", "demo_str.etrecord", "demo_generated_int.etrecord"
MULTI = "multi_forward_decode_portable_x3.etdp"
MULTI_RECORD = "multi_forward_decode_toedge_portable.etrecord"


@pytest.fixture
def controller(tmp_path, monkeypatch) -> Path:
    for name in (DUMP, MULTI, "SYN_qnn_like.etdp", "SYN_allocations.etdp", "BAD_truncated.etdp"):
        shutil.copy(DATA / "etdump" / name, tmp_path)
    for name in (RECORD, OTHER, MULTI_RECORD):
        shutil.copy(DATA / "etrecord" / name, tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def inspect(capsys, dump: str, *more: str) -> tuple[int, str, str]:
    """Exit code, stdout, stderr."""
    try:
        code = main(("inspect", "--etdump_path", dump, *more))
    except SystemExit as stopped:
        code = stopped.code
    out, err = capsys.readouterr()
    return code, out, err


def test_a_rate_brings_a_delegates_events_into_the_target_scale(controller, capsys):
    arguments = "--target_time_scale", "us", "--tsv_path", "t.tsv"
    assert inspect(capsys, "SYN_qnn_like.etdp", "--clock", "cycles=800MHz", *arguments)[0] == 0
    rows = [line.split("\t") for line in Path("t.tsv").read_text(encoding="utf-8").splitlines()]
    assert [row[3] for row in rows if row[2].endswith("(cycles)")] == ["6.25", "1.5", "0.375"]


@pytest.mark.parametrize(
    ("arguments", "code", "why"),
    [
        (["--clock", "QnnBackend=1MHz"], 1, "has no delegate clock 'QnnBackend'; it has cycles"),
        (["--clock", "cycles=fast"], 2, "'fast' is not a clock rate"),
        (["--clock", "1MHz"], 2, "write it as BACKEND=RATE"),
        (["--clock", "cycles=1MHz", "--compat"], 2, "leave out --compat"),
    ],
)
def test_a_rate_that_is_none_or_of_no_clock_is_an_error(controller, capsys, arguments, code, why):
    found, out, err = inspect(capsys, "SYN_qnn_like.etdp", *arguments)
    assert (found, out) == (code, "")
    assert why in err


def test_the_table_is_printed_and_written(controller, capsys):
    """Both, as the official command line does; the TSV has the same cells."""
    code, out, err = inspect(capsys, DUMP, "--etrecord_path", RECORD, "--tsv_path", "t.tsv")
    assert code == 0
    assert out.startswith("╒════╤══")
    lines = Path("t.tsv").read_text(encoding="utf-8").splitlines()
    assert lines[0].split("\t")[:4] == ["", "event_block_name", "event_name", "p10 (ms)"]
    assert lines[4].split("\t")[2:5] == ["Fancy Fusion", "0.010068", "0.010075"]
    assert len(out.splitlines()) == 2 * len(lines) + 1
    assert err == "opscope: note: 4 events not linked: identifier not in the debug handle map\n"


def test_compat_is_the_official_output_byte_for_byte(controller, capsys):
    arguments = ("--etrecord_path", RECORD, "--compat", "--tsv_path", "t.tsv")
    assert inspect(capsys, DUMP, *arguments) == (
        0, (GOLDEN / "cli_demo_str.stdout.txt").read_text(encoding="utf-8"), "",
    )  # fmt: skip
    assert Path("t.tsv").read_bytes() == (GOLDEN / "demo_str_x4__demo_str.tsv").read_bytes()
    inspect(capsys, DUMP, *arguments, "--include_delegate_debug_data")
    golden = GOLDEN / "demo_str_x4__demo_str.delegate.tsv"
    assert Path("t.tsv").read_bytes() == golden.read_bytes()


def test_where_the_official_tool_stops_so_does_compat_and_says_so(controller, capsys):
    arguments = (MULTI, "--etrecord_path", MULTI_RECORD)
    assert inspect(capsys, *arguments, "--compat", "--tsv_path", "t.tsv") == (
        1, "",
        "opscope: Inspector 1.5.1 stops here with AttributeError: 'dict' object has no attribute "
        "'graph_module'; without --compat opscope inspect answers\n",
    )  # fmt: skip
    assert not Path("t.tsv").exists()
    code, out, err = inspect(capsys, *arguments)
    assert (code, err) == (0, "")
    assert "Execute (decode)" in out


def test_a_pair_that_does_not_belong_together_is_warned_about(controller, capsys):
    code, out, err = inspect(capsys, DUMP, "--etrecord_path", OTHER)
    assert code == 0
    assert f"opscope: warning: {DUMP} does not match {OTHER}" in err
    assert "aten." not in out


def test_json_has_every_field_of_every_row(controller, capsys):
    code, out, _ = inspect(capsys, DUMP, "--etrecord_path", RECORD, "--json")
    facts = json.loads(out)
    assert code == 0
    assert set(facts) == {
        "opscope", "etdump_path", "etrecord_path", "source_time_scale", "target_time_scale",
        "linked", "agreement", "evidence", "warnings", "problems", "not_linked", "event_blocks",
    }  # fmt: skip
    assert (facts["opscope"], facts["linked"], facts["evidence"]) == (__version__, True, 6)
    assert facts["not_linked"] == {"identifier not in the debug handle map": 4}
    load, execute = facts["event_blocks"]
    assert (load["kind"], execute["kind"]) == ("load", "inference")
    assert (execute["name"], execute["method"]) == ("Execute", "forward")
    assert execute["runs"] == [{"index": n, "number": n} for n in (1, 2, 3, 4)]
    assert execute["rows"][0] == {
        "event_name": "Fancy Fusion", "count": 4, "raw": [0.010075, 0.010075, 0.010065, 0.010075],
        "p10": 0.010068, "p50": 0.010075, "p90": 0.010075, "avg": 0.0100725, "min": 0.010065,
        "max": 0.010075, "op_types": ["aten.convolution.default", "aten.relu.default"],
        "operators": ["conv1 · convolution", "relu1 · relu"], "debug_handles": [1, 2],
        "link_reason": "identifier in the delegate's debug handle map",
        "delegate_debug_identifier": "Fancy Fusion", "is_delegated_op": True,
        "delegate_backend_name": "BackendStrDemo",
        "start_time": [15217087, 15524696, 15809612, 16088167],
        "delegate_debug_metadata": ['{"op": "conv_relu_op", "cycles": 100}'] * 4,
    }  # fmt: skip


def test_json_of_cycles(controller, capsys):
    row = json.loads(inspect(capsys, "SYN_qnn_like.etdp", "--json")[1])["event_blocks"][1]["rows"][
        1
    ]
    assert (row["raw"], row["avg"]) == (None, None)
    assert (row["native_raw"], row["native_avg"], row["native_unit"]) == (
        [1200.0],
        1200.0,
        "cycles",
    )


def test_json_of_compat(controller, capsys):
    facts = json.loads(inspect(capsys, DUMP, "--etrecord_path", RECORD, "--json", "--compat")[1])
    assert facts["compat"] == "1.5.1"
    assert [r["event_name"] for r in facts["rows"]][:4] == [
        "DEMO_INIT", "Method::init", "Program::load_method", "Fancy Fusion",
    ]  # fmt: skip
    assert facts["rows"][3]["raw"][0] == 0.0100750000000005


def test_scales_are_those_of_the_official_command(controller, capsys):
    _, out, _ = inspect(capsys, DUMP, "--source_time_scale", "us", "--target_time_scale", "s")
    assert "p10 (s)" in out
    for scale in (["--source_time_scale", "cycles"], ["--target_time_scale", "hours"]):
        code, out, err = inspect(capsys, DUMP, *scale)
        assert (code, out) == (2, "")
        assert err.startswith("usage: opscope inspect")
    code, _, err = inspect(capsys, DUMP, "--source_time_scale", "cycles", "--compat")
    assert code == 1
    assert "stops here with RuntimeError: For TimeScale in cycles" in err


def test_comparing_results_needs_reference_outputs_that_are_no_pickle(controller, capsys):
    code, out, err = inspect(capsys, DUMP, "--compare_results")
    assert (code, out) == (2, "")
    assert "--compare_results needs --reference_outputs" in err


def test_as_the_official_tool_it_stops_after_the_table_without_references(controller, capsys):
    code, out, err = inspect(capsys, DUMP, "--compare_results", "--compat")
    assert code == 1
    assert out == inspect(capsys, DUMP, "--compat")[1]
    assert "stops here with TypeError: 'NoneType' object is not iterable" in err


@pytest.mark.parametrize("more", [(), ("--compat",)])
def test_metrics_of_the_outputs_follow_the_table(controller, capsys, tmp_path, more):
    folder = DATA / "numbers"
    arguments = [str(folder / "portable.etdp"), *more]
    values = opened_outputs(folder / "portable.etdp")
    references = tmp_path / "references.npz"
    np.savez(references, output_0=values[0] * 1.5, output_1=values[1])
    table = inspect(capsys, *arguments)[1]
    code, out, _ = inspect(
        capsys, *arguments, "--compare_results", "--reference_outputs", str(references)
    )
    assert code == 0
    assert out.removeprefix(table).split("\n") == [
        "snr", "-" * 20, "0     9.54000", "1         inf", "", "",
        "mse", "-" * 20, "0     0.00000", "1     0.00000", "", "",
        "cosine_similarity", "-" * 20, "0     1.00000", "1     1.00000", "", "", "",
    ]  # fmt: skip
    more_json = ("--compare_results", "--reference_outputs", str(references), "--json")
    (found,) = json.loads(inspect(capsys, *arguments, *more_json)[1])["compare_results"]
    assert found["snr"] == [9.54, None]


def opened_outputs(path):
    workspace = Workspace()
    profile = logged_profile(workspace.links(workspace.open(str(path))))
    *_, (_, values) = profile.side(profile.inferences[0]).logged
    return [value.open().array for value in values]


def test_a_dump_is_needed(controller, capsys):
    with pytest.raises(SystemExit) as stopped:
        main(("inspect", "--tsv_path", "t.tsv"))
    assert stopped.value.code == 2
    assert "--etdump_path" in capsys.readouterr().err


@pytest.mark.parametrize("compat", [(), ("--compat",)])
@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (("gone.etdp",), "gone.etdp"),
        ((".",), "."),
        (("BAD_truncated.etdp",), "BAD_truncated.etdp"),
        ((RECORD,), RECORD),
        ((DUMP, "--etrecord_path", "gone.etrecord"), "gone.etrecord"),
        ((DUMP, "--debug_buffer_path", "gone.bin"), "gone.bin"),
    ],
)
def test_an_input_that_cannot_be_read_is_one_line(controller, capsys, arguments, named, compat):
    code, out, err = inspect(capsys, *arguments, *compat, "--tsv_path", "t.tsv")
    assert (code, out) == (1, "")
    assert len(err.splitlines()) == 1
    assert err.startswith(f"opscope: {named}")
    assert not Path("t.tsv").exists()


@pytest.mark.parametrize("compat", [(), ("--compat",)])
def test_a_dump_is_no_record(controller, capsys, compat):
    code, out, err = inspect(capsys, DUMP, "--etrecord_path", MULTI, *compat)
    assert (code, out, len(err.splitlines())) == (1, "", 1)


def test_an_input_is_never_overwritten(controller, capsys):
    before = Path(DUMP).read_bytes()
    code, _, err = inspect(capsys, DUMP, "--tsv_path", f"./{DUMP}")
    assert code == 2
    assert "would be overwritten" in err
    assert Path(DUMP).read_bytes() == before


def test_a_table_that_cannot_be_written(controller, capsys):
    code, _, err = inspect(capsys, DUMP, "--tsv_path", "no/such/folder.tsv")
    assert code == 1
    assert err.startswith("opscope: no/such/folder.tsv: it cannot be written (")


def test_problems_of_a_dump_are_told(controller, capsys):
    code, out, err = inspect(capsys, "SYN_allocations.etdp")
    assert (code, out.count("Method::init")) == (0, 1)
    assert "note: no row for what has no time: 2 allocation events" in err


def mutated(data: bytes, rng: random.Random) -> bytes:
    changed = bytearray(data)
    for _ in range(rng.choice((1, 3, 12))):
        at = rng.randrange(len(changed) - 4)
        changed[at : at + 4] = rng.choice((b"\0\0\0\0", b"\xff" * 4, rng.randbytes(4)))
    return bytes(changed[: rng.choice((len(changed), rng.randrange(20, len(changed))))])


@pytest.mark.slow
@pytest.mark.parametrize("compat", [(), ("--compat",)])
def test_damaged_files_are_answered_or_refused(controller, capsys, compat):
    """60 dumps and 60 records: no other outcome, whatever is in them."""
    rng = random.Random(3)
    dump, record = Path(DUMP).read_bytes(), Path(RECORD).read_bytes()
    codes = set()
    for i in range(120):
        Path("d.etdp").write_bytes(mutated(dump, rng) if i % 2 else dump)
        Path("r.etrecord").write_bytes(record if i % 2 else mutated(record, rng))
        arguments = ("--etrecord_path", "r.etrecord", *compat, *(["--json"] if i % 3 else []))
        code, out, err = inspect(capsys, "d.etdp", *arguments)
        assert code == 0 or (out == "" and len(err.splitlines()) == 1)
        codes.add(code)
    assert codes == {0, 1}


@pytest.mark.slow
@pytest.mark.parametrize("module", ["inspector_cli", "perfetto_logger"])
def test_a_drop_in_runs_as_a_module(module, tmp_path):
    command = [sys.executable, "-m", f"viewer.compat.{module}"]
    done = subprocess.run([*command, "--help"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0
    assert done.stdout.startswith("usage: ")
    wrong = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (wrong.returncode, "required" in wrong.stderr) == (2, True)

"""`--compat` against what Torq's own converter wrote, byte by byte, and its known faults."""

import csv
import shutil
from pathlib import Path

import pytest
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb

from tests import paths
from viewer.compat.perfetto_logger import main
from viewer.compat.torq_logger.original import form_of

DATA = paths.DATA / "torq"
RUNS = {
    "f63e303": (
        "small",
        ("--compile_profile", "compile_c0_callsite.csv", "--runtime_profile", "runtime_r0_nss.csv"),
    ),
    "36d5652": ("36d5652/small_c1_mixed", ("--compile_profile", "compile_c1_css_cdma.csv")),
    "183cae4": (
        "small",
        ("--compile_profile", "183cae4/compile_c2_actionindex_callsite.csv", "--mlir",
         "tiny_cnn.mlir"),
    ),
}  # fmt: skip


@pytest.fixture
def controller(tmp_path, monkeypatch) -> Path:
    for path in (*DATA.glob("*.csv"), DATA / "tiny_cnn.mlir"):
        shutil.copy(path, tmp_path)
    for folder in ("36d5652", "183cae4"):
        (tmp_path / folder).mkdir()
    shutil.copy(DATA / "compile_c2_actionindex_callsite.csv", tmp_path / "183cae4")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def events(path: str) -> list[tuple[str, ...]]:
    """process, thread, start, end, name, categories of every slice, in the order of the file."""
    processes, threads, found = {}, {}, []
    trace = pb.Trace.FromString(Path(path).read_bytes())
    for packet in trace.packet:
        track, event = packet.track_descriptor, packet.track_event
        if track.HasField("process"):
            processes[track.process.pid] = track.process.process_name
        elif track.HasField("thread"):
            threads[track.uuid] = processes[track.thread.pid], track.thread.thread_name
        elif event.type == pb.TrackEvent.TYPE_SLICE_BEGIN:
            found.append([*threads[event.track_uuid], str(packet.timestamp), "", event.name,
                          ",".join(event.categories)])  # fmt: skip
        else:
            found[-1][3] = str(packet.timestamp)
    return [tuple(event) for event in found]


def converted(*arguments: str) -> int:
    try:
        return main(("--compat", *arguments, "--pb", "out.pb"))
    except SystemExit as stopped:
        return stopped.code


@pytest.mark.parametrize("form", RUNS)
def test_events_packets_and_summary_are_those_of_the_original(controller, capsys, form):
    name, arguments = RUNS[form]
    assert main(("--compat", *arguments, "--pb", f"{name}.pb")) == 0
    golden = DATA / f"reference_{form}" / Path(name).name
    listing = golden.with_suffix(".slices.tsv").read_text(encoding="utf-8").splitlines()[1:]
    theirs = [tuple(row) for row in csv.reader(listing, delimiter="\t", quoting=csv.QUOTE_NONE)]
    assert events(f"{name}.pb") == theirs
    assert Path(f"{name}.pb").read_bytes() == golden.with_suffix(".pb").read_bytes()
    out, err = capsys.readouterr()
    assert out == golden.with_suffix(".stdout.txt").read_text(encoding="utf-8")
    assert err == ""


def test_8e135dc_reads_compile_and_runtime_files_together(controller, capsys):
    """Its golden files are what the converter of that revision wrote for these two files."""
    files = (
        "--compile_profile",
        "compile_c1_css_cdma.csv",
        "--runtime_profile",
        "runtime_r0_nss.csv",
    )
    golden = DATA / "reference_8e135dc" / "small_c1_r0"
    assert converted(*files) == 0
    assert Path("out.pb").read_bytes() == golden.with_suffix(".pb").read_bytes()
    assert capsys.readouterr().out == golden.with_suffix(".stdout.txt").read_text(
        encoding="utf-8"
    ).replace("small.pb", "out.pb")


def test_a_revision_can_be_named(controller, capsys):
    alone = ("--compile_profile", "compile_c1_css_cdma.csv", "--pb", "out.pb")
    assert main(("--compat", "8e135dc", *alone)) == 0
    ours = {thread for _, thread, *_ in events("out.pb") if "OVERVIEW" in thread}
    assert "05 OVERVIEW CSS" in ours
    assert main(("--compat", "36d5652", *alone)) == 0
    assert "07 OVERVIEW CSS" in {thread for _, thread, *_ in events("out.pb")}
    with pytest.raises(SystemExit):
        main(("--compat", "183cae4", *alone))
    assert "no original reads these files together" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("compiled", "measured", "form"),
    [
        (["C0"], ["R0"], "f63e303"), (["C0", "C0"], [], "f63e303"), ([], ["R0"], "f63e303"),
        ([], [], "f63e303"), (["C1"], [], "36d5652"), (["C0", "C1"], [], "36d5652"),
        (["C2", "C2"], [], "183cae4"), (["C3"], [], None), ([], ["R1"], None),
        (["C1"], ["R0"], "8e135dc"), (["C0", "C2"], [], None), (["C2"], ["R0"], None),
    ],
)  # fmt: skip
def test_each_revision_reads_the_files_of_its_time(compiled, measured, form):
    assert form_of(compiled, measured) == form


@pytest.mark.parametrize(
    "arguments",
    [
        ("--compile_profile", "compile_c3_taskid.csv"),
        ("--runtime_profile", "runtime_r1_nss_noloc.csv"),
        (
            "--compile_profile",
            "compile_c2_actionindex_callsite.csv",
            "--runtime_profile",
            "runtime_r0_nss.csv",
        ),
        ("--compile_profile", "compile_c0_callsite.csv", "compile_c2_actionindex_callsite.csv"),
    ],
)
def test_what_no_original_reads_is_wrong_usage(controller, capsys, arguments):
    assert converted(*arguments) == 2
    assert "--compat: no original reads these files together" in capsys.readouterr().err
    assert not Path("out.pb").exists()


def test_f63e303_loses_the_rows_with_a_comma_in_their_location(controller, capsys):
    """Half of this file: the busy compute units become idle time."""
    assert converted("--compile_profile", "compile_c0_mixed_locs.csv") == 0
    out = capsys.readouterr().out
    assert "SLICE time: 25088 (20.61%)\n" in out
    assert "(54.75%)\n" in out.partition("IDLE")[2]
    assert len([e for e in events("out.pb") if "Overview" not in e[0]]) == 20


def test_f63e303_takes_the_last_of_two_files_with_one_name(controller):
    (controller / "b").mkdir()
    Path("b/compile_c0_callsite.csv").write_text("DI0,5,6,loc(unknown),DMA_IN\n")
    assert (
        converted("--compile_profile", "compile_c0_callsite.csv", "b/compile_c0_callsite.csv") == 0
    )
    charted = [e for e in events("out.pb") if "Overview" not in e[0]]
    assert charted == [
        ("01 compile_c0_callsite.csv", "DMA IN", "5", "6",
         "DMA_IN, DI0, MLIR - unknown, dur=1 (100.00%)", "")
    ]  # fmt: skip


def test_f63e303_shares_one_overview_between_a_compile_and_a_runtime_file_of_one_name(
    controller, capsys
):
    (controller / "run").mkdir()
    Path("run/a.csv").write_text("id;time_since_open;time_since_start;location\n0;10;4;\n")
    Path("a.csv").write_text("DI0,5,6,loc(unknown),DMA_IN\n")
    assert converted("--compile_profile", "a.csv", "--runtime_profile", "run/a.csv") == 0
    assert capsys.readouterr().out.count("=== Overview") == 1
    overall = [e[2:5] for e in events("out.pb") if e[1] == "05 OVERALL"]
    assert overall == [("10", "14", "OVERALL: 4")] * 2


def test_f63e303_draws_only_the_overview_of_an_empty_file(controller, capsys):
    Path("empty.csv").write_text("")
    assert converted("--compile_profile", "empty.csv") == 0
    assert {(e[0], *e[2:4]) for e in events("out.pb")} == {("01 empty.csv Overview", "0", "0")}


def test_183cae4_merges_rows_of_one_action_with_the_same_times(controller):
    text = Path("compile_c2_actionindex_callsite.csv").read_text().splitlines()
    Path("twice.csv").write_text("\n".join([*text, text[1]]) + "\n")
    assert converted("--compile_profile", "twice.csv") == 0
    assert len([e for e in events("out.pb") if "Overview" not in e[0]]) == 44


def test_a_time_that_stops_the_original_is_one_line(controller, capsys):
    Path("far.csv").write_text("DI0,-5,6,loc(unknown),DMA_IN\n")
    assert converted("--compile_profile", "far.csv") == 1
    assert capsys.readouterr().err.count("\n") == 1
    assert not Path("out.pb").exists()

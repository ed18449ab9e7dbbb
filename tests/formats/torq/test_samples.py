"""Every generation of every Torq CSV: which one it is, and how many slices its rows define.

The numbers are those of the writers' documented rows, counted by hand, not read off our output.
"""

from pathlib import Path

import pytest

from tests.builders.csv_cases import damaged
from tests.builders.workspaces import workspace_of
from viewer.codecs.reading import UnreadableFile
from viewer.formats import choose, open_file
from viewer.model.trace import Trace
from viewer.program.program import Program
from viewer.reports.info import info
from viewer.workspace.snapshot import process_name
from viewer.workspace.workspace import Workspace

COMPILE, RUNTIME = "Torq compile profile", "Torq runtime profile"
HOST, ANNOTATED = "Torq host profile", "Torq annotated profile"

# name -> format, generation, slices that the file states, rows that are told as problems
SAMPLES = {
    "compile_c0_callsite.csv": (COMPILE, "C0", 40, 0),
    "compile_c0_mixed_locs.csv": (COMPILE, "C0", 40, 0),
    "compile_c1_css_cdma.csv": (COMPILE, "C1", 44, 0),
    "compile_c2_actionindex_callsite.csv": (COMPILE, "C2", 44, 0),
    "compile_c3_taskid.csv": (COMPILE, "C3", 44, 0),
    "compile_c3_taskid_mtu.csv": (COMPILE, "C3", 44, 0),
    "compile_c3_hostile_locs.csv": (COMPILE, "C3", 11, 0),
    "runtime_r0_nss.csv": (RUNTIME, "R0", 20, 0),
    "runtime_r0_seed_readme_header.csv": (RUNTIME, "R0", 20, 0),
    "runtime_r1_nss_noloc.csv": (RUNTIME, "R1", 20, 0),
    "host_h0_unquoted.csv": (HOST, "H0", 15, 0),
    "host_h1_quoted.csv": (HOST, "H1", 15, 0),
    "host_h2_dispatch.csv": (HOST, "H2", 34, 0),
    "host_h4_latest.csv": (HOST, "H4", 35, 0),
    "host_h4_latest_2inv.csv": (HOST, "H4", 65, 0),
    "annotated_a0_nss.csv": (ANNOTATED, "A0", 20, 0),
    "annotated_a1_host.csv": (ANNOTATED, "A1", 14, 0),
    "annotated_a3_latest.csv": (ANNOTATED, "A3", 21, 16),
    "annotated_a3_latest_2inv.csv": (ANNOTATED, "A3", 42, 16),
}

C2 = "actionIndex, elapsed_time(us), timestamp(us), event, location, bytes"
H0 = "actionIndex, elapsed_time(us), timestamp(us), event, location"
FLAGS = (
    "slice_used_0_in_program;slice_used_1_in_program;dma_in_used_in_program;dma_out_used_in_program"
)
# Header -> format and generation of a file that has nothing else.
HEADERS = {
    C2: (COMPILE, "C2"),
    C2.replace("actionIndex", "taskId"): (COMPILE, "C3"),
    "id;time_since_open;time_since_start;location": (RUNTIME, "R0"),
    "dispatch_id;time_since_open;time_since_start;mlir_loc": (RUNTIME, "R0"),
    "id;time_since_open;time_since_start": (RUNTIME, "R1"),
    H0: (HOST, "H0"),
    "dispatch_name,invocation_id,action_id,timestamp_us,event": (HOST, "H2"),
    "nss_program_index;operation;slice_id;invocation_name;nss_program_timestamp_start;"
    f"nss_program_timestamp_end;nss_program_timestamp_total;{FLAGS}": (ANNOTATED, "A0"),
    f"action_id;job_id;operation;invocation_name;total_time;slice_id;{FLAGS};"
    "timestamp_start;timestamp_end;location": (ANNOTATED, "A1"),
    "action_id;job_id;operation;invocation_name;original_operator;total_time;slice_id;"
    f"{FLAGS};timestamp_start;timestamp_end;location": (ANNOTATED, "A2"),
    f"action_id;job_id;operation;invocation_names;original_operators;total_time;{FLAGS};"
    "cdma_used_in_program;css_used_in_program;timestamp_start;timestamp_end;location": (
        ANNOTATED, "A3",
    ),
}  # fmt: skip


def facts_of(*paths: Path) -> list[dict]:
    workspace = workspace_of(*paths)
    return info(workspace)["files"]


def as_read(facts: dict) -> tuple[str, str, int]:
    return facts["format"], facts["generation"], facts["slices"]


def test_every_sample_is_told_of(data):
    # The demo files are made for their identifiers; they are no samples of Torq's tools.
    there = {p.name for p in (data / "torq").glob("*.csv") if not p.name.startswith("demo_")}
    assert there == SAMPLES.keys()


@pytest.mark.parametrize("name", SAMPLES)
def test_info_says_generation_and_slices(data, name):
    *expected, odd = SAMPLES[name]
    (facts,) = facts_of(data / "torq" / name)
    assert as_read(facts) == tuple(expected)
    assert sum(problem["count"] for problem in facts["problems"]) == odd


@pytest.mark.parametrize("name", SAMPLES)
def test_line_ends_a_byte_order_mark_and_a_missing_last_one_change_nothing(data, tmp_path, name):
    whole = (data / "torq" / name).read_bytes()
    (tmp_path / name).write_bytes(b"\xef\xbb\xbf" + whole.replace(b"\n", b"\r\n").rstrip(b"\r\n"))
    plain, bent = open_file(str(data / "torq" / name)), open_file(str(tmp_path / name))
    assert isinstance(plain, Trace)
    assert isinstance(bent, Trace)
    assert bent.strings == plain.strings
    assert bent.slices.start.tolist() == plain.slices.start.tolist()
    assert bent.slices.end.tolist() == plain.slices.end.tolist()
    assert bent.keys.location.tolist() == plain.keys.location.tolist()
    assert bent.problems == plain.problems


@pytest.mark.parametrize("header", HEADERS)
@pytest.mark.parametrize("ending", ["", "\n", "\r\n", "\n\n"])
def test_a_header_alone_is_refused_with_a_remedy(tmp_path, header, ending):
    path = tmp_path / "empty.csv"
    path.write_bytes(b"\xef\xbb\xbf" + (header + ending).encode())
    with pytest.raises(UnreadableFile) as refused:
        open_file(str(path))
    assert refused.value.reason == f"this {HEADERS[header][0]} has a header and no rows"
    assert refused.value.remedy == "Record it again with profiling on"


@pytest.mark.nightly
@pytest.mark.parametrize("name", SAMPLES)
def test_a_last_line_that_is_cut_costs_at_most_its_own_slice(data, tmp_path, name):
    whole = (data / "torq" / name).read_bytes().rstrip()
    last = len(whole) - whole.rindex(b"\n")
    (before,) = facts_of(data / "torq" / name)
    for cut in range(1, last):
        (tmp_path / name).write_bytes(whole[:-cut])
        (after,) = facts_of(tmp_path / name)
        assert after["generation"] == before["generation"]
        assert before["slices"] - 1 <= after["slices"] <= before["slices"]


@pytest.mark.nightly
@pytest.mark.parametrize("name", [name for name in SAMPLES if name.startswith(("host", "anno"))])
def test_no_damage_raises_anything_but_unreadable(data, tmp_path, name):
    whole = b"\n".join((data / "torq" / name).read_bytes().split(b"\n")[:4])
    for bent in damaged(whole[:700]):
        (tmp_path / name).write_bytes(bent)
        try:
            read = open_file(str(tmp_path / name))
        except UnreadableFile:
            continue
        assert isinstance(read, Program) or (read.slices.end >= read.slices.start).all()


def test_files_of_one_name_in_two_folders_are_two_processes(data, tmp_path):
    name = "host_h4_latest.csv"
    other = tmp_path / name
    other.write_bytes((data / "torq" / name).read_bytes())
    workspace = workspace_of(data / "torq" / name, other)
    assert [process_name(workspace.traces, t, name) for t in workspace.traces] == [
        name,
        f"{name} (2)",
    ]


def test_files_of_the_host_clock_share_an_axis(data):
    """H4, and A3 that was made of it, say when the first NSS job of the dispatch began: 2574 µs."""
    workspace = Workspace()
    for name in ("host_h4_latest.csv", "annotated_a3_latest.csv", "annotated_a0_nss.csv"):
        workspace.open(str(data / "torq" / name))
    host, annotated, relative = workspace.traces
    origin = 4812337551 * 1000
    assert workspace.clocks.offset_ns(host) == workspace.clocks.offset_ns(annotated) == -origin
    assert workspace.clocks.offset_ns(relative) == 0
    for trace in (host, annotated):
        jobs = next(i for i, t in enumerate(trace.tracks) if t.thread == "NSS jobs")
        row = trace.slices.row_track.tolist().index(jobs)
        first = int(trace.slices.start[trace.slices.row_ptr[row]])
        assert first * 1000 + workspace.clocks.offset_ns(trace) == 2574 * 1000


def test_no_format_takes_the_file_of_another(data):
    for name, (expected, *_) in SAMPLES.items():
        assert choose((data / "torq" / name).read_bytes()[:4096], name).name == expected

"""The drop-in converter: its arguments, its documented functions, and where it differs from Torq's.

Every `test_default_differs_...` names one thing in which the original is wrong.
"""

import csv
import re
import shutil
from collections import Counter
from fractions import Fraction
from pathlib import Path

import pytest

from tests import paths
from tests.compat.torq_logger.test_time_chart import replayed, threads
from tests.peers.trace_processor import TraceProcessor
from viewer.codecs.reading import UnreadableFile
from viewer.compat.perfetto_logger import (
    TimeChartLog,
    TimeChartView,
    convert_to_perfetto,
    csv_to_view_compile_profile,
    csv_to_view_runtime_profile,
    main,
)

DATA = paths.DATA / "torq"
C0, C1, C2, C3 = (
    f"compile_{name}.csv"
    for name in ("c0_callsite", "c1_css_cdma", "c2_actionindex_callsite", "c3_taskid")
)
MIXED, R0, R1 = "compile_c0_mixed_locs.csv", "runtime_r0_nss.csv", "runtime_r1_nss_noloc.csv"


@pytest.fixture(autouse=True)
def controller(tmp_path, monkeypatch) -> Path:
    for path in (*DATA.glob("*.csv"), DATA / "tiny_cnn.mlir"):
        shutil.copy(path, tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def converted(*arguments: str) -> int:
    try:
        return main((*arguments, "--pb", "out.pb"))
    except SystemExit as stopped:
        return stopped.code


def original(form: str, name: str) -> list[dict[str, str]]:
    path = DATA / f"reference_{form}" / f"{name}.slices.tsv"
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))


def without_times(name: str) -> str:
    return re.sub(r"(dur=|: )[\d.]+(?:ns|µs)?(?: (?:cycles|ns|µs))?(?= \(|$)", r"\1", name)


def without_unit(name: str) -> str:
    """A name as the original wrote it, whose numbers had no unit."""
    return re.sub(r"(dur=|: )(\d+) (?:cycles|ns|µs)", r"\1\2", name)


def is_chart(event) -> bool:
    return "Overview" not in event[0]


# -- the same as the original ----------------------------------------------------------------------


def test_tracks_and_names_are_those_of_the_original(capsys):
    """Of C0 and R0: every slice on the thread of the same name, with the same share of time."""
    assert converted("--compile_profile", C0, "--runtime_profile", R0) == 0
    theirs = original("f63e303", "small")
    assert threads("out.pb") == list(dict.fromkeys((e["process"], e["thread"]) for e in theirs))
    ours = Counter((p, t, without_times(n), c) for p, t, n, _, _, c in replayed("out.pb"))
    # The shares of a runtime file rest on where its jobs lie: test_default_differs_in_nss_jobs.
    expected = Counter(
        (e["process"], e["thread"], without_times(e["name"]), e["categories"] or "")
        for e in theirs
        if not e["process"].startswith("02")
    )
    assert {e: n for e, n in ours.items() if not e[0].startswith("02")} == expected
    out = capsys.readouterr().out
    golden = (DATA / "reference_f63e303/small.stdout.txt").read_text(encoding="utf-8")
    compiled = golden.partition("=== Overview (runtime")[0]
    assert re.sub(r"time: \d+", "time:", out).startswith(re.sub(r"time: \d+", "time:", compiled))
    assert out.endswith("\n\n✓ Perfetto trace generated: out.pb\n")


def test_c1_is_what_36d5652_wrote_but_for_its_faults(capsys):
    assert converted("--compile_profile", C1) == 0
    theirs = original("36d5652", "small_c1_mixed")
    assert Counter(threads("out.pb")) == Counter({(e["process"], e["thread"]) for e in theirs})
    right = {
        (e["process"], e["thread"], e["name"], int(e["start"]), int(e["end"]) - int(e["start"]))
        for e in theirs
        if not e["name"].startswith(" callsite") and "OVERVIEW SLICE " not in e["thread"]
    }
    ours = replayed("out.pb")
    assert right <= {(*e[:2], without_unit(e[2]), *e[3:5]) for e in ours}
    assert len(ours) == len(theirs)
    golden = (DATA / "reference_36d5652/small_c1_mixed.stdout.txt").read_text(encoding="utf-8")
    assert capsys.readouterr().out == golden.replace("36d5652/small_c1_mixed.pb", "out.pb")


def test_c2_is_what_183cae4_wrote_but_for_its_faults():
    assert converted("--compile_profile", C2, "--mlir", "tiny_cnn.mlir") == 0
    theirs = original("183cae4", "small")
    known = {("Compile Profile", "01_Torq_Operations"), ("Compile Profile", "02_Host")}
    assert set(threads("out.pb")) == {(e["process"], e["thread"]) for e in theirs} | known
    ours = Counter(
        (p, t, without_times(n), s) for p, t, n, s, _, _ in replayed("out.pb") if is_chart((p,))
    )
    assert ours == Counter(
        (e["process"], e["thread"], without_times(e["name"]), int(e["start"]) // 1000)
        for e in theirs
        if is_chart((e["process"],))
    )


def test_c3_has_tasks_and_needs_no_source():
    assert converted("--compile_profile", C3) == 0
    names = [event[2] for event in replayed("out.pb")]
    assert "DMA In | Task 0 | dur=160 ns (0.10%) | bytes=1024" in names


def test_an_operator_is_named_for_every_member_of_a_fused_location():
    assert converted("--compile_profile", C3, "--mlir", "tiny_cnn.mlir") == 0
    names = {name for _, thread, name, *_ in replayed("out.pb") if thread == "06_Slice_0"}
    assert any("Input: tosa.conv2d@L11 + tosa.clamp@L13 | Task " in name for name in names)


def test_an_empty_profile_has_an_overview_of_zeros(capsys):
    Path("empty.csv").write_text("")
    Path("header.csv").write_text(Path(C3).read_text().partition("\n")[0] + "\n")
    Path("run.csv").write_text(Path(R0).read_text().partition("\n")[0] + "\n")
    assert (
        converted("--compile_profile", "empty.csv", "header.csv", "--runtime_profile", "run.csv")
        == 0
    )
    assert {event[4] for event in replayed("out.pb")} == {0}
    assert capsys.readouterr().out.count("OVERALL time: 0\n") == 3


# -- where the original is wrong -------------------------------------------------------------------


def test_default_differs_no_row_is_lost_for_a_comma_in_its_location(capsys):
    """f63e303 loses 20 of these 40 rows, and 50 % of the compute time with them."""
    assert converted("--compile_profile", MIXED) == 0
    assert sum(map(is_chart, replayed("out.pb"))) == 40
    assert "SLICE time: 85458 (70.21%)\n" in capsys.readouterr().out


def test_default_differs_type_and_bytes_stand_where_they_belong():
    """36d5652 takes the second half of a fused location for the type, and the type for bytes."""
    assert converted("--compile_profile", C1) == 0
    names = [event[2] for event in replayed("out.pb") if is_chart(event)]
    assert "DMA_OUT, DO4, MLIR - tiny_cnn.mlir:13:10, dur=1960 ns (1.19%), bytes=12544" in names
    assert "conv2d, S0_0, MLIR - tiny_cnn.mlir:13:10, dur=11760 ns (7.12%)" in names


def test_default_differs_files_of_one_base_name_keep_a_process_each(capsys):
    Path("b").mkdir()
    shutil.copy(MIXED, f"b/{C0}")
    assert converted("--compile_profile", C0, f"b/{C0}", C0) == 0
    charts = Counter(event[0] for event in replayed("out.pb") if is_chart(event))
    assert charts == {f"0{i} {C0}": 40 for i in (1, 2, 3)}
    assert f"=== Overview (b/{C0}) ===" in capsys.readouterr().out


def test_default_differs_nss_jobs_lie_where_they_ran(capsys):
    """[open - start, open]: f63e303 draws them late by one duration, so idle time is false."""
    assert converted("--runtime_profile", R0) == 0
    ours = {int(t): (s, d) for _, t, _, s, d, _ in filter(is_chart, replayed("out.pb"))}
    rows = [line.split(";") for line in Path(R0).read_text().splitlines()[1:]]
    assert ours == {
        int(job): ((int(opened) - int(lasted)) * 1000, int(lasted) * 1000)
        for job, opened, lasted, _ in rows
    }
    busy = {t for _, o, d, _ in rows for t in range(int(o) - int(d), int(o))}
    idle = max(busy) + 1 - min(busy) - len(busy)
    assert f"IDLE time: {idle} " in capsys.readouterr().out


def ns_told(process: str) -> Fraction:
    """What a `dur=` of a file counts, in ns, by the name of its process."""
    if "runtime" in process:
        return Fraction(1000)
    return Fraction(5, 4) if "c0" in process or "over.csv" in process else Fraction(1)


def test_default_differs_what_is_drawn_is_ns():
    """f63e303 draws cycles and µs as if they were ns; a cycle at 800 MHz is 1.25 ns.

    Its names tell cycles and µs, and so do these.
    """
    assert converted("--compile_profile", C0, "--runtime_profile", R0) == 0
    for process, thread, name, start, duration, _ in replayed("out.pb"):
        if process.startswith("01") and "Overview" not in process:
            event = name.split(", ")[1]
            row = next(r for r in Path(C0).read_text().splitlines() if r.startswith(f"{event},"))
            first, last = (int(cell) * 5 // 4 for cell in row.split(",")[1:3])
            assert (start, duration) == (first, last - first)
        told = re.search(r"dur=(\d+) ", name) or re.search(r": (\d+)", name)
        assert abs(int(told[1]) * ns_told(process) - duration) < 1, (thread, name)


def test_the_summary_of_a_compile_profile_is_the_originals(capsys, data):
    assert converted("--compile_profile", C0) == 0
    told = (data / "torq" / "reference_f63e303" / "small.stdout.txt").read_text()
    assert capsys.readouterr().out.split("\n\n")[0] == told.split("\n\n")[0]


def test_the_names_of_a_compile_profile_are_the_originals():
    assert converted("--compile_profile", C0, "--runtime_profile", R0) == 0
    theirs = [e for e in original("f63e303", "small") if e["process"].startswith("01 ")]
    ours = Counter(
        (*event[:2], without_unit(event[2]))
        for event in replayed("out.pb")
        if event[0].startswith("01 ")
    )
    assert ours == Counter((e["process"], e["thread"], e["name"]) for e in theirs)


def test_default_differs_times_of_c2_are_not_multiplied_twice():
    """183cae4 draws slices 1000 times as long as they are, and its overview not."""
    assert converted("--compile_profile", C2, "--mlir", "tiny_cnn.mlir") == 0
    last = max(s + d for p, _, _, s, d, _ in replayed("out.pb") if is_chart((p,)))
    assert last == 165_261


def test_default_differs_slice_units_have_figures_of_their_own():
    assert converted("--compile_profile", C1) == 0
    names = {event[1]: event[2] for event in replayed("out.pb") if not is_chart(event)}
    busy = Counter()
    for _, thread, _, _, duration, _ in filter(is_chart, replayed("out.pb")):
        busy[thread] += duration
    assert names["05 OVERVIEW SLICE 0"].startswith("SLICE 0 total: 90.160µs (")
    assert busy["2_SLICE_0"] == 90_160  # four of 11.76 µs, two of 17.64 and one of 7.84
    assert names["06 OVERVIEW SLICE 1"].startswith("SLICE 1 total: 70.560µs (")
    assert busy["3_SLICE_1"] == 70_560


def test_default_differs_rows_of_one_action_with_the_same_times_all_count():
    text = Path(C2).read_text().splitlines()
    Path("twice.csv").write_text("\n".join([*text, text[1]]) + "\n")
    assert converted("--compile_profile", "twice.csv") == 0
    assert sum(map(is_chart, replayed("out.pb"))) == 45


def test_default_differs_jobs_without_a_location_are_called_by_their_number():
    assert converted("--runtime_profile", R1) == 0
    assert "job 0, dur=52 µs (4.66%)" in [event[2] for event in replayed("out.pb")]


def test_default_differs_overlapping_slices_go_below_their_thread():
    Path("over.csv").write_text(
        "S0,0,100,loc(unknown),add\nS2,40,140,loc(unknown),mul\nS4,120,160,loc(unknown),sub\n"
    )
    assert converted("--compile_profile", "over.csv") == 0
    ours = [event[1:5] for event in replayed("out.pb") if is_chart(event)]
    assert [e[0] for e in ours] == ["SLICE 0"] * 3
    assert {e[1].split(",")[0]: e[2:] for e in ours} == {
        "add": (0, 125), "mul": (50, 125), "sub": (150, 50)
    }  # fmt: skip


EVERY = sorted(p.name for p in DATA.glob("*.csv") if p.name.startswith(("compile_", "runtime_")))


@pytest.mark.slow
def test_default_differs_trace_processor_shows_every_duration_as_it_is():
    """All samples in one trace. Of the original's slices up to 21 % have a wrong duration there."""
    compiled = [name for name in EVERY if name.startswith("compile")]
    measured = [name for name in EVERY if name.startswith("runtime")]
    overlapping = "over.csv"
    Path(overlapping).write_text(
        "".join(f"S{i},{7 * i},{7 * i + 5 + i % 40},loc(unknown),add\n" for i in range(200))
        + "DI0,5,5,loc(unknown),DMA_IN\nDI1,5,9,loc(unknown),DMA_IN\n"
    )
    assert converted(
        "--compile_profile", *compiled, overlapping, "--runtime_profile", *measured,
        "--mlir", "tiny_cnn.mlir",
    ) == 0  # fmt: skip
    with TraceProcessor("out.pb") as peer:
        shown = peer.rows(
            "select process.name, thread.name, slice.name, ts, dur from slice"
            " join thread_track on track_id = thread_track.id join thread using (utid)"
            " join process using (upid) union all"
            " select process.name, thread.name, slice.name, ts, dur from slice"
            " join track on track_id = track.id join thread_track up on track.parent_id = up.id"
            " join thread using (utid) join process using (upid)"
        )
        assert peer.rows("select count(*) from slice") == [(len(shown),)]
        assert peer.rows("select count(*) from slice where dur < 0") == [(0,)]
        faults = (
            "select name, value from stats where value > 0 and severity in ('error', 'data_loss')"
        )
        assert peer.rows(faults) == []
    ours = replayed("out.pb")
    assert Counter(tuple(row) for row in shown) == Counter(event[:5] for event in ours)
    for process, _, name, _, duration, _ in ours:
        if told := re.search(r"dur=(\d+)", name):
            # The floor of each end: less than one ns from the exact length.
            assert abs(int(told[1]) * ns_told(process) - duration) < 1, name
    rows = sum(len(Path(n).read_text().splitlines()) for n in (*compiled, overlapping, *measured))
    headers = sum("c2" in n or "c3" in n or "runtime" in n for n in EVERY)
    layers = [e for e in ours if e[1] == "00_Input_Layer"]
    assert sum(map(is_chart, ours)) - len(layers) == rows - headers


# -- arguments -------------------------------------------------------------------------------------


def test_one_unreadable_file_is_one_line_and_the_others_are_converted(capsys):
    Path("noise.csv").write_bytes(b"\0\1\2")
    assert converted("--compile_profile", "missing.csv", "noise.csv", C0) == 1
    out, err = capsys.readouterr()
    assert [line.split(":")[1].strip() for line in err.splitlines()] == ["missing.csv", "noise.csv"]
    assert f"=== Overview ({C0}) ===" in out
    assert {event[0] for event in replayed("out.pb")} == {f"03 {C0}", f"03 {C0} Overview"}


def test_nothing_is_written_when_nothing_can_be_read(capsys):
    assert converted("--runtime_profile", "missing.csv") == 1
    assert not Path("out.pb").exists()
    assert capsys.readouterr().out == ""


def test_a_file_of_the_other_kind_is_named(capsys):
    assert converted("--compile_profile", R0) == 1
    assert "this is no Torq compile profile but Torq runtime profile" in capsys.readouterr().err


def test_rows_that_are_none_are_noted(capsys):
    Path("odd.csv").write_text(Path(C0).read_text() + "S9,what,ever\n")
    assert converted("--compile_profile", "odd.csv") == 0
    assert "note: odd.csv: 1 × row that is not event,start,end" in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments", [("--compile_profile", C0), ("--pb",), ("--compile_profile", "--pb", "x"), (C0,)]
)
def test_wrong_usage(arguments, capsys):
    with pytest.raises(SystemExit) as stopped:
        main(arguments)
    assert stopped.value.code == 2


def test_the_form_of_later_originals_is_told_where_to_go(capsys):
    with pytest.raises(SystemExit) as stopped:
        main(("debug_dir", "--pb", "out"))
    assert stopped.value.code == 2
    assert "opscope export FILES --debug-info DIR" in capsys.readouterr().err


def test_an_input_is_never_overwritten(capsys):
    before = Path(C0).read_bytes()
    with pytest.raises(SystemExit) as stopped:
        main(("--compile_profile", C0, "--pb", f"./{C0}"))
    assert stopped.value.code == 2
    assert Path(C0).read_bytes() == before


def test_a_folder_that_is_missing_is_said(capsys):
    assert main(("--compile_profile", C0, "--pb", "no/folder/out.pb")) == 1
    assert capsys.readouterr().err.startswith("perfetto_logger: no/folder/out.pb: it cannot be wri")


def test_both_inputs_are_optional(capsys):
    assert converted() == 0
    assert replayed("out.pb") == []


# -- the documented functions ----------------------------------------------------------------------


def test_profiles_and_own_logs_share_a_view():
    view = TimeChartView("out.pb")
    csv_to_view_compile_profile("model", view, C0, 2)
    csv_to_view_runtime_profile("run", view, R0)
    view.render(TimeChartLog("host", "main", "prepare", 0, 1500))
    assert view.flush() == 40 + 20 + 1
    assert Counter(event[0] for event in replayed("out.pb")) == {"model": 40, "run": 20, "host": 1}


@pytest.mark.parametrize("count", [1, 2, 3])
def test_num_slices_is_over_how_many_threads_c0_is_spread(count):
    view = TimeChartView("out.pb")
    csv_to_view_compile_profile("model", view, C0, count)
    view.flush()
    drawn = [(thread, name) for _, thread, name, *_ in replayed("out.pb")]
    drawn = [(thread, name) for thread, name in drawn if thread.startswith("SLICE")]
    assert {thread for thread, _ in drawn} == {f"SLICE {i}" for i in range(count)}
    for thread, name in drawn:
        index = int(name.split(", ")[1].removeprefix("S"))
        assert thread == f"SLICE {index % count}"
    with pytest.raises(ValueError, match="num_slices"):
        csv_to_view_compile_profile("model", view, C0, 0)
    with pytest.raises(ValueError, match="num_slices"):
        convert_to_perfetto([C0], [], "out.pb", num_slices=0)


def test_names_are_of_the_dictionary_or_of_the_files():
    assert convert_to_perfetto({"model": C0}, {"run": R0}, "named.pb") == Path("named.pb")
    convert_to_perfetto([C0], [Path(R0)], "listed.pb")
    assert {event[0] for event in replayed("named.pb")} == {
        "01 model", "01 model Overview", "02 run", "02 run Overview"
    }  # fmt: skip
    assert {event[0] for event in replayed("listed.pb")} == {
        f"01 {C0}", f"01 {C0} Overview", f"02 {R0}", f"02 {R0} Overview"
    }  # fmt: skip


def test_what_cannot_be_read_leaves_an_old_trace_as_it_was():
    Path("out.pb").write_bytes(b"old")
    with pytest.raises(UnreadableFile):
        convert_to_perfetto({"model": C0, "gone": "gone.csv"}, {}, "out.pb")
    assert Path("out.pb").read_bytes() == b"old"


def test_names_state_what_their_numbers_count():
    """In the original, 1470 can be cycles, µs or ns."""
    assert converted("--compile_profile", C0, C1, C2, "--runtime_profile", R0) == 0
    units = {"cycles": 0, "µs": 0, "ns": 0}
    for _, _, name, *_ in replayed("out.pb"):
        found = re.search(r"(?:dur=|: )[\d.]+ ?(cycles|µs|ns|ms|s)\b", name)
        assert found, name
        units[found[1]] = units.get(found[1], 0) + 1
    assert all(units.values())

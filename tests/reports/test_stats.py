"""`opscope stats` as scripts use it: rows, clocks, ranges, and what it says of what is missing."""

import json
import re
import shutil
from fractions import Fraction

import pytest

import viewer
from tests.builders.command_line import run
from tests.paths import ROOT
from viewer.reports.stats import NoSuchGroups, stats
from viewer.workspace.workspace import Workspace

TORQ = ROOT / "tests" / "data" / "torq"
C3, C1, JOBS, HOST, TEXT = (
    str(TORQ / name)
    for name in (
        "compile_c3_taskid.csv", "compile_c1_css_cdma.csv", "runtime_r0_nss.csv",
        "host_h1_quoted.csv", "tiny_cnn.mlir",
    )
)  # fmt: skip
ATTENTION = [
    str(ROOT / "resources" / "samples" / "attention_xnnpack" / name)
    for name in ("attn_xnnpack_x5.etdp", "attn_teal_xnnpack.etrecord")
]
LENGTHS = ("mean", "min", "max", "p50", "p90")


def answer(capsys, *arguments: str) -> dict:
    code, out, err = run(capsys, "stats", *arguments, "--json")
    assert (code, err) == (0, "")
    return json.loads(out)


# -- JSON ------------------------------------------------------------------------------------------


def test_json_has_the_keys_that_scripts_rely_on(capsys):
    facts = answer(capsys, C3, TEXT, "--by", "operator")
    assert set(facts) == {"opscope", "schema", "by", "range_ns", "files", "rows"}
    assert (facts["by"], facts["range_ns"]) == ("operator", None)
    (file,) = facts["files"]
    assert file == {
        "path": C3, "format": "Torq compile profile", "generation": "C3",
        "clock": {
            "unit": "cycle", "ns_per_tick": 1.25, "rate": "800 MHz", "origin": "assumed",
            "assumed": True, "domain": "", "zeros": {}, "zero_errors": {}, "shared": "",
        },
        "range_ticks": [0, 132209], "whole_ticks": 201983, "whole_ns": 252478,
        "ungrouped_label": "(no operator)", "ungrouped_ticks": 68, "ungrouped_ns": 85,
        "not_counted": [], "scopes": 0,
        "foreign": 0, "values": 0, "clocks": [], "has_kernels": False,
        "unfinished": 0, "warm_up": 0, "initialization": 0, "missing": None, "unit": "inference",
    }  # fmt: skip
    for row in facts["rows"]:
        assert list(row) == [
            "file", "key", "label", "share", "total_ticks", "total_ns", "self_ticks", "self_ns",
            "count", *(f"{name}_{unit}" for name in LENGTHS for unit in ("ticks", "ns")),
            "wall_ticks", "wall_ns", "share_of",
        ]  # fmt: skip
        assert row["share_of"] == "busy time"
        for name in ("total", "self", *LENGTHS):
            assert row[f"{name}_ns"] == Fraction(row[f"{name}_ticks"]) * Fraction(5, 4) // 1
    assert sum(row["wall_ticks"] for row in facts["rows"]) + 68 == 201983
    # Rounded so that they add up, although 1 cycle is 1.25 ns.
    assert sum(row["wall_ns"] for row in facts["rows"]) + 85 == 252478
    assert sum(row["share"] for row in facts["rows"]) == pytest.approx(1 - 68 / 201983, abs=1e-5)
    assert [row["label"] for row in facts["rows"]][3:] == [
        "tosa.add@L16", "tosa.cast@L15", "func.func@L2"
    ]  # fmt: skip


def test_the_whole_is_in_the_column_of_what_adds_up(capsys):
    code, out, _ = run(capsys, "stats", C3, "--by", "name")
    lines = [line.split() for line in out.splitlines()]
    assert (code, lines[-1]) == (0, ["252.478", "µs", "100.0", "whole"])
    titles = next(line for line in lines if line[:2] == ["Total", "Self"])
    assert "Wall" not in titles


def test_units_have_names_for_scripts_and_no_lengths(capsys):
    rows = {row["key"]: row for row in answer(capsys, C1, "--by", "unit")["rows"]}
    assert rows["only_dma"] == {
        "file": C1, "key": "only_dma", "label": "Only DMA", "share": 0.293104,
        "total_ticks": 38751, "total_ns": 48438, "share_of": "range",
    }  # fmt: skip
    assert list(rows)[-3:] == ["busy", "idle", "overall"]


@pytest.mark.slow
def test_the_attention_model_by_every_key_that_it_has(capsys):
    found = {
        key: answer(capsys, *ATTENTION, "--by", key)
        for key in ("operator", "type", "module", "line", "delegate", "thread", "inference", "name")
    }
    for facts in found.values():
        (file,) = facts["files"]
        wall = sum(row["wall_ns"] for row in facts["rows"])
        assert wall + file["ungrouped_ns"] == file["whole_ns"]
        assert (file["clock"]["unit"], file["clock"]["origin"]) == ("ns", "assumed")
    executed = sum(row["total_ns"] for row in found["inference"]["rows"])
    for key in ("operator", "type", "module", "line", "delegate"):
        assert found[key]["files"][0]["whole_ns"] == executed == 324625
    assert found["inference"]["rows"][1]["label"] == "forward · run 2 of 5"
    assert "models.py:52" in [row["label"] for row in found["line"]["rows"]]
    assert "blocks.0.qkv" in [row["label"] for row in found["module"]["rows"]]


def test_files_of_several_clocks_are_answered_one_by_one(capsys):
    facts = answer(capsys, JOBS, C3, TEXT, "--by", "operator")
    assert [(f["path"], f["whole_ticks"], f["whole_ns"]) for f in facts["files"]] == [
        (JOBS, 1105, 1105000), (C3, 201983, 252478),
    ]  # fmt: skip
    assert [row["file"] for row in facts["rows"]] == sorted(
        (row["file"] for row in facts["rows"]), key=[JOBS, C3].index
    )
    conv = [row for row in facts["rows"] if row["label"] == "tosa.conv2d@L11"]
    assert [(row["file"], row["total_ns"] % 1000) for row in conv] == [(JOBS, 0)]


# -- ranges ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("key", ["unit", "operator", "type", "line", "location", "thread", "name"])
def test_ranges_add_up_to_the_whole(capsys, key):
    whole = answer(capsys, C3, TEXT, "--by", key)
    # The trace ends at 165261.25 ns: the end is found from its floor.
    same = answer(capsys, C3, TEXT, "--by", key, "--range", "0:165261")
    assert (same["rows"], same["files"]) == (whole["rows"], whole["files"])
    total: dict[str, int] = {}
    for part in ("0:50us", "50us:1ms"):
        for row in answer(capsys, C3, TEXT, "--by", key, "--range", part)["rows"]:
            total[row["key"]] = total.get(row["key"], 0) + row["total_ticks"]
    assert total == {row["key"]: row["total_ticks"] for row in whole["rows"]}


def test_a_range_counts_from_the_start_of_the_trace(capsys):
    """The first job ran from 1368 µs to 1420 µs since the device was opened."""
    facts = answer(capsys, JOBS, "--by", "unit", "--range", "10us:30us")
    (file,) = facts["files"]
    assert (facts["range_ns"], file["range_ticks"]) == ([10000, 30000], [1378, 1398])
    assert {row["key"]: row["total_ns"] for row in facts["rows"]} == {
        "nss": 20000, "busy": 20000, "idle": 0, "overall": 20000
    }  # fmt: skip


def test_a_range_beside_the_trace_is_empty(capsys):
    code, out, _ = run(capsys, "stats", C3, TEXT, "--by", "operator", "--range", "1s:2s")
    assert code == 0
    assert out.splitlines()[-1] == "nothing in this range"
    assert answer(capsys, C3, "--by", "unit", "--range", "1s:2s")["files"][0]["whole_ticks"] == 0


def test_a_range_of_host_profiles_of_one_boot_is_on_the_axis_that_they_share(capsys, tmp_path):
    """The later one began 200 ms after the other; its INIT took 1.349 ms."""
    first, later = TORQ / "host_h4_latest.csv", tmp_path / "later.csv"
    later.write_text(first.read_text().replace(",48123", ",48125"))
    for paths in ((first, later), (later, first)):
        asked = ("--by", "name", "--range", "200ms:201.349ms")
        rows = answer(capsys, *map(str, paths), *asked)["rows"]
        assert {row["file"] for row in rows} == {str(later)}
        assert sum(row["self_ns"] for row in rows) == 1_349_000


def test_what_has_no_length_at_the_end_of_a_trace_is_not_in_a_range_behind_it(capsys):
    """A host profile ends with a DEALLOC that took no time, at 852 µs."""
    for part, count in (("0:852us", 2), ("100ms:200ms", 0)):
        facts = answer(capsys, HOST, "--by", "name", "--range", part)
        assert sum(r["count"] for r in facts["rows"] if r["label"] == "DEALLOC") == count


# -- text ------------------------------------------------------------------------------------------


def test_the_table_is_aligned_and_says_whose_clock_it_is(capsys):
    code, out, _ = run(capsys, "stats", C3, TEXT, "--by", "type")
    head, blank, *lines = out.splitlines()
    assert code == 0
    assert head == f"{C3}: Torq compile profile C3, clock 1 cycle = 1.25 ns (assumed)"
    assert blank == ""
    assert lines[0] == (
        "     Total        Self  % of busy time  Count       Mean       Min        Max     Median  "
        "      p90  Type"
    )
    assert lines[1] == (
        "109.760 µs  109.760 µs            43.5     16   6.860 µs  1.960 µs  11.760 µs   6.860 µs  "
        "11.760 µs  tosa.clamp + tosa.conv2d"
    )
    place = lines[0].index("Type")
    assert [line[place:] for line in lines[-3:]] == ["func.func", "(no operator)", "whole"]


def test_times_of_several_units_have_their_units_in_one_column(capsys, tmp_path):
    path = tmp_path / "units.csv"
    rows = ("long,0,2595000000", "short,0,385", "odd,0,2", "odd,10,3", "none,0,0")
    path.write_text("\n".join(["process,thread,name,start_ns,dur_ns", *(f"p,t,{r}" for r in rows)]))
    _, out, _ = run(capsys, "stats", str(path), "--by", "name")
    head, *lines = out.splitlines()[2:]
    total = [line[: head.index("Total") + len("Total")] for line in lines[:4]]
    assert total == ["2.595 s ", "  385 ns", "    5 ns", "    0   "]


@pytest.mark.parametrize(
    ("unit", "head", "first"),
    [
        ("ns", "Total, ns  Self, ns", ["109\u2009760", "109\u2009760"]),
        ("us", "Total, µs  Self, µs", ["109.760", "109.760"]),
        ("s", "Total, s  Self, s", ["0.00011", "0.00011"]),
    ],
)
def test_the_unit_of_the_table_can_be_chosen(capsys, unit, head, first):
    _, out, _ = run(capsys, "stats", C3, TEXT, "--by", "type", "--unit", unit)
    _, _, titles, row, *_ = out.splitlines()
    assert " ".join(titles.split()).startswith(" ".join(head.split()))
    assert re.split(" {2,}", row.strip())[:2] == first


def test_rows_of_several_files_carry_their_file(capsys):
    _, out, _ = run(capsys, "stats", C3, JOBS, "--by", "unit")
    lines = out.splitlines()
    assert f"{JOBS}: Torq runtime profile R0, clock 1 tick = 1000 ns (stated)" in lines
    assert any(line.endswith("  compile_c3_taskid.csv  Only DMA") for line in lines)
    assert any(line.endswith("  runtime_r0_nss.csv     NSS jobs") for line in lines)


def test_files_of_one_name_are_told_apart(capsys, tmp_path):
    copy = shutil.copy(C3, tmp_path)
    _, out, _ = run(capsys, "stats", C3, copy, JOBS, "--by", "unit")
    told = [line.split()[-2] for line in out.splitlines() if line.endswith(" Overall")]
    assert told == [C3, copy, "runtime_r0_nss.csv"]


def test_inferences_that_warm_up_are_counted_and_stated(capsys):
    dump = str(ROOT / "tests" / "data" / "etdump" / "cnn_portable_x10.etdp")
    _, out, _ = run(capsys, "stats", dump, "--by", "name")
    assert "  includes 2 warm-up inferences" in out.splitlines()


def test_what_is_on_a_clock_of_its_own_is_said(capsys):
    dump = str(ROOT / "tests" / "data" / "etdump" / "SYN_qnn_like.etdp")
    _, out, _ = run(capsys, "stats", dump, "--by", "name")
    assert "slices with separate clocks left out" in out


def test_names_with_line_ends_stay_on_one_line(capsys, tmp_path):
    path = tmp_path / "odd.csv"
    path.write_text('process,thread,name,start_ns,dur_ns\np,t,"a\nb",0,5\n')
    _, out, _ = run(capsys, "stats", str(path), "--by", "name")
    assert any(line.endswith("  a\\nb") for line in out.splitlines())


# -- what there is not -----------------------------------------------------------------------------


def test_a_key_that_no_trace_has_is_one_line_that_says_which_there_are(capsys, tmp_path):
    alone = shutil.copy(C3, tmp_path)  # without the text that its locations name beside it
    code, out, err = run(capsys, "stats", alone, "--by", "operator")
    assert (code, out) == (1, "")
    assert err == (
        "opscope: no statistics by operator: No open ETRecord or source matches the trace. The "
        "keys are unit, location, thread, process, name\n"
    )


def test_a_trace_that_lacks_the_key_is_noted_beside_those_that_have_it(capsys):
    code, out, err = run(capsys, "stats", C3, ATTENTION[0], "--by", "run")
    assert code == 0
    assert "run 1 of 5" in out
    assert err == f"opscope: note: {C3}: no statistics by inference: The file has no inferences\n"


def test_wrong_usage_and_unreadable_files(capsys, tmp_path):
    assert run(capsys, "stats", C3)[0] == 2
    assert "--by" in run(capsys, "stats", C3)[2]
    assert run(capsys, "stats", C3, "--by", "colour")[0] == 2
    code, _, err = run(capsys, "stats", C3, "--by", "unit", "--range", "5")
    assert code == 2
    assert "START:END" in err
    missing = str(tmp_path / "none.csv")
    code, out, err = run(capsys, "stats", missing, C3, "--by", "unit")
    assert code == 1
    assert "none.csv" in err
    assert "Only DMA" in out
    assert run(capsys, "stats", missing, "--by", "unit")[0] == 1


def test_a_record_alone_took_no_time(capsys):
    code, out, err = run(capsys, "stats", ATTENTION[1], "--by", "operator")
    assert (code, out) == (1, "")
    assert err == "opscope: no profile is open\n"
    with pytest.raises(NoSuchGroups):
        stats(Workspace(), "unit")


def test_methods_and_pairs_are_chosen_as_everywhere(capsys):
    dump, record = ATTENTION
    other = str(ROOT / "tests" / "data" / "etrecord" / "demo_str.etrecord")
    facts = answer(capsys, dump, record, other, "--pair", f"{dump}={record}", "--by", "module")
    assert facts["rows"]


QNN = str(ROOT / "tests" / "data" / "etdump" / "SYN_qnn_like.etdp")


def test_a_delegates_rate_gives_lengths_in_ns_and_a_sum_of_its_own(capsys):
    facts = answer(capsys, QNN, "--by", "name", "--clock", ":cycles=800MHz")
    before = answer(capsys, QNN, "--by", "name")
    assert (facts["files"][0]["foreign"], before["files"][0]["foreign"]) == (0, 3)
    assert facts["rows"][: len(before["rows"])] == before["rows"]
    (total, *_) = own = facts["rows"][len(before["rows"]) :]
    assert [row["delegate_ns"] for row in own] == [6250, 1500, 375]
    assert (total["total_ticks"], total["share"], total["count"]) == (0, 0, 1)
    assert [total[f"{name}_ns"] for name in LENGTHS] == [6250] * 5
    assert not any(f"{name}_ticks" in total for name in LENGTHS)
    whole = "whole_ticks"
    assert facts["files"][0][whole] == before["files"][0][whole]


def test_the_text_has_no_total_for_what_a_delegates_clock_timed(capsys):
    code, out, _ = run(capsys, "stats", QNN, "--by", "name", "--clock", ":cycles=800MHz")
    assert code == 0
    assert "slices on a delegate's clock have a duration, but no total and no share" in out
    assert "Own clock" in out
    (line,) = (line for line in out.splitlines() if "OpId_12" in line)
    assert line.split()[:5] == ["1.500", "µs", "1", "1.500", "µs"]


def test_what_the_file_cuts_to_0_has_a_bound_and_no_share(capsys):
    """XNNPACK's events: 30 of less than 1 µs each."""
    _, out, _ = run(capsys, "stats", "--by", "name", *ATTENTION)
    line = next(line for line in out.splitlines() if line.endswith("Static Reshape (NC) #1"))
    cells = re.split(r"  +", line.strip())
    assert cells == ["< 30 µs", "< 30 µs", "30", *["< 1 µs"] * 5, "Static Reshape (NC) #1"]
    _, out, _ = run(capsys, "stats", "--by", "name", "--json", *ATTENTION)
    rows = {row["label"]: row for row in json.loads(out)["rows"]}
    cut = rows["Static Reshape (NC) #1"]
    assert (cut["total_ns"], cut["rounded_zeros"], cut["rounded_to_ns"]) == (0, 30, 1000)
    assert "rounded_zeros" not in rows["OPERATOR_CALL"]


# -- by two keys -----------------------------------------------------------------------------------


def test_rows_by_two_keys_add_up_to_those_of_the_first_to_the_ns(capsys):
    for files, keys in (
        ((C3, TEXT), "operator,thread"), ((C3, TEXT), "type,operator"),
        (ATTENTION, "operator,inference"), (ATTENTION, "inference,operator"),
        (ATTENTION, "module,type"),
    ):  # fmt: skip
        facts = answer(capsys, *files, "--by", keys)
        alone = answer(capsys, *files, "--by", keys.partition(",")[0])
        assert facts["totals"] == alone["rows"]
        assert facts["files"] == alone["files"]
        for total in facts["totals"]:
            cells = [row for row in facts["rows"] if row["key"] == total["key"]]
            assert all("then" in row for row in cells)
            for name in ("self_ticks", "self_ns", "wall_ticks", "wall_ns"):
                assert sum(row[name] for row in cells) == total[name]
            assert sum(row["total_ns"] for row in cells) == total["total_ns"]


def test_two_keys_as_a_table_and_as_a_data_frame(capsys):
    code, out, _ = run(capsys, "stats", *ATTENTION, "--by", "module,type")
    assert code == 0
    lines = out.splitlines()
    assert next(line for line in lines if "Self" in line).endswith("Module, then type")
    assert any(line.endswith("  blocks.0") for line in lines)
    assert any(line.endswith("      chunk") for line in lines)
    frame = viewer.open(*ATTENTION).stats(["module", "type"])
    alone = viewer.open(*ATTENTION).stats("module").set_index("key")
    sums = frame.groupby("key")[["self_ns", "wall_ns", "total_ns", "count"]].sum()
    assert sums.eq(alone.loc[sums.index, sums.columns]).all().all()


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ("operatr", "'operatr' is not a key; operator is similar"),
        ("name,thread,type", "has 3 keys: use at most two"),
        ("name,", "'' is not a key"),
    ],
)
def test_wrong_keys_are_refused_with_the_similar_one(capsys, keys, message):
    code, out, err = run(capsys, "stats", C3, "--by", keys)
    assert (code, out) == (2, "")
    assert message in err


@pytest.mark.parametrize("keys", ["operator,inference", "inference,name"])
def test_inferences_as_a_key_have_no_mean(capsys, keys):
    code, out, err = run(capsys, "stats", *ATTENTION, "--by", keys, "--per", "inference")
    assert (code, out) == (1, "")
    assert "Rows that are inferences have no mean per inference" in err


@pytest.mark.parametrize("keys", ["operator,name", "type,operator", "module,type", "thread,type"])
def test_means_of_two_keys_add_up_to_those_of_the_first_one(capsys, keys):
    _, out, _ = run(capsys, "stats", *ATTENTION, "--by", keys, "--per", "inference", "--json")
    facts = json.loads(out)
    _, out, _ = run(
        capsys, "stats", *ATTENTION, "--by", keys.partition(",")[0], "--per", "inference", "--json"
    )
    alone = {row["key"]: row for row in json.loads(out)["rows"]}
    assert len(facts["rows"]) >= len(facts["totals"]) > 0
    for total in facts["totals"]:
        cells = [row for row in facts["rows"] if row["key"] == total["key"]]
        for name in ("self", "wall"):
            figure = f"{name}_per_inference_ns"
            assert total[figure] == alone[total["key"]][figure]
            assert abs(sum(cell[figure] for cell in cells) - total[figure]) <= 1
        assert total["p50_per_inference_ns"] == alone[total["key"]]["p50_per_inference_ns"]
        assert all(("p50_per_inference_ns" in cell) == ("count" in cell) for cell in cells)
    code, out, _ = run(capsys, "stats", *ATTENTION, "--by", keys, "--per", "inference")
    assert code == 0
    assert "Self, mean of 4" in out
    assert "Median of 4" in out


def test_one_slice_per_inference_has_the_same_mean_and_median_in_both_columns(capsys):
    by = "--by", "operator", "--per", "inference", "--unit", "us"
    _, out, _ = run(capsys, "stats", *ATTENTION, *by)
    head, *lines = out.splitlines()[3:]
    titles = re.split(r"  +", head.strip())
    rows = [dict(zip(titles, re.split(r"  +", line.strip()), strict=False)) for line in lines]
    once = [row for row in rows if row.get("Count, sum") == "4"]
    assert len(once) > 3
    for row in once:
        assert row["Self, mean of 4, µs"] == row["Mean, µs"]
        assert row["Median of 4, µs"] == row["Median, µs"]


def test_what_another_clock_timed_has_a_sum_and_no_mean(capsys):
    path = str(ROOT / "tests/data/delegate_clocks/vulkan_shaders.etdp")
    for keys in ("kernel", "kernel,process"):
        _, out, _ = run(capsys, "stats", path, "--by", keys, "--per", "inference", "--json")
        apart = [row for row in json.loads(out)["rows"] if row.get("clock_unit") == "ns"]
        assert [row["total_ns"] for row in apart] == [row["clock_total"] for row in apart] != []
        for row in apart:
            assert "total_per_inference_ns" not in row
            assert "p50_per_inference_ns" not in row


def test_the_rest_of_a_place_has_self_time_and_no_median(capsys):
    """Its slices are of no group whose median it could be; before, it was 0."""
    dump = str(ROOT / "tests" / "data" / "etdump" / "cnn_portable_x10.etdp")
    keys = ("--by", "thread,kernel", "--per", "inference")
    _, out, _ = run(capsys, "stats", dump, *keys, "--json")
    rest = [row for row in json.loads(out)["rows"] if "count" not in row]
    assert sum(row["self_ns"] for row in rest) > 0
    assert not any("p50_per_inference_ns" in row for row in rest)

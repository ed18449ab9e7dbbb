"""One table of layers in shapes of JSON and of printed texts: the same bars."""

import json
import random
from fractions import Fraction

import pytest

from viewer.formats import open_file

NAMES, US = ["conv1", "relu 1", "3"], [510, 22.5, 1010.25]
ROWS = list(zip(NAMES, US, strict=True))


def lines(*rows):
    return "".join(f"{row}\n" for row in rows)


SHAPES = {
    "JSON lines": lines(*(json.dumps({"layer": n, "time_us": us}) for n, us in ROWS)),
    "JSON lines with others": lines(
        *(json.dumps({"layer": n, "op": "x", "shape": [1, 2], "time_us": us}) for n, us in ROWS)
    ),
    "keys": json.dumps({n: {"time_us": us, "op": "x"} for n, us in ROWS}, indent=1),
    "keys in a part": json.dumps({"model": "m", "layers": {n: {"time_us": us} for n, us in ROWS}}),
    "pandas' split": json.dumps({"columns": ["layer", "time_us"], "data": ROWS}),
    "headers and rows": json.dumps({"headers": ["layer", "avg (us)"], "rows": ROWS}),
    "pandas' print": lines(
        "    layer    op  time_us", *(f"{i:<4}{n:>5}  Conv  {us:7.2f}"
                                     for i, (n, us) in enumerate(ROWS))
    ),
    "bold Markdown": lines("| **Layer** | **Time (us)** |", "|---|--:|",
                           *(f"| **{n}** | `{us}` |" for n, us in ROWS)),
}  # fmt: skip


@pytest.mark.parametrize("shape", SHAPES)
def test_a_shape_has_the_same_bars(shape, tmp_path):
    path = tmp_path / "table.txt"
    path.write_text(SHAPES[shape])
    assert bars(path) == ([(name, Fraction(us)) for name, us in ROWS], ())


def bars(path):
    trace = open_file(str(path))
    s, per_us = trace.slices, trace.clock.ns_per_tick / 1000
    found = [(trace.name(i), int(s.end[i] - s.start[i]) * per_us) for i in range(len(s))]
    return found, tuple((one.kind, one.count) for one in trace.problems)


@pytest.mark.parametrize("cut", [1, 5, 20])
def test_a_last_line_that_is_cut_is_counted(cut, tmp_path):
    path = tmp_path / "table.jsonl"
    path.write_text(SHAPES["JSON lines"][: -1 - cut])
    assert bars(path) == (
        [(name, Fraction(us)) for name, us in ROWS[:-1]], (("line that is no JSON: left out", 1),)
    )  # fmt: skip


PRINTED = {
    "benchncnn": "{:>20}  min =  {us:7.2f}  max = {us:7.2f}  avg = {ms:7.2f}",
    "OpenVINO counters": "{:<30} EXECUTED       layerType: Convolution        realTime: {us:<9.0f} "
    "cpu: {us:<10.0f} execType: jit_avx2_FP32",
    "OpenVINO counters of 2022": "{:<30} EXECUTED       layerType: Conv execType: jit_FP32 "
    "realTime (ms): {ms:<10.3f} cpuTime (ms): {ms:<10.3f}",
    "OpenVINO counters of Python": "{:<30} Status.EXECUTED layerType: Conv execType: jit_FP32 "
    "realTime (ms): {ms:<10.3f} cpuTime (ms): {ms:<10.3f} proportion: 33.10%",
}


@pytest.mark.parametrize("tool", PRINTED)
@pytest.mark.parametrize("before", ["", "[ INFO ] Performance counts for 0-th request:\n\n"])
def test_rows_without_a_header_are_layers(tool, before, tmp_path):
    path = tmp_path / "log.txt"
    meant = [("conv1", 510), ("relu_1", 20), ("fc/3", 1010)]
    rows = [PRINTED[tool].format(name, us=us, ms=us / 1000) for name, us in meant]
    path.write_text(lines(before, *rows, "", "Total time: 1540     microseconds", "done"))
    assert bars(path) == (meant, ())


def test_what_did_not_run_has_no_bar(tmp_path):
    path = tmp_path / "log.txt"
    rows = [PRINTED["OpenVINO counters"].format(n, us=9) for n in ("conv1", "relu", "fc")]
    rows[1] = rows[1].replace("EXECUTED", "NOT_RUN")
    path.write_text(lines(*rows))
    assert bars(path) == ([("conv1", 9), ("fc", 9)], ())


@pytest.mark.parametrize(
    "header",
    ["层名称,类型,耗时(us)", "算子,类型,平均耗时(us)", "レイヤー,種類,処理時間 (us)",
     "Schicht,Typ,Dauer (us)", "Couche,Type,Durée (us)", "Capa,Tipo,Tiempo [us]",
     "Camada,Tipo,Duração (µs)", "Слой,Тип,Время (us)", "레이어,유형,시간(us)"],
)  # fmt: skip
def test_headings_of_other_languages_are_known(header, tmp_path):
    path = tmp_path / "table.csv"
    path.write_text(lines(header, *(f"{name},Conv,{us}" for name, us in ROWS)))
    assert bars(path) == ([(name, Fraction(us)) for name, us in ROWS], ())


@pytest.mark.parametrize(
    "around",
    ["sep=,\r\n{}", '"sep=,"\r\n{}', "```\n{}```\n", "```text\n{}```\n"],
)  # fmt: skip
def test_what_states_the_separator_or_quotes_a_text_is_no_row(around, tmp_path):
    path = tmp_path / "table.csv"
    path.write_text(around.format(lines("layer,time_us", *(f"{name},{us}" for name, us in ROWS))))
    assert bars(path) == ([(name, Fraction(us)) for name, us in ROWS], ())


@pytest.mark.parametrize("rule", ["--- | ---", ":-- | --:", "---|---"])
def test_a_table_of_markdown_without_outer_bars_has_no_lost_row(rule, tmp_path):
    path = tmp_path / "table.md"
    path.write_text(lines("Layer | Time (us)", rule, *(f"{name} | {us}" for name, us in ROWS)))
    assert bars(path) == ([(name, Fraction(us)) for name, us in ROWS], ())


def _ended(ends, seed):
    """A semicolon ends the header, each row, both or neither."""
    decimals = "." if seed % 2 else ","
    rows = [
        f"{name};EXECUTED;{us / 1000:.6f}".replace(".", decimals) + ends[1] for name, us in ROWS
    ]
    return lines(f"Layer name;Exec status;Real time (ms){ends[0]}", *rows)


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("ends", [("", ""), (";", ";"), (";", ""), ("", ";")])
def test_a_separator_may_end_the_header_or_rows(ends, seed, tmp_path):
    path = tmp_path / "counters.csv"
    path.write_text(_ended(ends, seed))
    assert bars(path) == ([(name, Fraction(str(us))) for name, us in ROWS], ())


@pytest.mark.parametrize("unit", ["ns", "us", "ms", "s"])
@pytest.mark.parametrize("form", ["{}", "({})", "[{}]"])
@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_a_row_below_the_header_can_have_the_units(unit, form, separator, tmp_path):
    """As nvprof writes it; next to the mean of the calls, the time is that of all of them."""
    path = tmp_path / "summary.csv"
    scale = {"ns": Fraction(1, 1000), "us": 1, "ms": 1000, "s": 10**6}[unit]
    units = ["", "%", form.format(unit), "", form.format("us"), ""]
    table = [
        ["Type", "Time(%)", "Time", "Calls", "Avg", "Name"],
        units,
        *(["GPU", "33.3", str(3 * us), "3", str(us), name] for name, us in ROWS),
    ]
    above = ["==7== NVPROF is profiling process 7, command: ./a", "==7== Profiling result:"]
    path.write_text(lines(*above, *map(separator.join, table)))
    assert bars(path) == ([(name, Fraction(str(3 * us)) * scale) for name, us in ROWS], ())


@pytest.mark.parametrize("seed", range(12))
def test_a_printed_row_may_leave_a_cell_empty_and_have_spaces_in_another(seed, tmp_path):
    """Words can then be as many as headings, below other headings than their own."""
    draw = random.Random(seed)
    names = ["relu(float*, int)", "void gemm<int, 4> [clone]", "conv", "copy (to host)"]
    rows, meant = [], []
    for index in range(8):
        group = draw.choice(["GPU:", "API calls:", ""]) if index else "GPU activities:"
        us, name = draw.randint(10, 10**6), f"{draw.choice(names)} {index}"
        calls = str(draw.randint(1, 999))
        rows.append([group, f"{us / 10**4:.2f}%", f"{us / 1000:.3f}ms", calls, "1.0us", name])
        meant.append((name, us))
    widths = [draw.randint(16, 20), 8, draw.randint(10, 14), 8, 10]
    header = ["Type", "Time(%)", "Time", "Calls", "Max", "Name"]
    text = [
        "  ".join([f"{cell:>{width}}" for cell, width in zip(row, widths, strict=False)] + row[5:])
        for row in [header, *rows]
    ]
    path = tmp_path / "printed.txt"
    path.write_text(lines(*text))
    assert bars(path) == (meant, ())


@pytest.mark.parametrize("before", ["", "I [executorch:arm_perf_monitor.cpp:125] "])
@pytest.mark.parametrize("after", ["", " (12.50 per inference)"])
def test_cycles_of_a_runner_on_cortex_m_are_layers(before, after, tmp_path):
    path = tmp_path / "board.log"
    meant = [("CONV_2D", 123456), ("cortex_m::quantize", 70), ("ethos-u", 1498202)]
    rows = [
        "NPU Inferences : 1",
        "Profiler report, CPU cycles per operator:",
        *(f"{name} : cycle_cnt : {cycles} cycles{after}" for name, cycles in meant),
        f"Operator(s) total: 1621728 CPU cycles{after}",
        "Ethos-U PMU report:",
        "ethosu_pmu_cycle_cntr : 5920305",
    ]
    path.write_text(lines(*(before + row for row in rows)))
    trace = open_file(str(path))
    s = trace.slices
    assert [(trace.name(i), int(s.end[i] - s.start[i])) for i in range(len(s))] == meant
    assert (trace.generation, trace.problems) == ("Arm cycle counts", ())


BENCHMARK = {
    "text": lines(
        "Running ./bench", "Run on (8 X 2841.6 MHz CPU s)", "-" * 60,
        f"{'Benchmark':<30}{'Time':>15}{'CPU':>15}{'Iterations':>12}", "-" * 60,
        *(f"{name:<30}{us:>12} us{us - 1:>12} us{57:>12}" for name, us in ROWS),
    ),
    "csv": lines(
        "name,iterations,real_time,cpu_time,time_unit,bytes_per_second,label",
        *(f'"{name}",57,{us},{us - 1},us,,' for name, us in ROWS),
    ),
    "json": json.dumps({"context": {"num_cpus": 8}, "benchmarks": [
        {"name": name, "run_type": "iteration", "iterations": 57, "real_time": us,
         "cpu_time": us - 1, "time_unit": "us"} for name, us in ROWS]}, indent=1),
}  # fmt: skip


@pytest.mark.parametrize("form", BENCHMARK)
def test_google_benchmark_has_the_time_on_the_wall(form, tmp_path):
    path = tmp_path / "bench.txt"
    path.write_text(BENCHMARK[form])
    assert bars(path) == ([(name, Fraction(str(us))) for name, us in ROWS], ())


def test_a_summary_with_headings_in_brackets_is_a_table(tmp_path):
    """LiteRT's second table, where the first one is cut off."""
    path = tmp_path / "summary.txt"
    heads = ("[Node type]", "[count]", "[avg ms]", "[avg %]", "[mem KB]", "[times called]")
    rows = [(name, "1", f"{us / 1000}", "9.1%", "0.000", "1") for name, us in ROWS]
    title = "===== Summary by node type ====="
    path.write_text(lines(title, *("\t".join(["", *row]) for row in (heads, *rows))))
    assert bars(path) == ([(name, Fraction(str(us))) for name, us in ROWS], ())

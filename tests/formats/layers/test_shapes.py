"""One table of layers in shapes of JSON and of printed texts: the same bars."""

import json
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

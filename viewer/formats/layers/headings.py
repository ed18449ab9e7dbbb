"""What the columns of a table of layers are: by their headings, by the tool, and by their cells.

`mean`, `median` and `total` columns can be the duration; minimum, maximum and other percentiles
never are. Self times are preferred, because those of a function include the functions that it
calls. Where a table counts calls and has their total, the total is what the layer took; otherwise a
mean is, then a duration without such a word. The entry of a tool states the unit of durations whose
headings have none, and what the tool writes around the table.

A cell is a number, with or without a unit, or a text such as 0:00:01.5. A column decides which sign
separates decimals: `0,5` shows a comma, `1.5` a point. Where neither is shown, points do, and
commas separate thousands.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import lru_cache

from viewer.dataclasses import dataclass, field
from viewer.formats.runtimes.rows import amount
from viewer.formats.table.time_texts import CYCLE, EXPONENTS, parse_unit, split_unit, time_text
from viewer.model.recorded_names import LAYER_BACKEND as BACKEND
from viewer.model.recorded_names import LAYER_COUNT as COUNT
from viewer.model.recorded_names import LAYER_KERNEL as KERNEL
from viewer.model.recorded_names import LAYER_TYPE as TYPE
from viewer.model.recorded_names import LAYER_UNIT as UNIT

NAME = "name"
STATUS, THREAD, INFERENCE, DELEGATED = "status", "thread", "inference", "delegated"
_WORDS = re.compile(r"[a-z]+|[A-Z]+(?![a-z])|[A-Z][a-z]*|[0-9]+|[^\W\d_]+|[%#]")
_BRACKETED = re.compile(r"\[[^\[\]]*\]")  # as LiteRT writes all of its headings
# Headings in other languages, by what they are in English.
_TRANSLATED = {
    "name": "名称 名字 名前 名 nom nombre nome bezeichnung",
    "layer": "层 层名 层名称 网络层 レイヤー レイヤ schicht couche capa camada слой 레이어",
    "op": "算子 算子名 算子名称 operador opérateur オペレータ 연산자",
    "node": "节点 节点名 节点名称 ノード knoten nœud nodo узел 노드",
    "type": "类型 算子类型 层类型 種類 タイプ typ tipo тип 유형",
    "duration": "耗时 时长 时间 时间消耗 执行时间 所要時間 処理時間 実行時間 時間 dauer "
    "zeit laufzeit durée temps duración tiempo duração tempo durata время длительность 시간",
    "mean duration": "平均耗时 平均时间 平均時間 mittelwert moyenne promedio média среднее 평균",
    "count": "次数 调用次数 回数 anzahl aufrufe cantidad 횟수",
}
_ENGLISH = {word: english for english, words in _TRANSLATED.items() for word in words.split()}
HINTS = tuple(word for word, english in _ENGLISH.items() if "duration" in english)
_OF = ("", "layer ", "node ", "op ", "operator ", "kernel ", "event ")
# For each role, its headings: the first one that a table has is it.
_RANKED = {
    NAME: (
        "layer name", "node name", "op name", "operator name", "kernel name", "event name",
        "full name", "name", "function name", "task name", "hip kernel name", "zone", "layer",
        "node", "operator", "op", "operation", "kernel", "event", "task", "function", "stage",
        "step", "module", "component", "description", "benchmark", "label",
    ),
    TYPE: tuple(f"{of}{word}" for of in _OF for word in ("type", "types", "class", "kind")),
    UNIT: (
        "compute unit", "time unit", "unit", "target", "device", "processor", "engine", "hardware",
        "hw", "runs on", "accelerator", "device type", "placement", "core",
    ),
    BACKEND: (
        "delegate backend name", "backend", "backend name", "delegate", "execution provider",
        "provider", "runtime",
    ),
    KERNEL: (
        "kernel", "kernel name", "exec type", "tactic", "tactic name", "implementation",
    ),
    COUNT: (
        "count", "counts", "calls", "called", "call count", "call number", "called times",
        "times called", "num calls", "number of calls", "# of calls", "instances", "invocations",
        "occurrences",
    ),
    STATUS: ("exec status", "status", "state"),
    THREAD: ("event block name", "block", "thread", "stream", "queue"),
    INFERENCE: ("inference", "iteration", "iter", "run", "request", "frame", "sample"),
    DELEGATED: ("is delegated op",),
}  # fmt: skip
_TIME = frozenset(
    ["time", "times", "duration", "dur", "latency", "elapsed", "runtime", "took", "cost", "exetime"]
)  # fmt: skip
_AROUND = frozenset(
    ("exec", "execution", "run", "real", "wall", "layer", "op", "operator", "node", "kernel", "per",
     "call", "compute", "inference", "infer", "event", "the", "taken", "in", "iteration", "iter",
     "frame", "stat", "measured", "gpu", "npu", "profile")
)  # fmt: skip
_PROCESSORS = frozenset(("cpu", "host", "device", "cuda", "total"))
_CYCLE_WORDS = {"cycles", "cycle"}
_START_WORDS = {"start", "begin", "started", "ts", "timestamp", "end", "stop", "finish", "ended"}
_AROUND_STARTS = _START_WORDS | frozenset(
    ("time", "event", "kernel", "op", "layer", "slice", "task", "at", "since", "ns", "us", "ms")
)
SELF, MEAN, MEDIAN, TOTAL, PLAIN = "self times", "means", "medians", "totals", ""
# What a duration can be, by its words: 0 is preferred, and 1 is a duration without such a word.
_STATISTICS = (
    (-2, SELF, {"self", "exclusive"}),
    (0, MEAN, {"mean", "avg", "average"}),
    (2, MEDIAN, {"median", "p50"}),
    (3, TOTAL, {"total", "sum"}),
)


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns of a table by number.

    length: the duration. unit: of it, "" if its cells state it. what: `MEAN`, `MEDIAN`, `TOTAL`
    or "" for a plain duration. roles: the numbers of the other known columns.
    """

    headings: tuple[str, ...]
    length: int
    unit: str
    what: str
    roles: dict[str, int] = field(default_factory=dict)

    def cell(self, role: str, row: Sequence[str]) -> str:
        """The cell of a role in a row, "" if the table or the row has none."""
        index = self.roles.get(role, -1)
        return row[index] if 0 <= index < len(row) else ""


def words_of(heading: str) -> str:
    """The words of a heading in lower case, without its unit."""
    return _parsed(heading)[0]


@lru_cache(maxsize=4096)
def _parsed(heading: str) -> tuple[str, str]:
    """The words of a heading, and its unit."""
    base, unit = split_unit(heading[1:-1] if _BRACKETED.fullmatch(heading) else heading)
    if base.isupper():
        base = base.lower()
    if (english := _ENGLISH.get(base.strip().casefold())) is not None:
        return english, unit
    return " ".join(word.lower() for word in _WORDS.findall(base)), unit


def columns_of(
    headings: Sequence[str], stated: str = "", *, is_nameless: bool = False
) -> Columns | None:
    """The columns of a header, None if it has no name or no duration, or if it has starts.

    stated: the unit of durations whose heading has none. is_nameless: each row is an inference,
    although no column numbers them.
    """
    if not 2 <= len(headings) <= 256:
        return None
    parsed = [_parsed(heading) for heading in headings]
    lengths = [_length(*pair) for pair in parsed]
    if not any(lengths):
        return None
    words = [word for word, _ in parsed]
    if any(map(_is_start, words)) and "event block name" not in words:
        return None
    roles: dict[str, int] = {}
    taken = {index for index, (_, unit) in enumerate(parsed) if unit}  # what has a unit is no name
    for role, ranked in _RANKED.items():
        free = {
            word: index for index, word in reversed(list(enumerate(words))) if index not in taken
        }
        if (column := next((free[word] for word in ranked if word in free), -1)) >= 0:
            roles[role] = column
            taken.add(column)
    free_lengths = {
        index: length
        for index, length in enumerate(lengths)
        if length is not None and index not in roles.values()
    }
    whats = [what for _, what, _ in free_lengths.values()]
    totals = {TOTAL}
    counted = words[roles[COUNT]] if COUNT in roles else ""
    if "call" in counted and MEAN in whats and TOTAL not in whats and whats.count(PLAIN) == 1:
        totals.add(PLAIN)  # next to the mean of calls, a time is that of all, as in nvprof's
    ranked_lengths = sorted(
        (-1, not unit, index, TOTAL, unit)
        if COUNT in roles and what in totals
        else (rank, not unit, index, what, unit)
        for index, (rank, what, unit) in free_lengths.items()
    )
    if not ranked_lengths or not (is_nameless or {NAME, TYPE, INFERENCE} & set(roles)):
        return None
    # Next to a duration, what is just called "time" can be a start.
    if sum(rank == 1 for rank, *_ in ranked_lengths) > 1 and "time" in words:
        return None
    _, _, length_column, what, unit = ranked_lengths[0]
    return Columns(tuple(headings), length_column, unit or stated, what, roles)


def stated_columns_of(headings: Sequence[str], name: str, length: str, unit: str) -> Columns | None:
    """The columns of a header whose name and duration a user stated; None if it has not both."""
    if name not in headings or length not in headings:
        return None
    column = headings.index(length)
    columns = columns_of(headings)
    roles = {r: i for r, i in (columns.roles if columns else {}).items() if i != column}
    heading_unit = split_unit(length)[1]
    words = set(words_of(length).split())
    what = next((what for _, what, of in _STATISTICS if words & of), PLAIN)
    return Columns(
        tuple(headings),
        column,
        heading_unit or parse_unit(unit),
        what,
        {**roles, NAME: headings.index(name)},
    )


def _is_start(words: str) -> bool:
    every = set(words.split())
    return bool(every & _START_WORDS) and every <= _AROUND_STARTS


@lru_cache(maxsize=4096)
def _length(text: str, unit: str) -> tuple[int, str, str] | None:
    """How well a column suits as the duration (0 is best), what it is, and its unit."""
    words = set(text.split())
    rank, what, of = next(
        (statistic for statistic in _STATISTICS if words & statistic[2]), (1, PLAIN, set())
    )
    others = words - of - _AROUND
    if unit == CYCLE or (others & _CYCLE_WORDS and not unit):
        is_length = others <= _CYCLE_WORDS | _TIME | {"hw", "cpu", "clock"}
        return (rank + 10, what, CYCLE) if is_length else None
    if others <= _TIME and (others or of):
        # What is just called "avg" has a unit, or its cells have.
        return rank if others or unit else rank + 8, what, unit
    # The time of the processor stands next to the time on the wall; PyTorch has "Self CPU".
    if others <= _TIME | _PROCESSORS and (what == SELF or (unit and others & _TIME)):
        return rank + (5 if what != SELF else 0), what, unit
    return None


@dataclass(frozen=True, slots=True)
class Known:
    """title: of the tool. headings: those that its tables have. unit: of durations without one.

    times: in JSON, the list of the durations of whole inferences, in the same unit. is_nameless:
    each row is a whole inference.
    """

    title: str
    headings: frozenset[str]
    unit: str = ""
    times: str = ""
    is_nameless: bool = False


@dataclass(frozen=True, slots=True)
class Pattern:
    """Rows of a tool without a header.

    near: what also shows that a line was meant as a row. once: what a row has once.
    """

    title: str
    headings: tuple[str, ...]
    row: re.Pattern[str]
    near: re.Pattern[str]
    once: re.Pattern[str]


def _known(title: str, headings: str, unit: str = "", times: str = "") -> Known:
    return Known(title, frozenset(headings.split(", ")), unit, times)


KNOWN = (
    # trtexec --dumpProfile, --exportProfile, --exportTimes: `Profiler::print`,
    # `Profiler::exportJSONProfile` and `exportJSONTrace` in samples/common/sampleReporting.cpp of
    # https://github.com/NVIDIA/TensorRT. Before 8.5, headings have spaces, and the JSON no median.
    _known("TensorRT profile", "name, timeMs, percentage"),
    _known("TensorRT profile", "Layer, Time(ms), Time(%)"),
    _known("TensorRT profile", "Layer, Time (ms), Time %"),
    Known("TensorRT times", frozenset(("computeMs", "latencyMs")), is_nameless=True),
    # benchmark_app -report_type detailed_counters or average_counters, with -json_stats as JSON:
    # samples/cpp/benchmark_app/statistics_report.cpp of
    # https://github.com/openvinotoolkit/openvino. Its JSON is in ms.
    _known("OpenVINO counters", "layerName, execStatus, realTime (ms)"),
    _known("OpenVINO counters", "node_type, exec_type, real_time", "ms"),
    # Qualcomm AI Hub, `ProfileJob.download_profile()` of https://pypi.org/project/qai-hub. Users of
    # it, of which GitHub has many, read `execution_summary` and `execution_detail`. Times in us.
    _known("AI Hub profile", "compute_unit, execution_time", "us", "all_inference_times"),
    # RKNN-Toolkit2, `eval_perf()` with perf_debug prints the "Network Layer Information Table":
    # https://github.com/airockchip/rknn-toolkit2/issues/400 has one.
    _known("RKNN performance", "OpType, Target, Time(us)"),
    # MNN, `Profiler::printTimeByName`: tools/cpp/Profiler.cpp of https://github.com/alibaba/MNN.
    _known("MNN profile", "Node Name, Op Type, Avg(ms)"),
    # TVM, `Report::AsTable` and `AsCSV`: src/runtime/profiling.cc of
    # https://github.com/apache/tvm. Its Sum is of the rows, its Total of each device.
    _known("TVM profile", "Name, Duration (us), Percent"),
    # `stedgeai validate` prints "Inference time per node":
    # https://stedgeai-dc.st.com/assets/embedded-docs/command_line_interface.html.
    _known("ST Edge AI profile", "c_id, m_id, dur (ms)"),
    # rocprof --stats: `gen_data_bins` in bin/dform.py of https://github.com/ROCm/rocprofiler.
    _known("rocprof statistics", "Calls, TotalDurationNs"),
    # tracy-csvexport: csvexport/src/csvexport.cpp of https://github.com/wolfpld/tracy.
    _known("Tracy statistics", "src_file, src_line, total_ns, counts"),
    # PyTorch's `prof.key_averages().table()`: `_build_table` in torch/autograd/profiler_util.py of
    # https://github.com/pytorch/pytorch.
    _known("PyTorch averages", "Name, Self CPU, CPU total, # of Calls"),
    # ExecuTorch's Inspector: `save_data_to_tsv`, `print_data_tabular` and `to_dataframe` in
    # devtools/inspector/_inspector.py of https://github.com/pytorch/executorch.
    _known("ExecuTorch Inspector", "event_block_name, event_name"),
)

PATTERNS = (
    # ncnn built with NCNN_BENCHMARK: `benchmark` in src/benchmark.cpp of
    # https://github.com/Tencent/ncnn.
    Pattern(
        "ncnn benchmark",
        ("type", "name", "time (ms)", "parameters"),
        re.compile(r"\s*(\S{1,80})\s+(\S.{0,400}?)\s+([0-9.]{1,20})ms\s+\|\s*(.*)"),
        re.compile(r"[0-9]ms\s*\||feature_map"),
        re.compile(r"[0-9]ms\s*\|"),
    ),
    # benchncnn: `benchmark` in benchmark/benchncnn.cpp of https://github.com/Tencent/ncnn. A row
    # is a network.
    Pattern(
        "benchncnn",
        ("name", "min (ms)", "max (ms)", "mean (ms)"),
        re.compile(r"\s*(\S{1,80})\s+min =\s*([0-9.]{1,20})\s+max =\s*([0-9.]{1,20})"
                   r"\s+avg =\s*([0-9.]{1,20})"),
        re.compile(r"min =.*max ="),
        re.compile(r"min ="),
    ),
    # benchmark_app -pc: `printPerformanceCounts` in samples/cpp/common/utils/include/samples/
    # common.hpp of https://github.com/openvinotoolkit/openvino. Times in us.
    Pattern(
        "OpenVINO counters",
        ("layerName", "execStatus", "layerType", "realTime (us)", "cpuTime (us)", "execType"),
        re.compile(r"(\S.{0,400}?)\s+(EXECUTED|NOT_RUN|OPTIMIZED_OUT)\s+layerType:\s+(\S{1,80})\s+"
                   r"realTime:\s*([0-9]{1,18})\s+cpu:\s*([0-9]{1,18})\s+execType:\s+(\S{1,200})"),
        re.compile(r"layerType:|realTime:|execType:"),
        re.compile(r"layerType:"),
    ),
    # ExecuTorch's runner on Cortex-M, and TensorFlow Lite Micro's profiler: `StopMeasurements`
    # in examples/arm/executor_runner/arm_perf_monitor.cpp of https://github.com/pytorch/executorch.
    Pattern(
        "Arm cycle counts",
        ("name", "cycles", "cycles per inference"),
        re.compile(r"\s*(\S.{0,200}?)\s+: cycle_cnt :\s+([0-9]{1,18}) cycles"
                   r"(?:\s+\(([0-9.]{1,24}) per inference\))?"),
        re.compile(r": cycle_cnt\b"),
        re.compile(r": cycle_cnt\b"),
    ),
    # OpenVINO's since 2022.
    Pattern(
        "OpenVINO counters",
        ("layerName", "execStatus", "layerType", "execType", "realTime (ms)", "cpuTime (ms)",
         "proportion"),
        re.compile(r"(\S.{0,400}?)\s+(?:Status\.)?(EXECUTED|NOT_RUN|OPTIMIZED_OUT)\s+layerType:\s+"
                   r"(\S{1,80})\s+execType:\s+(\S{1,200})\s+realTime \(ms\):\s*([0-9.]{1,20})\s+"
                   r"cpuTime \(ms\):\s*([0-9.]{1,20})(?:\s+proportion:\s*([0-9.]{1,9}%))?"),
        re.compile(r"layerType:|realTime|execType:"),
        re.compile(r"layerType:"),
    ),
)  # fmt: skip


def known_of(headings: Sequence[str]) -> Known | None:
    """The tool that writes a header, None if none is known."""
    every = {heading.strip() for heading in headings}
    return next((tool for tool in KNOWN if tool.headings <= every), None)


def recognized(headings: Sequence[str]) -> Columns | None:
    """The columns of a header with the unit that its tool writes, None if it is no header."""
    tool = known_of(headings)
    if tool is None:
        return columns_of(headings)
    return columns_of(headings, tool.unit, is_nameless=tool.is_nameless)


_SPACES = " \u00a0\u202f\u2009'’_"
_CELL = re.compile(rf"([0-9.,][0-9.,eE+\-{_SPACES}]{{0,39}}?)\s*([A-Za-zµμ]{{1,12}})?")
_GROUPS = re.compile(rf"[1-9][0-9]{{0,2}}(?:[{_SPACES}][0-9]{{3}})+(?:[.,][0-9]*)?")
_GAPS = re.compile(f"[{_SPACES}]")
_COMMA = re.compile(r"([0-9]+|[1-9][0-9]{0,2}(?:\.[0-9]{3})+)(?:,([0-9]*))?([eE][+\-]?[0-9]+)?")
_UNCLEAR = re.compile(r"[1-9][0-9]{0,2}[.,][0-9]{3}")
_NO_NUMBER = re.compile(r"\s*[A-Za-zµμ]*\s*$")


def duration(cell: str, unit: str, *, comma: bool = False) -> tuple[Fraction, str] | None:
    """A duration and its unit, "ns" or `CYCLE`; None if a cell has none.

    unit: of cells that state none. comma: whether a comma separates decimals.
    """
    cell = cell.strip()
    match = _CELL.fullmatch(cell)
    cell_unit = parse_unit(match[2] or "") if match else ""
    if match is None or (match[2] and not cell_unit):
        return _of_text(cell)
    value, unit = _number(match[1].strip(), comma), cell_unit or unit
    if value is None or not unit:
        return None
    if unit == CYCLE:
        return value, CYCLE
    return value * Fraction(10) ** EXPONENTS[unit], "ns"


def is_duration(cell: str, unit: str) -> bool:
    """Whether a cell has a duration, whichever sign separates its decimals."""
    return any(duration(cell, unit, comma=comma) is not None for comma in (False, True))


def decimals_of(cells: Iterable[str]) -> tuple[str, str]:
    """The sign before the decimals of a column, and a cell that may be 1,000 times as much.

    Points of tools that write three decimals are in all cells, so that none is a whole number.
    """
    marks, unclear, has_whole = set[str](), "", False
    for cell in cells:
        text = _NO_NUMBER.sub("", cell.strip())
        if _GROUPS.fullmatch(text):
            text = _GAPS.sub("", text)
        has_whole = has_whole or text.isdecimal()
        last = max(".,", key=text.rfind)
        if _UNCLEAR.fullmatch(text):
            unclear = text if not unclear or last == "," else unclear
        elif text.count(last) > 1:  # only thousands are separated more than once
            marks.add("," if last == "." else ".")
        elif last in text:
            marks.add(last)
    if marks or ("." in unclear and not has_whole):
        unclear = ""
    return "," if marks == {","} else ".", unclear


def _of_text(cell: str) -> tuple[Fraction, str] | None:
    """A duration that states its unit as a clock or in several parts."""
    time_parts = time_text(cell)
    if time_parts is None or time_parts[2] is not None or not (value := amount(time_parts[0])):
        return None
    return value * Fraction(10) ** time_parts[1], "ns"


def _number(text: str, comma: bool) -> Fraction | None:
    if _GROUPS.fullmatch(text):
        text = _GAPS.sub("", text)
    if comma:
        match = _COMMA.fullmatch(text)
        if match is None:
            return None
        text = f"{match[1].replace('.', '')}.{match[2] or '0'}{match[3] or ''}"
    return amount(text)


def step_of(cell: str) -> Fraction:
    """The step of a written number: 1/1000 for "1.204"; 0 for one with an exponent."""
    match = re.search(r"[0-9](?:[.,]([0-9]+))?(?=\s*[A-Za-zµμ]*\s*$)", cell.strip())
    if match is None or re.search(r"[0-9][eE][+-]?[0-9]", cell):
        return Fraction(0)
    digits = re.search(r"[.,]([0-9]+)(?!.*[.,])", cell)
    return Fraction(1, 10 ** len(digits[1])) if digits else Fraction(1)

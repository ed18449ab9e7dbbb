"""Tools that write tables of layers: the headings by which each is recognized, and its source.

A table needs no entry here to open. An entry names its tool, states the unit of durations whose
headings have none, and what the tool writes around the table.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from viewer.formats.layers.headings import Columns, columns_of


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

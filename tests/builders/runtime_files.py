"""Small profiles of other runtimes, in the layouts that their writers have.

The docstrings of `viewer/formats/runtimes` name the writers. Names and times are invented.
"""

from __future__ import annotations

import json

QNN_HEADER = (
    "Msg Timestamp,Message,Time,Unit of Measurement,Timing Source,Event Level,Event Identifier"
)
QNN_NODES = (
    ("Input OpId_2 (cycles)", 2142),
    ("conv1/Conv:OpId_18 (cycles)", 13000),
    ("conv1/Relu, fused:OpId_20 (cycles)", 1252),
    ("head/Softmax:OpId_42 (cycles)", 2152),
)
VELA_HEADER = (
    "TFLite_operator,NNG Operator,SRAM Usage,Peak%,Op Cycles,Network%,NPU,SRAM AC,DRAM AC,"
    "OnFlash AC,OffFlash AC,MAC Count,Network%,Util%,Name"
)
GPU_TRACE_HEADER = (
    "Start (ns),Duration (ns),CorrId,GrdX,GrdY,GrdZ,BlkX,BlkY,BlkZ,Reg/Trd,StcSMem (MB),"
    "DymSMem (MB),Bytes (MB),Throughput (MB/s),SrcMemKd,DstMemKd,Device,Ctx,GreenCtx,Strm,Name"
)
KERNEL_SUM_HEADER = (
    "Time (%),Total Time (ns),Instances,Avg (ns),Med (ns),Min (ns),Max (ns),StdDev (ns),Name"
)


def qnn_csv(runs: int = 2) -> str:
    """Initialization, then executions with totals in µs and nodes in cycles, as ONNX Runtime's."""
    rows = [QNN_HEADER]
    rows += [
        f"UNKNOWN,BACKEND,{time},US,BACKEND,{level},{name}"
        for name, time, level in (
            ("QNN (finalize) time", 8200, "ROOT"),
            ("RPC (finalize) time", 7000, "SUB-EVENT"),
        )
    ]
    for run in range(runs):
        rows.append("UNKNOWN,BACKEND,4,COUNT,BACKEND,ROOT,Number of HVX threads used")
        for name, time, unit in (
            ("RPC (execute) time", 90 + run, "US"),
            ("QNN accelerator (execute) time", 70, "US"),
            ("Accelerator (execute) time (cycles)", 18546, "CYCLES"),
        ):
            rows.append(f"UNKNOWN,BACKEND,{time},{unit},BACKEND,ROOT,{name}")
        rows += [
            f"UNKNOWN,NODE,{cycles},CYCLES,BACKEND,SUB-EVENT,{name}" for name, cycles in QNN_NODES
        ]
        rows.append(f"UNKNOWN,EXECUTE,{100 + run},US,BACKEND,ROOT,QNN (execute) time")
    return "\n".join(rows) + "\n"


def qnn_optrace() -> str:
    """Operations on HMX and HVX, in cycles."""
    named = [
        {"ph": "M", "name": "process_name", "pid": 0, "args": {"name": "Core 0 Overview"}},
        *(
            {"ph": "M", "name": "thread_name", "pid": 0, "tid": tid,
             "args": {"name": f"Core:0 Type: {unit} Tid: {tid}"}}
            for tid, unit in ((256, "HMX"), (512, "HVX"))
        ),
    ]  # fmt: skip
    slices = [
        {"name": name, "ph": "X", "pid": 0, "tid": tid, "ts": start, "dur": cycles,
         "args": {"HTP Op Type": name, "QNN Op Name": operator, "Start Cycle": 90_000 + start,
                  "Duration (cycles)": cycles, "Dominant Path Cycles": cycles}}
        for name, tid, start, cycles, operator in (
            ("q::ConvLayer.opt.weights_to_vtcm", 512, 0, 900, "conv1/Conv"),
            ("q::ConvLayer_s1.opt", 256, 900, 1430, "conv1/Conv"),
            ("q::Relu", 512, 2330, 301, "conv1/Relu"),
            ("q::Softmax", 512, 2700, 612, "head/Softmax"),
        )
    ]  # fmt: skip
    header = {"header_version": {"major": 1, "minor": 0}, "artifact_type": "OP_TRACE"}
    return json.dumps({"header": header, "traceEvents": [*named, *slices]})


def snpe_csv(runs: int = 2) -> str:
    """Totals and layers of each run."""
    rows = ["Message,Time,Unit of Measurement,Layer Id,Layer Name"]
    rows += ["Init,4009,US,,", "Deserialize,240,US,,"]
    for run in range(runs):
        rows += [f"Total Inference Time,{1328 + run},US,,", "Accelerator Time,59,US,,"]
        rows += [
            f"Layer Time,{cycles},CYCLES,{layer},{name}"
            for layer, (name, cycles) in enumerate(
                (("Input OpId_2 (cycles)", 2142), ("dense/MatMul:OpId_18 (cycles)", 12520))
            )
        ]
    return "\n".join(rows) + "\n"


SNPE_REPORT = """\
Log File Created: Thu Jan  1 00:00:00 2026
Time Scale: 1e-06
Software library version: 2.37.0
------------------------------------------------------------

SNPE Create Statistics:
----------------------------------------
  Load: 494 us
  Deserialize: 240 us
  RPC Init Time: 0

SNPE Execute Statistics (Averaged):
----------------------------------------
  Total Inference Time: 69 us
  Forward Propagate Time: 67 us
  Accelerator Time: 0

  Per-Subnet Execution Times:
  ------------------------------
    Subnet 0 (CPU) : 61 us

  Per-Layer Execution Times:
  ------------------------------
    0: dense_1/MatMul : 23 us : CPU
    1: dense_1/Relu : 1 us : CPU
    2: dense_2/MatMul : 27 us : CPU

"""

_NODES = (
    ("CONV_2D", 0.0, 5.322, "[conv1/Relu6]:0"),
    ("DEPTHWISE_CONV_2D", 5.33, 0.169, "[conv2/Relu6]:1"),
    ("SOFTMAX", 5.5, 0.012, "[Softmax]:2"),
)


def _table(title: str, nodes: tuple[tuple[str, float, float, str], ...], *, starts: bool) -> str:
    rows = [f"============================== {title} =============================="]
    heads = ["[node type]", "[start]", "[first]", "[avg ms]", "[%]", "[cdf%]", "[mem KB]",
             "[times called]"]  # fmt: skip
    widths = [24, 17, 9, 9, 8, 8, 10, 9]
    keep = [i for i in range(len(heads)) if starts or heads[i] != "[start]"]
    rows.append("".join(f"\t{heads[i]:>{widths[i]}}" for i in keep) + "\t[Name]")
    for kind, start, mean, name in nodes:
        cells = [kind, f"{start:.3f}", f"{mean:.3f}", f"{mean:.3f}", "10.000%", "50.000%",
                 "0.000", "1"]  # fmt: skip
        rows.append("".join(f"\t{cells[i]:>{widths[i]}}" for i in keep) + f"\t{name}")
    return "\n".join(rows) + "\n\n"


def tflite_log(*, starts: bool = False) -> str:
    """What `benchmark_model --enable_op_profiling=true` prints; with starts as earlier versions."""
    by_type = (
        "Number of nodes executed: 3\n"
        "============================== Summary by node type ==============================\n"
        "\t             [Node type]\t  [count]\t  [avg ms]\t    [avg %]\t    [cdf %]\n"
        "\t                 CONV_2D\t        1\t     5.322\t    96.710%\t    96.710%\n\n"
        "Timings (microseconds): count=50 first=5503 curr=5503 min=5503 max=5503 avg=5503 std=0\n"
        "Memory (bytes): count=0\n3 nodes observed\n\n"
    )
    loading = (("AllocateTensors", 0.0, 0.102, "AllocateTensors/0"),)
    return (
        "STARTING!\nLog parameter values verbosely: [0]\nGraph: [model.tflite]\n"
        "Inference timings in us: Init: 4000, First inference: 5600, Warmup (avg): 5550, "
        "Inference (avg): 5503\n"
        "Profiling Info for Benchmark Initialization:\n"
        + _table("Run Order", loading, starts=starts)
        + "Operator-wise Profiling Info for Regular Benchmark Runs:\n"
        + _table("Run Order", _NODES, starts=starts)
        + _table("Top by Computation Time", _NODES, starts=starts)
        + by_type
    )


TFLITE_CSV = """\
============================== Run Order ==============================
node type, first, avg_ms, %, cdf%, mem KB, times called, name
CONV_2D, 5.4, 5.322, 96.71%, 96.71%, 0, 1, [conv1/Relu6, b]:0
SOFTMAX, 0.02, 1.2e-02, 3.29%, 100%, 0, 1, [Softmax]:1

============================== Summary by node type ==============================
node type, count, avg_ms, avg %, cdf %, mem KB, times called
CONV_2D, 1, 5.322, 96.71%, 96.71%, 0, 1

"""


def vela_csv() -> str:
    """Three operators, one of which has a name with a comma."""
    rows = [VELA_HEADER]
    rows += [
        f"{kind},{operator},11936,54.65,{cycles},17.64,{cycles},2000.0,0.0,0.0,0.0,{macs},8.65,3.9,"
        f"{name}"
        for kind, operator, cycles, macs, name in (
            ("CONV_2D", "Conv2DBias", 7312.0, 73008, "sequential/conv1/Relu;sequential/conv1"),
            ("MAX_POOL_2D", "MaxPool", 2992.0, 6912, '"pool, first"'),
            ("FULLY_CONNECTED", "FullyConnected", 512.0, 640, "sequential/dense/BiasAdd"),
        )
    ]
    return "\n".join(rows) + "\n"


def gpu_trace() -> str:
    """A copy and two kernels on two streams, after what `nsys stats` prints."""
    device = '"NVIDIA RTX A6000, Laptop (0)"'
    rows = [
        "Processing [report1.sqlite] with [cuda_gpu_trace.py]... ",
        GPU_TRACE_HEADER,
        f"1134711990,661398,123,,,,,,,,,,4.194,6337.593,Pinned,Device,{device},1,,13,"
        "[CUDA memcpy Host-to-Device]",
        f'1136125733,7072,128,4096,1,1,256,1,1,16,0.000,0.000,,,,,{device},1,,13,"add(int)"',
        f'1136129000,41280,129,512,1,1,256,1,1,104,0.048,0.033,,,,,{device},1,,7,"gemm<float, 4>"',
    ]
    return "\n".join(rows) + "\n"


KERNEL_SUM = f"""\
{KERNEL_SUM_HEADER}
85.4,41280000,1000,41280.0,41200.0,41000,43000,12.5,"gemm<float, 4>"
14.6,7072000,1000,7072.0,7070.0,7000,7500,9.1,"add(float *, int)"
"""

# By the name of a file: its text, and the name of its format.
FILES = {
    "qnn.csv": (qnn_csv(), "QNN profile"),
    "optrace.json": (qnn_optrace(), "QNN optrace"),
    "snpe.csv": (snpe_csv(), "SNPE profile"),
    "snpe.txt": (SNPE_REPORT, "SNPE profile"),
    "benchmark.txt": (tflite_log(), "LiteRT benchmark"),
    "benchmark.csv": (TFLITE_CSV, "LiteRT benchmark"),
    "model_per-layer.csv": (vela_csv(), "Vela per-layer CSV"),
    "cuda_gpu_trace.csv": (gpu_trace(), "Nsight Systems report"),
    "cuda_gpu_kern_sum.csv": (KERNEL_SUM, "Nsight Systems report"),
}

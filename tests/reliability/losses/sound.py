"""The sound files of each format, and who says what is left of one with a wrong byte."""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import dataclass

from tests.builders import runtime_files
from tests.paths import DATA
from tests.reliability.losses import peers


@dataclass(frozen=True, slots=True)
class Sound:
    """files: small files without a fault. left: how many slices fewer a changed file has by itself,
    because what the byte says is something else: in the sound file, in the changed one."""

    suffix: str
    files: Callable[[], list[bytes]]
    left: Callable[[bytes, bytes], int] = peers.nothing


def _samples(*names: str) -> Callable[[], list[bytes]]:
    return lambda: [(DATA / name).read_bytes() for name in names]


def _texts(*texts: str) -> Callable[[], list[bytes]]:
    return lambda: [text.encode() for text in texts]


def _perfetto() -> list[bytes]:
    from viewer.export.perfetto.writer import PerfettoSource, write_perfetto
    from viewer.formats import open_file
    from viewer.model.trace import Trace

    item = open_file(str(DATA / "table_csv/two_threads.csv"))
    assert isinstance(item, Trace)
    out = io.BytesIO()
    write_perfetto([PerfettoSource.of(item)], out)
    return [out.getvalue()]


def _plain(name: str) -> list[bytes]:
    rows = ["name;start (us);dur (us);note"]
    rows += [f'"conv, {n}";{10 * n}.5;{n + 1};"{name} of ""{n}"""' for n in range(12)]
    rows += [f"relu {n};{200 + 10 * n};{n + 1};" for n in range(12)]
    texts = ["Logger v2", "name,end,duration"]
    texts += [f"conv {n},{n + 1}.5ms,{n + 100} µs" for n in range(12)]
    events = ["ts_us,phase,name"]
    events += [f"{2 * n + (what == 'E')},{what},op {n}" for n in range(12) for what in "BE"]
    return ["\n".join([*lines, ""]).encode() for lines in (rows, texts, events)]


SOUND = {
    "snpe": Sound(".csv", _texts(runtime_files.snpe_csv(), runtime_files.SNPE_REPORT)),
    "qnn": Sound(".csv", _texts(runtime_files.qnn_csv())),
    "qnn_viewer": Sound(".txt", _samples("qnn/viewer.txt")),
    "qnn_optrace": Sound(".json", _texts(runtime_files.qnn_optrace()), peers.by_json),
    "vela": Sound(".csv", _texts(runtime_files.vela_csv())),
    "nsys": Sound(".csv", _texts(runtime_files.gpu_trace(), runtime_files.KERNEL_SUM)),
    "tflite": Sound(
        ".txt",
        _texts(
            runtime_files.tflite_log(),
            runtime_files.tflite_log(starts=True),
            runtime_files.TFLITE_CSV,
        ),
    ),
    "layers": Sound(
        ".csv",
        _samples(
            "layers/layers.csv",
            "layers/openvino_counters.csv",
            "layers/rocprof_stats.csv",
            "layers/mnn_profile.txt",
            "layers/rknn_perf.txt",
            "layers/ncnn.txt",
            "layers/pytorch_averages.txt",
            "layers/stedgeai_validate.txt",
            "layers/tvm_printed.txt",
            "layers/inspector_printed.txt",
        ),
    ),
    "layers_json": Sound(".json", _samples("layers/trt_profile.json"), peers.by_json),
    "inspector": Sound(
        ".tsv",
        _samples(
            "inspector/cnn_portable_x1__cnn_toedge_portable.tsv",
            "inspector/SYN_qnn_like__demo_str.tsv",
        ),
    ),
    "profile_csv": Sound(
        ".csv", _samples("table_csv/two_threads.csv", "table_csv/executorch_like.tsv")
    ),
    "plain_csv": Sound(".csv", lambda: _plain("note")),
    "torq_host": Sound(
        ".csv",
        _samples("torq/host_h0_unquoted.csv", "torq/host_h1_quoted.csv", "torq/host_h4_latest.csv"),
    ),
    "torq_runtime": Sound(
        ".csv", _samples("torq/runtime_r0_nss.csv", "torq/runtime_r1_nss_noloc.csv")
    ),
    "torq_compile": Sound(
        ".csv",
        _samples(
            "torq/compile_c3_taskid_mtu.csv", "torq/compile_c0_callsite.csv", "torq/demo_str_c1.csv"
        ),
    ),
    "torq_annotated": Sound(
        ".csv", _samples("torq/annotated_a3_latest.csv", "torq/annotated_a0_nss.csv")
    ),
    "chrome": Sound(".json", _samples("chrome_json/onnxruntime_profile.json"), peers.by_json),
    "perfetto": Sound(".pftrace", _perfetto, peers.by_trace_processor),
}

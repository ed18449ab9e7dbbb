"""Tables of layers of known tools: each has the bars that its tool measured."""

import shutil
from fractions import Fraction

import pytest

from tests.builders.command_line import run
from tests.paths import DATA
from viewer.codecs.reading import UnreadableFile
from viewer.formats import open_file
from viewer.model.timing import Timing, timings
from viewer.model.trace import KeyKind

LAYERS = DATA / "layers"
NO_TABLES = {"README.md", "trt_layers.json"}
CONVOLUTIONS = ["/stem/conv", "/b/conv", "/pool", "/fc"]
# For each file: the tool, the tracks, and its bars in us.
FILES = {
    "layers.csv": ("", ["layers"], {"conv1": 510, "dw2": 220, "fc": 1010}),
    "tvm_profile.csv": (
        "TVM profile", ["layers"],
        {"tvmgen_conv_a": 512340.5, "tvmgen_conv_b": 498001.25, "tvmgen_act": 611},
    ),
    "tvm_printed.txt": (
        "TVM profile", ["layers"],
        {"fused_nn_conv2d_add_nn_relu": 1204.25, "fused_nn_dense_add": 340.5,
         "fused_nn_softmax": 71},
    ),
    "trt_profile.json": (
        "TensorRT profile", ["layers (means)"],
        {
            "Reformatting CopyNode for Input Tensor 0 to /stem/conv": 8.1,
            "/stem/conv + /stem/act": 31.2, "/blocks.0/conv + /blocks.0/act": 55.5,
            "/blocks.1/conv": 20.4, "{ForeignNode[/attn/q.../attn/Softmax]}": 271, "/head/fc": 9.8,
        },
    ),
    "trtexec_log.txt": (
        "TensorRT profile", ["layers (means)"],
        {
            "Reformatting CopyNode for Input Tensor 0 to /stem/conv": 8.1,
            "/stem/conv + /stem/act": 31.2, "{ForeignNode[/attn/q.../attn/Softmax]}": 271,
        },
    ),
    "aihub_profile.json": (
        "AI Hub profile", ["layers"],
        {"input": 0, "stem_conv": 112, "b0_dw": 61, "b0_softmax": 940, "head_fc": 44},
    ),
    "rknn_perf.txt": (
        "RKNN performance", ["layers"],
        {
            "InputOperator:/m/l0": 9, "Conv:/m/l1": 301, "Conv:/m/l2": 188,
            "exSoftmax13:/m/l3": 1411, "OutputOperator:/m/l4": 7,
        },
    ),
    "ncnn.txt": ("ncnn benchmark", ["layers"], {"conv1": 510, "dw2": 220, "fc": 1010}),
    "mnn_profile.txt": ("MNN profile", ["layers (means)"], {"conv1": 510, "dw2": 220, "fc": 1010}),
    "stedgeai_validate.txt": (
        "ST Edge AI profile", ["layers"],
        {"conv2d_0": 4212, "conv2d_2": 3104, "gemm_5": 611, "nl_6": 33},
    ),
    "rocprof_stats.csv": (
        "rocprof statistics", ["layers (totals)"],
        {
            "Cijk_Ailk_Bljk_SB_MT128x64_SE_K1.kd": 4210,
            "void at::native::vectorized_elementwise_kernel<4, at::native::relu>(int)": 2100,
            "__amd_rocclr_copyBuffer.kd": 695,
        },
    ),
    "pytorch_averages.txt": (
        "PyTorch averages", ["layers (self times)"],
        {
            "model_inference": 7523, "aten::conv2d": 127, "aten::convolution": 254,
            "aten::mkldnn_convolution": 15248,
        },
    ),
    "tracy_stats.csv": (
        "Tracy statistics", ["layers (totals)"],
        {f"main_dispatch_{i}_conv_112x112x32": 64 for i in range(4)},
    ),
}  # fmt: skip


def bars(trace):
    """(name, duration in us) of each slice."""
    per_us = trace.clock.ns_per_tick / 1000
    slices = trace.slices
    return [
        (trace.name(i), int(slices.end[i] - slices.start[i]) * per_us) for i in range(len(slices))
    ]


def texts(trace, column):
    of = trace.slices.columns[column]
    return [of.strings[code] for code in of.values.tolist()]


@pytest.mark.parametrize("name", FILES)
def test_a_file_of_a_tool_has_its_bars_in_order(name):
    tool, threads, meant = FILES[name]
    trace = open_file(str(LAYERS / name))
    assert (trace.format, trace.generation, trace.problems) == ("Layer table", tool, ())
    assert [track.thread for track in trace.tracks] == [f"placed · {one}" for one in threads]
    assert bars(trace) == [(one, Fraction(str(us))) for one, us in meant.items()]
    assert ((timings(trace.slices) & Timing.PLACED) > 0).all()
    assert (trace.slices.start[1:] == trace.slices.end[:-1]).all()


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("openvino_counters.csv", [2148, 2362, 2578]),
        ("openvino_counters.json", [1737, 1800]),
        ("trtexec_times.json", [500, 520]),
    ],
)
def test_repeated_blocks_are_inferences(name, meant):
    trace = open_file(str(LAYERS / name))
    assert trace.problems == ()
    assert [(run.end - run.start) / 1000 for run in trace.inferences()] == meant


def test_layers_that_did_not_run_have_no_bar():
    trace = open_file(str(LAYERS / "openvino_counters.csv"))
    assert [name for name, _ in bars(trace)] == CONVOLUTIONS * 3
    assert texts(trace, "type")[:2] == ["Convolution", "Convolution"]
    assert texts(trace, "kernel")[3] == "brgemm_avx512_FP32"
    assert trace.stated["Layers that did not run"].startswith("6,")


def test_a_latency_for_each_iteration_is_an_inference():
    trace = open_file(str(LAYERS / "latency.csv"))
    lengths = [(run.end - run.start) / 10**6 for run in trace.inferences()]
    assert len(lengths) == 200
    assert sum(lengths[121:]) / 79 - sum(lengths[:121]) / 121 == pytest.approx(8, abs=0.3)


def test_what_a_tool_states_about_all_inferences_is_kept():
    trace = open_file(str(LAYERS / "aihub_profile.json"))
    assert trace.stated["Estimated inference time"] == "1.170\u202fms"
    assert trace.stated["First load time"] == "812.345\u202fms"
    assert trace.stated["All inference times"].startswith("100: ")
    assert texts(trace, "unit") == ["NPU", "NPU", "NPU", "CPU", "NPU"]
    profile = open_file(str(LAYERS / "trt_profile.json"))
    assert profile.stated["Inferences measured"] == "1,500"


def test_columns_of_fixed_width_may_be_empty_or_a_space_apart():
    trace = open_file(str(LAYERS / "rknn_perf.txt"))
    assert texts(trace, "unit") == ["CPU", "NPU", "NPU", "CPU", "CPU"]
    assert texts(trace, "type")[3] == "exSoftmax13"
    mac = trace.slices.columns["MacUsage(%)"]
    assert mac.valid.tolist() == [False, True, True, False, False]


@pytest.mark.parametrize("name", ["inspector_frame.csv", "inspector_printed.txt"])
def test_calls_in_an_inspector_table_are_around_their_events(name):
    trace = open_file(str(LAYERS / name))
    assert (trace.generation, trace.problems) == ("ExecuTorch Inspector", ())
    slices = trace.slices
    execute = next(i for i in range(len(slices)) if trace.name(i) == "Method::execute")
    assert bars(trace)[execute][1] == Fraction("64.925")
    assert float(slices.columns["p50 (ms)"].values[execute]) == 0.052007
    inside = [i for i in range(len(slices)) if slices.row_track[slices.rows()[i]] ==
              slices.row_track[slices.rows()[execute]]]  # fmt: skip
    assert max(slices.end[inside]) == slices.end[execute]
    depth = {i: int(slices.row_depth[slices.rows()[i]]) for i in inside}
    calls = [i for i in inside if trace.name(i) == "DELEGATE_CALL"]
    assert {depth[i] for i in calls} == {1}
    kind = trace.keys.kind[slices.key]
    # An instant at the start of a call is not inside of it.
    timed = slices.end > slices.start
    delegated = [i for i in inside if timed[i] and kind[i] == KeyKind.DELEGATE_EVENT]
    assert delegated
    assert {depth[i] for i in delegated} == {2}


def test_a_total_that_is_not_the_sum_is_a_problem(tmp_path):
    path = tmp_path / "layers.csv"
    path.write_text("layer,time_ms\nconv,0.50\nfc,0.25\nTotal,0.76\n")
    assert open_file(str(path)).problems == ()  # rounding
    path.write_text("layer,time_ms\nconv,0.50\nfc,0.25\nTotal,0.90\n")
    trace = open_file(str(path))
    assert [name for name, _ in bars(trace)] == ["conv", "fc"]
    (problem,) = trace.problems
    assert problem.first == "line 4: it states 0.90, the rows are 0.75"
    path.write_text("layer,time_ms\nconv,0.50\nfc,0.25\nSum,0.75\nTotal,0.90\n")
    assert open_file(str(path)).problems == ()  # of TVM: with what is around the layers


def test_self_times_are_not_added_to_those_of_what_is_called(tmp_path):
    path = tmp_path / "functions.json"
    path.write_text(
        '[{"name": "step", "count": 1, "total_us": 10, "self_us": 2},'
        ' {"name": "conv", "count": 4, "total_us": 8, "self_us": 8}]'
    )
    assert bars(open_file(str(path))) == [("step", 2), ("conv", 8)]


@pytest.mark.parametrize(
    "heading",
    ["cycles", "Op Cycles", "CPU cycles", "total_cycles", "duration (cycles)", "hw cycles"],
)
def test_cycles_are_ticks_of_an_assumed_rate(tmp_path, heading):
    path = tmp_path / "cycles.csv"
    path.write_text(f'layer,type,{heading}\nconv,Conv2D,"336,960"\nfc,Dense,48880\n')
    trace = open_file(str(path))
    assert (trace.clock.unit, trace.clock.assumed) == ("cycle", True)
    assert (trace.slices.end - trace.slices.start).tolist() == [336960, 48880]


@pytest.mark.parametrize("name", sorted({path.name for path in LAYERS.iterdir()} - NO_TABLES))
def test_a_file_that_is_cut_anywhere_opens_or_is_refused(tmp_path, name):
    data = (LAYERS / name).read_bytes()
    path = tmp_path / name
    for end in range(1, len(data), max(len(data) // 20, 1)):
        path.write_bytes(data[:end])
        try:
            assert len(open_file(str(path)).slices)
        except UnreadableFile:
            continue


def test_the_name_of_a_file_means_nothing(tmp_path):
    path = tmp_path / "renamed.log"
    shutil.copy(LAYERS / "ncnn.txt", path)
    assert open_file(str(path)).generation == "ncnn benchmark"


def test_columns_that_a_user_states_need_no_start(tmp_path, capsys):
    path = tmp_path / "odd.csv"
    path.write_text("what;kind;t1\na;Conv;0.5\nb;Gemm;0.25\n")
    with pytest.raises(UnreadableFile):
        open_file(str(path))
    trace = open_file(str(path), columns="name=what,dur=t1,unit=ms")
    assert bars(trace) == [("a", 500), ("b", 250)]
    code, out, _ = run(capsys, "info", str(path), "--columns", "name=what,dur=t1,unit=ms")
    assert (code, "Layer table" in out) == (0, True)


def test_columns_may_be_stated_where_the_header_shows_them():
    trace = open_file(str(LAYERS / "layers.csv"), columns="name=layer,dur=time_ms,unit=ms")
    assert bars(trace) == [("conv1", 510), ("dw2", 220), ("fc", 1010)]


def test_the_device_and_count_of_tvm_are_the_unit_and_count():
    trace = open_file(str(LAYERS / "tvm_profile.csv"))
    assert texts(trace, "unit") == ["hexagon0"] * 3
    assert trace.slices.columns["count"].values.tolist() == [1, 3, 4]


def test_a_start_that_a_user_states_is_used(tmp_path):
    path = tmp_path / "layers.csv"
    path.write_text("layer,at,time_ms\nconv,5,0.5\nfc,9,0.25\n")
    trace = open_file(str(path), columns="name=layer,start=at,dur=time_ms,unit=ms")
    assert (trace.format, trace.slices.start.tolist()) == ("Plain CSV", [5_000_000, 9_000_000])


@pytest.mark.parametrize(
    "text",
    [
        "event_block_name,event_name,avg (s)\nExecute,Method::execute,9e17\nExecute,a,1\n",
        '{"a": [{"name": "n", "time_ms": 1, "x": ' + "[" * 900 + "]" * 900 + "}]}",
        '{"s": {"peak_memory": Infinity}, "d": [{"name": "n", "compute_unit": "NPU", '
        '"execution_time": 1e300}, {"name": "m", "compute_unit": "CPU", "execution_time": 2}]}',
        '[{"name": "n", "time_ms": NaN}, {"name": "m", "time_ms": 2}]',
    ],
)
def test_absurd_values_cost_their_row_alone(tmp_path, text):
    path = tmp_path / "absurd.txt"
    path.write_text(text)
    assert len(open_file(str(path)).slices) == 1

"""Logs of partitioners: the reasons in them, and where a text is recognized as one."""

import gzip
from pathlib import Path

import pytest

from tests.paths import DATA
from viewer.formats import open_file
from viewer.program.program import Program, Rejection

LOGS = DATA / "partition_log"


def rejections(path: Path) -> list[Rejection]:
    log = open_file(str(path))
    assert isinstance(log, Program)
    assert log.format == "Partitioner log"
    return list(log.rejections)


def written(folder: Path, text: str) -> list[Rejection]:
    path = folder / "log.txt"
    path.write_text(text, encoding="utf-8")
    return rejections(path)


def test_the_log_of_xnnpack_names_nodes() -> None:
    assert rejections(LOGS / "xnnpack.log") == [
        Rejection("aten_mean_dim", "", "mean.dim only supports keepdim=True"),
        Rejection(
            "aten__softmax_default",
            "",
            "dim must be the last dim, got dim = 0 for tensor of rank 2",
        ),
        Rejection("aten_add_tensor_1", "", "invalid dtype"),
    ]


OTHERS = [
    Rejection(
        "aten_bmm_default_7", "", "not valid for QNN: has incorrect Value 68, expected >= 73"
    ),
    Rejection("", "aten.topk.default", "not supported by QNN"),
    Rejection(
        "aten_linear_default_23",
        "",
        "not valid for QNN: validateNativeOps aten_linear_default_23:qti.aisw:FullyConnected op "
        "validator (quantized and FP16) failed 3110 and 3110",
    ),
    Rejection("", "aten.bitwise_not.default", "no node visitor, unsupported"),
    Rejection("", "aten.abs.default", "skipped on request"),
    Rejection("", "aten.topk.default", "not supported by CoreML"),
    Rejection("", "aten.topk.default", "no operator implementation"),
    Rejection("aten_add_tensor_1", "", "dtype not supported"),
    Rejection("", "aten.topk.default", "not supported"),
    Rejection("aten_topk_default", "aten.topk.default", "skipped on request"),
    Rejection("", "aten.topk.default", "no handler registered"),
    Rejection(
        "aten_convolution_default",
        "",
        "Convolution needs to have kernel_y<=64, kernel_x*kernel_y<=4096, got kernel (2, 65)",
    ),
    Rejection("aten_convolution_default_1", "", "second"),
]


def test_logs_of_other_partitioners() -> None:
    assert rejections(LOGS / "others.log") == OTHERS


ALONE = (
    "[QNN Partitioner Op Support]: aten.topk.default | False",
    "[QnnPartitioner] aten.bitwise_not.default | No node visitor, unsupported",
    "Skipping op for CoreML delegation because it is not supported by CoreML: aten.topk.default",
    "[Vulkan Partitioner] Due to [dtype not supported], skipping aten.topk.default",
    "Op not supported:  torch.ops.aten.topk.default",
    "[Neuropilot Backend] The aten.topk.default operator with name 'aten_topk' is skipped.",
)


@pytest.mark.parametrize("line", ALONE)
def test_each_kind_of_line_is_recognized_alone(line: str, tmp_path: Path) -> None:
    (only,) = written(tmp_path, f"{line}\n")
    assert only.op in line
    assert only.op.startswith("aten.")


def test_lines_of_a_time_before_each_and_a_long_head(tmp_path: Path) -> None:
    head = "".join(f"2026-01-02 10:00:{n % 60:02} INFO export: step {n}\n" for n in range(200))
    own = "".join(f"2026-01-02 10:04:00 {line}\n" for line in _lines())
    assert len(written(tmp_path, head + own)) == 3
    plain = "".join(f"lowering step {n}\n" for n in range(400)) + "\n".join(_lines())
    assert len(written(tmp_path, plain)) == 3


def test_a_packed_log(tmp_path: Path) -> None:
    path = tmp_path / "log.gz"
    path.write_bytes(gzip.compress("\n".join(_lines()).encode()))
    assert len(rejections(path)) == 3


def _lines() -> list[str]:
    return (LOGS / "xnnpack.log").read_text(encoding="utf-8").splitlines()


def test_equal_lines_are_one_reason(tmp_path: Path) -> None:
    assert len(written(tmp_path, "\n".join(_lines() * 50))) == 3


def test_what_is_delegated_is_no_rejection(tmp_path: Path) -> None:
    taken = "[QNN Partitioner Op Support]: aten.relu.default | True\n" * 3
    assert written(tmp_path, taken + "[QnnPartitioner] aten.a.b | Forced Passed\n") == []

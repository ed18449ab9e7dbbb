"""Reads the reasons that partitioners of ExecuTorch log for what they do not delegate.

    DEBUG:...:WhyNoPartition: Node aten_mean_dim was not partitioned because mean.dim only supports
    keepdim=True.
    [ERROR] [Qnn ExecuTorch]: <E> Failed to validate op aten_bmm_default_7 with error 0xc26
    [QNN Partitioner Op Support]: aten.bmm.default | False
    Skipping op for CoreML delegation because it is not supported by CoreML: aten.topk.default
    [Vulkan Partitioner] Due to [no operator implementation], skipping ... = aten.topk.default(...

They are lines of the output of an export; those of XNNPACK need the level DEBUG. Arm's partitioner
logs a table of nodes. What a line says of delegated nodes is not kept.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from viewer.codecs.reading import Cancelled, Progress, ReadCancelled, UnreadableFile
from viewer.formats import format_of
from viewer.formats.table.packed_text import TextLines, head_text
from viewer.program.program import Program, Rejection

_TELLING = re.compile(
    r"WhyNoPartition: Node |\[QNN Partitioner Op Support\]:|\[QnnPartitioner\] \S+ \|"
    r"|for CoreML delegation because |\[Vulkan Partitioner\] Due to \["
    r"|│ Node name +│ Target|\[UNSUPPORTED x\d+\] "
    r"|\[(?:OpenVINO|Neuropilot) Backend\] The .{1,200} is skipped|Op not supported:  ?torch\.ops\."
)
_LONGEST_LINE = 1 << 12  # patterns may take its square
_LOOKED_AT = 1 << 22
_MOST = 100_000
# A line -> the groups node, op and reason; a reason that is not stated has a text of its own.
_LINES: tuple[tuple[re.Pattern[str], str], ...] = (
    (
        re.compile(
            r"WhyNoPartition: Node (?P<node>\S+) was not partitioned because (?P<reason>.+)"
        ),
        "",
    ),
    (
        re.compile(
            r"Skipping op for CoreML delegation because (?:it is )?(?P<reason>.+): (?P<op>\S+)$"
        ),
        "",
    ),
    (
        re.compile(
            r"\[Vulkan Partitioner\] Due to \[(?P<reason>.+)\], skipping "
            r"(?:%(?P<node>\w+) : |(?:.* = )?(?P<op>[\w:]+(?:\.\w+)*)(?:\(|$))"
        ),
        "",
    ),
    (re.compile(r"Op not supported:  ?torch\.ops\.(?P<op>\S+)"), "not supported"),
    (
        re.compile(
            r"\[\w+ Backend\] The (?P<op>\S+) operator with name '(?P<node>\w+)' is skipped"
        ),
        "skipped on request",
    ),
)
_QNN = re.compile(
    r"\[(?:QNN Partitioner Op Support|QnnPartitioner)\]:? (?P<op>\S+) \| (?P<said>.+)"
)
_QNN_TEXTS = {"False": "not supported by QNN", "Skipped": "skipped on request"}
_TAKEN = ("True", "Forced Passed")
_QNN_ERROR = re.compile(r"(?:QnnDsp|\[Qnn ExecuTorch\]:?) +<E> (?P<text>.+)")
_QNN_NODE = re.compile(r"Failed to validate op (?P<node>\w+) with error (?P<error>\w+)")
_QNN_NOISE = ("QnnBackend_validateOpConfig", "[4294967295] ")
_MLX = re.compile(r"\[UNSUPPORTED x\d+\] (?P<op>\S+)"), re.compile(r"^.*?\bReason: (?P<reason>.+)")
_COLUMNS = 4  # of the table of Arm's partitioner


def sniff(head: bytes) -> bool:
    """Whether a line of the first ones is that of a partitioner."""
    return _TELLING.search(head_text(head)) is not None


def is_further_on(path: str) -> bool:
    """Whether a text has lines of a partitioner after its first ones."""
    try:
        with TextLines(path) as file:
            return _TELLING.search(file.read(_LOOKED_AT).decode("utf-8", "replace")) is not None
    except (OSError, UnreadableFile):
        return False


def read(path: str, progress: Progress, cancelled: Cancelled) -> Program:
    """The reasons, as a program without methods. Raises UnreadableFile, ReadCancelled."""
    rejections: dict[Rejection, None] = {}
    with TextLines(path) as file:
        for each in _rejections(_lines(file, cancelled)):
            rejections[each] = None
            if len(rejections) >= _MOST:
                break
    progress(1, 1)
    return Program(path, FORMAT.name, "", (), rejections=tuple(rejections))


def _lines(file: TextLines, cancelled: Cancelled) -> Iterator[str]:
    number = 0
    while line := file.readline(_LONGEST_LINE):
        number += 1
        if number % 1000 == 0 and cancelled():
            raise ReadCancelled
        yield line.decode("utf-8", "replace").rstrip()


def _rejections(lines: Iterable[str]) -> Iterator[Rejection]:
    qnn, table, op_of_mlx = _QnnErrors(), _Table(), ""
    for line in lines:
        yield from table.add(line)
        yield from qnn.add(line)
        for pattern, text in _LINES:
            if match := pattern.search(line):
                groups = match.groupdict()
                reason = (groups.get("reason") or text).strip().rstrip(".")
                yield Rejection(groups.get("node") or "", groups.get("op") or "", reason)
                break
        if match := _MLX[0].search(line):
            op_of_mlx = match["op"]
        elif op_of_mlx and (match := _MLX[1].search(line)):
            yield Rejection("", op_of_mlx, match["reason"])
            op_of_mlx = ""


class _QnnErrors:
    """The lines of QNN: what its library says of a node, and then whether it takes the operator."""

    def __init__(self) -> None:
        self._error = ""
        self._has_node = False

    def add(self, line: str) -> Iterator[Rejection]:
        """Yield what a line rejects."""
        if error := _QNN_ERROR.search(line):
            text = error["text"]
            if node := _QNN_NODE.search(text):
                why = self._error or f"error {node['error']}"
                yield Rejection(node["node"], "", f"not valid for QNN: {why}")
                self._error, self._has_node = "", True
            elif not text.startswith(_QNN_NOISE[0]):
                self._error = text.removeprefix(_QNN_NOISE[1]).strip().rstrip(".")
        elif said := _QNN.search(line):
            text = said["said"].strip()
            if text not in _TAKEN and not self._has_node:
                yield Rejection("", said["op"], _QNN_TEXTS.get(text, text[:1].lower() + text[1:]))
            self._error, self._has_node = "", False


class _Table:
    """The table of rejected nodes of Arm's partitioner; its cells are wrapped into lines."""

    def __init__(self) -> None:
        self._row: list[str] | None = None  # node and reason; None outside of a table

    def add(self, line: str) -> Iterator[Rejection]:
        """Yield the row that ends at a line."""
        text = line.strip()
        if text.startswith("│ Node name") and "Reason" in text:
            self._row = ["", ""]
        elif self._row is not None and text.startswith("│"):
            cells = [cell.strip() for cell in text.strip("│").split("│")]
            if len(cells) == _COLUMNS:  # names are cut anywhere, texts between words
                self._row = [self._row[0] + cells[0], f"{self._row[1]} {cells[-1]}".strip()]
        elif self._row is not None:
            if self._row[0]:
                yield Rejection(self._row[0], "", self._row[1])
            self._row = ["", ""] if text.startswith(("╞", "├")) else None


FORMAT = format_of("executorch.partition_log")

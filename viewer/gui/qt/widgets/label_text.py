"""Finds the text that fits into a slice: the label, a shorter form, its beginning, or nothing.

A label is meaningful or absent. Slices whose widths round to the same value share a cached result,
since querying font metrics costs more than drawing.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Callable
from typing import TypeVar

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QFont, QFontMetricsF, QStaticText

from viewer.arrays import Ints
from viewer.gui.qt.widgets.labels import measurable
from viewer.model.text import visible_line
from viewer.model.trace import NOT_FINISHED

# "aten::", "torch::autograd::": namespaces are lower case. The class of "Method::execute" stays.
_CPP_NAMESPACE = re.compile(r"(?<![\w:.])(?:[a-z_]\w*::)+(?=~?[A-Za-z_])")
# "torch.ops.aten.add", "aten.add": libraries of operators. Module paths such as "blocks.0" stay.
_LIBRARY = re.compile(
    r"(?<![\w:./])(?:torch\.ops\.\w+|aten|prims?|quantized_decomposed|quantized|"
    r"dim_order_ops|executorch_prim|ai\.onnx)\.(?=[A-Za-z_])"
)
# "torch/nn/modules/module.py(1954): __getattr__"
_PYTHON_FRAME = re.compile(r"(?:.*[/\\])?([^/\\]+\.py\(\d+\): (.+))")
# "<built-in method append of list object at 0x7f0e4437eb00>"
_BUILT_IN = re.compile(r"<built-in (?:method|function) (\w+)\b.*>")
_MODULE = "nn.Module: "
_COUNT = re.compile(r"\d+ ops?")
# "tosa.conv2d@L11": the dialect is the least informative part, then the line.
_MLIR_LINE = re.compile(r"@L\d+")
_MLIR_DIALECT = re.compile(r"\b[A-Za-z_]\w*\.(?=[\w.$-]+@L\d)")
_FEWEST = 3  # letters before an ellipsis
# px; widths from _EXACT on are rounded down to a multiple of _STEP, so that zooming hits the cache.
_STEP, _EXACT = 4, 32

Whole = TypeVar("Whole", int, Ints)


def distinct_room(room: Whole) -> Whole:
    """The part of the room for a label, or for many, that makes a difference; in whole px."""
    return room - room % _STEP * (room >= _EXACT)


def bar_label(label: str) -> str:
    """A label without the namespaces of its names, as it is on a bar."""
    return _LIBRARY.sub("", _CPP_NAMESPACE.sub("", label))


def variants(label: str) -> list[str]:
    """A label and its shorter forms, longest first."""
    label = bar_label(label)
    if (frame := _PYTHON_FRAME.fullmatch(label)) is not None:
        return list(dict.fromkeys((label, frame[1], frame[2])))
    if (built_in := _BUILT_IN.fullmatch(label)) is not None:
        return [label, built_in[1]]
    if label.startswith(_MODULE):
        return [label, label.removeprefix(_MODULE)]
    if _MLIR_LINE.search(label):
        short = _MLIR_DIALECT.sub("", label)
        bare = _MLIR_LINE.sub("", short)
        return list(dict.fromkeys((label, short, bare, bare.rpartition(" · ")[2])))
    left, dot, right = label.partition(" · ")
    if not dot:
        return [label]
    if _COUNT.fullmatch(right):
        short = left.removesuffix("Backend")
        return [label, f"{short} · {right}", right]
    if right.startswith("run "):
        # That an inference did not finish matters more than its number, which is in the overview.
        if right.endswith(NOT_FINISHED):
            return [label, right, NOT_FINISHED.removeprefix(", ")]
        number = right.removeprefix("run ")
        return list(dict.fromkeys((label, right, number, number.split()[0])))
    tail = left.rpartition(".")[2]
    # The tail of a name such as "blocks.0" is meaningless on its own.
    return [label, right] if tail.isdecimal() else [label, f"{tail} · {right}", right]


def fitting(label: str, room: float, width_of: Callable[[str], float]) -> str:
    """The longest form that fits into `room` px, else its beginning, else "".

    A beginning is at least three letters and "…", or three letters alone.
    """
    forms = variants(label)
    for form in forms:
        if width_of(form) <= room:
            return form
    last = forms[-1]
    low, high = 0, max(len(last) - 1, 0)
    while low < high:
        middle = (low + high + 1) // 2
        if width_of(last[:middle].rstrip() + "…") <= room:
            low = middle
        else:
            high = middle - 1
    if low >= _FEWEST:
        return last[:low].rstrip() + "…"
    start = last[:_FEWEST]
    is_word = len(start) == _FEWEST and start.isalnum()
    return start if is_word and width_of(start) <= room else ""


class LabelCache:
    """A cache of fitted labels as prepared texts, with LRU eviction."""

    def __init__(self, font: QFont, limit: int = 8192) -> None:
        self.font = font
        self._metrics = QFontMetricsF(font)
        self.line_height = self._metrics.height()  # px
        self.ascent = self._metrics.ascent()  # px
        self._limit = limit
        self._fitted: OrderedDict[tuple[str, int], QStaticText | None] = OrderedDict()
        self._widths: dict[str, float] = {}

    def width(self, text: str) -> float:
        """The width of a text in px."""
        if text not in self._widths:
            if len(self._widths) > 4 * self._limit:
                self._widths.clear()
            self._widths[text] = self._metrics.horizontalAdvance(text)
        return self._widths[text]

    def box(self, text: str) -> QRectF:
        """What the letters of a text cover, in px from the upper left corner of its line."""
        return self._metrics.boundingRect(text).translated(0, self.ascent)

    def fit(self, label: str, room: float) -> QStaticText | None:
        """The label fitted into `room` px, None if not even a short form fits."""
        label = measurable(label)
        key = (label, distinct_room(int(room)))
        if key in self._fitted:
            self._fitted.move_to_end(key)
            return self._fitted[key]
        text = fitting(visible_line(label), key[1], self.width)
        prepared = None
        if text:
            prepared = QStaticText(text)
            # Names come from files, and Qt would interpret markup in them.
            prepared.setTextFormat(Qt.TextFormat.PlainText)
            prepared.prepare(font=self.font)
        self._fitted[key] = prepared
        if len(self._fitted) > self._limit:
            self._fitted.popitem(last=False)
        return prepared

"""The detail of the selected row: its figures, a picture of its tensor, and a histogram."""

from __future__ import annotations

from math import prod

import numpy as np
from PySide6.QtCore import Qt, Slot
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QBoxLayout, QHBoxLayout, QSpinBox, QWidget

from viewer.analysis.numbers.compared import Gap
from viewer.analysis.numbers.tensor_summary import PlaneShape, Shown, Summary
from viewer.codecs.tensor_values import BLOCK
from viewer.dataclasses import replace
from viewer.gui.panels.base.panel import plain_column
from viewer.gui.panels.numbers.charts import HeatMap, Histogram
from viewer.gui.panels.numbers.contents import (
    Detail,
    DetailQuestion,
    brief_text,
    detail_of,
    fault_text,
    figure_text,
    full_label,
    odd_text,
)
from viewer.gui.qt.background import Latest
from viewer.gui.qt.crash_report import guard
from viewer.gui.qt.theme.theme import Theme
from viewer.gui.qt.widgets.controls import SegmentBar, laid_out
from viewer.gui.qt.widgets.labels import ElidedLabel, label
from viewer.gui.session.feeds.logged_numbers import MeasuredNumbers, NumbersRow
from viewer.model.text import one_line
from viewer.model.times import group_digits

CHOOSE = "Select an operator to see its values."
_LOW = 300  # px
_MOST_OUTER = 3  # dimensions with a field of their own
_TIPS = {
    Shown.DIFFERENCE: "Absolute difference of A and B",
    Shown.A: "Values of the profile",
    Shown.B: "Values of the reference",
}


class DetailView(QWidget):
    """Shows one row; its tensor is read off the GUI thread if it is large."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._shown = Shown.DIFFERENCE
        self._question: DetailQuestion | None = None
        self._shape = PlaneShape(())
        self.answer: Detail | None = None
        self._latest = Latest(self, self._take)
        self._latest.late.connect(self._fade)
        self.title = ElidedLabel("", theme, "operator", "text1")
        self.tensor = ElidedLabel("", theme, "caption", "text2")
        self.figures = label("", theme, "caption", "text1", wrap=True)
        self.note = label(CHOOSE, theme, "body", "text2", wrap=True)
        self.picks = SegmentBar("Picture", _TIPS)
        self.picks.press(self._shown)
        self.picks.picked.connect(self._pick)
        self.fields = tuple(self._make_field(i) for i in range(_MOST_OUTER))
        self.index_name = label("Index", theme, "caption", "text2")
        self.map = HeatMap(theme)
        self.histogram = Histogram(theme)
        column = plain_column(self)
        column.setContentsMargins(theme.px(12), theme.px(4), theme.px(12), theme.px(4))
        column.setSpacing(theme.px(4))
        column.addWidget(self.title)
        column.addWidget(self.tensor)
        column.addWidget(self.figures)
        column.addWidget(self.note)
        controls = laid_out(QHBoxLayout(), self.picks, 1, self.index_name, gap=theme.px(6))
        for field in self.fields:
            controls.addWidget(field)
        column.addLayout(controls)
        self._pictures = QBoxLayout(QBoxLayout.Direction.TopToBottom)
        self._pictures.setSpacing(theme.px(6))
        self._pictures.addWidget(self.map, 1)
        self._pictures.addWidget(self.histogram)
        column.addLayout(self._pictures, 1)
        self.clear()

    def _make_field(self, number: int) -> QSpinBox:
        field = QSpinBox()
        field.setAccessibleName(f"Index {number + 1} of the picture")
        field.setWrapping(True)
        field.valueChanged.connect(self._go_to_plane)
        return field

    @guard
    def resizeEvent(self, event: QResizeEvent) -> None:
        """Put the histogram beside the picture if there is no room below it."""
        super().resizeEvent(event)
        is_low = self.height() < self._theme.px(_LOW)
        ways = QBoxLayout.Direction
        self._pictures.setDirection(ways.LeftToRight if is_low else ways.TopToBottom)
        self._pictures.setStretch(1, 1 if is_low else 0)
        self._pictures.setAlignment(
            self.histogram, Qt.AlignmentFlag.AlignBottom if is_low else Qt.AlignmentFlag(0)
        )

    @property
    def is_pending(self) -> bool:
        return self._latest.pending

    def clear(self) -> None:
        """Show nothing, and release what was shown: it may be of a closed file."""
        self._latest.cancel()
        self._question = self.answer = None
        self._show_parts(has_values=False)
        for text_label in (self.title, self.tensor, self.figures):
            text_label.setText("")
        self.note.setText(CHOOSE)
        self.map.show_plane(None, None)
        self.histogram.show_counts(None)

    def show_row(self, measured_numbers: MeasuredNumbers, row: int) -> None:
        """Show a row: the plane with its largest error first."""
        numbers_row = measured_numbers.numbers.rows[row]
        figures = measured_numbers.figures[row] if row < len(measured_numbers.figures) else None
        question = self._question
        if question is not None and question.row is numbers_row and question.gap is not None:
            return  # its figures are known
        self.title.setText(full_label(numbers_row))
        value = numbers_row.value_or_reference
        self._shape = PlaneShape(() if value is None else value.layout.sizes)
        summary, gap = (None, None) if figures is None else (figures.summary, figures.gap)
        plane = None if question is None or question.row is not numbers_row else question.plane
        self.figures.setText("" if gap is None else _gap_text(gap))
        self.tensor.setText(_tensor_text(numbers_row))
        self.note.setText(fault_text(numbers_row, figures))
        self._ask(DetailQuestion(numbers_row, self._shown, plane, summary, gap))

    def _ask(self, question: DetailQuestion) -> None:
        answer = self.answer
        if answer is not None and answer.question.row is question.row:
            question = replace(question, known=answer.counted)
        self._question = question
        value = question.row.value_or_reference
        count = 0 if value is None else value.layout.count
        self._latest.ask(count <= BLOCK, detail_of, question)

    # -- answers ---------------------------------------------------------------------------------

    @Slot(object)
    def _take(self, detail: Detail) -> None:
        self.answer = detail
        self._set_opacity(1.0)
        self._show_parts(has_values=detail.plane is not None)
        self.note.setText(one_line(detail.fault or detail.note or self.note.text()))
        self.note.setVisible(bool(self.note.text()))
        self.map.show_plane(detail.plane, detail.largest)
        counted = detail.counted
        self.histogram.show_counts(None if counted is None else counted.histograms)
        if detail.question.gap is None and counted is not None:
            self.figures.setText(_summary_text(counted.summary))
        self.figures.setVisible(bool(self.figures.text()))
        if detail.plane is not None:
            self.picks.setVisible(detail.plane.b.size > 0)
            self.picks.press(detail.plane.shown)
            self._show_fields(detail.plane.plane)

    def _show_parts(self, *, has_values: bool) -> None:
        for widget in (self.picks, self.map, self.histogram, self.index_name, *self.fields):
            widget.setVisible(has_values)
        for widget in (self.title, self.tensor, self.figures):
            widget.setVisible(self._question is not None)
        self.note.setVisible(not has_values)

    @Slot()
    def _fade(self) -> None:
        self._set_opacity(0.6)

    def _set_opacity(self, opacity: float) -> None:
        self.map.opacity = opacity
        self.map.update()

    # -- choices ---------------------------------------------------------------------------------

    @property
    def _outer(self) -> tuple[int, ...]:
        """The sizes of the fields: the first one may be of several dimensions."""
        outer = self._shape.outer
        first = len(outer) - _MOST_OUTER
        return outer if first <= 0 else (prod(outer[: first + 1]), *outer[first + 1 :])

    def _show_fields(self, plane: int) -> None:
        outer = self._outer
        index = np.unravel_index(plane, outer)
        self.index_name.setVisible(bool(outer))
        for number, field in enumerate(self.fields):
            field.setVisible(number < len(outer))
            if number < len(outer):
                field.blockSignals(True)
                field.setRange(0, min(outer[number] - 1, 2**31 - 1))
                field.setValue(int(index[number]))
                field.setToolTip(f"0 to {group_digits(outer[number] - 1)}")
                field.blockSignals(False)

    @Slot()
    def _go_to_plane(self) -> None:
        if self._question is None:
            return
        plane = 0
        for size, field in zip(self._outer, self.fields, strict=False):
            plane = plane * size + field.value()
        self._ask(replace(self._question, plane=plane))

    @Slot(object)
    def _pick(self, side: Shown) -> None:
        self._shown = side
        if self._question is not None:
            picture = None if self.answer is None else self.answer.plane
            plane = None if picture is None else picture.plane
            self._ask(replace(self._question, shown=side, plane=plane))


def _tensor_text(row: NumbersRow) -> str:
    """Return type and shape of a value, those of its reference, and why they are paired."""
    pair = row.pair
    texts = [] if row.value is None else [row.value.layout.text]
    if pair is not None and pair.reference is not None:
        texts += [pair.reference.layout.text]
        name = pair.label_of_reference
        other = f"B: {name}, {pair.why}" if name and name != row.label else pair.why
    else:
        other = ""
    both = " / ".join(dict.fromkeys(texts))
    return one_line(" · ".join(filter(None, (both, other))))


def _gap_text(gap: Gap) -> str:
    if gap.is_exact:
        return "Equal to the reference"
    return "\n".join(filter(None, (brief_text(gap), odd_text(gap))))


def _summary_text(summary: Summary) -> str:
    if summary.min is None:
        return "No finite value"
    low, high = figure_text(summary.min), figure_text(summary.max)
    text = f"from {low} to {high}, mean {figure_text(summary.mean)}, SD {figure_text(summary.sd)}"
    odd = [
        f"{group_digits(count)} {name}"
        for name, count in (("NaN", summary.nan), ("Inf", summary.inf), ("zeros", summary.zeros))
        if count
    ]
    return ", ".join([text, *odd])

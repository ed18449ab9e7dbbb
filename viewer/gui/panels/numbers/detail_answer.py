"""What the detail of one row shows: histograms, and a plane of its tensor. No Qt.

It reads the tensor of the selected row only, a block at a time.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from viewer.analysis.numbers.compared import OTHER_SHAPES, Gap
from viewer.analysis.numbers.plane import Plane, PlaneShape, Shown, plane_of
from viewer.analysis.numbers.summary import Summary, histogram_of, summary_of
from viewer.arrays import Ints
from viewer.codecs.reading import UnreadableFile
from viewer.codecs.tensor_values import StoredTensor, same_shape
from viewer.gui.session.numbers.logged import NumbersRow

BINS = 64


@dataclass(frozen=True, slots=True, eq=False)
class Histograms:
    """How many finite values are in each bin from low to high; b is empty without a reference."""

    low: float
    high: float
    a: Ints
    b: Ints


@dataclass(frozen=True, slots=True, eq=False)
class Counted:
    """What needs all values of a row: its summary, and the histograms, None without any number."""

    summary: Summary
    histograms: Histograms | None


@dataclass(frozen=True, slots=True, eq=False)
class DetailQuestion:
    """A row and what to show of it.

    plane: None for that of the largest error. summary, gap: of the row, None if not known. known:
    what was counted of the same row before.
    """

    row: NumbersRow
    shown: Shown
    plane: int | None
    summary: Summary | None
    gap: Gap | None
    known: Counted | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Detail:
    """The answer. plane, counted: None if there are no values, and `fault` says why.

    largest: the number of the value with the largest error, None for none. note: why the reference
    is not shown.
    """

    question: DetailQuestion
    plane: Plane | None = None
    counted: Counted | None = None
    largest: int | None = None
    fault: str = ""
    note: str = ""


def detail_of(question: DetailQuestion) -> Detail:
    """Answer a question; a pure function of the files."""
    try:
        return _detail_of(question)
    except UnreadableFile as error:  # that has changed since its values were listed
        return Detail(question, fault=str(error))


def _detail_of(question: DetailQuestion) -> Detail:
    row = question.row
    stored_tensor, fault = _opened(row)
    reference, note = _reference(row)
    if stored_tensor is None:
        stored_tensor, reference, fault = reference, None, fault or note
    if stored_tensor is None:
        return Detail(question, fault=fault)
    if reference is not None and not same_shape(stored_tensor.layout.sizes, reference.layout.sizes):
        reference, note = None, OTHER_SHAPES
    shape = PlaneShape(stored_tensor.layout.sizes)
    if not stored_tensor.count:
        return Detail(question, fault="The tensor has no values")
    gap = question.gap if reference is not None else None
    largest = None
    if gap is not None and gap.place is not None:
        largest = (
            int(np.ravel_multi_index(gap.place, stored_tensor.layout.sizes)) if gap.place else 0
        )
    plane = question.plane
    if plane is None:
        plane = 0 if largest is None else largest // (shape.height * shape.width)
    plane = min(max(plane, 0), shape.count - 1)
    side = question.shown if reference is not None else Shown.A
    return Detail(
        question,
        plane_of(stored_tensor, reference, plane, side),
        question.known or _counted(stored_tensor, reference, question.summary),
        largest,
        note=note,
    )


def _opened(row: NumbersRow) -> tuple[StoredTensor | None, str]:
    if row.value is None:
        return None, ""
    try:
        return row.value.open(), ""
    except (UnreadableFile, ValueError) as error:
        return None, str(error)


def _reference(row: NumbersRow) -> tuple[StoredTensor | None, str]:
    reference = None if row.pair is None else row.pair.reference
    if reference is None:
        return None, ""
    try:
        return reference.open(), ""
    except (UnreadableFile, ValueError) as error:
        return None, f"Reference: {error}"


def _counted(
    stored_tensor: StoredTensor, reference: StoredTensor | None, summary: Summary | None
) -> Counted:
    summary = summary or summary_of(stored_tensor)
    both = [summary] if reference is None else [summary, summary_of(reference)]
    lows = [summary.min for summary in both if summary.min is not None]
    highs = [summary.max for summary in both if summary.max is not None]
    if not lows:
        return Counted(summary, None)
    low, high = min(lows), max(highs)
    bins = BINS if high > low else 1
    none = np.empty(0, np.int64)
    b = none if reference is None else histogram_of(reference, low, high, bins)
    return Counted(summary, Histograms(low, high, histogram_of(stored_tensor, low, high, bins), b))

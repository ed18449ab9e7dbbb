"""Text columns of reports: aligned numbers, times and names."""

from __future__ import annotations

from collections.abc import Sequence

from viewer.model.times import split_time


def aligned_times(texts: Sequence[str]) -> list[str]:
    """Pad times of several units so that, right-aligned, their units begin in one column."""
    parts = [split_time(text) for text in texts]
    slot = max((len(unit) for _, unit in parts), default=0)
    return [f"{number} {unit.ljust(slot)}" if number and slot else number for number, unit in parts]


def column_lines(columns: Sequence[tuple[str, list[str]]], right: int) -> list[str]:
    """Return the rows below their titles; the first `right` columns are numbers."""
    padded = []
    for number, (title, texts) in enumerate(columns):
        width = max(map(len, (title, *texts)))
        pad = str.rjust if number < right else str.ljust
        padded.append([pad(text, width) for text in (title, *texts)])
    return ["  ".join(cells).rstrip() for cells in zip(*padded, strict=True)]


def row_lines(table: Sequence[tuple[str, ...]], left: int) -> list[str]:
    """Return rows, the titles among them, indented; the first `left` columns are texts."""
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    return [
        "  "
        + "  ".join(
            cell.ljust(width) if i < left else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in table
    ]

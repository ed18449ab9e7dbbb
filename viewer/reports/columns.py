"""Text columns of reports: aligned numbers, times and names."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from viewer.model.times import split_time


def aligned_times(texts: Sequence[str]) -> list[str]:
    """Pad times of several units so that, right-aligned, their units begin in one column."""
    parts = [split_time(text) for text in texts]
    slot = max((len(unit) for _, unit in parts), default=0)
    return [f"{number} {unit.ljust(slot)}" if number and slot else number for number, unit in parts]


def column_lines(columns: Sequence[tuple[str, list[str]]], right: int) -> list[str]:
    """Return the rows below their titles; the first `right` columns are numbers."""
    return _lines([(title, *texts) for title, texts in columns], lambda i: i >= right)


def row_lines(
    table: Sequence[tuple[str, ...]], left: int, *, ends_with_text: bool = False
) -> list[str]:
    """Return rows, the titles among them, indented; the first `left` columns are texts."""
    columns = list(zip(*table, strict=True))
    last = len(columns) - 1 if ends_with_text else -1
    lines = _lines(columns, lambda i: i < left or i == last)
    return [f"  {line}".rstrip() for line in lines]


def _lines(columns: Sequence[tuple[str, ...]], is_text: Callable[[int], bool]) -> list[str]:
    padded = []
    for number, texts in enumerate(columns):
        pad, width = str.ljust if is_text(number) else str.rjust, max(map(len, texts))
        padded.append([pad(text, width) for text in texts])
    return ["  ".join(cells).rstrip() for cells in zip(*padded, strict=True)]

"""Memory plans in a report: the bytes in use at every instruction, and what holds the peak."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from viewer.html_report.contents import Contents
from viewer.html_report.html import Cell, Row, figures, paragraph, rest_note, section, table, text
from viewer.model.text import bytes_text
from viewer.model.times import format_share, group_digits
from viewer.reports.programs.memory import largest_first, memory_facts

_WIDTH, _HEIGHT = 960, 96
_MOST_METHODS = 8


def memory(contents: Contents) -> str:
    """Return the memory plans of all program files."""
    methods = [m for space in contents.workspaces for m in memory_facts(space)["methods"]]
    by_file_and_name = {(method["file"], method["name"]): method for method in methods}
    parts = [
        _method(contents, method) for method in list(by_file_and_name.values())[:_MOST_METHODS]
    ]
    rest = len(by_file_and_name) - _MOST_METHODS
    parts.append(rest_note(rest, "more method"))
    return section("memory", "Memory", *parts)


def _method(contents: Contents, method: dict[str, Any]) -> str:
    name = f"{os.path.basename(method['file'])} · {method['name']}"
    heading = f"<h3>{text(name)}</h3>"
    notes = [
        f"{sentence}: not in the plan" for sentence in (*method["not_in_plan"], *method["problems"])
    ]
    if method["peak_instruction"] is None:
        return heading + paragraph(". ".join(["No planned memory", *notes]), "note")
    peak, arena = method["peak_bytes"], method["arena_bytes"]
    amounts = [
        (bytes_text(peak), f"peak, at instruction {method['peak_instruction']}"),
        (bytes_text(arena), "arena"),
        (format_share(method["fragmentation"] or 0, 1), "unused at the peak"),
    ]
    at_peak = set(method["at_peak"])
    tensors = largest_first(row for row in method["tensors"] if row["id"] in at_peak)
    rows = [
        Row(
            [
                Cell(group_digits(row["bytes"]), row["bytes"]),
                Cell(group_digits(row["offset"]), row["offset"]),
                Cell(row["tensor"]),
                Cell(row["origin"] or row["operator"] or row["kernel"] or ""),
                Cell(f"{row['first']} – {row['last']}"),
            ]
        )
        for row in tensors[: contents.limits.rows]
    ]
    return "\n".join(
        [
            heading,
            figures(amounts),
            _picture(method["live"], name),
            table(f"Tensors at the peak of {name}", _TITLES, rows, left=3),
            paragraph(". ".join(notes), "note"),
        ]
    )


_TITLES = ("Bytes", "Offset", "Tensor", "Written by", "Instructions")


def _picture(live: Sequence[int], name: str) -> str:
    """Return the bytes in use by instruction, as an area: the largest of each column."""
    if not live:
        return ""
    columns = min(len(live), _WIDTH // 2)
    top = max(max(live), 1)
    parts = [f"M0 {_HEIGHT}"]
    for i in range(columns):
        first, last = i * len(live) // columns, max((i + 1) * len(live) // columns, 1)
        height = max(live[first:last]) * _HEIGHT / top
        x0, x1 = (n * _WIDTH / columns for n in (i, i + 1))
        parts.append(f"L{x0:.1f} {_HEIGHT - height:.1f}H{x1:.1f}")
    path = "".join([*parts, f"V{_HEIGHT}z"])
    return (
        f'<svg class="live-bytes" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" '
        f'preserveAspectRatio="none"><title>{text(f"Bytes in use by instruction, {name}")}</title>'
        f'<path d="{path}"/></svg>'
    )

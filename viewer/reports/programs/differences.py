"""The output of `opscope sizes A --with B`: what differs between two program files. No Qt.

The data is a stable contract for scripts; the text is derived from it.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from viewer.analysis.programs.differences import ProgramDifferences, Row, program_differences
from viewer.analysis.programs.part_pairs import PairedBy
from viewer.analysis.sizes.file_parts import FileParts, file_parts
from viewer.model.text import one_line
from viewer.model.times import counted, group_digits, plain_spaces
from viewer.reports.columns import row_lines
from viewer.reports.info import HEAD, Facts
from viewer.reports.programs.sizes import exact_bytes, short_name
from viewer.workspace.program_of_executable import program_of_executable
from viewer.workspace.workspace import Workspace

_MOST_ROWS = 20  # changed rows of a table that the text lists
# Name of a table in JSON -> its title in the text.
_TABLES = {
    "kinds": "bytes by kind",
    "modules": "bytes by module",
    "operators": "bytes by operator",
    "memory": "planned bytes",
    "methods": "instructions by method",
    "instructions": "instructions",
    "kernels": "kernel calls",
    "delegates": "delegates",
    "nodes": "XNNPACK nodes",
}


def difference_problem(workspace: Workspace) -> str:
    """Return why the files of one side cannot be compared, "" if they can."""
    count = len(workspace.executables)
    return "" if count == 1 else f"needs one program file (.pte), but has {count}"


def difference_facts(a: Workspace, b: Workspace) -> Facts:
    """Return what differs between the program files of two sides, as `--json` prints it.

    Each side has one program file, and its ETRecord if there is one.
    """
    differences = program_differences(_parts(a), _parts(b))
    facts: Facts = {
        **HEAD,
        "a": _side(differences.a),
        "b": _side(differences.b),
        "paired_by": differences.paired_by.value,
    }
    return facts | {name: [_row(row) for row in _rows(differences, name)] for name in _TABLES}


def _parts(workspace: Workspace) -> FileParts:
    (executable,) = workspace.executables
    return file_parts(executable, program_of_executable(workspace, executable))


def _side(parts: FileParts) -> Facts:
    return {
        "file": parts.executable.path,
        "program": None if parts.program is None else parts.program.path,
        "bytes": parts.size,
    }


def _rows(differences: ProgramDifferences, name: str) -> Sequence[Row]:
    rows: Sequence[Row] = getattr(differences, name)
    return rows


def _row(row: Row) -> Facts:
    return {
        "label": row.label,
        "label_b": row.label_b or None,
        "a": row.a,
        "b": row.b,
        "change": row.change,
    }


def difference_text(facts: Facts) -> str:
    """Format the facts for people: the rows that differ, the largest change first."""
    a, b = facts["a"], facts["b"]
    lines = [
        f"A  {one_line(os.path.basename(a['file']))}: {exact_bytes(a['bytes'])}",
        f"B  {one_line(os.path.basename(b['file']))}: {exact_bytes(b['bytes'])}, "
        f"{_signed(b['bytes'] - a['bytes'])} B",
    ]
    if facts["paired_by"] == PairedBy.ORDER:
        lines.append(
            "Operators are paired by the order of calls: open the ETRecords of both files."
        )
    equal = []
    for name, title in _TABLES.items():
        rows = [row for row in facts[name] if row["a"] != row["b"] or row["label_b"]]
        if rows:
            lines += ["", *_table(title, rows, len(facts[name]) - len(rows))]
        elif facts[name]:
            equal.append(title)
    if equal:
        lines += ["", f"equal: {', '.join(equal)}"]
    return "\n".join(map(plain_spaces, lines))


def _table(title: str, rows: Sequence[Facts], equal: int) -> list[str]:
    table: list[tuple[str, ...]] = [(title, "A", "B", "B - A", "")]
    table += [_cells(row) for row in rows[:_MOST_ROWS]]
    lines = _padded(table)
    rest = len(rows) - _MOST_ROWS
    more = [f"{rest} more that differ (--json lists all)"] if rest > 0 else []
    more += [f"{counted(equal, 'row')} equal"] if equal else []
    return [*lines, f"  and {', '.join(more)}"] if more else lines


def _padded(table: Sequence[tuple[str, ...]]) -> list[str]:
    """The rows with the last column as text."""
    lines = row_lines([row[:-1] for row in table], left=1)
    return [f"{line}  {row[-1]}".rstrip() for line, row in zip(lines, table, strict=True)]


def _cells(row: Facts) -> tuple[str, ...]:
    a, b = row["a"], row["b"]
    only = "only in B" if a is None else "only in A" if b is None else ""
    label = short_name(row["label"])
    if row["label_b"]:
        label = f"{label} → {short_name(row['label_b'])}"
    numbers = ("" if count is None else group_digits(count) for count in (a, b))
    return (label, *numbers, _signed(row["change"]), only)


def _signed(change: int) -> str:
    return f"+{group_digits(change)}" if change > 0 else group_digits(change)

"""Reads tables of layers without starts, of any tool: a name and a duration in each row.

The rows are separated by commas, semicolons, tabs or bars, in boxes, in Markdown, in columns of
fixed width, or objects of a JSON array. `headings` finds what the columns are; `known` lists tools
with their sources. Each table is a track with one bar after another, in the order of the rows.

Tables with the same names in the same order are inferences. A row Total or Sum is compared with
the sum of the rows and not drawn; a difference beyond rounding is a problem. Layers that did not
run have no bar. Columns that say what a layer is are called `type`, `unit` (of the hardware),
`backend`, `kernel` and `count`, whatever the tool calls them. Whether durations are means, medians
or totals is in the name of the track. Cycles are ticks; their rate is assumed to be 1 GHz.

In tables of ExecuTorch's Inspector, a DELEGATE_CALL is around the rows of its delegate above it,
and Method::execute around the whole block.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from viewer.codecs.reading import Cancelled, Progress, UnreadableFile, faults_of, stop_if
from viewer.formats import HEAD_SIZE, format_of
from viewer.formats.json_objects import is_json
from viewer.formats.layers import json_tables
from viewer.formats.layers.blocks import Blocks
from viewer.formats.layers.json_tables import JsonTables
from viewer.formats.layers.tables import Start, Table, TextTables, start_of
from viewer.formats.row_reader import lines_of_head
from viewer.model.building.builder import TraceBuilder
from viewer.model.trace import Clock, Trace

_SAMPLE = 1 << 18


def sniff(head: bytes) -> bool:
    """Whether it has a table with names and durations and without starts near its start."""
    if json_tables.is_table(head):
        return True
    if is_json(head) or b"\0" in head:
        return False
    return _start(head, whole=len(head) < HEAD_SIZE) is not None


def _start(head: bytes, *, whole: bool) -> Start | None:
    lines: Sequence[str] = lines_of_head(head)
    return start_of(lines if whole else lines[:-1])


def read(path: str, progress: Progress, cancelled: Cancelled) -> Trace:
    """A bar per row. Raises UnreadableFile, ReadCancelled."""
    with faults_of(path), open(path, "rb") as file:
        sample = file.read(_SAMPLE)
    builder = TraceBuilder(path, FORMAT.name, "", Clock())
    if is_json(sample):
        stop_if(cancelled)
        tables = JsonTables(path, builder)
        tables.read()
        progress(1, 1)
        return _trace(path, builder, tables.tables, tables.runs)
    start = _start(sample, whole=len(sample) < _SAMPLE)
    if start is None:
        raise _no_table(path)
    text = TextTables(builder)
    if start.separator:
        text.read_separated(path, start.separator, progress, cancelled)
    else:
        text.read_lines(path, start, progress, cancelled)
    return _trace(path, builder, text.tables, text.runs)


def _no_table(path: str) -> UnreadableFile:
    return UnreadableFile(
        path,
        "it has no table with a name and a duration in each row",
        remedy="State its columns: --columns name=COLUMN,dur=COLUMN,unit=UNIT",
    )


def _trace(
    path: str,
    builder: TraceBuilder,
    tables: Sequence[Table],
    runs: str,
) -> Trace:
    blocks = Blocks(os.path.basename(path), builder)
    blocks.add_all(tables)
    if not len(blocks):
        raise _no_table(path)
    blocks.finish()
    builder.generation = next((table.title for table in tables if table.title), "")
    if runs.isdecimal():
        builder.state("Inferences measured", f"{int(runs):,}")
    return builder.build()


FORMAT = format_of("layers.reader")

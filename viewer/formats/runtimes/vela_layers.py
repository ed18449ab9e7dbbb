"""Reads the per-layer CSV of Vela, the compiler for Arm's Ethos-U: estimated cycles per operator.

Vela writes `<model>_per-layer.csv` for `--verbose-performance`: `print_performance` in
`ethosu/vela/npu_performance.py` of gitlab.arm.com/artificial-intelligence/ethos-u/ethos-u-vela,
a row for each operator in the order in which they are scheduled. Each part of the network that runs
on the NPU can have a header of its own, and is then a track of its own. The file states neither
starts nor the clock rate: bars are placed in order, and a rate of 1 GHz is assumed.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from fractions import Fraction

from viewer.codecs.reading import Cancelled, Progress, UnreadableFile
from viewer.formats import format_of
from viewer.formats.runtimes.rows import NO_TIME, PlacedBars, ticks_of
from viewer.formats.text_rows import UNFIT, TableRows, header_row, lines_of_head
from viewer.model.building.builder import TraceBuilder
from viewer.model.timing import Timing
from viewer.model.trace import Clock, Trace

_OPERATOR, _CYCLES, _NAME = "NNG Operator", "Op Cycles", "Name"
_REQUIRED = frozenset((_OPERATOR, _CYCLES, _NAME))
# A title is a line of its own above a header in what Vela prints.
_TITLE = "Performance for NPU Subgraph "


def sniff(head: bytes) -> bool:
    """Whether one of the first lines is the header."""
    return any(set(header_row(line)) >= _REQUIRED for line in lines_of_head(head)[:5])


def read(path: str, progress: Progress, cancelled: Cancelled) -> Trace:
    """A bar per operator, in cycles. Raises UnreadableFile, ReadCancelled."""
    builder = TraceBuilder(path, FORMAT.name, "", Clock("cycle", Fraction(1), assumed=True))
    bars = PlacedBars(builder, Timing.PLACED | Timing.ESTIMATED)
    rows = TableRows(path, builder, progress, cancelled)
    graphs = 0
    title = ""
    for line, row in rows:
        if set(row) >= _REQUIRED:
            rows.header, graphs = row, graphs + 1
            thread = title or ("layers" if graphs == 1 else f"layers of part {graphs}")
            track = builder.track(os.path.basename(path), f"placed · {thread}", flat=True)
        elif row[0].startswith(_TITLE):
            title = row[0].removeprefix(_TITLE)
        elif not rows.header:
            builder.problem(UNFIT, 1, f"line {line}")
        elif rows.fits(line, row):
            cells = dict(zip(rows.header, row, strict=True))
            length = ticks_of(cells[_CYCLES], 1)
            if length is None:
                builder.problem(NO_TIME, 1, f"line {line}")
                continue
            name = cells[_NAME] or cells[_OPERATOR]
            # The second "Network%" is the share of MACs.
            bars.add(track, name, length, line, _arguments(rows.header, row))
    if not rows.header:
        raise UnreadableFile(
            path, "it has no row with the columns NNG Operator, Op Cycles and Name", where="line 1"
        )
    bars.finish()
    return builder.build()


def _arguments(header: Sequence[str], row: Sequence[str]) -> dict[str, str]:
    arguments: dict[str, str] = {}
    for name, cell in zip(header, row, strict=True):
        arguments["MAC Network%" if name in arguments else name] = cell
    arguments.pop(_NAME)
    return arguments


FORMAT = format_of("runtimes.vela_layers")

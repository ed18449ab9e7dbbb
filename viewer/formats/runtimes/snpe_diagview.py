"""Reads the layers of SNPE that `snpe-diagview` extracts from a SNPEDiag log: CSV, or its report.

`snpe-diagview` of Qualcomm's SDK is not public. What it writes is known from its users:

* CSV (`--csv_format_version 2 --output FILE`): the columns `Message`, `Time`, `Unit of
  Measurement`, `Layer Id` and `Layer Name`, among others. Rows without a layer are totals;
  each run repeats all rows. (aljazkonec1/quantization-effect-checker, per_layer_profiler.py)
* the printed report: "Total Inference Time: 1328 us" and such below a title between lines, means of
  all runs, then "Per-Layer Execution Times:" (earlier "Layer Times:") with lines such as
  `1: sequential/MatMul:OpId_18 (cycles) : 1252 cycles : DSP` or `0: 1419 us : CPU`
"""

from __future__ import annotations

import re

from viewer.codecs.reading import Cancelled, Progress, UnreadableFile
from viewer.formats import format_of
from viewer.formats.runtimes.rows import (
    CYCLES,
    NO_TIME,
    NS_CLOCK,
    SURPLUS,
    US,
    Group,
    Value,
    has_two_rows,
    ticks_of,
    trace_of,
)
from viewer.formats.text_rows import UNFIT, TableRows, header_row, lines_of, lines_of_head
from viewer.model.building.builder import TraceBuilder
from viewer.model.trace import Trace

_MESSAGE, _TIME, _UNIT = "Message", "Time", "Unit of Measurement"
_LAYER, _NAME = "Layer Id", "Layer Name"
_REQUIRED = frozenset((_MESSAGE, _TIME, _UNIT, _LAYER, _NAME))
_REPORT = re.compile(
    rb"^(?:Per-Layer Execution Times|Layer Times|.{0,20}SNPE .{0,20}Statistics)", re.M
)
_SECTION = re.compile(r"(?:Average )?(SNPE .{0,60}Statistics.{0,20}|.{0,60}Statistics):?$")
_LAYER_LINE = re.compile(
    r"([0-9]{1,9}): (?:(\S.{0,4000}?) : )?([0-9]{1,18}) (us|cycles)(?: : (\S{1,40}))?$"
)
_SUBNET = re.compile(r"(Subnet [0-9]{1,9} \(\S{1,40}\)) : ([0-9]{1,18}) (us|cycles)$")
# A second one in the name of a layer: a line end is lost.
_TIMED = re.compile(r": [0-9]{1,18} (?:us|cycles)\b")
# What else stands in a section: rulers, titles of lists, and totals of nothing, without a unit.
_NO_VALUE = re.compile(
    r"[-=_*\s]*$|[^:]*:$|[^:]*: 0$|(?:Log File Created|Time Scale|Software library version):"
)
_ODD_LINE = "line that is no layer or total with a time: left out"
_TOTAL = re.compile(r"([A-Z][^:]{1,80}): ([0-9]{1,18}) (us|cycles)$")
_UNITS = {"US": US, "MICROSECONDS": US, "CYCLES": CYCLES}
# These take part in no execution.
_CREATION = re.compile(r"(?i)load|deserialize|create|init|de-init")


def sniff(head: bytes) -> bool:
    """Whether one of the first lines is the header of the CSV, or it is the printed report."""
    if any(set(header_row(line)) >= _REQUIRED for line in lines_of_head(head)[:10]):
        return True
    return b" us" in head and _REPORT.search(head) is not None


def read(path: str, progress: Progress, cancelled: Cancelled) -> Trace:
    """A bar per layer and total. Raises UnreadableFile, ReadCancelled."""
    builder = TraceBuilder(path, FORMAT.name, "", NS_CLOCK)
    with open(path, "rb") as file:
        head = file.read(4096)
    is_csv = any(set(header_row(line)) >= _REQUIRED for line in lines_of_head(head)[:10])
    read_groups = _of_csv if is_csv else _of_report
    groups = read_groups(path, builder, progress, cancelled)
    if not any(group.totals or group.nodes for group in groups):
        raise UnreadableFile(
            path,
            "it has no layer or total with a time",
            remedy="Record it again with --profiling_level detailed",
        )
    return trace_of(path, builder, groups)


def _of_csv(
    path: str, builder: TraceBuilder, progress: Progress, cancelled: Cancelled
) -> list[Group]:
    groups: list[Group] = []
    seen: set[tuple[str, str]] = set()
    rows = TableRows(path, builder, progress, cancelled)
    for line, row in rows:
        if set(row) >= _REQUIRED:
            rows.header = row
            continue
        header = rows.header
        if not header:
            rows.skip(line, row)
            continue
        width = len(header)
        if has_two_rows(row, width, header.index(_TIME), header.index(_UNIT)):
            builder.problem(UNFIT, 2, f"line {line}")
            continue
        if len(row) > width:
            builder.problem(SURPLUS, 1, f"line {line}")
        cells = dict(zip(header, row, strict=False))
        unit = _UNITS.get(cells.get(_UNIT, "").upper())
        amount = ticks_of(cells.get(_TIME, ""), 1)
        if unit is None:
            builder.problem("value that is no time, such as a count: not drawn", 1, f"line {line}")
            continue
        if amount is None:
            builder.problem(NO_TIME, 1, f"line {line}")
            continue
        # A row may end early.
        message, layer = cells.get(_MESSAGE, ""), cells.get(_LAYER, "")
        name = cells.get(_NAME, "") if layer else ""
        arguments = {
            key: text for key, text in cells.items() if key not in (_TIME, _UNIT, _NAME) and text
        }
        value = Value(name or message or f"layer {layer}", amount, unit, line, arguments)
        what = layer, message if not layer else ""
        is_creation = not layer and _CREATION.search(message) is not None
        stage = "create" if is_creation else "execute"
        if not groups or groups[-1].stage != stage or what in seen:
            groups.append(Group(stage, is_execution=not is_creation))
            seen = set()
        seen.add(what)
        (groups[-1].nodes if layer else groups[-1].totals).append(value)
    return groups


def _of_report(
    path: str, builder: TraceBuilder, progress: Progress, cancelled: Cancelled
) -> list[Group]:
    groups = [Group("create")]
    for first, lines in lines_of(path, builder, progress, cancelled):
        for line, raw in enumerate(lines, first):
            text = raw.strip()
            if section := _SECTION.match(text):
                is_creation = _CREATION.search(section[1]) is not None
                stage = "create" if is_creation else "execute (means)"
                groups.append(Group(stage, is_execution=not is_creation))
            elif (layer := _LAYER_LINE.match(text)) and not _TIMED.search(layer[2] or ""):
                number, name, amount, unit, core = layer.groups("")
                value = Value(
                    name or f"layer {number}", int(amount), unit, line,
                    {"layer": number, "core": core},
                )  # fmt: skip
                groups[-1].nodes.append(value)
            elif total := _SUBNET.match(text) or _TOTAL.match(text):
                groups[-1].totals.append(Value(total[1], int(total[2]), total[3], line, {}))
            elif len(groups) > 1 and not _NO_VALUE.match(text):
                builder.problem(_ODD_LINE, max(len(_TIMED.findall(text)), 1), f"line {line}")
    return _split_creation(groups)


def _split_creation(groups: list[Group]) -> list[Group]:
    """Stages of creation follow each other; only totals of executions contain each other."""
    split = []
    for group in groups:
        if group.stage == "create":
            split += [Group("create", [total]) for total in group.totals]
            if group.nodes:  # where the title of the executions is damaged
                split.append(Group("create", nodes=group.nodes))
        else:
            split.append(group)
    return split


FORMAT = format_of("runtimes.snpe_diagview")

"""Reads what Qualcomm's `qnn-profile-viewer` prints when it is not told to write a CSV.

The reader is that of its SDK's default library; the layout is known from public logs:

    Execute Stats (Average):
    ------------------------
    Total Inference Time:
        NetRun:  3011 us
        Backend (RPC (execute) time): 2901 us
    Node 0: Input OpId_2 (cycles): 34120 cycles

Totals of a section contain each other. The sections (Min) and (Max) are not drawn.
"""

from __future__ import annotations

import re

from viewer.codecs.reading import Cancelled, Progress, UnreadableFile
from viewer.formats import format_of
from viewer.formats.runtimes.qnn_csv import NOT_TIMES
from viewer.formats.runtimes.rows import (
    CYCLES,
    NO_TIME,
    NS_CLOCK,
    US,
    Group,
    Value,
    ticks_of,
    trace_of,
)
from viewer.formats.text_rows import UNFIT, lines_of
from viewer.model.building.builder import TraceBuilder
from viewer.model.trace import Trace

_MARK = re.compile(rb"qnn-profile-viewer v[0-9].*?^[A-Z][A-Za-z ]{2,40} Stats", re.DOTALL | re.M)
_SECTION = re.compile(r"([A-Z][A-Za-z -]{2,40}?) Stats(?: \((Average|Min|Max)\))?:\s*")
_TOTAL = re.compile(r"\s+(?:Backend \((.{1,200})\)|([A-Z]\w{1,40})):\s+([0-9]{1,18}) (\w{1,12})\s*")
_NODE = re.compile(r"\s*Node [0-9]{1,9}: (.{1,4000}): ([0-9]{1,18}) (\w{1,12})\s*")
_VALUE = re.compile(r":\s+[0-9]{1,18} \w")  # two of them: a line end is lost
_NEAR = re.compile(r"\s*(?:Node\b|NetRun|Backend\b)|.*:\s*[0-9]+ \w+\s*$")
_EXECUTE = "execute"
_UNITS = (US, CYCLES)


def sniff(head: bytes) -> bool:
    """Whether the viewer printed it, with a section of a stage near its start."""
    return _MARK.search(head) is not None


def read(path: str, progress: Progress, cancelled: Cancelled) -> Trace:
    """A bar per value with a time. Raises UnreadableFile, ReadCancelled."""
    builder = TraceBuilder(path, FORMAT.name, "", NS_CLOCK)
    groups: list[Group] = []
    is_repeated = False
    for first, lines in lines_of(path, builder, progress, cancelled):
        for number, line in enumerate(lines, first):
            text = line.rstrip("\n")
            if section := _SECTION.fullmatch(text):
                is_repeated = section[2] in ("Min", "Max")
                if section[2] == "Average":
                    builder.state("Durations", "averages of all executions")
                if not is_repeated:
                    stage = section[1].lower()
                    groups.append(Group(stage, is_execution=_EXECUTE in stage))
            elif groups and not is_repeated:
                _add(builder, groups[-1], number, text)
            elif not groups and (_TOTAL.fullmatch(text) or _NODE.fullmatch(text)):
                builder.problem(UNFIT, 1, f"line {number}")
    if not any(group.totals or group.nodes for group in groups):
        raise UnreadableFile(
            path,
            "this output of qnn-profile-viewer has no times",
            remedy="Record with --profiling_level detailed",
        )
    return trace_of(path, builder, groups)


def _add(builder: TraceBuilder, group: Group, line: int, text: str) -> None:
    where = f"line {line}"
    if len(_VALUE.findall(text)) > 1:
        builder.problem(UNFIT, 2, where)
        return
    if node := _NODE.fullmatch(text):
        name, amount, unit = node[1], node[2], node[3].lower()
    elif total := _TOTAL.fullmatch(text):
        name, amount, unit = total[1] or total[2], total[3], total[4].lower()
    else:
        if _NEAR.match(text):
            builder.problem(UNFIT, 1, where)
        return
    if unit not in _UNITS:
        builder.problem(NOT_TIMES, 1, where)
        return
    ticks = ticks_of(amount, 1)
    if ticks is None:
        builder.problem(NO_TIME, 1, where)
        return
    kind = "NODE" if node else group.stage.upper()
    value = Value(name, ticks, unit, line, {"type": kind})
    (group.nodes if node else group.totals).append(value)


FORMAT = format_of("runtimes.qnn_viewer_text")

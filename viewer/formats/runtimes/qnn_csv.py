"""Reads QNN's profiling events as CSV: of ONNX Runtime's QNN provider, and of the SDK's viewer.

ONNX Runtime writes the file of `profiling_file_path`: `QnnBackendManager::ExtractProfilingEvent` in
`onnxruntime/core/providers/qnn/builder/qnn_backend_manager.cc`, later `Serializer::InitCsvFile` and
`ProcessEvent` in `qnn_profile_serializer.cc`. `qnn-profile-viewer` of Qualcomm's SDK writes the
same columns:

    Msg Timestamp,Message,Time,Unit of Measurement,Timing Source,Event Level,Event Identifier

Later versions have further columns ("ONNX Source Ops"). `Message` is the type (INIT, EXECUTE, NODE,
BACKEND ...), the unit US, CYCLES, BYTES, COUNT ... `Event Level` is ROOT, or SUB-EVENT for what
belongs to the root above it. ONNX Runtime quotes nothing, so an identifier may contain commas. A
timestamp is "UNKNOWN", or one of the event's report and not of its start: it is a column.
Executions have no number: one ends where a root repeats, or another stage begins.
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
from viewer.formats.text_rows import UNFIT, TableRows, header_row, lines_of_head
from viewer.model.building.builder import TraceBuilder
from viewer.model.trace import Trace

_MESSAGE, _TIME, _UNIT = "Message", "Time", "Unit of Measurement"
_LEVEL, _NAME = "Event Level", "Event Identifier"
_REQUIRED = frozenset((_MESSAGE, _TIME, _UNIT, _LEVEL, _NAME))
_TIMESTAMP = "Msg Timestamp"
_KNOWN = _REQUIRED | {_TIMESTAMP}
_STAGE = re.compile(r"\(([a-z][a-z -]{0,30})\)", re.IGNORECASE)
_UNITS = {"US": US, "CYCLES": CYCLES}
NOT_TIMES = "value that is no time, such as a count or bytes: not drawn"
_NO_NAME = ("", "NULL")
_EXECUTE = "execute"
_UNKNOWN = ("UNKNOWN", "0", "")


def sniff(head: bytes) -> bool:
    """Whether one of the first lines is the header."""
    return any(set(header_row(line)) >= _REQUIRED for line in lines_of_head(head)[:10])


def read(path: str, progress: Progress, cancelled: Cancelled) -> Trace:
    """A bar per event with a time. Raises UnreadableFile, ReadCancelled."""
    builder = TraceBuilder(path, FORMAT.name, "", NS_CLOCK)
    rows = TableRows(path, builder, progress, cancelled, keeps_spaces=True)
    events = _Events(builder, rows)
    for line, row in rows:
        events.add(line, row)
    if not rows.header:
        raise UnreadableFile(
            path, "it has no row with the columns Message, Time and Event Identifier",
            where="line 1",
        )  # fmt: skip
    return trace_of(path, builder, events.groups)


class _Events:
    def __init__(self, builder: TraceBuilder, rows: TableRows) -> None:
        self.groups: list[Group] = []
        self._builder, self._rows = builder, rows
        self._seen: set[tuple[str, str]] = set()

    def add(self, line: int, row: list[str]) -> None:
        """Add one row; before the header, the viewer writes about itself."""
        cells_of_row = [cell.strip() for cell in row]
        if set(cells_of_row) >= _REQUIRED:
            self._rows.header = cells_of_row
            return
        header = self._rows.header
        if not header:
            self._rows.skip(line, row)
            return
        width = len(header)
        if has_two_rows(row, width, header.index(_TIME), header.index(_UNIT)):
            self._builder.problem(UNFIT, 2, _at(line))
            return
        if len(row) > width:
            if header[-1] == _NAME:
                row = [*row[: width - 1], ",".join(row[width - 1 :])]
            else:
                self._builder.problem(SURPLUS, 1, _at(line))
        cells = {key: cell.strip() for key, cell in zip(header, row, strict=False)}
        if len(row) < width:
            self._builder.problem("row with fewer cells than the header: left out", 1, _at(line))
            return
        unit = _UNITS.get(cells[_UNIT].upper())
        if unit is None:
            self._builder.problem(NOT_TIMES, 1, _at(line))
            return
        amount = ticks_of(cells[_TIME], 1)
        if amount is None:
            self._builder.problem(NO_TIME, 1, _at(line))
            return
        name, message = cells[_NAME], cells[_MESSAGE]
        stated = "" if name in _NO_NAME else name
        arguments = {
            "type": message,
            "timestamp": "" if (timestamp := cells.get(_TIMESTAMP, "")) in _UNKNOWN else timestamp,
            **{key: text for key, text in cells.items() if key not in _KNOWN},
        }
        value = Value(stated or message or "event", amount, unit, line, arguments)
        self._place(value, message, stated, is_root=cells[_LEVEL].upper() == "ROOT")

    def _place(self, value: Value, message: str, name: str, *, is_root: bool) -> None:
        match = _STAGE.search(name.replace("(cycles)", ""))
        stage = (match[1] if match else message).lower()
        is_node = message.upper() == "NODE" or not (is_root or match)
        if not is_node:
            key = value.name, value.unit
            is_new = not self.groups or self.groups[-1].stage != stage or key in self._seen
            if is_new and not (is_root or not self.groups):
                is_new = False  # a total below its root, which may state another stage
            if is_new:
                self.groups.append(Group(stage, is_execution=_EXECUTE in stage))
                self._seen = set()
            self._seen.add(key)
            self.groups[-1].totals.append(value)
            return
        if not self.groups:
            self.groups.append(Group(_EXECUTE, is_execution=True))
        self.groups[-1].nodes.append(value)


def _at(line: int) -> str:
    return f"line {line}"


FORMAT = format_of("runtimes.qnn_csv")

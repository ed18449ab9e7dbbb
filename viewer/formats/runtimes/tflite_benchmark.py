"""Reads the operator tables of LiteRT's (TensorFlow Lite's) `benchmark_model`.

`benchmark_model --enable_op_profiling=true` prints them, and writes them to the file of
`--profiling_output_csv_file` (`op_profiling_output_file` in later versions). The writer is
`StatsCalculator::GetOutputString` of TensorFlow (`tensorflow/core/util/stats_calculator.cc`, later
`xla/tsl/util/stats_calculator.cc`), and `tensorflow/lite/profiling/profile_summary_formatter.cc`
around it. A table has a title between `=` signs, a header, and a row for each node:

    [node type] [start] [first] [avg ms] [%] [cdf%] [mem KB] [times called] [Name]    with tabs
    node type, start, first, avg_ms, %, cdf%, mem KB, times called, name              as CSV

Later versions have no start. Before a table there can be lines that name its part: initialization
or regular runs, the subgraph, "Delegate internal". TensorFlow's own `benchmark_model` writes a
time and a source position before each line.

Only the tables "Run Order" are read, since the others repeat their rows. A bar has the length
`avg`, and is placed in order, also where a mean start is stated: it is a column. A line that looks
like a row, but is in no known table, is counted. Around the tables are times of whole runs:

    Inference timings in us: Init: 11331, First inference: 23118, Warmup (avg): 10911, ...
    Timings (microseconds): count=50 first=10977 curr=10811 min=10702 max=11102 avg=10815 std=71
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence

from viewer.codecs.reading import Cancelled, Progress, UnreadableFile
from viewer.formats import format_of
from viewer.formats.runtimes.rows import NO_TIME, PlacedBars, amount, ticks_of
from viewer.formats.text_rows import UNFIT, lines_of
from viewer.model.building.builder import TraceBuilder
from viewer.model.times import format_time
from viewer.model.trace import Clock, RunKind, Trace

_LOG = r"(?:[0-9:. -]+: )?(?:I|INFO):? (?:\S+\.cc:[0-9]+\] )?"
_PREFIX = re.compile(rf"^\s*(?:{_LOG})?")
_WHOLE_RUNS = re.compile(r"Inference timings in us: (.{1,400})$")
_WHOLE_RUN = re.compile(r"([A-Z][A-Za-z ()]{1,40}): ([0-9.e+]{1,20})(?:, |$)")
_SPREAD = re.compile(r"Timings \(microseconds\): (count=.{1,400})$")
_AMOUNT = re.compile(r"(count|first|min|max|avg|std)=([0-9.e+]{1,20})")
_STATED = {
    "Init": "Initialization", "Warmup (avg)": "Warm-up (mean)",
    "Inference (avg)": "Inference (mean)",
}  # fmt: skip
_TITLE = re.compile(r"=====+ *([^=]{1,80}?) *=====+")
# Their rows are those of "Run Order", or totals of them.
_OTHER_TITLES = ("Top by Computation Time", "Top by Memory Use", "Summary by node type")
_SECTION = re.compile(
    r"(?:Operator-wise )?Profiling Info for (.{1,80}?):?$"
    r"|(Primary graph|Subgraph) \((.{1,200}?)\).*$|(Delegate internal):?$"
)
_TABBED, _CSV = "[node type]", "node type"
_OTHER_TABLES = {"[Node type]", "node type, count"}
_KNOWN = {
    "avg ms": "avg", "avg_ms": "avg", "node type": "type", "Name": "name", "start": "start ms",
    "first": "first ms",
}  # fmt: skip
INITIALIZATION = "initialization"
_PARTS = {"Benchmark Initialization": INITIALIZATION, "Regular Benchmark Runs": "regular runs"}
_STARTED = re.compile(rb"\A\s*(?:INFO: )?STARTING!\s")
_MS, _US = 10**6, 10**3  # ns
_MOST_CELL = 4096
_NO_TABLE = "row without a table that is known: left out"
# Of the six or seven numbers of a row; a line of the log has fewer, and no shares.
_NUMBERS = 4


def sniff(head: bytes) -> bool:
    """Whether it is a log of the program, or has a table of nodes near its start."""
    is_table = b"[node type]" in head and b"[avg ms]" in head
    is_csv = b"node type, " in head and b"avg_ms" in head
    return is_table or is_csv or _STARTED.match(head) is not None


def read(path: str, progress: Progress, cancelled: Cancelled) -> Trace:
    """A bar per node of each table. Raises UnreadableFile, ReadCancelled."""
    builder = TraceBuilder(path, FORMAT.name, "", Clock())
    tables = _Tables(path, builder)
    for first, lines in lines_of(path, builder, progress, cancelled):
        for number, line in enumerate(lines, first):
            tables.add(number, _PREFIX.sub("", line, count=1))
    if not tables.headers:
        raise UnreadableFile(
            path,
            "this output of benchmark_model has no table of operators",
            remedy="Run it with --enable_op_profiling=true",
        )
    tables.bars.finish()
    for track in sorted(tables.loads):
        end = tables.bars.end_of(track)
        builder.run(RunKind.LOAD, INITIALIZATION, track, 0, 0, end, is_apart=tables.has_runs)
    return builder.build()


class _Tables:
    """The tables of a file, line by line."""

    def __init__(self, path: str, builder: TraceBuilder) -> None:
        self.bars = PlacedBars(builder)
        self.headers = 0
        self.loads: set[int] = set()  # the tracks of what ran once
        self._builder = builder
        self._process = os.path.basename(path)
        self._title = ""
        self._part = self._graph = ""
        self._header: Sequence[str] = ()
        self._is_other = False  # whether the table is one that is not read
        self._is_ended = False  # whether an empty line came after the rows of the table
        self._separator = ""
        self._track = 0
        self._tracks: set[int] = set()  # with a bar

    @property
    def has_runs(self) -> bool:
        """Whether there are bars of anything but initialization."""
        return any(track not in self.loads for track in self._tracks)

    def add(self, number: int, line: str) -> None:
        """Add one line, without what a log writes before it."""
        text = line.strip()
        if text.startswith(("Inference timings", "Timings (")):
            self._state(text)
        elif title := _TITLE.search(text):
            self._title, self._header = title[1], ()
            self._is_other = title[1] in _OTHER_TITLES
        elif section := _SECTION.match(text):
            self._header, self._is_other = (), False
            if section[1]:
                self._part, self._graph = _PARTS.get(section[1], section[1]), ""
            else:
                self._graph = section[3] or section[4]
        elif any(text.startswith(other) for other in _OTHER_TABLES):
            self._header, self._is_other = (), True
        elif text.startswith((_TABBED, f"{_CSV},")) and self._title in ("", "Run Order"):
            self._start(number, text)
        elif not text:
            self._is_ended = True
        elif self._header and not (self._is_ended and not _rows_in(text)):
            self._row(number, line)
        elif not self._is_other and (rows := _rows_in(text)):
            self._builder.problem(_NO_TABLE, rows, f"line {number}")

    def _state(self, text: str) -> None:
        """Keep the times of whole runs."""
        if match := _WHOLE_RUNS.match(text):
            for name, value in _WHOLE_RUN.findall(match[1]):
                if (ns := ticks_of(value, _US)) is not None:
                    self._builder.state(_STATED.get(name, name), format_time(ns))
        elif match := _SPREAD.match(text):
            self._header = ()
            parts = []
            for name, value in _AMOUNT.findall(match[1]):
                ns = ticks_of(value, _US)
                if ns is not None:
                    is_count = name == "count"
                    parts.append(f"{name} {value if is_count else format_time(ns)}")
            what = self._part or "runs"
            self._builder.state(f"{what[0].upper()}{what[1:]}", ", ".join(parts))

    def _start(self, number: int, text: str) -> None:
        self.headers += 1
        self._is_other = self._is_ended = False
        self._separator = "\t" if text.startswith(_TABBED) else ","
        names = [cell.strip().strip("[]") for cell in text.split(self._separator)]
        if more := _rows_in(text):  # the line end after the header is lost
            self._builder.problem(UNFIT, more, f"line {number}")
            is_name = [name.startswith(("Name", "name")) for name in names]
            names = names[: is_name.index(True) + 1] if any(is_name) else names
        self._header = [_KNOWN.get(name, name) for name in names]
        where = ", ".join(filter(None, (self._part, self._graph))) or "operators"
        self._track = self._builder.track(self._process, f"placed · {where} (means)", flat=True)

    def _row(self, number: int, line: str) -> None:
        count = len(self._header)
        # A name is the last cell and may contain the separator.
        cells = [cell.strip() for cell in line.strip().split(self._separator, count - 1)]
        if "%" in cells[-1] and len(cells) == count and (more := _rows_in(cells[-1])):
            self._builder.problem(UNFIT, 1 + more, f"line {number}")
            return
        by_name = dict(zip(self._header, cells, strict=False))
        length = ticks_of(by_name.pop("avg", ""), _MS)
        if len(cells) != count or length is None:
            self._builder.problem(NO_TIME, 1, f"line {number}")
            return
        name = by_name.pop("name", "") or by_name.get("type", "")
        self.bars.add(self._track, name[:_MOST_CELL], length, number, by_name)
        self._tracks.add(self._track)
        if self._part == INITIALIZATION:
            self.loads.add(self._track)


def _rows_in(text: str) -> int:
    """How many rows a text has, by their numbers and shares; 0 if it is none."""
    for separator in "\t,":
        cells = [cell.strip() for cell in text.split(separator)]
        shares = [cell.endswith("%") for cell in cells]
        numbers = sum(amount(cell.removesuffix("%")) is not None for cell in cells)
        if numbers >= _NUMBERS and any(shares):
            return max(sum(shares) // 2, 1)
    return 0


FORMAT = format_of("runtimes.tflite_benchmark")

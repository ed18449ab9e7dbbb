"""Tables whose rows commands make: inferences, links, findings, problems, calls and more.

`viewer.SCHEMA` is raised when the meaning of a column changes; columns are only added.
"""

from __future__ import annotations

from fractions import Fraction

from viewer.model.times import plain_spaces, tick_to_ns
from viewer.tables.columns import DERIVED, METHOD, OF_FILE, ColumnSpec, TableSpec, ticks_and_ns

# A row has a run, its label, its start and end on the axis of its clock, and its methods.
INFERENCES = TableSpec("inferences", (
    OF_FILE,
    ColumnSpec("label", "string", "Method and number, as displayed", "label"),
    METHOD,
    ColumnSpec("index", "int64", "Number in its scope, from 1", "run.number"),
    ColumnSpec("start_ns", "int64", "Start, from the start of its clock", "start_ns", "ns"),
    ColumnSpec("dur_ns", "int64", "Duration", lambda row: row.end_ns - row.start_ns, "ns"),
    ColumnSpec("finished", "bool", "Whether it completed", "run.finished"),
    ColumnSpec("warm_up", "bool", "Whether figures per inference leave it out", "run.warms_up"),
    ColumnSpec("methods", "object", "Methods that it may have run while that is open, a list",
        "methods"),
    ColumnSpec("phase", "string", "Phase of its method, such as prefill; missing if there is one",
        lambda row: row.run.phase or None, lake=2),
    ColumnSpec("gap_ns", "Int64", "Idle time since the inference before; missing for the first",
        "gap_ns", "ns", lake=2),
))  # fmt: skip

LINKS = TableSpec("links", (
    ColumnSpec("trace", "category", "Path of the profile"),
    ColumnSpec("program", "category", "Path of the ETRecord or source"),
    METHOD,
    ColumnSpec("linkable", "int64", "Number of slices that could have operators"),
    ColumnSpec("linked", "int64", "How many of them have"),
    ColumnSpec("coverage", "float64", "The same as a share, 0 to 1"),
    ColumnSpec("covered_time", "float64", "Share of the time of linkable slices, 0 to 1"),
    ColumnSpec("by_reason", "object", "Number of slices by reason, a dict"),
    ColumnSpec("match", "float64", "How well it fits, 0 to 1; missing without evidence"),
    ColumnSpec("agreement", "float64", "Former name of `match`"),
    ColumnSpec("evidence", "int64", "Number of names that were compared"),
    ColumnSpec("program_file", "category", "Path of the program file that ran"),
    ColumnSpec("reason", "string", '"match", "chosen", or why it is not linked'),
    ColumnSpec("warnings", "object", "Why a linked program may be a wrong one, a list of texts"),
))  # fmt: skip

# A row has a finding, the ns of a tick as `rate`, and its place as data.
FINDINGS = TableSpec("findings", (
    OF_FILE,
    ColumnSpec("kind", "category", "Rule", "finding.family.key"),
    ColumnSpec("title", "string", "What was found", lambda row: plain_spaces(row.finding.title)),
    ColumnSpec("detail", "string", "The figures", lambda row: plain_spaces(row.finding.detail)),
    ColumnSpec("severity", "category", '"high", "medium", "low" or "info"', "finding.severity.key"),
    ColumnSpec("threshold", "string", "When the rule reports",
        lambda row: plain_spaces(row.finding.rule)),
    ColumnSpec("compares_all_inferences", "bool", "Whether it is about all inferences",
        "finding.across"),
    ColumnSpec("ticks", "int64", "The most time that it could save", "finding.ticks", "ticks"),
    ColumnSpec("ns", "int64", "The most time that it could save, rounded down",
        lambda row: tick_to_ns(row.finding.ticks, row.rate), "ns"),
    ColumnSpec("gain_ns", "int64",
        "The same per inference, where all are of one method, rounded down",
        lambda row: tick_to_ns(row.finding.gain.stated, row.rate), "ns"),
    ColumnSpec("base_ns", "int64", "What `gain_ns` is a part of; 0 without a gain, rounded down",
        lambda row: tick_to_ns(Fraction(row.finding.whole, row.finding.gain.per), row.rate), "ns"),
    ColumnSpec("per_inferences", "int64", "How many inferences `gain_ns` is the mean of",
        "finding.gain.per"),
    ColumnSpec("share", "float64", "Share of the time of the scope, 0 to 1",
        lambda row: None if row.finding.share is None else round(row.finding.share, 6)),
    ColumnSpec("phase", "string", "Phase or method that it is about; missing if there is only one",
        lambda row: row.finding.phase or None),
    ColumnSpec("levels", "object", "Of a change over time, a list: `first_inference` from 1, "
        "`p50_ns`, and `factor` to the first level", "levels"),
    ColumnSpec("advice", "string", "What to do, or what is known about the cause",
        lambda row: plain_spaces(row.finding.advice)),
    ColumnSpec("place", "object", "Where it is, as in `opscope findings --json`", "place"),
))  # fmt: skip

# A row is a problem of a file.
PROBLEMS = TableSpec("problems", (
    ColumnSpec("file", "category", "Path of the file", title="File"),
    ColumnSpec("kind", "string", "What is unexpected", "kind", title="What"),
    ColumnSpec("count", "int64", "How often", "count", title="Count"),
    ColumnSpec("first", "string", "Where it first occurs", "first", title="First"),
))  # fmt: skip

COUNTERS = TableSpec("counters", (
    OF_FILE,
    ColumnSpec("process", "category", "Process, as displayed"),
    ColumnSpec("name", "category", "Name of the counter"),
    ColumnSpec("unit", "category", "Unit of the values; missing for a count"),
    ColumnSpec("start_ns", "int64", "From when the value holds, until the next row", unit="ns"),
    ColumnSpec("start_ticks", "int64", "The same, as in the file", unit="ticks"),
    ColumnSpec("value", "float64", "The value", unit="unit"),
    DERIVED,
))  # fmt: skip

FLOWS = TableSpec("flows", (
    OF_FILE,
    ColumnSpec("producer", "int64", "Slice that produces a result: its row in `slices`"),
    ColumnSpec("consumer", "int64", "Slice that consumes it: its row in `slices`"),
    ColumnSpec("kind", "category", '"stated" in the file, or "proven" by the graph of the model'),
))  # fmt: skip

CALLS = TableSpec("calls", (
    OF_FILE,
    ColumnSpec("path", "object", "Names of process, thread and frames, a list"),
    *ticks_and_ns("total", "Time with what it calls"),
    *ticks_and_ns("self", "Time without what it calls"),
    ColumnSpec("count", "int64", "Number of slices"),
))  # fmt: skip

COMPARISON = TableSpec("compare", (
    ColumnSpec("level", "category", "What the row is: operator, delegate_event, line and more"),
    ColumnSpec("label", "string", "Its name"),
    ColumnSpec("grade", "category", "How it was paired: same, moved, resized and more"),
    ColumnSpec("why", "string", "The same in words"),
    ColumnSpec("a", "object", "Side A, a dict: handles, instructions, event, ns, sessions"),
    ColumnSpec("b", "object", "Side B, or None"),
    ColumnSpec("change", "float64", "B / A - 1"),
    ColumnSpec("ci", "object", "Its 95 % interval, a list of two"),
    ColumnSpec("change_ns", "Int64", "B - A", unit="ns"),
    ColumnSpec("p", "float64", "p-value"),
    ColumnSpec("q", "float64", "p-value, corrected for the number of rows"),
    ColumnSpec("detectable", "float64", "Smallest change that would have been proven"),
    ColumnSpec("verdict", "category", "slower, faster, no_change or cannot_tell"),
    ColumnSpec("reason", "category", "Why there is no verdict"),
    ColumnSpec("drift", "float64", "Drift within the sessions"),
    ColumnSpec("note", "string", "A warning about the drift"),
    ColumnSpec("a_ns", "Int64", "Median of A, as in `a`", unit="ns"),
    ColumnSpec("b_ns", "Int64", "Median of B, as in `b`", unit="ns"),
))  # fmt: skip

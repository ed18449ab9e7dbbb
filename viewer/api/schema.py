"""The columns of every table of a profile: name, dtype, unit and meaning.

The dtypes are pandas'. Times are whole nanoseconds or ticks, never float seconds. A nullable dtype
(`Int64`, `boolean`), a category, a string and a float64 may be missing where a value is not known;
the others never are. Columns are only added; `viewer.SCHEMA` is raised when a meaning changes.
"""

from __future__ import annotations

from dataclasses import dataclass

CATEGORY, STRING, OBJECT = "category", "string", "object"
INT, NULLABLE_INT, FLOAT, BOOL = "int64", "Int64", "float64", "bool"


@dataclass(frozen=True, slots=True)
class ColumnSpec:
    """One column. unit: "ns", "ticks", "bytes", or "" for a number or text without one."""

    name: str
    dtype: str
    unit: str
    meaning: str


_FILE = ColumnSpec("file", CATEGORY, "", "Path of the profile")


def _ticks_and_ns(name: str, meaning: str, dtype: str = INT) -> tuple[ColumnSpec, ...]:
    """Two columns of one time: in ticks of the profile's clock, and in ns."""
    return (
        ColumnSpec(f"{name}_ticks", dtype, "ticks", meaning),
        ColumnSpec(f"{name}_ns", dtype, "ns", f"{meaning}, rounded down"),
    )


def _former(name: str, now: str, dtype: str = INT) -> tuple[ColumnSpec, ...]:
    """The two columns of a time under their former name, which stays for one version."""
    return (
        ColumnSpec(f"{name}_ticks", dtype, "ticks", f"Former name of {now}_ticks"),
        ColumnSpec(f"{name}_ns", dtype, "ns", f"Former name of {now}_ns"),
    )


_CALLED_FROM = '"file:line" of your own files, if the source is in an installed package'

SLICES = (
    ColumnSpec("process", CATEGORY, "", "Process, as displayed; of an ETDump its file name"),
    ColumnSpec("thread", CATEGORY, "", "Thread, as displayed"),
    ColumnSpec("depth", NULLABLE_INT, "", "Level on the thread, 0 for the outermost slices"),
    ColumnSpec("name", CATEGORY, "", "Name, as logged"),
    ColumnSpec(
        "start_ns",
        INT,
        "ns",
        "Start, as the file counts; with several clocks, from the start of each clock",
    ),
    ColumnSpec("dur_ns", INT, "ns", "Duration: the difference of the rounded ends"),
    ColumnSpec(
        "start_ticks",
        NULLABLE_INT,
        "ticks",
        "Start, as in the file; 2^32 more for each wrap of a counter before it",
    ),
    ColumnSpec("dur_ticks", NULLABLE_INT, "ticks", "Duration, as in the file"),
    ColumnSpec("inference", NULLABLE_INT, "", "Number of the inference in which it starts, from 1"),
    ColumnSpec("method", CATEGORY, "", "Method of the model"),
    ColumnSpec("instruction_id", NULLABLE_INT, "", "Instruction of the runtime, or NSS job"),
    ColumnSpec("identifier", CATEGORY, "", "Delegate debug identifier, as logged"),
    ColumnSpec("debug_handles", CATEGORY, "", "Debug handles, as a JSON list"),
    ColumnSpec("operators", CATEGORY, "", "Edge dialect operators, as a JSON list"),
    ColumnSpec("node", CATEGORY, "", 'Graph nodes that it ran, joined by "; "'),
    ColumnSpec("op_type", CATEGORY, "", 'Operators of these nodes, joined by "; "'),
    ColumnSpec("module", CATEGORY, "", 'Module paths of these nodes, joined by "; "'),
    ColumnSpec("source", CATEGORY, "", '"file:line" of these nodes, joined by "; "'),
    ColumnSpec("link_reason", CATEGORY, "", "How the operators were found, or why there are none"),
    ColumnSpec("timing", CATEGORY, "", 'Where the time comes from: "measured", "rounded" and more'),
    ColumnSpec("derived", BOOL, "", "Whether Opscope computed it and the file does not state it"),
    ColumnSpec("native_start", NULLABLE_INT, "native_unit", "Start on a clock of its own"),
    ColumnSpec(
        "native_dur",
        NULLABLE_INT,
        "native_unit",
        "Duration on a clock of its own, or a value",
    ),
    ColumnSpec("native_unit", CATEGORY, "", "Unit of that clock"),
    ColumnSpec("metadata", CATEGORY, "", "Metadata of a delegate, as logged"),
    ColumnSpec("called_from", CATEGORY, "", _CALLED_FROM),
)

OPERATORS = (
    _FILE,
    ColumnSpec("record", CATEGORY, "", "Path of the ETRecord or source"),
    ColumnSpec("method", CATEGORY, "", "Method of the model"),
    ColumnSpec("debug_handle", NULLABLE_INT, "", "Debug handle in its method"),
    ColumnSpec("operator", CATEGORY, "", "Call in the source of the model"),
    ColumnSpec("module", CATEGORY, "", "Path of its module"),
    ColumnSpec("operators", CATEGORY, "", "Edge dialect operators, as a JSON list"),
    ColumnSpec("source", CATEGORY, "", '"file:line"'),
    ColumnSpec("nodes", INT, "", "Number of its graph nodes"),
    ColumnSpec("outputs", CATEGORY, "", "Types and shapes of its results, as a JSON list"),
    ColumnSpec("called_from", CATEGORY, "", _CALLED_FROM),
    *_ticks_and_ns("self", "Time of slices that are linked to it alone", NULLABLE_INT),
    *_ticks_and_ns("shared", "Time of slices that it shares with others", NULLABLE_INT),
    *_ticks_and_ns("kernel", "Time of its kernels", NULLABLE_INT),
    ColumnSpec("slices", NULLABLE_INT, "", "Number of slices that are linked to it alone"),
    ColumnSpec("shared_groups", CATEGORY, "", "Groups that share slices, as a JSON list"),
    ColumnSpec("shared_group_ticks", CATEGORY, "ticks", "Time of each group, as a JSON list"),
    ColumnSpec("shared_group_ns", CATEGORY, "ns", "Time of each group, as a JSON list"),
    ColumnSpec("inferences", NULLABLE_INT, "", "Number of inferences that the times cover"),
    ColumnSpec("warm_up_inferences", NULLABLE_INT, "", "How many of them warm up"),
    *_former("own", "self", NULLABLE_INT),
)

NODES = (
    ColumnSpec("record", CATEGORY, "", "Path of the ETRecord or source"),
    ColumnSpec("method", CATEGORY, "", "Method of the model"),
    ColumnSpec("debug_handle", NULLABLE_INT, "", "Debug handle in its method"),
    ColumnSpec("node", STRING, "", "Name in the graph"),
    ColumnSpec("op", CATEGORY, "", "Operator of the edge dialect"),
    ColumnSpec("op_type", CATEGORY, "", "Short name of the call that it came from"),
    ColumnSpec("module", CATEGORY, "", "Path of its innermost module"),
    ColumnSpec("source", CATEGORY, "", '"file:line"'),
    ColumnSpec("branch", CATEGORY, "", "Part of control flow that contains it"),
    ColumnSpec("inputs", CATEGORY, "", "Types and shapes of its tensors, as a JSON list"),
    ColumnSpec("outputs", CATEGORY, "", "Types and shapes of its results, as a JSON list"),
    ColumnSpec("called_from", CATEGORY, "", _CALLED_FROM),
)

INFERENCES = (
    _FILE,
    ColumnSpec("label", STRING, "", "Method and number, as displayed"),
    ColumnSpec("method", CATEGORY, "", "Method of the model"),
    ColumnSpec("index", INT, "", "Number in its scope, from 1"),
    ColumnSpec("start_ns", INT, "ns", "Start, from the start of its clock"),
    ColumnSpec("dur_ns", INT, "ns", "Duration"),
    ColumnSpec("finished", BOOL, "", "Whether it completed"),
    ColumnSpec("warm_up", BOOL, "", "Whether figures per inference leave it out"),
    ColumnSpec("methods", OBJECT, "", "Methods that it may have run while that is open, a list"),
)

LINES = (
    _FILE,
    ColumnSpec("source", CATEGORY, "", "Recorded path of the source file"),
    ColumnSpec("line", INT, "", "Line number, from 1"),
    ColumnSpec("text", STRING, "", "The line, as recorded"),
    *_ticks_and_ns("self", "Time of slices of this line alone"),
    *_ticks_and_ns("shared", "Time of slices that it shares with other lines"),
    *_former("own", "self"),
)

MODULES = (
    _FILE,
    ColumnSpec("method", CATEGORY, "", "Method of the model"),
    ColumnSpec("module", STRING, "", "Path of the module; empty for the whole program"),
    ColumnSpec("kind", CATEGORY, "", '"model", "method", "module" or "operators without a module"'),
    ColumnSpec("type", CATEGORY, "", "Its class"),
    ColumnSpec("depth", INT, "", "Level, 0 for the whole program"),
    ColumnSpec("operators", INT, "", "Number of operators in it and below it"),
    *_ticks_and_ns("total", "Time of the module and all below it"),
    *_ticks_and_ns("self", "Time of operators directly in it"),
    *_ticks_and_ns("shared", "Time that several modules below it share"),
    *_ticks_and_ns("outside", "Time that it shares with modules outside; in no other column"),
    ColumnSpec("slices", INT, "", "Number of slices of the module and all below it"),
    *_former("own", "self"),
)

LINKS = (
    ColumnSpec("trace", CATEGORY, "", "Path of the profile"),
    ColumnSpec("program", CATEGORY, "", "Path of the ETRecord or source"),
    ColumnSpec("method", CATEGORY, "", "Method of the model"),
    ColumnSpec("linkable", INT, "", "Number of slices that could have operators"),
    ColumnSpec("linked", INT, "", "How many of them have"),
    ColumnSpec("coverage", FLOAT, "", "The same as a share, 0 to 1"),
    ColumnSpec("covered_time", FLOAT, "", "Share of the time of linkable slices, 0 to 1"),
    ColumnSpec("by_reason", OBJECT, "", "Number of slices by reason, a dict"),
    ColumnSpec("match", FLOAT, "", "How well it fits, 0 to 1; missing without evidence"),
    ColumnSpec("agreement", FLOAT, "", "Former name of `match`"),
    ColumnSpec("evidence", INT, "", "Number of names that were compared"),
    ColumnSpec("program_file", CATEGORY, "", "Path of the program file that ran"),
    ColumnSpec("reason", STRING, "", '"match", "chosen", or why it is not linked'),
    ColumnSpec("warnings", OBJECT, "", "Why a linked program may be a wrong one, a list of texts"),
)

FINDINGS = (
    _FILE,
    ColumnSpec("kind", CATEGORY, "", "Rule"),
    ColumnSpec("title", STRING, "", "What was found"),
    ColumnSpec("detail", STRING, "", "The figures"),
    ColumnSpec("severity", CATEGORY, "", '"high", "medium", "low" or "info"'),
    ColumnSpec("threshold", STRING, "", "When the rule reports"),
    ColumnSpec("compares_all_inferences", BOOL, "", "Whether it is about all inferences"),
    ColumnSpec("ticks", INT, "ticks", "The most time that it could save"),
    ColumnSpec("ns", INT, "ns", "The most time that it could save, rounded down"),
    ColumnSpec(
        "gain_ns", INT, "ns", "The same per inference, where all are of one method, rounded down"
    ),
    ColumnSpec("base_ns", INT, "ns", "What `gain_ns` is a part of; 0 without a gain, rounded down"),
    ColumnSpec("per_inferences", INT, "", "How many inferences `gain_ns` is the mean of"),
    ColumnSpec("share", FLOAT, "", "Share of the time of the scope, 0 to 1"),
    ColumnSpec("place", OBJECT, "", "Where it is, as in `opscope findings --json`"),
)

PROBLEMS = (
    ColumnSpec("file", CATEGORY, "", "Path of the file"),
    ColumnSpec("kind", STRING, "", "What is unexpected"),
    ColumnSpec("count", INT, "", "How often"),
    ColumnSpec("first", STRING, "", "Where it first occurs"),
)

COUNTERS = (
    _FILE,
    ColumnSpec("process", CATEGORY, "", "Process, as displayed"),
    ColumnSpec("name", CATEGORY, "", "Name of the counter"),
    ColumnSpec("unit", CATEGORY, "", "Unit of the values; missing for a count"),
    ColumnSpec("start_ns", INT, "ns", "From when the value holds, until the next row"),
    ColumnSpec("start_ticks", INT, "ticks", "The same, as in the file"),
    ColumnSpec("value", FLOAT, "unit", "The value"),
    ColumnSpec("derived", BOOL, "", "Whether Opscope computed it and the file does not state it"),
)

FLOWS = (
    _FILE,
    ColumnSpec("producer", INT, "", "Slice that produces a result: its row in `slices`"),
    ColumnSpec("consumer", INT, "", "Slice that consumes it: its row in `slices`"),
    ColumnSpec("kind", CATEGORY, "", '"stated" in the file, or "proven" by the graph of the model'),
)

# -- what methods return ---------------------------------------------------------------------------


def _lengths() -> tuple[ColumnSpec, ...]:
    """The durations of the slices of a group."""
    texts = {
        "mean": "Mean duration of its slices",
        "min": "Shortest duration",
        "max": "Longest duration",
        "p50": "Median duration",
        "p90": "90th percentile of the durations",
    }
    return tuple(
        spec
        for name, text in texts.items()
        for spec in (
            ColumnSpec(f"{name}_ticks", FLOAT, "ticks", text),
            ColumnSpec(f"{name}_ns", NULLABLE_INT, "ns", f"{text}, rounded down"),
        )
    )


STATISTICS = (
    _FILE,
    ColumnSpec("key", STRING, "", "The group, for scripts"),
    ColumnSpec("label", STRING, "", "The group, as displayed"),
    ColumnSpec("share", FLOAT, "", "Share of wall time, 0 to 1"),
    *_ticks_and_ns("total", "Time of its outermost slices"),
    *_ticks_and_ns("self", "Time without slices of other groups inside", NULLABLE_INT),
    ColumnSpec("count", NULLABLE_INT, "", "Number of its slices"),
    *_lengths(),
    ColumnSpec("share_of", CATEGORY, "", "What the share is of"),
    *_ticks_and_ns("wall", "Each instant of a thread once; groups add up", NULLABLE_INT),
)

CALLS = (
    _FILE,
    ColumnSpec("path", OBJECT, "", "Names of process, thread and frames, a list"),
    *_ticks_and_ns("total", "Time with what it calls"),
    *_ticks_and_ns("self", "Time without what it calls"),
    ColumnSpec("count", INT, "", "Number of slices"),
)

COSTS = (
    _FILE,
    ColumnSpec("operators", OBJECT, "", "Labels of the operators, a list; empty for the rest"),
    ColumnSpec("debug_handles", OBJECT, "", "Their debug handles, a list"),
    ColumnSpec("shared", BOOL, "", "Whether several operators share the time"),
    *_ticks_and_ns("time", "Self time of the set of operators"),
    *_ticks_and_ns("kernel", "Time of its kernels"),
    ColumnSpec("share", FLOAT, "", "Share of the whole, 0 to 1"),
    ColumnSpec("slices", NULLABLE_INT, "", "Number of slices"),
    *_ticks_and_ns("wall", "Each instant of a thread once; rows add up"),
)

COMPARISON = (
    ColumnSpec("level", CATEGORY, "", "What the row is: operator, delegate_event, line and more"),
    ColumnSpec("label", STRING, "", "Its name"),
    ColumnSpec("grade", CATEGORY, "", "How it was paired: same, moved, rewritten and more"),
    ColumnSpec("why", STRING, "", "The same in words"),
    ColumnSpec("a", OBJECT, "", "Side A, a dict: handles, instructions, event, ns, sessions"),
    ColumnSpec("b", OBJECT, "", "Side B, or None"),
    ColumnSpec("change", FLOAT, "", "B / A - 1"),
    ColumnSpec("ci", OBJECT, "", "Its 95 % interval, a list of two"),
    ColumnSpec("change_ns", NULLABLE_INT, "ns", "B - A"),
    ColumnSpec("p", FLOAT, "", "p-value"),
    ColumnSpec("q", FLOAT, "", "p-value, corrected for the number of rows"),
    ColumnSpec("detectable", FLOAT, "", "Smallest change that would have been proven"),
    ColumnSpec("verdict", CATEGORY, "", "slower, faster, no_change or cannot_tell"),
    ColumnSpec("reason", CATEGORY, "", "Why there is no verdict"),
    ColumnSpec("drift", FLOAT, "", "Drift within the sessions"),
    ColumnSpec("note", STRING, "", "A warning about the drift"),
    ColumnSpec("a_ns", NULLABLE_INT, "ns", "Median of A, as in `a`"),
    ColumnSpec("b_ns", NULLABLE_INT, "ns", "Median of B, as in `b`"),
)

ANSWERS = {"stats": STATISTICS, "calls": CALLS, "cost": COSTS, "compare": COMPARISON}

TABLES = {
    "slices": SLICES,
    "operators": OPERATORS,
    "nodes": NODES,
    "inferences": INFERENCES,
    "lines": LINES,
    "modules": MODULES,
    "links": LINKS,
    "findings": FINDINGS,
    "problems": PROBLEMS,
    "counters": COUNTERS,
    "flows": FLOWS,
}

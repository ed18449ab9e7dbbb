"""The tables of a lake: their columns, types and numbers.

Every table has a number, its *schema*, in the metadata of its files and in the name of their
folder: `LAKE/table=operators/schema=1/`. A change only ever adds a column at the end, with the next
number in `lake`, so files of all numbers can be read as one table; what an old file lacks is null.
Times are whole nanoseconds, rounded down. Time that several operators share is never divided: it is
in a column, or a row, of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from viewer.dataclasses import dataclass
from viewer.tables import catalog
from viewer.tables.columns import ColumnSpec, TableSpec

if TYPE_CHECKING:
    import pyarrow as pa

TEXT: Final = "string"
INT: Final = "int64"
FLOAT: Final = "double"
BOOL: Final = "bool"
_TYPES = {"int64": INT, "Int64": INT, "float64": FLOAT, "bool": BOOL}
# Keys of the metadata of a file, and the prefix of folders.
TABLE_KEY, SCHEMA_KEY, VERSION_KEY = b"opscope.table", b"opscope.schema", b"opscope"


def lake_type(column: ColumnSpec) -> str:
    """Return the type of a column in a lake."""
    return _TYPES.get(column.dtype, TEXT)


@dataclass(frozen=True, slots=True)
class LakeTable(TableSpec):
    """One table: its columns, and what a row is."""

    meaning: str

    @property
    def schema(self) -> int:
        """The number of its schema: that of the column that was added last."""
        return max(column.lake or 1 for column in self.columns)

    def folder(self) -> str:
        """The folder of its files in a lake: "table=operators/schema=1"."""
        return f"table={self.name}/schema={self.schema}"

    def arrow(self) -> pa.Schema:
        """The schema of its files, with the number and the version of Opscope as metadata.

        Texts are dictionaries, as most of them repeat. Needs pyarrow.
        """
        import pyarrow as pa

        from viewer import __version__

        types = {
            TEXT: pa.dictionary(pa.int32(), pa.string()),
            INT: pa.int64(),
            FLOAT: pa.float64(),
            BOOL: pa.bool_(),
        }
        return pa.schema(
            [pa.field(column.name, types[lake_type(column)]) for column in self.columns],
            {
                TABLE_KEY: self.name.encode(),
                SCHEMA_KEY: str(self.schema).encode(),
                VERSION_KEY: __version__.encode(),
            },
        )


KEYS = (
    ColumnSpec("key", TEXT, "Unit of work: the same in all tables for one profile"),
    ColumnSpec("device", TEXT, "Device that recorded the profile; null if not known"),
    ColumnSpec("build", TEXT, "Build of the software; null if not known"),
    ColumnSpec("model", TEXT, "Model; null if not known"),
)
_METHOD = ColumnSpec("method", TEXT, "Method of the model, or the name of its scope")
_CLOCK = ColumnSpec("clock", TEXT, '"ns", or "cycle" if the rate of the clock is assumed')
_NONE = TableSpec("", ())


def _table(
    name: str, meaning: str, first: Sequence[ColumnSpec | str], profiles: TableSpec = _NONE
) -> LakeTable:
    """Return a table of a lake.

    first: the columns of its first schema, those of `profiles` by name; they never change.
    profiles: the table of one profile, whose columns with a number in `lake` follow.
    """
    chosen = [profiles[c] if isinstance(c, str) else c for c in first]
    later = [c for c in profiles.columns if c.lake > 1]
    ordered = (*KEYS, *chosen, *sorted(later, key=lambda column: column.lake))
    return LakeTable(name, ordered, meaning)


OPERATORS = _table(
    "operators",
    "an operator of a profile's ETRecord, with its cost in all inferences that finished",
    (
        "method", "debug_handle", "operator", "module", "operators", "source", "nodes", "outputs",
        "own_ns", "shared_ns", "kernel_ns", "slices", "shared_groups", "shared_group_ns",
        "inferences", "warm_up_inferences",
    ),
    catalog.TABLES["operators"],
)  # fmt: skip

INFERENCE_OPERATORS = _table(
    "inference_operators",
    "a set of operators in one inference: their times add up, also over self and shared. A profile "
    "without linked operators has its instructions, or its names. Only "
    "inferences that finished and do not warm up, and only what took time in them",
    (
        ColumnSpec("session", INT,
            "Recording in the file, from 1; the next one if its clock restarts"),
        _METHOD,
        ColumnSpec("inference", INT, "Number of the inference in its method, from 1"),
        ColumnSpec("level", TEXT, '"operators", "calls" or "names": what the row is'),
        ColumnSpec("id", TEXT, 'Identity in its method: debug handles such as "12" or "12+13"'),
        ColumnSpec("label", TEXT, "Modules and operators, as displayed"),
        ColumnSpec("type", TEXT, 'Calls in the source of the model, joined by " + "'),
        ColumnSpec("module", TEXT, 'Paths of modules, joined by " + "'),
        ColumnSpec("source", TEXT, '"file:line", joined by "; "'),
        ColumnSpec("backend", TEXT, 'Delegates that ran it, joined by " + "; null if none did'),
        ColumnSpec("operators", INT, "Number of operators: more than 1 if they share the time"),
        ColumnSpec("own_ns", INT, "Former name of self_ns", unit="ns"),
        ColumnSpec("shared_ns", INT, "Time that several operators share, else 0", unit="ns"),
        ColumnSpec("calls", INT, "Number of slices; kernels inside calls are not counted"),
        ColumnSpec("grain_ns", "float64",
            "Resolution of the clock, times the calls: smaller differences are not measured",
            unit="ns"),
        ColumnSpec("measured", BOOL, "Whether all of the time was measured, and not estimated"),
        _CLOCK,
        ColumnSpec("self_ns", INT,
            "Time of one operator, call or name alone, else 0", unit="ns", lake=2, former="own_ns"),
    ),
)  # fmt: skip

INFERENCES = _table(
    "inferences",
    "an inference, including those that warm up or did not finish",
    (
        ColumnSpec("session", INT, "As in inference_operators; null if it is in none"),
        _METHOD,
        ColumnSpec("inference", INT, "Number of the inference in its method, from 1"),
        ColumnSpec("start_ns", INT, "Start, on the clock of the profile", unit="ns"),
        "dur_ns",
        "finished",
        "warm_up",
        ColumnSpec("count", INT, "Number of runs that it represents; more than 1 for a mean"),
    ),
    catalog.TABLES["inferences"],
)

SLICES = _table(
    "slices",
    "a slice: what ran, where and when",
    (
        "process", "thread", "depth", "name", "start_ns", "dur_ns", "inference", "method",
        "instruction_id", "identifier", "debug_handles", "operators", "op_type", "module", "source",
        "link_reason", "timing", "derived",
    ),
    catalog.TABLES["slices"],
)  # fmt: skip

FINDINGS = _table(
    "findings",
    "a performance finding of a profile, ranked as in `opscope findings`",
    (
        ColumnSpec("rank", INT, "Rank in the profile, from 1"),
        "kind", "title", "detail", "severity", "ns", "share",
    ),
    catalog.TABLES["findings"],
)  # fmt: skip

PROBLEMS = _table(
    "problems",
    "unexpected data: in a profile, in its ETRecord, in its run.json, or in how they match",
    (
        ColumnSpec("about", TEXT, '"profile", "record", "labels" or "link"'),
        "file", "kind", "count", "first",
    ),
    catalog.TABLES["problems"],
)  # fmt: skip

FILES = _table(
    "files",
    "a profile: always written, one row per unit of work",
    (
        ColumnSpec("tags", TEXT, "Tags, as a JSON object of texts"),
        ColumnSpec("source", TEXT, "Path or URL of the profile"),
        ColumnSpec("sha256", TEXT, "SHA-256 of the profile"),
        ColumnSpec("size", INT, "Its size", unit="bytes"),
        ColumnSpec("format", TEXT, "Its format"),
        ColumnSpec("generation", TEXT, "Generation of the format, if it has several"),
        ColumnSpec("records", TEXT, "SHA-256 of the files it was linked with, as a JSON list"),
        ColumnSpec("record", TEXT, "Path or URL of the ETRecord that it matches; null if none"),
        ColumnSpec("slices", INT, "Number of slices"),
        ColumnSpec("inferences", INT, "Number of inferences"),
        ColumnSpec("sessions", INT, "Number of recordings: 1, or more if its clock restarted"),
        "linkable", "linked",
        _CLOCK,
        ColumnSpec("ns_per_tick", "float64", "Length of a tick of its clock", unit="ns"),
        ColumnSpec("recording", TEXT, "Recording that it is of, as opscope record names it",
            lake=2),
        ColumnSpec("run_order", INT, "Its place in that recording, from 1", lake=2),
        ColumnSpec("temperature_c", "float64", "Temperature of the device before it, in °C",
            lake=2),
        ColumnSpec("temperature_of", TEXT,
            '"cpu", "battery" or "other": what has that temperature', lake=2),
        ColumnSpec("frequency_khz", "float64", "Clock of the fastest CPUs while it ran, in kHz",
            lake=2),
        ColumnSpec("date", TEXT,
            "Day of the recording in UTC, such as 2026-11-29: as run.json states it, else when the "
            "file was last changed", lake=3),
    ),
    catalog.TABLES["links"],
)  # fmt: skip

TABLES = {
    table.name: table
    for table in (
        OPERATORS, INFERENCE_OPERATORS, INFERENCES, SLICES, FINDINGS, PROBLEMS, FILES,
    )
}  # fmt: skip
# What a build writes without --tables. FILES and PROBLEMS are always written.
DEFAULT_TABLES = ("operators", "inference_operators", "inferences")
ALWAYS = (FILES.name, PROBLEMS.name)


def chosen_tables(names: Sequence[str]) -> tuple[LakeTable, ...]:
    """Return tables by name, with those that are always written, in the order of `TABLES`.

    Raises KeyError for a name that is not in `TABLES`.
    """
    for name in names:
        if name not in TABLES:
            raise KeyError(name)
    return tuple(table for name, table in TABLES.items() if name in names or name in ALWAYS)

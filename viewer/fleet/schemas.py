"""The tables of a lake: their columns, types and numbers.

Every table has a number, its *schema*, in the metadata of its files and in the name of their
folder: `LAKE/table=operators/schema=1/`. A change only ever adds a column at the end, with the next
number in `since`, so files of all numbers can be read as one table; what an old file lacks is null.

Every row starts with the same columns (`KEYS`): the unit of work that it is from, and where the
profile was recorded. Times are whole nanoseconds, rounded down, from the figures of the cost
panels. Time that several operators share is never divided: it is in a column, or a row, of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from viewer.tables import catalog
from viewer.tables.spec import ColumnSpec, TableSpec

if TYPE_CHECKING:
    import pyarrow as pa

TEXT, INT, FLOAT, BOOL = "string", "int64", "double", "bool"
_TYPES = {"int64": INT, "Int64": INT, "float64": FLOAT, "bool": BOOL}
# Keys of the metadata of a file, and the prefix of folders.
TABLE_KEY, SCHEMA_KEY, VERSION_KEY = b"opscope.table", b"opscope.schema", b"opscope"


@dataclass(frozen=True, slots=True)
class LakeColumn:
    """One column. unit: "ns", "bytes" or "". since: the number of the schema that added it.

    former: the column of older files that it replaces, "" for none.
    """

    name: str
    type: str
    meaning: str
    unit: str = ""
    since: int = 1
    former: str = ""

    @classmethod
    def of(cls, spec: ColumnSpec) -> LakeColumn:
        """Return a column of a profile's table as one of a lake."""
        kind = _TYPES.get(spec.dtype, TEXT)
        return cls(spec.name, kind, spec.meaning, spec.unit, spec.lake or 1, spec.former)


@dataclass(frozen=True, slots=True)
class LakeTable:
    """One table: what a row is, and its columns."""

    name: str
    meaning: str
    columns: tuple[LakeColumn, ...]

    @property
    def schema(self) -> int:
        """The number of its schema: that of the column that was added last."""
        return max(column.since for column in self.columns)

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
            [pa.field(column.name, types[column.type]) for column in self.columns],
            {
                TABLE_KEY: self.name.encode(),
                SCHEMA_KEY: str(self.schema).encode(),
                VERSION_KEY: __version__.encode(),
            },
        )


KEYS = (
    LakeColumn("key", TEXT, "Unit of work: the same in all tables for one profile"),
    LakeColumn("device", TEXT, "Device that recorded the profile; null if not known"),
    LakeColumn("build", TEXT, "Build of the software; null if not known"),
    LakeColumn("model", TEXT, "Model; null if not known"),
)
_METHOD = LakeColumn("method", TEXT, "Method of the model, or the name of its scope")
_CLOCK = LakeColumn("clock", TEXT, '"ns", or "cycle" if the rate of the clock is assumed')


def _table(
    name: str, meaning: str, first: Sequence[LakeColumn | str], profiles: TableSpec | None = None
) -> LakeTable:
    """Return a table of a lake.

    first: the columns of its first schema, those of `profiles` by name; they never change.
    profiles: the table of one profile, whose columns with a number in `lake` follow.
    """
    columns = () if profiles is None else profiles.columns
    known = {column.name: LakeColumn.of(column) for column in columns}
    chosen = [known[one] if isinstance(one, str) else one for one in first]
    later = [one for one in known.values() if one.since > 1]
    return LakeTable(name, meaning, (*KEYS, *chosen, *sorted(later, key=lambda one: one.since)))


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
        LakeColumn("session", INT,
            "Recording in the file, from 1; the next one if its clock restarts"),
        _METHOD,
        LakeColumn("inference", INT, "Number of the inference in its method, from 1"),
        LakeColumn("level", TEXT, '"operators", "calls" or "names": what the row is'),
        LakeColumn("id", TEXT, 'Identity in its method: debug handles such as "12" or "12+13"'),
        LakeColumn("label", TEXT, "Modules and operators, as displayed"),
        LakeColumn("type", TEXT, 'Calls in the source of the model, joined by " + "'),
        LakeColumn("module", TEXT, 'Paths of modules, joined by " + "'),
        LakeColumn("source", TEXT, '"file:line", joined by "; "'),
        LakeColumn("backend", TEXT, 'Delegates that ran it, joined by " + "; null if none did'),
        LakeColumn("operators", INT, "Number of operators: more than 1 if they share the time"),
        LakeColumn("own_ns", INT, "Former name of self_ns", "ns"),
        LakeColumn("shared_ns", INT, "Time that several operators share, else 0", "ns"),
        LakeColumn("calls", INT, "Number of slices; kernels inside calls are not counted"),
        LakeColumn("grain_ns", FLOAT,
            "Resolution of the clock, times the calls: smaller differences are not measured", "ns"),
        LakeColumn("measured", BOOL, "Whether all of the time was measured, and not estimated"),
        _CLOCK,
        LakeColumn("self_ns", INT,
            "Time of one operator, call or name alone, else 0", "ns", 2, "own_ns"),
    ),
)  # fmt: skip

INFERENCES = _table(
    "inferences",
    "an inference, including those that warm up or did not finish",
    (
        LakeColumn("session", INT, "As in inference_operators; null if it is in none"),
        _METHOD,
        LakeColumn("inference", INT, "Number of the inference in its method, from 1"),
        LakeColumn("start_ns", INT, "Start, on the clock of the profile", "ns"),
        "dur_ns",
        "finished",
        "warm_up",
        LakeColumn("count", INT, "Number of runs that it represents; more than 1 for a mean"),
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
        LakeColumn("rank", INT, "Rank in the profile, from 1"),
        "kind", "title", "detail", "severity", "ns", "share",
    ),
    catalog.TABLES["findings"],
)  # fmt: skip

PROBLEMS = _table(
    "problems",
    "unexpected data: in a profile, in its ETRecord, in its run.json, or in how they match",
    (
        LakeColumn("about", TEXT, '"profile", "record", "labels" or "link"'),
        "file", "kind", "count", "first",
    ),
    catalog.TABLES["problems"],
)  # fmt: skip

FILES = _table(
    "files",
    "a profile: always written, one row per unit of work",
    (
        LakeColumn("tags", TEXT, "Tags, as a JSON object of texts"),
        LakeColumn("source", TEXT, "Path or URL of the profile"),
        LakeColumn("sha256", TEXT, "SHA-256 of the profile"),
        LakeColumn("size", INT, "Its size", "bytes"),
        LakeColumn("format", TEXT, "Its format"),
        LakeColumn("generation", TEXT, "Generation of the format, if it has several"),
        LakeColumn("records", TEXT, "SHA-256 of the files it was linked with, as a JSON list"),
        LakeColumn("record", TEXT, "Path or URL of the ETRecord that it matches; null if none"),
        LakeColumn("slices", INT, "Number of slices"),
        LakeColumn("inferences", INT, "Number of inferences"),
        LakeColumn("sessions", INT, "Number of recordings: 1, or more if its clock restarted"),
        "linkable", "linked",
        _CLOCK,
        LakeColumn("ns_per_tick", FLOAT, "Length of a tick of its clock", "ns"),
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

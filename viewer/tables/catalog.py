"""All tables of profiles: `TABLES` are properties of a `viewer.Profile`, `ANSWERS` its methods."""

from __future__ import annotations

from viewer.tables.command_rows import (
    CALLS,
    COMPARISON,
    COUNTERS,
    FINDINGS,
    FLOWS,
    INFERENCES,
    LINKS,
    PROBLEMS,
)
from viewer.tables.operators import COSTS, LINES, MODULES, NODES, OPERATORS
from viewer.tables.slices import SLICES
from viewer.tables.statistics import STATISTICS

ANSWERS = {table.name: table for table in (STATISTICS, CALLS, COSTS, COMPARISON)}

TABLES = {
    table.name: table
    for table in (
        SLICES, OPERATORS, NODES, INFERENCES, LINES, MODULES, LINKS, FINDINGS, PROBLEMS, COUNTERS,
        FLOWS,
    )
}  # fmt: skip

"""The tables of open files, each a DataFrame that is built when it is first used and then kept."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

from viewer.analysis.cost.costs import Costs, CostTable
from viewer.analysis.links.link_table import LinkTable
from viewer.tables.catalog import TABLES
from viewer.tables.columns import TableSpec
from viewer.workspace.snapshot import LinkedTrace, Snapshot
from viewer.workspace.workspace import Workspace

if TYPE_CHECKING:
    import pandas as pd

    from viewer.reports.info import Facts
    from viewer.tables.slices import SliceTable


class ProfileTables:
    """The tables of the files of a workspace. `viewer.tables` has their columns.

    A table has the rows of all files. Texts that repeat are categories; numbers of slices are the
    arrays that Opscope itself uses, so that tables of large files take little memory. Copy a table
    before you change values in it.
    """

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace
        self.database: object = None  # that of `viewer.api.sql`, once a query has made it

    @cached_property
    def slices(self) -> pd.DataFrame:
        """All slices: what ran, where, when, for how long, and the operators behind it.

        A column takes memory when it is first used; `slices_with` has only some of them.
        """
        from viewer.api.frames import frame_of_slices

        return frame_of_slices(self.sliced)

    def slices_with(self, *columns: str) -> pd.DataFrame:
        """Return all slices with only some columns, in this order.

        Args:
            columns: Names of columns of `slices`.

        Returns:
            A row for each slice.

        Raises:
            KeyError: For a column that slices do not have.
        """
        from viewer.api.frames import frame_of_slices

        known = dict.fromkeys(name for table in self.sliced for name in table.names)
        for name in columns:
            if name not in (known or set(TABLES["slices"].names)):
                raise KeyError(f"slices have no column {name!r}; they have {', '.join(known)}")
        return frame_of_slices(self.sliced, columns)

    @cached_property
    def operators(self) -> pd.DataFrame:
        """The operators of the models with their cost, or without one if no profile is open."""
        from viewer.tables.operators import costed_operator_columns, operator_columns

        linked = [one for one in self.linked if one.table.program is not None]
        tables: list[dict[str, Any]] = [
            dict(costed_operator_columns(one.table, one.rate.ns_per_tick)) for one in linked
        ]
        if not self.linked:
            tables = [
                {"record": [program.path] * len(program.operators), **operator_columns(program)}
                for program in self._snapshot.programs
            ]
        return self._joined(TABLES["operators"], tables)

    @cached_property
    def nodes(self) -> pd.DataFrame:
        """The graph nodes of the operators of the models."""
        from viewer.tables.operators import node_columns

        return self._joined(
            TABLES["nodes"], [node_columns(program) for program in self._snapshot.programs]
        )

    @cached_property
    def inferences(self) -> pd.DataFrame:
        """When each inference ran."""
        return self._file_rows(TABLES["inferences"], self._info, "inferences")

    @cached_property
    def lines(self) -> pd.DataFrame:
        """The source lines with a cost."""
        from viewer.tables.operators import line_rows

        return self._cost_rows(TABLES["lines"], line_rows)

    @cached_property
    def modules(self) -> pd.DataFrame:
        """The modules of the models with their cost, outer ones first."""
        from viewer.tables.operators import module_rows

        return self._cost_rows(TABLES["modules"], module_rows)

    @cached_property
    def links(self) -> pd.DataFrame:
        """How profiles fit models, and how many slices are linked."""
        return self._rows(TABLES["links"], self._info["links"])

    @cached_property
    def findings(self) -> pd.DataFrame:
        """What to improve, ranked by the most time that it could save, profile by profile."""
        from viewer.reports.summary import findings_facts

        return self._file_rows(TABLES["findings"], findings_facts(self.workspace), "findings")

    @cached_property
    def problems(self) -> pd.DataFrame:
        """Unexpected data in the files that was kept or left out."""
        return self._file_rows(TABLES["problems"], self._info, "problems")

    @cached_property
    def counters(self) -> pd.DataFrame:
        """The values of counters, a row where one changes: those of files and those of units."""
        from viewer.api.frames import frame_of_counters

        return frame_of_counters(self.workspace, self.linked)

    @cached_property
    def flows(self) -> pd.DataFrame:
        """From which slices results go to which, as rows of `slices`.

        Those stated in the files come first. Of at most 20,000 slices per profile, it is looked up
        where their inputs come from.
        """
        from viewer.api.frames import frame_of_flows

        return frame_of_flows(self.linked)

    def info(self) -> Facts:
        """Return what `opscope info --json` prints: the files, their links and their problems.

        Returns:
            Dicts and lists, as JSON has them; times are whole ns.
        """
        from viewer.reports.info import info

        return info(self.workspace)

    @cached_property
    def _info(self) -> Facts:
        return self.info()

    @property
    def linked(self) -> Sequence[LinkedTrace]:
        """The open profiles with their links and clocks; not public."""
        return self._snapshot.traces

    @cached_property
    def _snapshot(self) -> Snapshot:
        return Snapshot.of(self.workspace)

    @cached_property
    def sliced(self) -> Sequence[SliceTable]:
        """The slices of each of them; not public."""
        from viewer.workspace.exports import slice_tables

        return slice_tables(self.linked)

    @cached_property
    def _costs(self) -> list[tuple[LinkedTrace, CostTable]]:
        """The profiles with operators, and the cost of these in each whole profile."""
        linked = [one for one in self.linked if one.table.program is not None]
        return [(one, Costs(one.table).table()) for one in linked]

    def _cost_rows(
        self, spec: TableSpec, rows_of: Callable[[LinkTable, CostTable, Fraction], list[Facts]]
    ) -> pd.DataFrame:
        parts = [rows_of(one.table, costs, one.rate.ns_per_tick) for one, costs in self._costs]
        return self._rows(spec, [row for part in parts for row in part])

    def _file_rows(self, spec: TableSpec, facts: Facts, name: str) -> pd.DataFrame:
        """Return the rows that all files have in the list of a name, with the file in front."""
        files = facts["files"]
        return self._rows(
            spec, [{"file": file["path"], **row} for file in files for row in file[name]]
        )

    def _rows(self, spec: TableSpec, rows: list[Facts]) -> pd.DataFrame:
        from viewer.api.frames import frame_of_rows

        return frame_of_rows(rows, spec)

    def _joined(self, spec: TableSpec, tables: Sequence[dict[str, Any]]) -> pd.DataFrame:
        """Return several tables as one; what a table lacks is missing."""
        from viewer.api.frames import frame_of_columns

        columns: dict[str, list[Any]] = {name: [] for name in spec.names}
        for table in tables:
            count = len(next(iter(table.values()), ()))
            for name, values in columns.items():
                values += list(table.get(name, [None] * count))
        return frame_of_columns(columns, spec)

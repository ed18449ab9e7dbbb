"""A `Profile`: open files, their tables, and the answers of the commands about them."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from viewer.api.profile_tables import ProfileTables
from viewer.tables.catalog import ANSWERS, TABLES
from viewer.workspace.workspace import Workspace

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

    from viewer.api.frames import Answer
    from viewer.api.outputs import Picture


class Profile(ProfileTables):
    """Open profiles with their models, as `viewer.open` returns them.

    The properties are tables; the methods are what the commands of `opscope` compute. Times are
    whole ns and ticks. `workspace` has the open files, for what is not public.
    """

    def __init__(
        self,
        workspace: Workspace,
        options: Sequence[str] = (),
        again: tuple[Callable[..., Profile], tuple[Any, ...]] | None = None,
    ) -> None:
        """Take open files; `viewer.open` does.

        Args:
            workspace: The open files.
            options: Those that the files were opened with, as arguments of the command line.
            again: What opens the same files in another process, and its arguments: a pickle of a
                profile has these and not the tables.
        """
        super().__init__(workspace)
        self._options = tuple(options)
        self._again = again

    def __reduce__(self) -> tuple[Callable[..., Profile], tuple[Any, ...]]:
        if self._again is None:
            raise TypeError("only a Profile that viewer.open returned can be pickled")
        return self._again

    def __repr__(self) -> str:
        names = ", ".join(os.path.basename(path) for path in self.files)
        return f"<Profile of {names}>"

    @property
    def files(self) -> list[str]:
        """The paths of the open files."""
        return self.workspace.paths

    @property
    def warnings(self) -> list[str]:
        """What should be known about how the files belong together, as sentences."""
        return [text for trace in self.workspace.traces for text in self.workspace.warnings(trace)]

    def summary(self) -> str:
        """Return the files, their links and their problems as text: `opscope info`.

        Returns:
            Several lines.
        """
        from viewer.reports.info import info_text

        return info_text(self.workspace)

    def query(self, text: str) -> pd.DataFrame:
        """Return the slices that match a query of the window's search, as in `slices`.

        Args:
            text: Such as `"op:conv dur > 1ms"`: see *Search* in the help.

        Returns:
            Rows of `slices`.

        Raises:
            ValueError: For a query with an error, for one that requires what no profile has, and
                for one with an unknown field before a colon that matches nothing.
        """
        import numpy as np

        from viewer.analysis.search.query import parse
        from viewer.reports.slices import ready_for

        query = parse(text)
        found = [one.matches(query) for one in ready_for(query, self._snapshot.traces)]
        matching = np.concatenate([np.empty(0, np.bool_), *found])
        if query.unknown and not matching.any():
            raise ValueError(query.advice)
        return self.slices[matching]

    def sql(
        self,
        select: str,
        parameters: Mapping[str, object] | None = None,
        *,
        max_seconds: float = 60.0,
        max_memory: str = "2G",
    ) -> pd.DataFrame:
        """Run one query with DuckDB on the tables: `opscope query`. Needs the extra `query`.

        Every property is a table with its columns; also `threads`, `arguments`, and Perfetto's
        `slice`, `thread`, `process`, `counter` and `args`: see *SQL* in the help.

        Args:
            select: One SELECT; nothing is written.
            parameters: Values of `$name` in it.
            max_seconds: How long it may take.
            max_memory: How much memory it may take, such as "512M".

        Returns:
            The columns of the query. Whole numbers, texts and truth values are of pandas' types
            that can be missing.

        Raises:
            WrongQuery: If DuckDB does not accept it, or it reaches a limit.
            NoDuckDB: If the extra `query` is not installed.
            ValueError: For another form of `max_memory`.
        """
        from viewer.api.sql import frame_of_result, sql_result
        from viewer.codecs.memory_budget import parse_limit
        from viewer.query.engine import Limits

        limits = Limits(max_seconds, parse_limit(max_memory))
        result = sql_result(self, select, limits, parameters)
        return frame_of_result(result.columns, result.rows)

    def stats(
        self,
        by: str | Sequence[str] = "operator",
        *,
        inference: int | None = None,
        span: tuple[int, int] | None = None,
        phase: str = "",
        per_inference: bool = False,
    ) -> pd.DataFrame:
        """Return the time of groups of slices: the rows of `opscope stats --by`.

        Args:
            by: unit, operator, node, type, module, line, caller, location, kernel, delegate,
                backend, count, thread, process, rank, inference, category, name, arg:NAME or phase.
                Of two, such as `["operator", "inference"]`, the second divides the groups of the
                first: a row for each pair, with the second group in the column `then`. The rows of
                a group add up to its row by the first key alone. In a text, `arg:"A, B"` is an
                argument with a comma in its name.
            inference: Only inferences of this number, from 1.
            span: Only this range, in ns from the start of the clock.
            phase: Only inferences of this phase or method, such as "decode".
            per_inference: Only inferences after the warm-up, with the mean and the median per
                inference as `self_per_inference_ns`, `p50_per_inference_ns` and the like. For one
                key, without `inference` and `span`.

        Returns:
            A row for each group, most wall time first; times in ns.

        Raises:
            ValueError: If no profile has such groups or inferences, or the span ends before it
                starts.
        """
        from viewer.analysis.statistics.group_keys import keys_text
        from viewer.reports.stats import NoSuchGroups, stats

        _check_span(span)
        key = by if isinstance(by, str) else keys_text(by)
        if per_inference and (span or inference is not None):
            raise ValueError("per_inference covers all inferences: no inference and no span")
        try:
            facts = stats(self.workspace, key, span, inference, phase, per_inference=per_inference)
            rows = facts["rows"]
        except NoSuchGroups as error:
            raise ValueError(str(error)) from error
        return self._rows(ANSWERS["stats"], rows)

    def calls(
        self,
        by: str = "name",
        *,
        bottom_up: bool = False,
        inference: int | None = None,
        span: tuple[int, int] | None = None,
        depth: int | None = None,
        min_percent: float = 0.0,
    ) -> pd.DataFrame:
        """Return the call tree: the rows of `opscope calls`.

        Args:
            by: What a call is, as for `opscope calls --by`.
            bottom_up: Names with their callers.
            inference: Only inferences of this number, from 1.
            span: Only this range, in ns from the start of the clock.
            depth: Only so many levels.
            min_percent: Leave out rows with a smaller share, in percent.

        Returns:
            A row for each call path, parents before children; times in ns.

        Raises:
            ValueError: If no profile has such a tree or inference, and for numbers that the command
                refuses.
        """
        from viewer.reports.calls import CallOptions, calls
        from viewer.reports.stats import NoSuchGroups

        _check_span(span)
        if depth is not None and depth < 1:
            raise ValueError(f"depth {depth}: it must be at least 1")
        if not 0 <= min_percent <= 100:
            raise ValueError(f"min_percent {min_percent:g}: it must be a percentage from 0 to 100")
        options = CallOptions(by, bottom_up, span, inference, depth, min_percent)
        try:
            rows = calls(self.workspace, options)["rows"]
        except NoSuchGroups as error:
            raise ValueError(str(error)) from error
        return self._rows(ANSWERS["calls"], rows)

    def cost(
        self, *, inference: int | None = None, warm_up: bool = True, phase: str = ""
    ) -> pd.DataFrame:
        """Return the time of each set of operators; the wall times of all rows are the whole.

        Time that several operators share is one row. The last row of a profile, without operators,
        is the rest.

        Args:
            inference: Only those of this number, from 1.
            warm_up: Whether figures of the whole profile cover inferences that warm up.
            phase: Only inferences of this phase or method, such as "decode".

        Returns:
            A row for each set; times in ns.
        """
        from viewer.analysis.cost.costs import Costs
        from viewer.model.figures import TimeScope
        from viewer.reports.parts import linked_phase, numbered_inferences
        from viewer.tables.operators import cost_rows

        scopes = [(trace, TimeScope(warm_up=warm_up)) for trace in self.workspace.traces]
        if inference is not None:
            runs = numbered_inferences(self.workspace.traces, inference)
            scopes = [(trace, TimeScope(run)) for trace, run in runs]
        rows = []
        for trace, scope in scopes:
            table = linked_phase(self.workspace, trace, phase)
            rate = self.workspace.clocks.ns_per_tick(trace)
            rows += cost_rows(table, Costs(table).table(scope), rate)
        return self._rows(ANSWERS["cost"], rows)

    def delegation(self, phase: str = "", *, warm_up: bool = False) -> Answer:
        """Return the time in delegates and what was not delegated: `opscope delegation`.

        Args:
            phase: Only inferences of this phase or method, such as "decode".
            warm_up: Whether figures cover inferences that warm up.

        Returns:
            The tables `files`, `of_phases` (the totals of each phase, if there are several),
            `delegates`, `stayed_outside`, `unlinked` and `handle_map`; times in ns.
        """
        from viewer.api.frames import nested_answer
        from viewer.reports.delegation import delegation_facts

        facts = delegation_facts(self.workspace, phase, warm_up=warm_up)
        lists = ("of_phases", "delegates", "stayed_outside", "unlinked", "handle_map")
        return nested_answer(facts, "files", lists, {"path": "file"})

    def memory(self) -> Answer:
        """Return the memory plans of program files: `opscope memory`.

        Returns:
            The tables `methods` and `tensors`; sizes in bytes.
        """
        from viewer.api.frames import nested_answer
        from viewer.reports.program_files import memory_facts

        facts = memory_facts(self.workspace)
        return nested_answer(facts, "methods", ("tensors",), {"file": "file", "name": "method"})

    def sizes(self, by: str | None = None) -> Answer:
        """Return what the bytes of program files are for: `opscope sizes`.

        Args:
            by: Also add up the parts by this key, in the table `groups`.

        Returns:
            The tables `files`, `parts` and `duplicates`; sizes in bytes.

        Raises:
            ValueError: For an unknown key.
        """
        from viewer.analysis.sizes.groups import GroupKey
        from viewer.api.frames import flat_answer, nested_answer
        from viewer.reports.program_files import sizes_facts

        facts = sizes_facts(self.workspace, GroupKey(by) if by else None)
        answer = nested_answer(facts, "files", ("groups",) if by else (), {"file": "file"})
        copies = [
            {"file": file["file"], **group}
            for file in facts["files"]
            for group in file["duplicates"]["groups"]
        ]
        more = flat_answer({"parts": facts["parts"], "duplicates": copies}, ("parts", "duplicates"))
        answer.tables |= more.tables
        return answer

    def estimates(self) -> Answer:
        """Return the estimates of the Torq compiler with measurements: `opscope estimates`.

        Returns:
            The tables `actions`, `operators` and `sources`.
        """
        from viewer.api.frames import flat_answer
        from viewer.reports.delegation import estimate_facts
        from viewer.workspace.snapshot import estimates_of_workspace

        facts = estimate_facts(estimates_of_workspace(self.workspace))
        return flat_answer(facts, ("actions", "operators", "sources"))

    def numbers(self, *buffers: str | os.PathLike[str], inference: int | None = None) -> Answer:
        """Return the tensors that ETDumps logged, with their figures: `opscope numbers`.

        Args:
            buffers: Their debug buffers, if these are not next to them.
            inference: Only the inference of this number, from 1.

        Returns:
            The tables `rows` and `files`.

        Raises:
            UnreadableFile: For a profile without logged values.
            ValueError: Without such an inference.
        """
        from viewer.api.frames import flat_answer
        from viewer.formats.executorch.logged_profile import logged_profile
        from viewer.reports.numbers import values_facts

        paths = [os.fspath(path) for path in buffers]
        workspace = self.workspace
        profiles = [logged_profile(workspace.links(trace), paths) for trace in workspace.traces]
        return flat_answer(values_facts(profiles, inference), ("rows", "files"))

    # -- elsewhere ---------------------------------------------------------------------------------

    def to_perfetto(self, path: str | os.PathLike[str]) -> None:
        """Write a trace for Perfetto, as `opscope export` does.

        Args:
            path: The file to write; its name ends in .pftrace or .pb, also with .gz.

        Raises:
            NothingToExport: Without a profile.
            OSError: If the file cannot be written.
            ValueError: For another suffix, or one of the open files.
        """
        from viewer.api.outputs import output_path
        from viewer.codecs.reading import never_cancelled, no_progress
        from viewer.workspace.exports import PERFETTO_SUFFIXES, prepare

        job = prepare(self.workspace, output_path(path, PERFETTO_SUFFIXES, self.files))
        job(no_progress, never_cancelled)

    def to_parquet(self, folder: str | os.PathLike[str]) -> dict[str, str]:
        """Write every table that has rows to `<folder>/<table>.parquet`.

        Args:
            folder: It is created if it is not there.

        Returns:
            The paths of the files by the names of the tables.

        Raises:
            OSError: If a file cannot be written.
        """
        from viewer.api.frames import arrow_table, write_parquet

        os.makedirs(folder, exist_ok=True)
        written = {}
        for name in TABLES:
            frame = getattr(self, name)
            if len(frame):
                written[name] = os.path.join(os.fspath(folder), f"{name}.parquet")
                write_parquet(arrow_table(frame), written[name])
        return written

    def to_arrow(self, table: str = "slices") -> pa.Table:
        """Return a table of the profile for Arrow, polars and DuckDB, which share its memory.

        Args:
            table: The name of one of the properties.

        Returns:
            The table, with the columns of the property.

        Raises:
            KeyError: For another name.
        """
        from viewer.api.frames import arrow_table

        if table not in TABLES:
            raise KeyError(f"no table {table!r}; the tables are {', '.join(TABLES)}")
        return arrow_table(getattr(self, table))

    def report(self, path: str | os.PathLike[str], *, title: str = "", source: bool = True) -> None:
        """Write one HTML file with findings, timeline, operators and source: `opscope report`.

        Args:
            path: The file to write; its name ends in .html.
            title: By default the name of the model or file.
            source: Whether the text of the model's source is in it.

        Raises:
            NothingToExport: Without files.
            OSError: If the file cannot be written.
            ValueError: For another suffix, or one of the open files.
        """
        from viewer.api.outputs import output_path
        from viewer.html_report.contents import PAGE_SUFFIXES, ReportOptions
        from viewer.html_report.report import write_report

        output = output_path(path, PAGE_SUFFIXES, self.files)
        write_report(self.workspace, output, ReportOptions(title, source))

    def plot(self, *, width: int = 880, whole: bool = False) -> Picture:
        """Return the timeline as a picture (SVG) that a notebook shows.

        Args:
            width: In px.
            whole: Everything instead of the part that the window shows first.

        Returns:
            The picture; without a profile it is empty.
        """
        from viewer.api.outputs import Picture
        from viewer.html_report.report import timeline_picture

        return Picture(timeline_picture(self.workspace, width, whole=whole))

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        """What a notebook shows: main figures, findings, operators and the timeline."""
        from viewer.html_report.report import notebook_page

        page = notebook_page(self.workspace)
        shown = {"text/html": page} if page else {}  # without it, a notebook shows the text
        return {"text/plain": repr(self), **shown}

    def show(self) -> subprocess.Popen[bytes]:
        """Open the files with their options in the window, in a process of its own.

        Only `metadata` is not passed on, because it is a function.

        Returns:
            The process.
        """
        environment: Mapping[str, str] = os.environ
        command = [sys.executable, "-m", "viewer", *self._options, *self.files]
        return subprocess.Popen(command, env=dict(environment), stdin=subprocess.DEVNULL)


def _check_span(span: tuple[int, int] | None) -> None:
    if span is not None and span[1] <= span[0]:
        raise ValueError(f"the span {span} ends before it begins")

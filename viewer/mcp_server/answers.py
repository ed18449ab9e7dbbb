"""The functions of the tools: from open files and checked arguments to the data of a report.

Each returns what the command of the same subject prints with `--json`, with limited rows. They
raise `WrongArgument`, or another ValueError or `NoSuchGroups` whose message is for the reader.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from viewer import SCHEMA, __version__
from viewer.analysis.comparison.changes.path_changes import comparison_by
from viewer.analysis.search.query import parse
from viewer.api.sql import sql_result
from viewer.api.sql_tables import PERFETTO_VIEWS
from viewer.api.sql_tables import schema as sql_schema
from viewer.mcp_server.arguments import WrongArgument
from viewer.mcp_server.handles import slice_of_handle
from viewer.mcp_server.limits import limited, limited_by_file, of_each
from viewer.mcp_server.open_files import OpenFiles
from viewer.query.engine import Limits, NoDuckDB, WrongQuery
from viewer.reports.compare import compare_facts, with_notes
from viewer.reports.findings import findings_facts
from viewer.reports.info import Facts, info
from viewer.reports.profiles.slices import search_facts, slice_facts
from viewer.reports.profiles.source_lines import recorded_path, source_facts
from viewer.reports.profiles.summary import summary_facts
from viewer.reports.programs.memory import largest_first, memory_facts
from viewer.reports.stats import stats
from viewer.workspace.comparison_arms import arm_of, arm_problem
from viewer.workspace.inference_methods import parse_numbers
from viewer.workspace.run_choice import RunChoice, of_numbers
from viewer.workspace.workspace import Workspace

_QUERY_SECONDS, _QUERY_MEMORY = 30.0, 1_000_000_000
MOST_INFERENCES = 1_000_000
MANY = 5  # profiles; an answer about more leaves out what follows
_OF_ONE_PROFILE = ("not_told", "wall_time", "phases", "most_expensive")
_LONG_PARTS = ("threshold", "detail", "place", "levels", "why", "text", "source")
_PAIRING = ("pairs", "only_a", "only_b")


def files(opened: OpenFiles) -> Facts:
    """Return what is open, what could not be opened, and warnings about what belongs together.

    Of the inferences of a profile it has the first and their number: the lists of thirty profiles
    would not fit.
    """
    space = opened.workspace
    facts = info(space)
    return {
        **facts,
        "files": [
            {**file, "inferences": _count(file["inferences"])} if file["inferences"] else file
            for file in facts["files"]
        ],
        "unreadable": list(opened.unreadable),
        "warnings": [text for trace in space.traces for text in space.warnings(trace)],
        "sources": list(opened.recorded_paths),
    }


def _count(inferences: Sequence[Facts]) -> Facts:
    """Return the first inference, and how many there are, of which phases and methods."""
    return {
        "count": len(inferences),
        "warm_up": sum(each["warm_up"] for each in inferences),
        "finished": sum(each["finished"] for each in inferences),
        "methods": sorted({each["method"] for each in inferences if each["method"]}),
        "phases": sorted({each["phase"] for each in inferences if each["phase"]}),
        "first": inferences[0],
    }


def summary(opened: OpenFiles, profile: str | None, inference: int | None) -> Facts:
    """Return the main figures of profiles, and what model files hold."""
    facts = summary_facts(opened.only(profile), inference)
    files = facts["files"]
    return {**facts, "files": list(map(_in_short, files)) if len(files) > MANY else files}


def statistics(
    opened: OpenFiles, by: str, profile: str | None, inference: int | None, limit: int
) -> Facts:
    """Return times grouped by a key, most expensive first."""
    space = opened.only(profile)
    facts = stats(space, by, inference=inference)
    return limited_by_file(facts, "rows", of_each(limit, len(space.traces)))


def search(opened: OpenFiles, query: str, profile: str | None, order: str, limit: int) -> Facts:
    """Return the slices that match a query, in short rows."""
    chosen = opened.chosen(profile)
    of_profile = of_each(limit, len(chosen))
    facts = search_facts(chosen, parse(query), of_profile, order, opened.searched)
    return facts


def one_slice(
    opened: OpenFiles, handle: str | None, number: int | None, profile: str | None
) -> Facts:
    """Return everything about one slice."""
    if handle is not None:
        if number is not None or profile is not None:
            raise WrongArgument("slice names the profile and the number: leave these out")
        profile, number = slice_of_handle(handle)
    elif number is None:
        raise WrongArgument("slice is missing: the handle of a slice, such as p1:123")
    return slice_facts(opened.workspace, opened.profile(profile), number)


def findings(opened: OpenFiles, profile: str | None, inference: int | None, limit: int) -> Facts:
    """Return what to improve, largest possible gain first, `limit` of all profiles."""
    facts = findings_facts(opened.only(profile), inference)
    of_file = of_each(limit, len(facts["files"]))
    files = [limited(file, "findings", of_file) for file in facts["files"]]
    return {**facts, "files": list(map(_in_short, files)) if len(files) > MANY else files}


def _in_short(file: Facts) -> Facts:
    """Return the facts of one of many profiles: figures and titles, without texts and places."""

    def short(value: Any) -> Any:
        if isinstance(value, list):
            return list(map(short, value))
        if isinstance(value, dict):
            return {name: part for name, part in value.items() if name not in _LONG_PARTS}
        return value

    return {name: short(value) for name, value in file.items() if name not in _OF_ONE_PROFILE}


def compare(
    opened: OpenFiles,
    a: list[str],
    b: list[str],
    by: str,
    a_inferences: str | None,
    b_inferences: str | None,
    limit: int,
) -> Facts:
    """Return what changed between two arms, largest change first, and what is proven."""
    space = opened.workspace
    arms = []
    for name, profiles, numbers in (("a", a, a_inferences), ("b", b, b_inferences)):
        arm = arm_of(space, _inferences(space, f"{name}_inferences", numbers), opened.arm(profiles))
        if problem := arm_problem(arm):
            raise WrongArgument(f"arm {name}: {problem}")
        arms.append(arm)
    both = set(opened.arm(a)) & set(opened.arm(b))
    if both and (a_inferences is None or b_inferences is None):
        raise WrongArgument(
            f"{min(both)} is in both arms: give a_inferences and b_inferences to compare inferences"
        )
    comparison = comparison_by(arms[0], arms[1], by)
    names = [*opened.arm(a), *opened.arm(b)]
    traces = [trace for trace in space.traces if trace.path in names]
    warnings = [text for trace in traces for text in space.warnings(trace)]
    facts = compare_facts(comparison, with_notes(warnings, comparison))
    facts["rows"].sort(key=lambda row: -abs(row["change_ns"] or 0))
    pairing = {f"{name}_total": len(facts["pairing"][name]) for name in _PAIRING}
    return {"opscope": __version__, **limited(facts, "rows", limit), "pairing": pairing}


def _inferences(space: Workspace, name: str, numbers: str | None) -> RunChoice | None:
    try:
        return (
            None if numbers is None else of_numbers(space, parse_numbers(numbers, MOST_INFERENCES))
        )
    except ValueError as error:
        raise WrongArgument(f"{name}: {error}") from error


def source(
    opened: OpenFiles,
    file: str | None,
    line: int | None,
    around: int,
    profile: str | None,
    inference: int | None,
) -> Facts:
    """Return the lines of a source around one, with their costs in a profile."""
    if file is None and line is not None:
        raise WrongArgument("a line needs a file")
    place = None if file is None else (recorded_path(opened.recorded_paths, file), line or 0)
    trace = None
    if profile is not None or len(opened.workspace.traces) == 1:
        trace = opened.profile(profile)
    elif inference is not None:
        trace = opened.profile(None)  # raises: whose inference is not known
    elif opened.workspace.traces:
        trace = next((one.trace for one in opened.linked if one.table.program is not None), None)
    return source_facts(opened.workspace, trace, place, around, inference)


def memory(opened: OpenFiles, limit: int) -> Facts:
    """Return the memory plan of every method, its largest tensors first.

    Without the bytes at each instruction, which are a list as long as the method.
    """
    facts = memory_facts(opened.workspace)
    return {"schema": SCHEMA, **facts, "methods": [_plan(one, limit) for one in facts["methods"]]}


def schema(opened: OpenFiles, table: str | None) -> Facts:
    """Return the tables of SQL with their columns, or those of one table with their meanings."""
    tables = sql_schema(opened.tables)
    if table is not None and table not in tables:
        raise WrongArgument(f"no table {table}: the tables are {', '.join(tables)}")
    chosen = {table: tables[table]} if table else tables
    return {
        "schema": SCHEMA,
        "tables": {
            name: [
                {"name": column.name, "type": column.dtype, "unit": column.unit or None}
                | ({"meaning": column.meaning} if table else {})
                for column in columns
            ]
            for name, columns in chosen.items()
        },
        "views": list(PERFETTO_VIEWS),
    }


def query(opened: OpenFiles, sql: str, limit: int) -> Facts:
    """Return the columns and rows of one query, and how many rows it has."""
    limits = Limits(_QUERY_SECONDS, _QUERY_MEMORY, rows=limit)
    try:
        result = sql_result(opened.tables, sql, limits)
    except (WrongQuery, NoDuckDB) as error:
        raise WrongArgument(str(error)) from error
    return {
        "schema": SCHEMA,
        "columns": [
            {"name": name, "type": kind}
            for name, kind in zip(result.columns, result.types, strict=True)
        ],
        "rows": [list(map(_plain, row)) for row in result.rows],
        "total": result.count,
        "shown": len(result.rows),
    }


def _plain(value: object) -> object:
    """Return a value of a query as JSON has it."""
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    return value if value is None or isinstance(value, bool | int | str) else str(value)


def _plan(method: Facts, limit: int) -> Facts:
    facts: dict[str, Any] = {
        name: value for name, value in method.items() if name not in ("live", "live_by_memory")
    }
    facts["tensors"] = largest_first(facts["tensors"])
    return limited(facts, "tensors", limit)

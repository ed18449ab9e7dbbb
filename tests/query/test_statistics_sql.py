"""Statistics as SQL: a copied query has each row and figure of its table, to the ns."""

from fractions import Fraction
from itertools import count as numbers

import pytest

from tests.analysis.statistics.test_pivot import SEEDS, generated
from tests.builders.clocked_traces import space_of
from tests.paths import DATA, SAMPLES
from viewer.analysis.statistics.charges import PHASE, charge_scopes
from viewer.analysis.statistics.group_keys import KEYS, argument_names
from viewer.analysis.statistics.grouping import Grouping
from viewer.analysis.statistics.pivot import (
    cell_medians,
    is_place,
    medians_per_inference,
    pivot,
    refused,
)
from viewer.api.profile import Profile
from viewer.api.sql import sql_result
from viewer.model.figures import TimeScope, figure_base
from viewer.model.warm_up import counted_inferences
from viewer.query.engine import Limits
from viewer.query.statistics_sql import IN_ORDER, CopiedTable, statistics_sql
from viewer.tables.statistics import (
    median_of,
    per_inference_row,
    pivot_rows,
    statistics_columns,
    wall_times,
)
from viewer.view.sessions.opened_files import opened_files

_MEANS = ("total", "self", "wall")


def rows_of(grouping, rate, keys, span, base):
    """The table by one or two keys, and its rows as reports and exports have them."""
    key, then = keys
    if not then:
        table = grouping.by_phase(*span) if key == PHASE else grouping.by(key, *span)
        medians = medians_per_inference(grouping, key) if base else {}
        columns = statistics_columns("", rate, table, table.groups, base=base, medians=medians)
        return table, [dict(zip(columns, row, strict=True))
                       for row in zip(*columns.values(), strict=True)]  # fmt: skip
    slices = grouping.trace.slices
    pivoted = pivot(grouping, slices, keys, *span)
    wall = wall_times(pivoted.table, rate)
    _, rows = pivot_rows("", rate, pivoted, wall)
    if base:
        medians = cell_medians(grouping, slices, keys)
        means = pivot_rows("", rate / base.divisor, pivoted, wall)[1]
        cells = [(row.group.number, cell) for row in pivoted.rows for cell in row.cells]
        rows = [
            row
            | per_inference_row(row, base, None, median_of(cell, medians.get((group, cell.number))))
            | {
                f"{n}_per_inference_ns": mean[f"{n}_ns"]
                for n in _MEANS
                if f"{n}_ns" in row and (n != "total" or row["total_ticks"] is not None)
            }
            for (group, cell), row, mean in zip(cells, rows, means, strict=True)
        ]
    return pivoted.table, rows


def has_own_clocks(grouping, keys, span):
    tables = [grouping.by(key, *span) for key in keys if key and key != PHASE]
    return any(table.has_delegate_ns or table.clocks for table in tables)


def compared(profile, grouping, rate, keys, scope, span, base, path, words=()):
    """Run the query of a table on the profile, and compare each row and figure."""
    key, then = keys
    table, rows = rows_of(grouping, rate, keys, span, base)
    trace, is_phase = grouping.trace, key == PHASE
    is_stated = not is_phase and grouping.is_stated(key)
    places = not is_phase and is_place(grouping, key), bool(then) and is_place(grouping, then)
    runs = counted_inferences(trace, warm_up=grouping.warm_up)
    first, last = span
    copied = CopiedTable(
        keys,
        places,
        rate,
        scope,
        None if last is None else span,
        is_closed=last is not None and (last >= trace.end or first == last),
        divisor=base.divisor if base else 1,
        inferences=len(runs) if base else 0,
        rest=table.ungrouped_label if table.ungrouped and not then else "",
        own_clocks=has_own_clocks(grouping, keys, span),
        path=path,
        words=words,
        is_ordered=key in IN_ORDER and not is_stated,
    )
    result = sql_result(profile, statistics_sql(copied), Limits(60))
    rows = [
        row
        for row in rows
        if all(word in f"{row['label']} {row.get('then', '')}".lower() for word in words)
    ]
    assert len(result.rows) == len(rows)
    names = {key: "label", then: "then"}
    for answered, row in zip(result.rows, rows, strict=True):
        for column, value in zip(result.columns, answered, strict=True):
            wanted = row.get(names.get(column, column))
            if isinstance(value, float):
                assert value == pytest.approx(wanted, abs=1e-3 if column[6:] in row else 1e-6)
            else:
                assert value == wanted or (column == "share" and not wanted), (column, keys)
    return len(rows)


def all_tables(workspace, every=1, first=0):
    """Compare one of `every` tables by all keys, scopes and ranges; return how many rows it has."""
    profile, number, rows = Profile(workspace), numbers(first), 0
    for linked in profile.linked:
        table, rate = linked.table, linked.rate.ns_per_tick
        path = linked.trace.path if len(profile.linked) > 1 else ""
        for name, scope in charge_scopes(table).items():
            grouping = Grouping(scope.table, rate, warm_up=scope.warm_up)
            trace = grouping.trace
            arguments = [f"arg:{argument}" for argument in argument_names(trace)[:3]]
            keys = [key for key in (*KEYS, *arguments) if not grouping.missing(key)]
            pairs = [(key, "") for key in (*keys, *([PHASE] if "inference" in keys else []))]
            pairs += [(a, b) for a in keys for b in keys if not refused(grouping, (a, b))]
            for pair in pairs:
                spans = [(None, None)]
                if scope.is_range:
                    third = (trace.end - trace.start) // 3
                    spans = [(trace.start + third, trace.end - third), (trace.start, trace.end)]
                    spans += [(run.start, run.end) for run in list(trace.inferences())[-1:]]
                base = figure_base(trace, TimeScope(warm_up=scope.warm_up), rate)
                is_mean = base.is_mean and "inferences" in name and PHASE not in pair
                is_mean &= "inference" not in pair and not grouping.why_no_mean(pair[0])
                for span in spans:
                    if next(number) % every == 0:
                        rows += compared(
                            profile, grouping, rate, pair, name, span,
                            base if is_mean else None, path,
                        )  # fmt: skip
    return rows


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS[:2])
def test_a_copied_query_has_the_rows_of_the_table(seed):
    assert all_tables(space_of([generated(seed)]), 40, seed) > 10


@pytest.mark.slow
@pytest.mark.parametrize("seed", [4, 5])
def test_a_slice_that_crosses_an_inference_counts_where_its_thread_starts(seed):
    """By thread, the outermost slice decides on the inference; by all else, each slice."""
    profile = Profile(space_of([generated(seed)]))
    table, rate = profile.linked[0].table, profile.linked[0].rate.ns_per_tick
    scope = charge_scopes(table)["inferences"]
    grouping = Grouping(scope.table, rate, warm_up=scope.warm_up)
    base = figure_base(grouping.trace, TimeScope(warm_up=scope.warm_up), rate)
    for keys in (("thread", ""), ("thread", "process"), ("process", "thread"), ("process", "")):
        assert compared(profile, grouping, rate, keys, "inferences", (None, None), base, "")


@pytest.mark.nightly
@pytest.mark.parametrize("seed", SEEDS)
def test_copied_queries_of_generated_traces(seed):
    assert all_tables(space_of([generated(seed)])) > 100


@pytest.mark.slow
def test_a_copied_query_has_only_the_filtered_rows():
    workspace = space_of([generated(3)])
    profile = Profile(workspace)
    linked = profile.linked[0]
    grouping = Grouping(linked.table)
    args = linked.rate.ns_per_tick, ("name", "category"), "trace", (None, None), None, ""
    assert compared(profile, grouping, *args, words=("s",))
    assert not compared(profile, grouping, *args, words=("s", "'nothing"))


def samples():
    for folder in sorted(path for path in SAMPLES.iterdir() if path.is_dir()):
        yield [str(path) for path in sorted(folder.iterdir()) if path.suffix != ".py"]


@pytest.mark.slow
@pytest.mark.parametrize("paths", list(samples()))
def test_copied_queries_of_samples(paths):
    assert all_tables(opened_files(paths).workspace, 150) > 10


@pytest.mark.nightly
@pytest.mark.timeout(3600)
def test_copied_queries_of_files_of_all_kinds():
    rows = 0
    for folder in sorted({path.parent for path in DATA.rglob("*") if path.is_file()}):
        files = [path for path in sorted(folder.iterdir()) if path.is_file()]
        models = [str(path) for path in files if path.suffix in (".etrecord", ".mlir", ".pte")]
        for path in files:
            if path.suffix != ".md" and str(path) not in models:
                workspace = opened_files([str(path), *models[:3]]).workspace
                rows += all_tables(workspace, 20) if workspace.traces else 0
    assert rows > 10_000


@pytest.mark.slow
def test_a_clock_of_a_fraction_of_a_ns_is_exact():
    workspace = opened_files([str(DATA / "torq" / "compile_c3_taskid.csv")]).workspace
    trace = workspace.traces[0]
    workspace.set_clock(trace.path, Fraction(7, 3))
    assert all_tables(workspace, 40) > 10

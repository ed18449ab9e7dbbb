"""Statistics as SQL: a copied query has the rows of the table to the ns, or a reason is given."""

from fractions import Fraction

import pytest

from tests.analysis.statistics.test_pivot import SEEDS, generated
from tests.builders.clocked_traces import space_of
from viewer.analysis.links.linker import unlinked
from viewer.analysis.statistics.grouping import Grouping
from viewer.analysis.statistics.pivot import pivot, refused
from viewer.api.profile import Profile
from viewer.api.sql import sql_result
from viewer.query.engine import Limits
from viewer.query.statistics_sql import Figures, NoQuery, statistics_sql

pytestmark = pytest.mark.slow
KEYS = ("name", "thread", "process", "category", "arg:a", "arg:b")
PAIRS = [(key, then) for key in KEYS for then in ("", *KEYS) if key != then]


def figures_of(grouping, keys, rate=Fraction(1), **more):
    """The figures of the whole trace, by the labels of both keys."""
    key, then = keys
    if not then:
        groups = grouping.by(key).groups
        return Figures(keys, {(g.label, ""): g for g in groups}, len(groups), rate, None, **more)
    table = pivot(grouping, grouping.trace.slices, keys)
    cells = [(row.group.label, cell.label, cell) for row in table.rows for cell in row.cells]
    rows = {(first, second): cell for first, second, cell in cells}
    return Figures(keys, rows, len(cells), rate, None, **more)


def compared(profile, grouping, keys):
    """Run the query of a table on the profile, and compare each row."""
    figures = figures_of(grouping, keys)
    result = sql_result(profile, statistics_sql(grouping, figures), Limits(30))
    names = 2 if keys[1] else 1
    assert result.columns[:names] == [key for key in keys if key]
    answered = {(row[0], row[1] if names == 2 else ""): row[names:] for row in result.rows}
    assert len(answered) == len(result.rows)
    wanted = {}
    for pair, group in figures.rows.items():
        spread = group.spread
        if spread is None or not spread.count:
            if group.self_ticks:
                wanted[pair] = (group.self_ticks, 0, None, None, None, None, None)
            continue
        lengths = (int(spread.mean + 1e-9), spread.min, spread.max, int(spread.p50))
        wanted[pair] = (group.self_ticks, spread.count, *lengths, int(spread.p90 + 1e-9))
    assert answered == wanted


@pytest.mark.parametrize("seed", SEEDS[:2])
def test_the_copied_query_has_the_rows_of_the_table(seed):
    trace = generated(seed)
    profile, grouping = Profile(space_of([trace])), Grouping(unlinked(trace))
    offered = 0
    chosen = PAIRS[seed % 4 :: 4]
    for keys in chosen:
        if keys[1] and refused(grouping, keys):
            continue
        try:
            compared(profile, grouping, keys)
            offered += 1
        except NoQuery:
            continue
    assert offered == len(chosen)

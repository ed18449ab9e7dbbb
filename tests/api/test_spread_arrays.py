"""Columns that take memory when they are used behave as the arrays of pandas."""

import copy
import pickle

import numpy as np
import pandas as pd
import pytest

from viewer.api.spread_arrays import SpreadCategorical, SpreadInts, by_code, by_row

COUNT = 1000
KEY = np.random.default_rng(0).integers(0, 50, COUNT).astype(np.uint32)
ROWS = np.array([0, 10, 500, COUNT])
OF_KEY = np.where(np.arange(50) == 3, -1, np.arange(50) % 7).astype(np.int8)
NAMES = pd.Index([f"c{i}" for i in range(7)])
VALID = np.arange(50) % 5 != 0


def lazy() -> pd.DataFrame:
    keys = by_code(KEY)
    return pd.DataFrame(
        {
            "dur": np.arange(COUNT),
            "name": SpreadCategorical.of(OF_KEY, keys, NAMES),
            "thread": SpreadCategorical.of(
                np.array([0, 1, 0], np.int8), by_row(ROWS), pd.Index(["a", "b"])
            ),
            "id": SpreadInts.of(np.arange(50), VALID, keys),
        },
        copy=False,
    )


def plain() -> pd.DataFrame:
    rows = np.repeat([0, 1, 0], np.diff(ROWS))
    return pd.DataFrame(
        {
            "dur": np.arange(COUNT),
            "name": pd.Categorical.from_codes(OF_KEY[KEY], categories=NAMES),
            "thread": pd.Categorical.from_codes(rows, categories=["a", "b"]),
            "id": pd.arrays.IntegerArray(KEY.astype(np.int64), ~VALID[KEY]),
        }
    )


WORK = {
    "all": lambda t: t,
    "copy": lambda t: t.copy(),
    "head": lambda t: t.head(),
    "mask": lambda t: t[t.dur > 990],
    "rows": lambda t: t.iloc[[1, -1, 7]],
    "missing rows": lambda t: t.reindex([1, 5, 10**7]),
    "shift": lambda t: t.shift(1),
    "group": lambda t: t.groupby("name", observed=True).dur.sum(),
    "group by two": lambda t: t.groupby(["name", "thread"], observed=True).id.mean(),
    "sort": lambda t: t.sort_values(["name", "dur"]),
    "equal text": lambda t: t[t.name == "c2"],
    "equal number": lambda t: t[t.id == 3],
    "sum": lambda t: t.id + 1,
    "counts": lambda t: t.name.value_counts(),
    "index": lambda t: t.set_index("name"),
    "merge": lambda t: t.merge(pd.DataFrame({"name": ["c1", "c2"], "z": [1, 2]}), on="name"),
    "concat": lambda t: pd.concat([t, t]),
    "describe": lambda t: t.describe(),
    "text": lambda t: t.name.str.upper(),
    "nulls": lambda t: t.isna(),
    "fill": lambda t: t.id.fillna(0),
    "codes": lambda t: t.name.cat.codes,
    "drop": lambda t: t.dropna(),
    "pivot": lambda t: t.pivot_table(
        index="name", columns="thread", values="dur", aggfunc="sum", observed=True
    ),
    "query": lambda t: t.query("name == 'c3' and id > 2"),
    "distinct": lambda t: t.drop_duplicates(["name", "thread"]),
    "rename": lambda t: t.rename(columns={"name": "n"}),
    "assign": lambda t: t.assign(more=t.dur * 2),
    "pickle": lambda t: pickle.loads(pickle.dumps(t)),
    "deepcopy": copy.deepcopy,
    "repeat": lambda t: t.loc[t.index.repeat(2)],
}


@pytest.mark.parametrize("work", WORK.values(), ids=WORK)
def test_what_pandas_does_with_a_column(work):
    found, wanted = work(lazy()), work(plain())
    if isinstance(wanted, pd.DataFrame):
        pd.testing.assert_frame_equal(found, wanted)
    else:
        pd.testing.assert_series_equal(found, wanted)


def test_single_values_are_those_of_pandas():
    found, wanted = lazy(), plain()
    for column in ("name", "thread", "id"):
        assert [str(found[column].iloc[i]) for i in (0, 1, -1, 55)] == [
            str(wanted[column].iloc[i]) for i in (0, 1, -1, 55)
        ]
        with pytest.raises(IndexError):
            found[column].array[COUNT]


def test_some_rows_do_not_make_a_column_of_all():
    table = lazy()
    assert len(table[table.dur > 990]) == len(table.tail(9)) == 9
    assert str(table)
    assert [table[name].array.nbytes for name in ("name", "thread", "id")] == [0, 0, 0]
    assert (
        table.groupby("name", observed=True).dur.sum().sum()
        == table.dur.sum() - table[table.name.isna()].dur.sum()
    )
    assert table["name"].array.nbytes == COUNT


def test_a_column_cannot_be_changed_but_its_copy_can():
    table = lazy()
    with pytest.raises(ValueError, match="copy the table"):
        table.loc[3, "name"] = "c1"
    own = table.copy()
    own.loc[3, "name"] = "c1"
    own.loc[3, "id"] = 99
    assert (own.loc[3, "name"], own.loc[3, "id"]) == ("c1", 99)
    assert table.loc[3, "id"] == plain().loc[3, "id"]


def test_a_table_is_equal_to_its_copies_from_both_sides():
    table = lazy()
    for other in (table.copy(), table.copy().copy(), copy.deepcopy(table), lazy()):
        assert table.equals(other)
        assert other.equals(table)
    assert table.equals(plain()), "of pandas' own arrays too"
    assert table.equals(pickle.loads(pickle.dumps(table)))
    assert table[5:].equals(plain()[5:])


@pytest.mark.parametrize(("column", "value"), [("name", "c1"), ("thread", "b"), ("id", 99)])
def test_a_table_is_not_equal_to_another_one(column, value):
    table = lazy()
    changed = table.copy()
    changed.loc[0, column] = value
    assert not table.equals(changed)
    assert not changed.equals(table)
    assert not table.equals(table[:-1])
    assert table.equals(lazy()), "the original is as it was"

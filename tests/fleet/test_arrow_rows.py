"""Rows as Arrow tables: every value that a hostile file can have is stored."""

import numpy as np

from viewer.export.table_files import arrow_column
from viewer.fleet.rows import arrow_table
from viewer.fleet.schemas import TABLES
from viewer.model.trace import Column


def keyed(key, device=None):
    return {"key": key, "device": device, "build": None, "model": None}


def test_profiles_follow_one_another_and_missing_columns_are_null():
    parts = [
        (keyed("a", "phone"), {"kind": ["x", "y"], "count": [1, 2]}),
        (keyed("b"), {}),
        (keyed("c", "phone"), {"kind": ["x"], "count": [3], "first": [None]}),
    ]
    rows = arrow_table(TABLES["problems"], parts).to_pylist()
    assert [(r["key"], r["device"], r["kind"], r["count"], r["first"]) for r in rows] == [
        ("a", "phone", "x", 1, None), ("a", "phone", "y", 2, None), ("c", "phone", "x", 3, None),
    ]  # fmt: skip


def test_numbers_beyond_int64_are_clamped_and_lone_surrogates_replaced():
    parts = [(keyed("a", "p\ud800"), {"kind": ["n\udcff"], "count": [1 << 70]})]
    (row,) = arrow_table(TABLES["problems"], parts).to_pylist()
    assert (row["device"], row["kind"], row["count"]) == ("p?", "n?", (1 << 63) - 1)


def test_columns_of_slices_keep_their_nulls():
    names = Column(np.array([0, 1, 9], np.uint32), np.array([True, True, False]), ("a", "b"))
    starts = Column(np.array([5, 6, 7]), np.array([True, False, True]))
    rows = {"name": arrow_column(names), "start_ns": arrow_column(starts)}
    parts = [(keyed("a"), rows), (keyed("b"), {"name": rows["name"]})]
    rows = arrow_table(TABLES["slices"], parts).to_pylist()
    assert [row["name"] for row in rows] == ["a", "b", None] * 2
    assert [row["start_ns"] for row in rows] == [5, None, 7, None, None, None]

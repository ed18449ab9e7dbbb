"""Rows of recent files: no two of them look alike."""

import random

import pytest

from viewer.gui.qt.settings import RecentFiles
from viewer.gui.window.frame.start_page import recent_titles


def test_a_comparison_is_called_by_both_arms():
    a, b = ("/x/a.1.etdp", "/x/a.2.etdp"), ("/x/b.1.etdp",)
    (row,) = recent_titles([RecentFiles((*a, "/x/net.etrecord", *b), a, b)])
    assert row == ("a.1.etdp + 1 → b.1.etdp", "a.2.etdp · net.etrecord · b.1.etdp")


def test_arms_of_equal_names_have_folders():
    a, b = ("/old/run.etdp",), ("/new/run.etdp",)
    (row,) = recent_titles([RecentFiles((*a, *b), a, b)])
    assert row[0] == "old/run.etdp → new/run.etdp"


def test_two_comparisons_with_one_build_are_two_different_rows():
    base = tuple(f"/aa/portable.{i}.etdp" for i in range(7))
    others = [tuple(f"/aa/s.{name}.{i}.etdp" for i in range(7)) for name in ("x", "y")]
    rows = recent_titles([RecentFiles((*base, *b), base, b) for b in others])
    assert [title for title, _ in rows] == [
        "portable.0.etdp + 6 → s.x.0.etdp + 6", "portable.0.etdp + 6 → s.y.0.etdp + 6",
    ]  # fmt: skip


def test_other_files_come_first_where_the_first_is_the_same():
    many = tuple(f"/x/long_name_{i}.etdp" for i in range(8))
    rows = recent_titles([RecentFiles((*many, "/x/one.json")), RecentFiles((*many, "/x/two.json"))])
    assert [rest.split(" · ")[0] for _, rest in rows] == ["one.json", "two.json"]


@pytest.mark.parametrize("seed", range(10))
def test_no_two_rows_of_random_sets_look_alike(seed):
    """Of distinct sets; those that the list has are."""
    chance = random.Random(seed)
    files = [f"/{folder}/{name}.etdp" for folder in "pqr" for name in "abc"]
    sets = {}
    for _ in range(10):
        paths = tuple(chance.sample(files, chance.randint(1, 3)))
        sets[frozenset(paths)] = RecentFiles(paths)
    rows = recent_titles(list(sets.values()))
    firsts = [
        (title, rest) for (title, rest), row in zip(rows, sets.values(), strict=True)
        if len(row.paths) == 1
    ]  # fmt: skip
    assert len(set(firsts)) == len(firsts)

"""Alignments: the best sum, the earliest of several, and long sequences without a table."""

import itertools
import random

from viewer.analysis.comparison import alignment
from viewer.analysis.comparison.alignment import aligned


def equal(x, y):
    return float(x == y)


def pairs(a, b, score=equal):
    return aligned(a, b, score, lambda one: one)


def test_equal_items_are_paired_in_order():
    assert pairs("abc", "abc") == [(0, 0), (1, 1), (2, 2)]
    assert pairs("abc", "axc") == [(0, 0), (2, 2)]
    assert pairs("ab", "xab") == [(0, 1), (1, 2)]


def test_of_equal_items_the_first_ones_are_paired():
    assert pairs("aaa", "aaaa") == [(0, 0), (1, 1), (2, 2)]
    assert pairs("aab", "aaaab") == [(0, 0), (1, 1), (2, 4)]


def test_nothing_has_no_pairs():
    assert pairs("", "abc") == pairs("abc", "") == []
    assert pairs("abc", "xyz") == []


def test_the_sum_of_scores_is_the_largest():
    """Against all alignments of short sequences."""
    chosen = random.Random(1)
    for _ in range(60):
        a, b = ([chosen.randrange(3) for _ in range(chosen.randrange(5))] for _ in "ab")
        worth = {(x, y): chosen.randrange(4) for x in range(3) for y in range(3)}
        for x in range(3):  # equal items are the best pairs
            worth[x, x] = 5

        def score(x, y, worth=worth):
            return float(worth[x, y])

        found = pairs(a, b, score)
        best = max(
            sum(score(a[i], b[j]) for i, j in zip(left, right, strict=True))
            for count in range(min(len(a), len(b)) + 1)
            for left in itertools.combinations(range(len(a)), count)
            for right in itertools.combinations(range(len(b)), count)
        )
        assert sum(score(a[i], b[j]) for i, j in found) == best


def test_sequences_too_long_for_a_table_pair_equal_items_by_their_number(monkeypatch):
    monkeypatch.setattr(alignment, "_LARGEST", 3)
    assert pairs("xaab", "yaaab") == [(1, 1), (2, 2), (3, 4)]

"""Alignments: the best sum, the earliest of several, and long sequences without a table."""

import itertools
import random

import numpy as np

from viewer.analysis.comparison import evidence
from viewer.analysis.comparison.evidence import aligned, ascending, best_alignment


def pairs(a, b):
    return aligned(a, b)


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


def test_no_alignment_has_more_pairs():
    """Against all alignments of short sequences."""
    chosen = random.Random(1)
    for _ in range(60):
        a, b = ([chosen.randrange(3) for _ in range(chosen.randrange(6))] for _ in "ab")
        best = max(
            sum(a[i] == b[j] for i, j in zip(left, right, strict=True))
            for count in range(min(len(a), len(b)) + 1)
            for left in itertools.combinations(range(len(a)), count)
            for right in itertools.combinations(range(len(b)), count)
        )
        assert len(pairs(a, b)) == best


def scored(a, b, score):
    return best_alignment(
        lambda row: np.array([score(a[row], other) for other in b]), len(a), len(b)
    )


def test_a_few_good_pairs_outweigh_many_weak_ones():
    def score(x, y):
        return 10 if x == y else int(x[0] == y[0])

    assert scored(["r1", "r2"], ["r2", "r3"], score) == [(1, 0)]
    assert scored(["r1"], ["r3"], score) == [(0, 0)]
    assert scored(["r1", "x"], [], score) == scored([], ["r1"], score) == []


def test_no_alignment_has_a_higher_score():
    """Against all alignments of short sequences; of the best ones, the pairs are the earliest."""
    chosen = random.Random(2)
    for _ in range(60):
        table = [[chosen.randrange(4) for _ in range(5)] for _ in range(chosen.randrange(1, 7))]
        rows, columns = range(len(table)), range(5)
        found = best_alignment(lambda row, own=table: np.array(own[row]), len(table), 5)
        best = max(
            sum(table[i][j] for i, j in zip(left, right, strict=True))
            for count in range(min(len(table), 5) + 1)
            for left in itertools.combinations(rows, count)
            for right in itertools.combinations(columns, count)
        )
        assert sum(table[i][j] for i, j in found) == best
        assert all(table[i][j] for i, j in found)


def test_pairs_that_cross_others_are_left_out():
    assert ascending([(0, 1), (1, 2), (2, 0)]) == [(0, 1), (1, 2)]


def test_sequences_too_long_for_a_table_pair_equal_items_by_their_number(monkeypatch):
    monkeypatch.setattr(evidence, "_LARGEST", 3)
    assert pairs("xaab", "yaaab") == [(1, 1), (2, 2), (3, 4)]

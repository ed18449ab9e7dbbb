"""Alignments: the best sum, the earliest of several, and long sequences without a table."""

import itertools
import random

from viewer.analysis.comparison import alignment
from viewer.analysis.comparison.alignment import aligned, in_stages


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


def test_exact_pairs_come_before_many_weak_ones_and_none_cross():
    a, b = ["relu a", "relu b"], ["relu b", "relu c"]
    stages = [str, lambda text: text.split()[0]]
    assert in_stages(a, b, stages) == [(1, 0)]
    assert in_stages(["relu a"], ["relu c"], stages) == [(0, 0)]


def test_known_pairs_that_cross_others_limit_nothing():
    assert in_stages("abc", "cab", [str], [(0, 1), (1, 2), (2, 0)]) == [(0, 1), (1, 2)]


def test_what_must_be_certain_is_not_paired_with_one_of_several():
    assert in_stages("aa", "aaa", [str], alone=lambda item: True) == []
    assert in_stages("aa", "aa", [str], alone=lambda item: True) == [(0, 0), (1, 1)]


def test_sequences_too_long_for_a_table_pair_equal_items_by_their_number(monkeypatch):
    monkeypatch.setattr(alignment, "_LARGEST", 3)
    assert pairs("xaab", "yaaab") == [(1, 1), (2, 2), (3, 4)]

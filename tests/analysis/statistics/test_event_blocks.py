"""Runs that logged the same are one block; every event finds its row."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from viewer.analysis.statistics.event_blocks import first_of, merge_runs


def merged(*runs: str, kinds: str = ""):
    """Runs as texts, one letter an event."""
    run = np.repeat(np.arange(len(runs)), [len(r) for r in runs])
    code = np.array([ord(c) - ord("a") for r in runs for c in r], np.int64)
    found = merge_runs(run, code, list(kinds or "x" * len(runs)))
    letters = "".join(chr(c + ord("a")) for c in found.row_code)
    cut = found.row_ptr.tolist()
    blocks = [
        (members.tolist(), letters[cut[i] : cut[i + 1]]) for i, members in enumerate(found.runs)
    ]
    return blocks, found.row.tolist()


def test_equal_runs_are_one_block_in_order_of_appearance():
    assert merged("ab", "cd", "ab") == (
        [([0, 2], "ab"), ([1], "cd")], [0, 1, 2, 3, 0, 1],
    )  # fmt: skip


def test_how_often_an_event_repeats_tells_no_blocks_apart():
    """A loop of two and one of three turns are the same events."""
    assert merged("abab", "ababab") == ([([0, 1], "ab")], [0, 1, 0, 1, 0, 1, 0, 1, 0, 1])


def test_another_order_or_another_kind_is_another_block():
    assert [b for b, _ in merged("ab", "ba")[0]] == [[0], [1]]
    assert [b for b, _ in merged("ab", "ab", "ab", kinds="xyx")[0]] == [[0, 2], [1]]


def test_runs_without_events_are_in_no_block():
    assert merged("", "a", "", "a")[0] == [([1, 3], "a")]
    assert merged("", "") == ([], [])


@pytest.mark.slow
@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 10**6)), max_size=40))
def test_the_first_of_a_run_and_code_whatever_the_codes(pairs):
    """Codes may be few and large, which is another way through."""
    run, code = np.array(pairs, np.int64).reshape(-1, 2).T
    assert first_of(run, code).tolist() == [pairs.index(pair) for pair in pairs]

"""Operators of an ETRecord are counted once: delegated, in part, or not."""

import pytest

from tests.paths import DATA
from viewer.analysis.delegates.delegation import LoweringCounts, lowering_counts, recorded
from viewer.formats import open_file
from viewer.resources import SAMPLES


def test_an_operator_that_is_only_in_part_delegated_has_a_number_of_its_own():
    program = open_file(SAMPLES[0].paths()[1])
    counts = lowering_counts(recorded(program))
    assert counts == LoweringCounts(30, 2, 6, backends=1, calls=10)
    assert counts.delegated + counts.partly + counts.not_delegated == len(program.operators)


def test_without_delegates_nothing_is_delegated():
    program = open_file(str(DATA / "etrecord" / "cnn_toedge_portable.etrecord"))
    counts = lowering_counts(recorded(program))
    assert (counts.delegated, counts.partly, counts.backends, counts.calls) == (0, 0, 0, 0)
    assert counts.not_delegated > 0
    assert counts.calls_text == ""


@pytest.mark.parametrize(
    ("counts", "text"),
    [
        ((36, 3, 2), "36 operators delegated, 3 partly, 2 not delegated"),
        ((1, 0, 0), "1 operator delegated"),
        ((0, 3, 2), "3 operators partly delegated, 2 not delegated"),
        ((0, 0, 0), ""),
    ],
)
def test_the_text_leaves_out_what_there_is_none_of(counts, text):
    assert LoweringCounts(*counts, backends=1, calls=5).operators_text == text

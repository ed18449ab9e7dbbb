"""What counts as growth between two checkpoints."""

from collections import Counter

import pytest

from tests.reliability.soak.figures import Figures, largest, smallest

pytestmark = pytest.mark.nightly

MB = 1 << 20
FIRST = Figures(200 * MB, 8, 1, 700, 900, Counter(QLabel=20))


def test_nothing_grows_if_all_is_as_before_or_less():
    assert FIRST.grown(FIRST, 5, 0) == []
    assert Figures(100 * MB, 7, 1, 600, 800).grown(FIRST, 5, 0) == []


def test_memory_may_grow_by_some_percent():
    assert Figures(210 * MB, 8, 1, 700, 900).grown(FIRST, 5, 0) == []
    assert len(Figures(211 * MB, 8, 1, 700, 900).grown(FIRST, 5, 0)) == 1


def test_the_largest_of_several_checkpoints():
    second = Figures(100 * MB, 9, 1, 800, 800, Counter(QMenu=1))
    assert largest([FIRST, second]) == Figures(200 * MB, 9, 1, 800, 900)
    assert largest([FIRST, second]).by_class == Counter(QLabel=20, QMenu=1)


def test_the_smallest_of_several_checkpoints():
    second = Figures(100 * MB, 9, 1, 800, 800, Counter(QLabel=3, QMenu=1))
    assert smallest([FIRST, second]) == Figures(100 * MB, 8, 1, 700, 800)
    assert smallest([FIRST, second]).by_class == Counter(QLabel=3)


def test_everything_else_must_be_constant_and_the_classes_are_named():
    last = Figures(200 * MB, 9, 1, 702, 900, Counter(QLabel=22))
    assert last.grown(FIRST, 5, 0) == [
        "descriptors 8 → 9 (more: 2 × QLabel)", "widgets 700 → 702 (more: 2 × QLabel)",
    ]  # fmt: skip

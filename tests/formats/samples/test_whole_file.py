"""Numbers in the JSON of sampled profiles, whatever stands in their place."""

import numpy as np
import pytest

from viewer.formats.samples.whole_file import ticks_of, until_the_next, whole_numbers


def test_whole_numbers_are_exact_and_others_rounded():
    values = [1, 2**52 + 1, 0.0004, 0.0006, -1.5]
    ticks, usable = ticks_of(values, 1000)
    assert ticks.tolist() == [1000, (2**52 + 1) * 1000, 0, 1, -1500]
    assert usable.all()


@pytest.mark.parametrize("odd", [None, True, "5", [1], [[1], [2]], {}, 1e300, float("nan"), 10**40])
def test_what_is_no_usable_number_is_told(odd):
    ticks, usable = ticks_of([1, odd, odd], 10)
    assert ticks.tolist() == [10, 0, 0]
    assert usable.tolist() == [True, False, False]
    assert whole_numbers([1, odd, -1, 7], 7).tolist() == [1, -1, -1, -1]


def test_a_sample_lasts_to_the_next_one_and_after_a_pause_as_usual():
    end, is_apart = until_the_next(np.array([0, 10, 20, 100, 110]))
    assert end.tolist() == [10, 20, 30, 110, 120]
    assert is_apart.tolist() == [False, False, False, True, False]
    for times in ([], [5]):
        end, is_apart = until_the_next(np.array(times, np.int64))
        assert end.tolist() == times
        assert not is_apart.any()

"""How long samples stand for, also at times that fill 64 bits."""

from random import Random

import numpy as np
import pytest

from viewer.formats.samples.stacks import until_the_next

FIRST, LAST = -(1 << 63), (1 << 63) - 1


def test_a_sample_lasts_to_the_next_one_and_a_pause_as_long_as_usual():
    stop, is_apart = until_the_next(np.array([0, 10, 20, 30, 9000, 9010]))
    assert stop.tolist() == [10, 20, 30, 40, 9010, 9020]
    assert is_apart.tolist() == [False, False, False, False, True, False]


@pytest.mark.parametrize("seed", range(50))
def test_any_times_have_whole_ends_that_are_not_before_them(seed):
    random = Random(seed)
    kinds = [
        lambda: random.randrange(FIRST, LAST + 1),
        lambda: FIRST + random.randrange(100),
        lambda: LAST - random.randrange(100),
        lambda: random.randrange(1000),
    ]
    times = sorted(random.choice(kinds)() for _ in range(random.randrange(1, 8)))
    stop, is_apart = until_the_next(np.array(times, np.int64))
    assert (stop.dtype, len(is_apart)) == (np.int64, len(times))
    limits = [*times[1:], LAST]
    assert all(a <= b <= c for a, b, c in zip(times, stop.tolist(), limits, strict=True))

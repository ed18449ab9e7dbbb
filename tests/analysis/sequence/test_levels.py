"""Level shifts and trends of generated sequences, and none in steady ones."""

import numpy as np
import pytest

from tests.builders import inference_sequences as made
from viewer.analysis.sequence.changes import Course, course_of, theil_sen


def course(one: made.Sequence) -> Course:
    return course_of(one.lengths, np.arange(len(one.parts)))


@pytest.mark.slow
def test_steady_sequences_do_not_change() -> None:
    false = [seed for seed in range(200) if course(made.steady(seed)).changes]
    assert len(false) <= 2


@pytest.mark.slow
def test_noise_that_depends_on_itself_is_no_change() -> None:
    false = [seed for seed in range(200) if course(made.wandering(seed)).changes]
    assert len(false) <= 2


@pytest.mark.slow
def test_steps_of_a_fifth_are_seen() -> None:
    """Each level starts within two inferences of the truth."""
    missed = []
    for seed in range(100):
        one = made.steps(seed, noise=0.03, least=1.2)
        first = course(one).first[1:]
        close = len(first) == len(one.first) and np.abs(np.subtract(first, one.first)).max() <= 2
        if not close:
            missed.append(seed)
    assert len(missed) <= 5


@pytest.mark.slow
def test_levels_of_eight_inferences_are_seen_up_and_down() -> None:
    missed, count = [], 0
    for seed in range(100):
        one = made.short_levels(seed)
        first = course(one).first[1:]
        count += len(one.first)
        missed += [at for at in one.first if not any(abs(at - own) <= 2 for own in first)]
    assert len(missed) <= 0.05 * count


@pytest.mark.slow
def test_smaller_and_noisy_steps_are_mostly_seen() -> None:
    seen = [len(course(made.steps(seed)).first) > 1 for seed in range(100)]
    assert np.mean(seen) >= 0.8


@pytest.mark.slow
@pytest.mark.parametrize("operators", [False, True], ids=["all", "one"])
def test_slopes_are_trends_without_steps(operators: bool) -> None:
    found = [course(made.slope(seed, operators=operators)) for seed in range(40)]
    trends = [one.trend is not None and len(one.first) == 1 for one in found]
    assert np.mean(trends) >= 0.9


@pytest.mark.slow
def test_spikes_and_warm_up_are_no_change() -> None:
    changed = [seed for seed in range(100) if course(made.spikes(seed)).changes]
    changed += [seed for seed in range(100) if course(made.warm_ups(seed)).changes]
    assert len(changed) <= 2


def test_the_first_inference_of_a_level_is_exact_with_little_noise() -> None:
    random = np.random.default_rng(0)
    times = np.repeat([19.54e6, 24.4e6, 37.1e6], [80, 60, 60]) * random.normal(1, 0.01, 200)
    assert course_of(times, np.arange(200)).first == (0, 80, 140)


def test_a_slope_is_in_times_per_position() -> None:
    position = np.arange(100)
    found = course_of(5_000_000 + 8_000 * position, position)
    assert found.first == (0,)
    assert found.trend is not None
    assert found.trend.slope == pytest.approx(8_000)
    assert theil_sen(position, 3.0 * position) == 3


def test_growth_that_starts_again_is_one_trend() -> None:
    position = np.tile(np.arange(40), 4)
    found = course_of(1_000_000 + 20_000 * position, position)
    assert found.trend is not None
    assert found.trend.slope == pytest.approx(20_000)


def test_steps_on_top_of_growth_are_both_seen() -> None:
    position = np.arange(200)
    times = (1_000_000 + 3_000 * position) * np.where(position < 100, 1, 1.5)
    found = course_of(times, position)
    assert len(found.first) > 1


@pytest.mark.slow
def test_long_sequences_are_answered() -> None:
    random = np.random.default_rng(0)
    times = np.repeat([1000.0, 1300.0], [30_000, 20_000]) * random.normal(1, 0.02, 50_000)
    assert course_of(times, np.arange(50_000)).first == (0, 30_000)

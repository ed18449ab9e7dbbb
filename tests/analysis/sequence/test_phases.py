"""Phases of generated sequences: none where the work is the same, all where it differs."""

from collections.abc import Callable

import numpy as np
import pytest

from tests.builders import inference_sequences as made
from viewer.analysis.sequence.phases import phases_of, positions, rank_correlation

SEEDS = range(400)


def wrong(generator: Callable[[int], made.Sequence]) -> list[int]:
    """The seeds whose phases are not those of the truth."""
    found = []
    for seed in SEEDS:
        one = generator(seed)
        phases = phases_of(one.lengths, one.parts, one.dynamic)
        of = np.zeros(len(one.parts), int) if phases is None else phases.of
        if of.tolist() != list(one.phase):
            found.append(seed)
    return found


@pytest.mark.slow
@pytest.mark.parametrize(
    "generator",
    [
        made.steady,
        made.steps,
        made.slope,
        lambda seed: made.slope(seed, operators=True),
        made.spikes,
        made.warm_ups,
        made.prefill_decode,
        made.two_sizes,
        made.short_levels,
        made.head_of_one_token,
        lambda seed: made.head_of_one_token(seed, steps=1),
        made.last_chunks,
        made.without_growth,
        made.long_blocks,
        made.throttling,
        made.slow_first,
        made.slowly_settling,
        made.settling,
        made.sizes_after_warm_up,
    ],
    ids=[
        *("steady", "steps", "slope", "one", "spikes", "warm-up", "prefill", "two sizes"),
        *("short levels", "head", "one step", "last chunks", "no growth", "long blocks"),
        *("throttling", "slow first", "slowly", "settling", "sizes after warm-up"),
    ],
)
def test_phases_are_those_of_the_truth(generator: Callable[[int], made.Sequence]) -> None:
    assert wrong(generator) == []


@pytest.mark.parametrize("seed", range(10))
def test_few_long_ones_and_growing_short_ones_are_prefill_and_decode(seed: int) -> None:
    one = made.prefill_decode(seed)
    phases = phases_of(one.lengths, one.parts, one.dynamic)
    assert phases is not None
    assert phases.names == ("prefill", "decode")


def test_static_input_sizes_exclude_phases() -> None:
    one = made.prefill_decode(1)
    assert phases_of(one.lengths, one.parts, None) is not None
    assert phases_of(one.lengths, one.parts, False) is None


def test_one_operator_that_is_slow_at_the_start_is_no_phase() -> None:
    parts = np.full((40, 4), 1000)
    parts[0, 0] = 90_000
    assert phases_of(parts.sum(axis=1), parts, True) is None


def test_evidence_states_how_operators_scale() -> None:
    parts = np.full((40, 2), 1000)
    parts[0] = 14_000, 15_000
    phases = phases_of(parts.sum(axis=1), parts, None)
    assert phases is not None
    assert phases.evidence == (
        "operators take 14.0 to 15.0 times as long in the longer inferences; "
        "no file shows whether input sizes are dynamic"
    )


def test_positions_start_again_in_each_block() -> None:
    some = np.array([False, True, True, False, True, True, True])
    assert positions(some).tolist() == [0, 1, 0, 1, 2]


def test_rank_correlation_of_equal_order() -> None:
    assert rank_correlation(np.arange(5), np.array([1, 4, 9, 16, 30])) == pytest.approx(1)
    assert rank_correlation(np.arange(5), np.full(5, 7)) == 0

"""Sequences of inferences with their truth: steady, stepping, growing, warming up, of two phases.

Each has a row per inference and a column per operator, in ns, as `part_times` returns them. The
noise of an inference is shared by its operators to one half, as on a device.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from viewer.arrays import Floats, Ints


@dataclass(frozen=True, slots=True)
class Sequence:
    """The times of operators, and the truth.

    first: the first inference of each level after the first, from 0. phase: of each inference.
    dynamic: whether input sizes can vary.
    """

    parts: Ints
    first: tuple[int, ...] = ()
    factors: tuple[float, ...] = ()
    phase: tuple[int, ...] = field(default=())
    dynamic: bool | None = None

    @property
    def lengths(self) -> Ints:
        """The duration of each inference: its operators and a constant."""
        return np.asarray(self.parts.sum(axis=1) + 20_000)


def _operators(random: np.random.Generator) -> Floats:
    return random.lognormal(13, 1, int(random.integers(3, 12)))


def _noisy(random: np.random.Generator, times: Floats, noise: float) -> Ints:
    shared = 1 + random.normal(0, noise / np.sqrt(2), (len(times), 1))
    own = 1 + random.normal(0, noise / np.sqrt(2), times.shape)
    return np.maximum(times * np.maximum(shared, 0.2) * np.maximum(own, 0.2), 1).astype(np.int64)


def steady(seed: int) -> Sequence:
    """Nothing changes; 20 to 400 inferences, noise of 1 to 10 %."""
    random = np.random.default_rng([1, seed])
    count = int(random.integers(20, 401))
    times = np.tile(_operators(random), (count, 1))
    return Sequence(_noisy(random, times, random.uniform(0.01, 0.1)), phase=(0,) * count)


def wandering(seed: int) -> Sequence:
    """Nothing changes, but each inference is like the one before it (correlation 0.5)."""
    random = np.random.default_rng([12, seed])
    count = int(random.integers(20, 401))
    noise, drift = random.uniform(0.01, 0.1), np.zeros(count)
    for at in range(1, count):
        drift[at] = 0.5 * drift[at - 1] + random.normal(0, noise * np.sqrt(0.75))
    times = _operators(random) * np.exp(drift)[:, None]
    return Sequence(_noisy(random, times, noise / 4), phase=(0,) * count)


def steps(seed: int, *, noise: float | None = None, least: float = 1.1) -> Sequence:
    """One to three levels, each with at least 8 inferences."""
    random = np.random.default_rng([2, seed])
    count = int(random.integers(20, 401))
    levels = int(random.integers(1, 3)) if count >= 60 else 1
    cuts = _cuts(random, count, levels)
    factors, scale = [], np.ones(count)
    for cut in cuts:
        factor = float(random.uniform(least, 2))
        scale[cut:] *= factor
        factors.append(float(scale[cut]))
    times = _operators(random) * scale[:, None]
    drawn = random.uniform(0.01, 0.1) if noise is None else random.uniform(0.01, noise)
    return Sequence(_noisy(random, times, drawn), tuple(cuts), tuple(factors), (0,) * count)


def _cuts(random: np.random.Generator, count: int, levels: int) -> list[int]:
    while True:
        cuts = sorted(random.integers(8, count - 7, levels).tolist())
        if (np.diff([0, *cuts, count]) >= 8).all():
            return cuts


def slope(seed: int, *, operators: bool = False) -> Sequence:
    """All operators (or one of them) grow to 1.2 to 2 times."""
    random = np.random.default_rng([3, seed])
    count = int(random.integers(40, 401))
    growth = np.linspace(0, random.uniform(0.2, 1), count)[:, None]
    own = _operators(random)
    grows = np.ones(len(own)) if not operators else (np.arange(len(own)) == np.argmax(own)) * 1.0
    times = own * (1 + growth * grows)
    return Sequence(_noisy(random, times, random.uniform(0.01, 0.03)), phase=(0,) * count)


def spikes(seed: int) -> Sequence:
    """Single inferences are 2 to 5 times as long, in all operators."""
    random = np.random.default_rng([4, seed])
    count = int(random.integers(40, 401))
    scale = np.ones(count)
    at = random.choice(np.arange(1, count), max(1, count // 30), replace=False)
    scale[at] = random.uniform(2, 5, len(at))
    times = _operators(random) * scale[:, None]
    return Sequence(_noisy(random, times, random.uniform(0.01, 0.05)), phase=(0,) * count)


def warm_ups(seed: int) -> Sequence:
    """The first 1 to 5 inferences are slower: some operators, or all of them by up to 2.5 times."""
    random = np.random.default_rng([5, seed])
    count = int(random.integers(20, 401))
    own = _operators(random)
    scale = np.ones((count, len(own)))
    length = int(random.integers(1, 6))
    decay = np.linspace(1, 0.2, length)[:, None]
    if random.random() < 0.5:
        scale[:length] += random.uniform(0.3, 1.5) * decay
    else:
        slow = np.zeros(len(own), np.bool_)
        slow[random.permutation(len(own))[: int(random.integers(1, 1 + len(own) // 2))]] = True
        scale[:length] += slow * random.uniform(1, 20) * decay
    times = own * scale
    return Sequence(_noisy(random, times, random.uniform(0.01, 0.05)), phase=(0,) * count)


def prefill_decode(seed: int) -> Sequence:
    """1 to 8 prompts of any length, each followed by steps whose attention grows."""
    random = np.random.default_rng([6, seed])
    linear, attention = random.uniform(1e6, 4e6, 4), random.uniform(2e3, 8e3, 2)
    prompts = int(random.integers(1, 9))
    rows: list[Floats] = []
    phase: list[int] = []
    dynamic = None if random.random() < 0.5 else True
    # Without a file that shows it, one prompt must be longer than a slow start.
    least = 4 if dynamic is None else 2.2
    for _ in range(prompts):
        tokens = int(random.integers(16, 257))
        work = random.uniform(least, 20)
        rows.append(np.concatenate([linear * work, attention * tokens * max(work, tokens / 8)]))
        phase.append(0)
        for step in range(int(random.integers(10, 80))):
            rows.append(np.concatenate([linear, attention * (tokens + step)]))
            phase.append(1)
    parts = _noisy(random, np.array(rows), random.uniform(0.01, 0.03))
    return Sequence(parts, phase=tuple(phase), dynamic=dynamic)


def two_sizes(seed: int) -> Sequence:
    """Inputs of two sizes take turns, in any order; the larger takes 2 to 6 times."""
    random = np.random.default_rng([7, seed])
    count = int(random.integers(30, 301))
    larger = random.random(count) < random.uniform(0.3, 0.7)
    scale = np.where(larger, random.uniform(2, 6), 1.0)
    times = _operators(random) * scale[:, None]
    phase = (larger != larger[0]).astype(int)
    parts = _noisy(random, times, random.uniform(0.01, 0.05))
    return Sequence(parts, phase=tuple(phase.tolist()))


def short_levels(seed: int) -> Sequence:
    """One to three steps up and down, often of 8 inferences, with outliers or dependent noise."""
    random = np.random.default_rng([8, seed])
    sizes = [int(random.choice([8, random.integers(9, 120)])) for _ in range(random.integers(2, 5))]
    factors = np.cumprod(
        [1.0, *(random.uniform(1.2, 2) ** random.choice([-1, 1]) for _ in sizes[1:])]
    )
    scale = np.repeat(factors, sizes)
    if seed % 2:
        outlier = random.random(len(scale)) < 0.02
        scale[outlier] *= random.uniform(1.5, 4, int(outlier.sum()))
    else:
        drift = np.zeros(len(scale))
        for at in range(1, len(drift)):
            drift[at] = 0.5 * drift[at - 1] + random.normal(0, 0.015)
        scale *= np.exp(drift)
    times = _operators(random) * scale[:, None]
    first, later = tuple(np.cumsum(sizes[:-1]).tolist()), tuple(factors[1:].tolist())
    return Sequence(_noisy(random, times, 0.015), first, later, (0,) * len(scale))


def head_of_one_token(seed: int, *, steps: int = 40) -> Sequence:
    """Prompts of any length, some in chunks; an operator does the same work in all inferences."""
    random = np.random.default_rng([9, seed])
    linear, attention, head = random.uniform(1e6, 4e6), random.uniform(2e3, 9e3), 5e5
    chunk = int(random.choice([32, 512])) if steps > 1 else 512
    rows, phase = [], []
    for _ in range(random.integers(2, 9)):
        tokens, position = (
            32 * int(random.integers(1, 5)) if steps > 1 else int(random.integers(32, 129)),
            0,
        )
        while position < tokens:
            size = min(chunk, tokens - position)
            work = size**0.65
            rows.append((linear * work, attention * (position + size / 2) * work, head))
            position += size
            phase.append(0)
        rows += [(linear, attention * (tokens + step), head) for step in range(steps)]
        phase += [1] * steps
    return Sequence(_noisy(random, np.array(rows), 0.02), phase=tuple(phase))


def last_chunks(seed: int) -> Sequence:
    """Prompts of any length in chunks of 16: the last chunk is of 1 to 16 tokens."""
    random = np.random.default_rng([13, seed])
    linear, attention, head = (
        random.uniform(1e6, 4e6),
        random.uniform(2e3, 6e3),
        random.uniform(1e5, 6e5),
    )
    rows, phase = [], []
    for _ in range(random.integers(2, 7)):
        tokens, position = int(random.integers(17, 257)), 0
        while position < tokens:
            size = min(16, tokens - position)
            work = max(2.0, size**0.65)
            rows.append((linear * work, attention * (position + size / 2) * work, head))
            position += size
            phase.append(0)
        steps = int(random.integers(20, 60))
        rows += [(linear, attention * (tokens + step), head) for step in range(steps)]
        phase += [1] * steps
    return Sequence(_noisy(random, np.array(rows), 0.02), phase=tuple(phase))


def without_growth(seed: int) -> Sequence:
    """Three to eight prompts of any length; attention takes the same time in all steps."""
    random = np.random.default_rng([14, seed])
    times = np.append(random.uniform(1e6, 4e6, 3), random.uniform(1e5, 4e5, 2))
    rows, phase = [], []
    for _ in range(random.integers(3, 9)):
        rows.append(times * np.append(np.full(4, random.uniform(5, 40)), 1.0))
        steps = int(random.integers(5, 60))
        rows += [times] * steps
        phase += [0] + [1] * steps
    parts = _noisy(random, np.array(rows), random.uniform(0.01, 0.03))
    return Sequence(parts, phase=tuple(phase), dynamic=bool(seed % 2) or None)


def long_blocks(seed: int) -> Sequence:
    """Input sizes are dynamic: the second half has a larger one, with which operators differ."""
    random = np.random.default_rng([15, seed])
    count = int(random.integers(24, 200))
    times = random.lognormal(13, 0.7, int(random.integers(4, 12)))
    larger = random.uniform(2.6, 8) ** random.permutation(np.linspace(0.8, 1, len(times)))
    scale = np.where(np.arange(count)[:, None] < count // 2, 1, larger)
    phase = (np.arange(count) >= count // 2).astype(int)
    parts = _noisy(random, times * scale, random.uniform(0.01, 0.04))
    return Sequence(parts, phase=tuple(phase.tolist()), dynamic=True)


def throttling(seed: int) -> Sequence:
    """Input sizes are dynamic, but it is the clock that changes, once or twice, by 1.5 to 3."""
    random = np.random.default_rng([16, seed])
    sizes = random.integers(12, 80, int(random.integers(2, 4)))
    factors = np.cumprod([1.0, *random.uniform(1.5, 3, len(sizes) - 1) ** random.choice([-1, 1])])
    times = _operators(random) * np.repeat(factors, sizes)[:, None]
    parts = _noisy(random, times, random.uniform(0.01, 0.04))
    return Sequence(parts, phase=(0,) * int(sizes.sum()), dynamic=True)


def slow_first(seed: int) -> Sequence:
    """The first one to five inferences take 1.5 to 5 times, unevenly or not, and do not settle."""
    random = np.random.default_rng([17, seed])
    times = np.tile(_operators(random), (int(random.integers(20, 200)), 1))
    own = random.lognormal(0, random.choice([0, 0.6]), times.shape[1])
    times[: int(random.integers(1, 6))] *= 1 + (random.uniform(1.5, 5) - 1) * own / own.mean()
    dynamic = bool(seed % 2) or None
    return Sequence(_noisy(random, times, 0.03), phase=(0,) * len(times), dynamic=dynamic)


def slowly_settling(seed: int) -> Sequence:
    """Some operators settle over many inferences, so the share of the others grows."""
    random = np.random.default_rng([18, seed])
    own = _operators(random)
    count = int(random.integers(20, 120))
    settles = np.arange(len(own)) % 2 == 0
    rest = random.uniform(2, 8) * random.uniform(0.6, 0.9) ** np.arange(count)
    times = own * (1 + rest[:, None] * settles)
    dynamic = bool(seed % 2) or None
    return Sequence(_noisy(random, times, 0.01), phase=(0,) * count, dynamic=dynamic)


def settling(seed: int) -> Sequence:
    """All operators are slow at first, unevenly, up to 6 times, and settle step by step."""
    random = np.random.default_rng([10, seed])
    own = _operators(random)
    scale = np.ones((int(random.integers(20, 200)), len(own)))
    length = int(random.integers(2, 6))
    more = random.uniform(1, 5) * random.lognormal(0, 0.3, len(own))
    scale[:length] += more * random.uniform(0.3, 0.7) ** np.arange(length)[:, None]
    return Sequence(_noisy(random, own * scale, 0.03), phase=(0,) * len(scale))


def sizes_after_warm_up(seed: int) -> Sequence:
    """Inputs of two sizes take turns; the first 1 to 5 inferences are slower by up to 2 times."""
    random = np.random.default_rng([11, seed])
    count = int(random.integers(24, 200))
    scale = np.where(np.arange(count) % 2, random.uniform(3, 6), 1.0)
    scale[: int(random.integers(1, 6))] *= random.uniform(1.3, 2)
    times = _operators(random) * scale[:, None]
    phase = (np.arange(count) % 2).tolist()
    return Sequence(_noisy(random, times, 0.03), phase=tuple(phase))

"""The parting of slices and the mipmap, against a walk over every slice of every cell."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from viewer.model.trace import Slices
from viewer.render.lod import FULL_SHADE, MIN_SLICES, DrawnSlices, build_mips, shade_of, weights_of


def slices_of(*rows: list[tuple[int, int]]) -> Slices:
    flat = np.array([pair for row in rows for pair in row], np.int64).reshape(-1, 2)
    codes = np.zeros(len(flat), np.uint32)
    number = np.zeros(len(rows), np.uint32)
    return Slices(
        start=flat[:, 0].copy(),
        end=flat[:, 1].copy(),
        name=codes,
        key=codes,
        source_row=codes,
        order=None,
        row_ptr=np.cumsum([0, *map(len, rows)]),
        row_track=np.arange(len(rows), dtype=np.uint32),
        row_lane=number,
        row_depth=number,
    )


def test_slices_without_a_length_are_parted_from_the_others():
    slices = slices_of([(0, 0), (0, 5), (5, 5)], [], [(7, 7)], [(1, 2), (3, 4)])
    drawn = DrawnSlices.of(slices)
    assert drawn.start.tolist() == [0, 1, 3]
    assert drawn.row_ptr.tolist() == [0, 1, 1, 1, 3]
    assert [drawn.number(i) for i in range(3)] == [1, 4, 5]
    assert drawn.busy_before(np.arange(4)).tolist() == [0, 5, 6, 7]
    assert drawn.zero_time.tolist() == [0, 5, 7]
    assert drawn.zero_ptr.tolist() == [0, 2, 2, 3, 3]
    assert drawn.zero_index.tolist() == [0, 2, 3]


def test_lengths_are_summed_before_any_slice():
    rng = np.random.default_rng(2)
    for count in (1, 7, 8, 9, 64, 101):
        end = np.cumsum(rng.integers(1, 1 << 40, count))
        start = end - rng.integers(1, 1 << 39, count) % np.diff(end, prepend=0) - 1
        rows = list(zip(start.tolist(), np.maximum(end, start + 1).tolist(), strict=True))
        sums = [sum(e - s for s, e in rows[:i]) for i in range(count + 1)]
        found = DrawnSlices.of(slices_of(rows)).busy_before(np.arange(count + 1))
        assert found.tolist() == sums


def test_a_trace_without_zero_lengths_is_not_copied():
    slices = slices_of([(0, 1), (1, 2)])
    drawn = DrawnSlices.of(slices)
    assert drawn.start is slices.start
    assert drawn.index is None


def test_chosen_slices_stay_on_their_rows():
    slices = slices_of([(0, 1), (1, 1), (2, 3)], [(0, 9)], [(4, 4), (5, 6)])
    drawn = DrawnSlices.chosen(slices, np.array([1, 2, 5]))
    assert drawn.row_ptr.tolist() == [0, 1, 1, 2]
    assert drawn.numbers(np.array([0, 1])).tolist() == [2, 5]
    assert drawn.zero_index.tolist() == [1]
    assert drawn.zero_ptr.tolist() == [0, 1, 1, 1]


@pytest.mark.slow
@settings(max_examples=25)
@given(
    seed=st.integers(0, 2**32 - 1),
    scale=st.sampled_from([1, 3, 50]),
    origin=st.sampled_from([0, -(2**63), 2**63 - 10**6]),
)
def test_every_cell_of_every_level_says_what_its_time_holds(seed, scale, origin):
    rng = np.random.default_rng(seed)
    n = MIN_SLICES + int(rng.integers(0, 100))
    length = rng.integers(1, 4 * scale, n)
    gap = rng.integers(0, 2 * scale, n) * rng.integers(0, 2, n)
    length[n // 2], gap[n // 3] = 900 * scale, 900 * scale
    end = np.cumsum(length + gap)
    start = end - length
    start, end = start - start[0], end - start[0]
    color = rng.integers(0, 28, n).astype(np.uint8)
    row = np.column_stack([start, end]) + origin
    mip = build_mips(DrawnSlices.of(slices_of(row.tolist())), color)[0]
    assert mip.origin == origin
    assert n - 1 < len(mip.levels[0]) <= 2 * n
    assert len(mip.levels[-1]) == 1
    weights = weights_of(start, end, color)
    for number, cells in enumerate(mip.levels):
        size = 1 << mip.shift + number
        for c in range(len(cells)):
            inside = np.flatnonzero((start < (c + 1) * size) & (end > c * size))
            if not len(inside):
                assert cells[c] == 0
                continue
            longest = inside[np.argmax(weights[inside])]
            assert cells[c] & 0x3F == color[longest]
            covered = np.minimum(end[inside], (c + 1) * size) - np.maximum(start[inside], c * size)
            share = float(covered.sum() / size)
            expected = FULL_SHADE if len(inside) == 1 else 1 + share * 254
            assert cells[c] >> 8 == pytest.approx(expected, abs=1.01)


def test_rows_with_few_slices_have_no_mipmap():
    few = [(2 * i, 2 * i + 1) for i in range(MIN_SLICES - 1)]
    many = [(2 * i, 2 * i + 1) for i in range(MIN_SLICES)]
    zeros = [(i, i) for i in range(MIN_SLICES)]
    drawn = DrawnSlices.of(slices_of(few, many, zeros))
    color = np.zeros(len(drawn.start), np.uint8)
    assert list(build_mips(drawn, color)) == [1]
    assert build_mips(drawn, color, cancelled=lambda: True) == {}


def test_weights_order_by_length_and_end_in_the_color():
    start = np.array([0, 0, -(2**63)])
    end = np.array([10, 20, 2**63 - 1])
    weights = weights_of(start, end, np.array([27, 3, 9], np.uint8))
    assert (np.diff(weights.astype(np.int64)) > 0).all()
    assert (weights & 0xFF).tolist() == [27, 3, 9]


def test_shades_reach_from_barely_to_fully_covered():
    assert shade_of(np.array([0.0, 1e-9, 0.5, 1.0, 1.5])).tolist() == [1, 1, 128, 255, 255]

"""The picture of crowded rows against an exact raster that walks every slice.

The mipmap may put a narrow slice one column beside where it belongs, and never further; nothing
that exists is ever invisible. Views are random, and columns are those of 100 to 200 % displays.
"""

from fractions import Fraction

import numpy as np
import pytest

from tests.builders import many_slices
from viewer.render.raster import RowRaster
from viewer.render.time_axis import XMap

SLICES = 300_000
WIDTH = 640
VIEWS = 24
RATIOS = (1, 1.25, 1.5, 2)


def exact_row(starts: list[int], ends: list[int], xmap: XMap) -> np.ndarray:
    """How many slices touch each column, by whole numbers alone: every slice at least one."""
    delta = np.zeros(xmap.width + 1, np.int64)
    scale = Fraction(xmap.width, xmap.t1 - xmap.t0)
    over, under = scale.numerator, scale.denominator
    for start, end in zip(starts, ends, strict=True):
        first = (start - xmap.t0) * over // under
        stop = max((end - xmap.t0) * over // under, first + 1)
        if first >= xmap.width:
            break
        if stop > 0:
            delta[max(first, 0)] += 1
            delta[min(stop, xmap.width)] -= 1
    return np.cumsum(delta[:-1])


def near(columns: np.ndarray) -> np.ndarray:
    """Columns that are set, or beside one that is."""
    wide = columns.copy()
    wide[1:] |= columns[:-1]
    wide[:-1] |= columns[1:]
    return wide


@pytest.fixture(scope="module")
def many():
    slices = many_slices.trace(SLICES).slices
    color = (slices.key % 12).astype(np.uint8)
    lists = [
        (slices.start[lo:hi].tolist(), slices.end[lo:hi].tolist())
        for lo, hi in zip(slices.row_ptr[:-1].tolist(), slices.row_ptr[1:].tolist(), strict=True)
    ]
    return slices, RowRaster.of(slices, color), lists


def views(starts: list[int], ends: list[int], seed: int, width: int):
    """Ranges from all of a row down to a few of its slices, each around one of them."""
    rng = np.random.default_rng(seed)
    whole = ends[-1] - starts[0]
    for _ in range(VIEWS):
        span = max(int(whole * 10 ** rng.uniform(-3.5, 0.05)), width)
        t0 = starts[int(rng.integers(len(starts)))] - int(span * rng.uniform(0, 1))
        yield XMap(t0, t0 + span, width)


@pytest.mark.slow
@pytest.mark.parametrize("ratio", RATIOS)
def test_crowded_rows_are_drawn_where_they_are(many, ratio):
    slices, raster, lists = many
    fullest = np.argsort(-np.diff(slices.row_ptr), kind="stable")
    covered = missed = invented = 0
    for row in (*fullest[:10].tolist(), *fullest[200:206].tolist()):
        for xmap in views(*lists[row], row, round(WIDTH * ratio)):
            (cells,) = raster.draw([row], xmap)
            truth, seen = exact_row(*lists[row], xmap) > 0, cells != 0
            # The last column of a wide slice is left empty, as a gap; so a miss is two of them.
            covered += int(truth.sum())
            missed += int((truth & ~near(seen)).sum())
            invented += int((seen & ~near(truth)).sum())
    assert covered > 15_000
    assert missed <= covered // 100_000
    assert invented <= covered // 100_000


@pytest.mark.slow
@pytest.mark.parametrize("ratio", RATIOS)
def test_no_slice_is_ever_invisible(many, ratio):
    """Each run of covered columns shows something, in it or beside it: any row, any view."""
    _, raster, lists = many
    runs = 0
    for row in range(0, len(lists), 37):
        for xmap in views(*lists[row], row, round(WIDTH * ratio)):
            truth = exact_row(*lists[row], xmap) > 0
            (cells,) = raster.draw([row], xmap)
            steps = np.diff(np.concatenate([[0], truth.astype(np.int8), [0]]))
            for begin, end in zip(
                np.flatnonzero(steps > 0).tolist(), np.flatnonzero(steps < 0).tolist(), strict=True
            ):
                runs += 1
                assert cells[max(begin - 1, 0) : end + 1].any()
    assert runs > 1000


def test_every_slice_of_a_row_is_seen_where_it_begins(many):
    _, raster, lists = many
    for row in range(0, len(lists), 61):
        for start, end in list(zip(*lists[row], strict=True))[:50]:
            span = max((end - start) * 400, 400)
            xmap = XMap(start - span // 2, start - span // 2 + span, 400)
            (cells,) = raster.draw([row], xmap)
            assert cells[int(xmap.pixel_of(np.array([start]))[0])] != 0

"""The overview's figures against sets of single ticks, and how they are told."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from viewer.compat.torq_logger.charts import all_units, runtime_overview, two_units

spans = st.lists(
    st.tuples(st.integers(0, 40), st.integers(0, 9)).map(lambda s: (s[0], s[0] + s[1])), max_size=6
)


def arrays(items):
    table = np.array(items, np.int64).reshape(-1, 2)
    return table[:, 0].copy(), table[:, 1].copy()


def ticks(items):
    return {t for start, end in items for t in range(start, end)}


@pytest.mark.slow
@given(spans, spans)
def test_two_units_are_sets_of_time(dma, slices):
    times = two_units(arrays(dma + slices), arrays(dma), arrays(slices)).times
    a, b = ticks(dma), ticks(slices)
    assert times["DMA"] == len(a)
    assert times["SLICE"] == len(b)
    assert times["DMA_ONLY"] == len(a - b)
    assert times["DMA_SLICE_OVERLAP"] == len(a & b)
    assert times["DMA"] == times["DMA_ONLY"] + times["DMA_SLICE_OVERLAP"]
    assert times["SLICE"] + times["DMA_ONLY"] + times["IDLE"] == times["OVERALL"]


@pytest.mark.slow
@given(spans, spans, spans, spans)
def test_all_units_take_dma_with_cdma_and_slices_with_css(dma, cdma, slices, css):
    parts = [arrays(part) for part in (dma, cdma, slices, css)]
    times = all_units(arrays(dma + cdma + slices + css), *parts, {0: arrays(slices)}).times
    a, b = ticks(dma + cdma), ticks(slices + css)
    assert times["DMA_COMBINED"] == len(a)
    assert times["COMPUTE_COMBINED"] == len(b)
    assert times["COMPUTE_ONLY"] == len(b - a)
    assert times["DMA_COMPUTE_OVERLAP"] == len(a & b)
    assert times["SLICE_0"] == times["SLICE"] == len(ticks(slices))
    assert times["IDLE"] + len(a | b) == times["OVERALL"]


def test_the_slices_begin_at_the_first_row_and_are_as_long_as_their_figures():
    overview = two_units(arrays([(10, 50)]), arrays([(10, 20)]), arrays([(15, 50)]))
    assert overview.start == 10
    assert overview.slices() == [
        ("00 OVERVIEW DMA", "DMA total: 10 (25.00%)", 10, True),
        ("01 OVERVIEW SLICE", "SLICE total: 35 (87.50%)", 35, True),
        ("02 OVERVIEW DMA ONLY", "DMA ONLY (exclusive): 5 (12.50%)", 5, True),
        ("03 OVERVIEW DMA+SLICE OVERLAP", "DMA & SLICE overlap: 5 (12.50%)", 5, True),
        ("04 OVERVIEW IDLE", "IDLE: 0 (0.00%)", 0, True),
        ("05 OVERALL", "OVERALL: 40", 40, False),
    ]


def test_of_jobs_only_idle_and_overall_are_known():
    overview = runtime_overview(arrays([(0, 10), (15, 20)]))
    told = {figure: time for figure, time in overview.times.items() if time}
    assert told == {"IDLE": 5, "OVERALL": 20}


def test_no_rows_are_no_time():
    nothing = arrays([])
    overview = two_units(nothing, nothing, nothing)
    assert overview.start == 0
    assert set(overview.times.values()) == {0}
    assert "IDLE time: 0 (0.00%)\nOVERALL time: 0\n" in overview.printed("empty.csv")

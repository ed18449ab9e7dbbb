"""Short locations, durations and shares, as the original's names have them."""

import pytest

from viewer.compat.torq_logger.charts import duration_text, layer_name, percent, short_location


@pytest.mark.parametrize(
    ("location", "short"),
    [
        ('loc(callsite("/models/m.mlir":11:10 at "/models/m.mlir":2:3))', "m.mlir:11:10"),
        ('loc(callsite(unknown at "m.mlir":2:3))', "m.mlir:2:3"),
        ('loc(fused["/a b/m.mlir":18:11, "m.mlir":2:3])', "m.mlir:18:11"),
        ('loc(fused[callsite("a.mlir":13:10 at "a.mlir":2:3), unknown])', "a.mlir:13:10"),
        ('loc("/work/model.py":7:1)', "model.py:7:1"),
        ('loc("Conv_0")', "Conv_0"),
        ("loc(unknown)", "unknown"),
        ("", ""),
    ],
)
def test_a_location_is_told_by_its_first_place(location, short):
    assert short_location(location) == short


def test_long_locations_take_no_longer_than_they_are():
    assert short_location('loc("' + "a/" * 1_000_000 + 'b")') == "b"
    assert len(short_location("loc(" + 'callsite("' * 200_000)) == len(
        "loc(" + "callsite(" * 200_000
    )


@pytest.mark.parametrize(
    ("ns", "text"),
    [(0, "0ns"), (999, "999ns"), (1000, "1.000µs"), (165_261, "165.261µs"),
     (2_500_000, "2.500ms"), (1_234_000_000, "1.234s")],
)  # fmt: skip
def test_a_duration_has_the_unit_that_fits(ns, text):
    assert duration_text(ns) == text


def test_shares_and_layers():
    assert percent(1, 8) == "12.50%"
    assert percent(0, 0) == "0.00%"
    assert layer_name("tosa.add@L1", ["a:1", "a:1"]) == "tosa.add@L1 | a:1 | "
    assert layer_name("x", list("abcde")) == "x | a, b, c (+2 more) | "

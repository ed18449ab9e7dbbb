"""One table of layers in sixty ways: none is refused, and each has the same bars."""

from fractions import Fraction

import pytest

from tests.builders.layer_tables import LAYERS, random_variant, variants
from viewer.formats import open_file

VARIANTS = list(variants())


def test_there_are_sixty():
    assert len({variant.name for variant in VARIANTS}) == len(VARIANTS) >= 60


@pytest.mark.parametrize("variant", VARIANTS, ids=lambda variant: variant.name)
def test_every_variant_has_the_same_bars(variant, tmp_path):
    check(variant, tmp_path)


@pytest.mark.slow
def test_other_words_orders_and_units_have_the_same_bars(tmp_path):
    for seed in range(100):
        check(random_variant(seed), tmp_path)


def check(variant, tmp_path):
    path = tmp_path / "table.txt"
    path.write_text(variant.text, newline="")
    trace = open_file(str(path))
    assert (trace.format, trace.problems) == ("Layer table", ()), variant.name
    slices, per_us = trace.slices, trace.clock.ns_per_tick / 1000
    kinds = slices.columns["type"]
    assert [
        (trace.name(i), kinds.strings[kinds.values[i]], (slices.end[i] - slices.start[i]) * per_us)
        for i in range(len(slices))
    ] == [(name, kind, Fraction(us)) for name, kind, us in LAYERS] * variant.blocks
    assert len(list(trace.inferences())) == (variant.blocks if variant.blocks > 1 else 0)

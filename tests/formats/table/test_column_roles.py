"""The preview of a table shows what reading it gives."""

import pytest

from tests.builders.csv_variants import TRUTH, variants
from viewer.formats.table.column_roles import preview_of
from viewer.formats.table.layout import layout_of
from viewer.formats.table.packed_text import head_text
from viewer.formats.table.stated_columns import NOTHING_STATED, parse_columns

PLAIN = [variant for variant in variants() if not variant.suffix.endswith(".zip")]


@pytest.mark.parametrize("variant", PLAIN, ids=lambda variant: variant.name)
def test_the_preview_of_each_variant_has_the_times_of_its_slices(variant):
    layout = layout_of(head_text(variant.data).removeprefix("\ufeff"), whole=True)
    asked = preview_of(layout, NOTHING_STATED)
    assert asked.missing == variant.asks
    stated = parse_columns(variant.answer) if variant.answer else NOTHING_STATED
    preview = preview_of(layout, stated)
    assert (preview.missing, preview.fault, preview.bad) == ((), "", "")
    assert preview.slices == [(start * 1000, took * 1000) for *_, start, took in TRUTH]


def test_a_row_without_times_is_named_with_its_line():
    layout = layout_of("# x\nname,start_us,dur_us\na,1,2\nb,2,\nc,x,3\n", whole=True)
    preview = preview_of(layout, NOTHING_STATED)
    assert preview.times == ((1_000_000, 2_000_000), None, None)
    assert preview.bad == "line 4: dur_us has no value"


def test_columns_that_do_not_fit_are_a_fault():
    layout = layout_of("name,start_us,dur_us\na,1,2\n", whole=True)
    assert "states the unit ms" in preview_of(layout, parse_columns("unit=ms")).fault

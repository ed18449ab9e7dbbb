"""The preview of a table shows what reading it gives."""

import pytest

from tests.builders.csv_variants import TRUTH, variants
from viewer.codecs.reading import UnreadableFile
from viewer.formats import open_file
from viewer.formats.table.column_roles import preview_of
from viewer.formats.table.layout import layout_of
from viewer.formats.table.packed_text import head_text
from viewer.formats.table.stated_columns import NOTHING_STATED, parse_columns
from viewer.formats.table.time_texts import UNITS

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


KERNELS = (
    '"Kind","Agent_Id","Queue_Id","Thread_Id","Kernel_Name","Correlation_Id","Start_Timestamp",'
    '"End_Timestamp"\n"KERNEL_DISPATCH","Agent 4",1,19192,"add(float*, int)",1,5024462116573,'
    "5024462121573\n"
)


def test_times_of_rocprofv3_are_ns(tmp_path):
    path = tmp_path / "kernel_trace.csv"
    path.write_text(KERNELS)
    slices = (trace := open_file(str(path))).slices
    assert (int(slices.end[0] - slices.start[0]), trace.clock.ns_per_tick) == (5000, 1)
    assert trace.name(0) == "add(float*, int)"


@pytest.mark.parametrize("unit", UNITS)
def test_a_unit_that_is_not_known_is_asked_for_without_an_example(unit, tmp_path):
    """Who copies an example would get durations that are wrong by powers of ten."""
    path = tmp_path / "a.csv"
    path.write_text("name,start,end\nconv,10,15\n")
    with pytest.raises(UnreadableFile) as refused:
        open_file(str(path))
    assert '"name=name,start=start,end=end,unit=UNIT"; UNIT is s, ms' in str(refused.value)
    answer = "name=name,start=start,end=end,unit=UNIT".replace("UNIT", unit)
    assert len(open_file(str(path), columns=answer).slices) == 1

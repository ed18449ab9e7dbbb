"""Coverage: slices where they begin, time once per track, foreign slices in no time."""

from tests.builders.delegation_cases import DATA, DUMPS, linked, ranges, spans, within
from viewer.analysis.links.coverage import (
    coverage,
    coverage_of,
    covered_ticks,
    starts_within,
    stated_per_key,
)
from viewer.analysis.links.linker import unlinked
from viewer.formats import open_file
from viewer.model.figures import TimeScope
from viewer.model.trace import KeyKind

DEMO = DUMPS[1]


def test_a_kernel_in_its_call_covers_no_time_twice():
    table = linked("etdump/cnn_portable_x10.etdp", "etrecord/cnn_toedge_portable.etrecord")
    trace = table.trace
    calls = spans(trace, KeyKind.OPERATOR_CALL)
    for first, last in ranges(trace):
        assert coverage(table, TimeScope(ticks=(first, last))).linked_ticks == within(
            calls, first, last
        )


def test_events_without_a_link_count_and_their_call_covers_their_time():
    found = coverage(linked(*DEMO))
    assert (found.linkable, found.linked) == (28, 24)
    assert found.linked_ticks == found.linkable_ticks == 619_746


def test_the_whole_is_what_info_tells():
    table = linked(*DEMO)
    found, told = coverage(table), coverage_of(table)
    assert (found.linkable, found.linked) == (told["linkable"], told["linked"])
    assert told["covered_time"] == round(found.linked_ticks / found.linkable_ticks, 4)


def test_one_run():
    table = linked(*DUMPS[8])
    parts = [coverage(table, TimeScope(run)) for run in table.trace.runs]
    assert sum(part.linkable for part in parts) == coverage(table).linkable == 15


def test_slices_on_a_clock_of_their_own_count_and_cover_nothing():
    trace = open_file(str(DATA / "etdump/SYN_qnn_like.etdp"))
    found = coverage(unlinked(trace))
    assert found.linkable == 3  # the call and two of its three events; the third is a total
    assert found.linkable_ticks == within(spans(trace, KeyKind.DELEGATE_CALL), 0, trace.end)
    assert covered_ticks(trace, trace.keys.kind == KeyKind.DELEGATE_EVENT) == 0


def test_gaps_that_a_reader_computed_are_in_no_count():
    trace = open_file(str(DATA / "etdump/demo_str_x4.etdp"))
    assert stated_per_key(trace).sum() == len(trace.slices) - trace.slices.derived_count == 35


def test_ranges_side_by_side_have_every_slice_once():
    trace = open_file(str(DATA / "etdump/demo_str_x4.etdp"))
    middle = (trace.start + trace.end) // 2
    parts = [
        starts_within(trace, TimeScope(ticks=(trace.start, middle))),
        starts_within(trace, TimeScope(ticks=(middle, trace.end))),
    ]
    assert sum(int(part.sum()) for part in parts) == len(trace.slices)
    assert not (parts[0] & parts[1]).any()

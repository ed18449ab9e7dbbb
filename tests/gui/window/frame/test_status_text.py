"""What the status bar says of clocks, selection and range."""

from fractions import Fraction

import pytest

from viewer.gui.session.clocks import set_clock
from viewer.gui.session.navigation import pick_run
from viewer.gui.session.selection import slices_of
from viewer.gui.session.session import Session
from viewer.gui.window.frame.status import clock_text, range_text, selection_text
from viewer.model.times import counted, format_time
from viewer.model.trace import KeyKind
from viewer.resources import SAMPLES
from viewer.view.state import Area, SliceRef, SliceSet

THIN = "\u202f"
_PATHS = {sample.key: sample.paths() for sample in SAMPLES}


def test_nothing_open(qapp):
    session = Session()
    assert clock_text(session) == selection_text(session) == ""
    assert range_text(session) == "No trace open"


def test_a_record_alone_has_no_clock(opened):
    session = opened(_PATHS["attention_xnnpack"][1])
    assert clock_text(session) == range_text(session) == selection_text(session) == ""


def test_clocks(opened, data):
    assert clock_text(opened(_PATHS["plain_csv"][0])) == f"1 tick = 1{THIN}ns · 35 slices"
    assert clock_text(opened(_PATHS["attention_xnnpack"][0])) == (
        f"1 tick = 1{THIN}ns assumed · 627 slices (+100 derived)"
    )
    both = opened(_PATHS["plain_csv"][0], _PATHS["attention_xnnpack"][0])
    assert clock_text(both) == "2 clock rates, 1 assumed · 662 slices (+100 derived)"
    cycles = opened(data / "torq" / "compile_c3_taskid_mtu.csv")
    assert clock_text(cycles) == f"800{THIN}MHz assumed · 44 slices"
    set_clock(cycles, 0, Fraction(10))
    assert clock_text(cycles) == f"100{THIN}MHz chosen · 44 slices"


def test_several_clocks_are_counted_by_who_states_their_rate(opened, data):
    cycles = data / "torq" / "compile_c3_taskid_mtu.csv"
    session = opened(_PATHS["plain_csv"][0], _PATHS["attention_xnnpack"][0], cycles)
    assert clock_text(session) == "3 clock rates, 2 assumed · 706 slices (+100 derived)"
    set_clock(session, 2, Fraction(10))
    assert clock_text(session) == "3 clock rates, 1 assumed, 1 chosen · 706 slices (+100 derived)"


def test_the_range(opened):
    session = opened(_PATHS["plain_csv"][0])
    session.set_range(1_500, 22_000)
    assert range_text(session) == f"1.500 – 22.000{THIN}µs · 20.500{THIN}µs visible"
    session.set_range(-20, 80)
    assert range_text(session) == f"−20 – 80{THIN}ns · 100{THIN}ns visible"


def test_the_range_names_its_clock_if_there_are_several(opened):
    session = opened(*_PATHS["torq_npu"])
    session.set_range(1_500, 22_000)
    assert range_text(session).startswith("Host clock · 1.500 – 22.000")
    session.activate(session.groups[1].key)
    session.set_range(0, 500)
    assert range_text(session) == f"Compile clock · 0 – 500{THIN}ns · 500{THIN}ns visible"


def is_call(shown, i):
    """Whether a slice counts: a kernel is counted with the call around it."""
    return shown.trace.keys.kind[shown.trace.slices.key[i]] != KeyKind.KERNEL


def test_a_slice_and_the_others_of_its_operator(opened):
    session = opened(*_PATHS["attention_xnnpack"])
    shown = session.traces[0]
    run = shown.trace.runs[session.state.run[1]]
    slices = shown.trace.slices
    index = next(
        i for i in range(len(slices))
        if run.start <= slices.start[i] < run.end and len(shown.link(i).operators) == 1
    )  # fmt: skip
    session.select_slice(SliceRef(0, index))
    operator = shown.link(index).operators
    every = [i for i in range(len(slices)) if shown.link(i).operators == operator]
    same = [i for i in every if is_call(shown, i)]
    here = [i for i in same if run.start <= slices.start[i] < run.end]
    assert len(same) == 5 * len(here)
    text = selection_text(session)
    assert text.startswith("1 slice selected · ")
    more = f"{len(here) - 1} more slices of the operator in this inference"
    assert more in text if len(here) > 1 else "of its operator" not in text
    pick_run(session, None)
    assert f" · {len(same) - 1} more slices of the operator" in selection_text(session)
    assert "in this run" not in selection_text(session)


def test_a_slice_without_operator(opened):
    session = opened(_PATHS["plain_csv"][0])
    session.select_slice(SliceRef(0, 0))
    start, end = session.traces[0].span_ns(0)
    assert f"{(end - start) / 1000:.3f}" in selection_text(session)
    assert "operator" not in selection_text(session)


@pytest.mark.parametrize(("tracks", "words"), [(1, "1 track"), (2, "2 tracks")])
def test_an_area(opened, tracks, words):
    session = opened(_PATHS["plain_csv"][0])
    session.select_area(Area(100, 1_600, frozenset((0, t) for t in range(tracks))))
    shown = session.traces[0]
    spans = [
        shown.span_ns(i) for i in range(len(shown.trace.slices))
        if shown.trace.slices.track(i) < tracks
    ]  # fmt: skip
    touched = [a for a, b in spans if a < 1_600 and (b > 100 or a >= 100)]
    count = counted(len(touched), "slice")
    assert selection_text(session) == f"1.500{THIN}µs selected on {words} · {count}"


def test_several_slices(opened):
    session = opened(_PATHS["plain_csv"][0])
    chosen = SliceSet.of_refs([SliceRef(0, 1), SliceRef(0, 3)])
    session.select_slices(chosen, SliceRef(0, 1))
    spans = [session.traces[0].span_ns(i) for i in (1, 3)]
    apart = spans[0][1] <= spans[1][0] or spans[1][1] <= spans[0][0]
    assert apart
    total = format_time(sum(end - start for start, end in spans))
    assert selection_text(session) == f"2 slices selected · {total} in total"


def test_operators(opened):
    session = opened(*_PATHS["delegate_handle_map"])
    shown = session.traces[0]
    for operator in range(3):
        session.select_operators(0, (operator,))
        calls = [
            set(shown.link(i).operators) for i in slices_of(session, 0, (operator,)).tolist()
            if is_call(shown, i)
        ]  # fmt: skip
        own = calls.count({operator})
        shared = len(calls) - own
        text = selection_text(session)
        assert text.startswith(f"{own} slice")
        assert (f", {shared} shared call" in text) == bool(shared)


@pytest.mark.slow
def test_a_slice_of_a_foreign_clock_is_told_in_its_own_unit(opened, data):
    session = opened(data / "etdump" / "SYN_qnn_like.etdp")
    trace = session.traces[0].trace
    event = next(i for i in range(len(trace.slices)) if "relu" in trace.name(i))
    session.select_slice(SliceRef(0, event))
    assert selection_text(session) == "1 slice selected · 300\u202fcycles"

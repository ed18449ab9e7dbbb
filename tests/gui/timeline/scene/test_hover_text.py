"""What is said at the mouse of a slice: its operator and line, or why there is none."""

import pytest

from tests.builders.etdump_writer import Run, operator, write_dump
from tests.gui.events import SAMPLE, canvas, move, place_of
from viewer.analysis.links.link_table import LinkState
from viewer.gui.session import navigation
from viewer.gui.timeline.scene.texts import slice_lines
from viewer.gui.window.frame.status import spoken_text
from viewer.view.state import SliceRef

THIN = "\u202f"


@pytest.fixture
def session(opened):
    return opened(*SAMPLE["attention_xnnpack"].paths())


@pytest.fixture
def attention(session):
    return session.traces[0]


def lines_of(shown, label):
    index = next(i for i in range(len(shown.trace.slices)) if shown.label(i) == label)
    return slice_lines(shown, index)


def test_one_operator_has_its_line_of_python(attention):
    assert lines_of(attention, "blocks.0.ln1 · layer_norm") == [
        "blocks.0.ln1 · layer_norm",
        f"1.282{THIN}µs at 388.179{THIN}µs",
        "OPERATOR_CALL",
        "models.py:48 in forward",
    ]


def test_a_shared_slice_lists_its_operators_and_divides_nothing(attention):
    assert lines_of(attention, "XnnpackBackend · 5 ops") == [
        "XnnpackBackend · 5 ops",
        f"13.139{THIN}µs at 416.462{THIN}µs",
        "DELEGATE_CALL",
        "shared by 5 operators",
        "blocks.0 · view, models.py:49 in forward",
        "blocks.0 · view, models.py:50 in forward",
        "blocks.0 · transpose, models.py:49 in forward",
        "blocks.0 · transpose, models.py:50 in forward",
        "blocks.0 · scaled_dot_product_attention, models.py:52 in forward",
    ]


def test_frames_of_the_runtime_are_expected_to_have_no_operator(attention):
    assert lines_of(attention, "Method::init") == [
        "Method::init", f"384.564{THIN}µs at 190{THIN}ns"
    ]  # fmt: skip


def test_an_unlinked_slice_says_why(opened, data):
    shown = opened(data / "etdump" / "SYN_qnn_like.etdp").traces[0]
    unlinked = [
        i for i in range(len(shown.trace.slices))
        if shown.link(i).reason.state is LinkState.UNLINKED
    ]  # fmt: skip
    assert unlinked
    for index in unlinked:
        assert shown.link(index).detail in slice_lines(shown, index)


def test_a_line_of_mlir_is_its_place(opened):
    shown = opened(*SAMPLE["torq_npu"].paths()).traces[0]
    linked = next(i for i in range(len(shown.trace.slices)) if shown.link(i).operators)
    (operator,) = (shown.table.program.operators[o] for o in shown.link(linked).operators)
    file = shown.table.program.path.rpartition("/")[2]
    place = f"{file}:{operator.place.removeprefix('L')}"
    assert any(line.startswith(place) for line in slice_lines(shown, linked))


# -- for a screen reader ---------------------------------------------------------------------------


def test_a_screen_reader_hears_all_of_the_selected_slice(session, attention):
    index = next(i for i in range(99) if attention.label(i) == "blocks.0.ln1 · layer_norm")
    session.select_slice(SliceRef(0, index))
    spoken = spoken_text(session)
    assert spoken.startswith(
        f"blocks.0.ln1 · layer_norm. 1.282{THIN}µs at 388.179{THIN}µs. OPERATOR_CALL. "
        "models.py:48 in forward. forward"
    )
    session.clear_selection()
    assert spoken_text(session) == ""


def test_what_is_hovered_is_in_the_frame_that_follows_the_mouse(harness):
    harness.open_sample("attention_xnnpack")
    session = harness.session
    session.select_slice(SliceRef(0, 7))
    navigation.fit_selection(session)
    move(canvas(harness), place_of(harness, 7))
    shown = session.traces[0]
    assert harness.timeline.view.tip.lines == tuple(slice_lines(shown, 7))


def test_a_position_has_the_digits_that_the_view_resolves(opened, tmp_path):
    path = tmp_path / "late.csv"
    path.write_text("process,thread,name,start_ns,dur_ns\np,t,a,0,1\np,t,b,3876412385,9\n")
    (shown,) = opened(path).traces
    position = {
        resolution: slice_lines(shown, 1, resolution)[1].rpartition("at ")[2]
        for resolution in (1, 1_000, 5_000_000)
    }
    assert {n: text.replace("\u2009", " ").replace(THIN, " ") for n, text in position.items()} == {
        1: "3.876 412 385 s", 1_000: "3.876 412 s", 5_000_000: "3.876 s",
    }  # fmt: skip


def test_a_slice_says_what_was_allocated_after_it(opened, tmp_path):
    events = [operator("conv", 1, 10, 20), {"allocation": (1, 4096)}, operator("add", 2, 20, 30)]
    path = write_dump(tmp_path / "a.etdp", (Run("Execute", events, allocators=("method",)),))
    shown = opened(str(path)).traces[0]
    said = f"then allocates 4.1{THIN}kB in 1 allocation: method, time not logged"
    assert said in lines_of(shown, "conv")
    assert said not in lines_of(shown, "add")

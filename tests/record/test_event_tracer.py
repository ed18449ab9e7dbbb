"""Logging: what a call puts into the dump, who it belongs to, and what misuse is told."""

import gc
import os
import threading
import time

import numpy as np
import pytest

from tests.builders.dumps import Clock, Logged, events_of
from viewer.record import EventTracer, event_batches, event_tracer


@pytest.fixture
def path(tmp_path):
    return tmp_path / "run.etdp"


@pytest.fixture
def tracer():
    return EventTracer(clock=Clock())


def test_events_of_a_delegate_are_of_the_call_that_is_open(path):
    with EventTracer(path, clock=Clock()) as tracer, tracer.create_event_block("Execute"):
        execute = tracer.start_profiling("Method::execute")  # 10
        call = tracer.start_profiling("DELEGATE_CALL", 0, 3)  # 20
        fused = tracer.start_profiling_delegate("Fancy Fusion")  # 30
        tracer.end_profiling_delegate(fused, b"\x00\xff")  # 40
        number = tracer.start_profiling_delegate(delegate_debug_id=0)  # 50
        tracer.end_profiling_delegate(number, "tiles=4")  # 60
        tracer.log_profiling_delegate("late", None, 61, 69)
        tracer.log_profiling_delegate(None, "text", 62, 63, "é")
        tracer.end_profiling(call)  # 70
        tracer.end_profiling(execute)  # 80
    assert events_of(path) == [
        Logged("Execute", "Fancy Fusion", 30, 40, 0, 3, b"\x00\xff"),
        Logged("Execute", 0, 50, 60, 0, 3, b"tiles=4"),
        Logged("Execute", "late", 61, 69, 0, 3),
        Logged("Execute", "text", 62, 63, 0, 3, "é".encode()),
        Logged("Execute", "DELEGATE_CALL", 20, 70, 0, 3),
        Logged("Execute", "Method::execute", 10, 80, -1, 0),
    ]


def test_entries_are_context_managers_and_carry_metadata(path):
    with (
        EventTracer(path, clock=Clock()) as tracer,
        tracer.start_profiling("DELEGATE_CALL", 0, 1) as call,
    ):
        with tracer.start_profiling_delegate(delegate_debug_id=7) as entry:
            entry.metadata = "set on the way"
        with tracer.start_profiling_delegate("early") as entry:
            tracer.end_profiling_delegate(entry, b"ended by hand")
    assert (call.name, call.instruction_id, call.start_time) == ("DELEGATE_CALL", 1, 10)
    assert [(e.what, e.metadata) for e in events_of(path)] == [
        (7, b"set on the way"),
        ("early", b"ended by hand"),
        ("DELEGATE_CALL", b""),
    ]


def test_calls_nest_and_need_not_end_in_order(path, tracer):
    outer = tracer.start_profiling("DELEGATE_CALL", 0, 1)
    inner = tracer.start_profiling("DELEGATE_CALL", 1, 2)
    tracer.log_profiling_delegate("in the inner", None, 0, 0)
    tracer.end_profiling(outer)
    tracer.log_profiling_delegate("in the inner still", None, 0, 0)
    tracer.end_profiling(inner)
    tracer.log_profiling_delegate("in none", None, 0, 0)
    tracer.write(path)
    assert [(e.what, e.chain, e.instruction) for e in events_of(path)] == [
        ("in the inner", 1, 2),
        ("DELEGATE_CALL", 0, 1),
        ("in the inner still", 1, 2),
        ("DELEGATE_CALL", 1, 2),
        ("in none", -1, 0),
    ]


def test_an_event_is_of_the_block_that_it_began_in(path, tracer):
    with tracer.start_profiling("before any"):
        first = tracer.create_event_block("Execute")
        late = tracer.start_profiling("ends late")
        with tracer.create_event_block("Execute"):
            tracer.end_profiling(late)
            tracer.end_profiling(tracer.start_profiling("second"))
        with first:  # was over when the second began
            pass
    tracer.end_profiling(tracer.start_profiling("after all"))
    tracer.create_event_block("empty: not written")
    tracer.write(path)
    assert [(e.block, e.what) for e in events_of(path)] == [
        ("Default", "before any"),
        ("Execute", "ends late"),
        ("Execute", "second"),
        ("Default", "after all"),
    ]


def test_a_worker_thread_says_its_instruction(path, tracer):
    with tracer.start_profiling("DELEGATE_CALL", 0, 4) as call:

        def work(number):
            for i in range(200):
                with tracer.start_profiling_delegate(
                    delegate_debug_id=1000 * number + i, instruction_id=call.instruction_id
                ):
                    pass

        threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        lost = threading.Thread(target=lambda: tracer.log_profiling_delegate("lost", None, 0, 0))
        lost.start()
        for thread in (*threads, lost):
            thread.join(timeout=60)
    tracer.write(path)
    found = events_of(path)
    assert {e.what for e in found if e.instruction == 4 and e.what != "DELEGATE_CALL"} == {
        1000 * number + i for number in range(4) for i in range(200)
    }
    assert [(e.what, e.chain) for e in found if e.instruction == 0] == [("lost", -1)]
    assert [e.end for e in found if e.what != "lost"] == sorted(
        e.end for e in found if e.what != "lost"
    )


def test_an_event_may_end_in_another_thread(path, tracer):
    call = tracer.start_profiling("DELEGATE_CALL", 0, 4)
    thread = threading.Thread(target=tracer.end_profiling, args=(call,))
    thread.start()
    thread.join(timeout=60)
    tracer.log_profiling_delegate("after it", None, 0, 0)
    tracer.write(path)
    assert [(e.what, e.chain) for e in events_of(path)] == [("DELEGATE_CALL", 0), ("after it", -1)]


def test_allocations(path, tracer):
    first, second = tracer.track_allocator("method"), tracer.track_allocator("temp")
    tracer.create_event_block("Default")
    tracer.track_allocation(second, 2**64 - 1)
    tracer.track_allocation(first, 0)
    tracer.create_event_block("Execute")
    tracer.track_allocation(first, 64)
    tracer.write(path)
    assert events_of(path) == [
        Logged("Default", "temp", size=2**64 - 1),
        Logged("Default", "method", size=0),
        Logged("Execute", "method", size=64),
    ]


@pytest.mark.parametrize(
    ("unit", "ns"), [("ns", 1), ("us", 10**3), ("ms", 10**6), ("s", 10**9), ("cycles", 1)]
)
def test_times_are_written_in_ns_and_cycles_as_they_are(path, unit, ns):
    tracer = EventTracer(clock=Clock(3, 5), unit=unit)
    tracer.end_profiling(tracer.start_profiling("x"))
    tracer.track_allocation(tracer.track_allocator("a"), 7)
    tracer.write(path)
    event, allocation = events_of(path)
    assert (event.start, event.end) == (3 * ns, 5 * ns)
    assert allocation.size == 7


def test_the_default_clock_is_that_of_python_in_ns(path):
    tracer = EventTracer()
    before = time.perf_counter_ns()
    tracer.end_profiling(tracer.start_profiling("x"))
    after = time.perf_counter_ns()
    tracer.write(path)
    (event,) = events_of(path)
    assert before <= event.start <= event.end <= after


# -- what is kept when things go wrong -------------------------------------------------------------


def test_an_exception_still_leaves_the_file(path):
    def fail():
        with EventTracer(path, clock=Clock()) as tracer, tracer.create_event_block("Execute"):
            tracer.start_profiling("Method::execute")
            with (
                tracer.start_profiling("DELEGATE_CALL", 0, 0),
                tracer.start_profiling_delegate("divides"),
            ):
                1 / 0  # noqa: B018

    with (
        pytest.warns(RuntimeWarning, match="1 event was left out"),
        pytest.raises(ZeroDivisionError),
    ):
        fail()
    assert [e.what for e in events_of(path)] == ["divides", "DELEGATE_CALL"]


def test_nothing_logged_is_a_dump_without_runs(path):
    with EventTracer(path):
        pass
    assert events_of(path) == []


def test_it_can_be_written_and_gone_on_with(path, tracer):
    tracer.end_profiling(tracer.start_profiling("one"))
    tracer.write(path)
    tracer.end_profiling(tracer.start_profiling("two"))
    assert [e.what for e in events_of(path)] == ["one"]
    tracer.write(path)
    assert [e.what for e in events_of(path)] == ["one", "two"]


@pytest.mark.slow
def test_what_never_ended_is_left_out_and_told(path, tracer):
    threads = [
        threading.Thread(target=tracer.start_profiling, args=(f"thread {i}", 0, i))
        for i in range(3)
    ]
    for thread in threads:
        thread.start()
        thread.join(timeout=60)
    del threads
    gc.collect()
    tracer.end_profiling(tracer.start_profiling("ended"))
    with pytest.warns(
        RuntimeWarning, match="3 events were left out, since not ended, first 'thread 0'"
    ):
        tracer.write(path)
    assert [e.what for e in events_of(path)] == ["ended"]


def test_too_many_open_events_are_refused(tracer, monkeypatch):
    monkeypatch.setattr(event_tracer, "MOST_OPEN", 2)
    tracer.start_profiling("a", 0, 0)
    with tracer.start_profiling_delegate("b"):
        for start in (tracer.start_profiling, tracer.start_profiling_delegate):
            with pytest.raises(RuntimeError, match="2 events are open at once: end every entry"):
                start("c")
    tracer.end_profiling(tracer.start_profiling("d"))


def test_a_clock_that_goes_backwards_leaves_an_event_out_and_tells(path):
    tracer = EventTracer(clock=Clock(50, 40, 60, 60))
    tracer.end_profiling(tracer.start_profiling("back"))
    tracer.end_profiling(tracer.start_profiling("no length"))
    with pytest.warns(RuntimeWarning, match="1 event was left out, since the clock went backwards"):
        tracer.write(path)
    assert [(e.what, e.start, e.end) for e in events_of(path)] == [("no length", 60, 60)]


@pytest.mark.parametrize("times", [(-5, -1), (5, 2**63), (2**63, 2**64), (-1, 2**70)])
def test_times_that_a_dump_cannot_keep_are_refused(path, times):
    shown = iter(times)
    tracer = EventTracer(clock=lambda: next(shown))
    entry = tracer.start_profiling("x", 0, 0)
    with pytest.raises(ValueError, match=r"do not fit.*count from a later zero"):
        tracer.end_profiling(entry)
    with pytest.raises(ValueError, match="do not fit"):
        tracer.log_profiling_delegate("x", None, *times)
    tracer.log_profiling_delegate("largest", None, 0, 2**63 - 1)
    tracer.write(path)
    assert [(e.what, e.chain, e.end) for e in events_of(path)] == [("largest", -1, 2**63 - 1)]


def test_a_time_that_is_too_large_in_ns_is_refused():
    tracer = EventTracer(unit="s")
    with pytest.raises(ValueError, match="do not fit"):
        tracer.log_profiling_delegate("x", None, 0, 2**63 // 10**9 + 1)


def test_times_must_be_whole_numbers(path, tracer):
    with pytest.raises(TypeError, match=r"not a whole number among start 1\.5"):
        tracer.log_profiling_delegate("x", None, 1.5, 2)
    with pytest.raises(TypeError, match="whole numbers, not nan"):
        tracer.log_profiling_delegate("x", None, float("nan"), float("nan"))
    tracer.log_profiling_delegate("numpy", None, np.int64(1), np.uint64(2))
    tracer.write(path)
    assert [(e.what, e.start, e.end) for e in events_of(path)] == [("numpy", 1, 2)]


# -- misuse ----------------------------------------------------------------------------------------


def test_an_end_before_its_start_is_refused(tracer):
    with pytest.raises(ValueError, match=r"end, 5, is before the start, 10: swap .* 2\*\*32"):
        tracer.log_profiling_delegate("x", None, 10, 5)


@pytest.mark.parametrize("given", [{}, {"name": "a", "delegate_debug_id": 1}])
def test_exactly_one_of_name_and_identifier(tracer, given):
    with pytest.raises(ValueError, match="pass exactly one"):
        tracer.start_profiling_delegate(**given)


@pytest.mark.parametrize(
    ("identifier", "error", "says"),
    [
        (-1, ValueError, "takes -1 as none; number from 0 up"),
        (2**31, ValueError, "room for 32 bits"),
        (1.0, TypeError, "an int or a str, not 1.0"),
        (True, TypeError, "an int or a str"),
        (b"raw", TypeError, "an int or a str"),
        ("", ValueError, "at least one character"),
        ("\udc80", ValueError, "half of a surrogate pair"),
    ],
)
def test_identifiers_that_a_dump_cannot_keep(tracer, identifier, error, says):
    with pytest.raises(error, match=says):
        tracer.start_profiling_delegate(delegate_debug_id=identifier)


def test_names_that_a_dump_cannot_keep(path, tracer):
    with pytest.raises(TypeError, match="pass a number as delegate_debug_id"):
        tracer.start_profiling_delegate(10)
    for make in (tracer.start_profiling, tracer.create_event_block, tracer.track_allocator):
        with pytest.raises(TypeError, match="is a text, not None"):
            make(None)
        with pytest.raises(ValueError, match="half of a surrogate pair"):
            make("\ud800")
        with pytest.raises(ValueError, match="at least one character"):
            make("")
    tracer.write(path)
    assert tracer.problems == ()
    assert events_of(path) == []


def test_every_other_text_and_number_is_kept(path, tracer):
    class Name(str):
        def __str__(self):
            return "not this"

    texts = ["a\0b", "\n", "日本", "\U0001f600" * 100, Name("this")]
    numbers = [0, 1, -2, 2**31 - 1, -(2**31), np.int32(5)]
    for identifier in (*texts, *numbers):
        tracer.end_profiling_delegate(tracer.start_profiling_delegate(delegate_debug_id=identifier))
    tracer.end_profiling(tracer.start_profiling(Name("this too")))
    tracer.write(path)
    assert [e.what for e in events_of(path)] == [*texts, *numbers, "this too"]


def test_an_event_ends_once(path, tracer):
    entry = tracer.start_profiling("x")
    tracer.end_profiling(entry)
    with pytest.raises(ValueError, match="has already ended: end every entry once"):
        tracer.end_profiling(entry)
    tracer.write(path)
    assert [e.what for e in events_of(path)] == ["x"]


def test_an_event_ends_in_its_own_way(tracer):
    call, event = tracer.start_profiling("x"), tracer.start_profiling_delegate("y")
    for wrong in (event, None, [], "x"):
        with pytest.raises(TypeError, match="takes what start_profiling returned"):
            tracer.end_profiling(wrong)
    for wrong in (call, None, {}):
        with pytest.raises(TypeError, match="takes what start_profiling_delegate returned"):
            tracer.end_profiling_delegate(wrong)
    with pytest.raises(ValueError, match="of another tracer"):
        EventTracer().end_profiling(call)
    tracer.end_profiling(call)
    tracer.end_profiling_delegate(event)
    assert tracer.problems == ()


def test_metadata_is_bytes_or_a_text(path, tracer):
    entry = tracer.start_profiling_delegate("x")
    with pytest.raises(TypeError, match=r"metadata is bytes or a text, not \{'a': 1\}"):
        tracer.end_profiling_delegate(entry, {"a": 1})
    with pytest.raises(ValueError, match="surrogate"):
        tracer.end_profiling_delegate(entry, "\udfff")
    tracer.end_profiling_delegate(entry, bytearray(b"still open"))
    call = tracer.start_profiling("call")
    call.metadata = b"x"
    with pytest.raises(ValueError, match="only events of delegates have metadata"):
        tracer.end_profiling(call)
    call.metadata = None
    tracer.end_profiling(call)
    tracer.write(path)
    assert [e.metadata for e in events_of(path)] == [b"still open", b""]


@pytest.mark.parametrize("given", [(-2, 0), (0, -1), (2**31, 0), (0, 2**31)])
def test_instructions_count_from_zero(tracer, given):
    with pytest.raises(ValueError, match="there is no instruction"):
        tracer.start_profiling("x", *given)


def test_instructions_of_delegates_count_from_zero(tracer):
    for given in ({"instruction_id": -1}, {"instruction_id": 0, "chain_index": -1}):
        with pytest.raises(ValueError, match="there is no instruction"):
            tracer.start_profiling_delegate("x", **given)


@pytest.mark.parametrize(("allocator", "size"), [(0, 1), (2, 1), (1, -1), (1, 2**64)])
def test_allocations_that_cannot_be(tracer, allocator, size):
    tracer.track_allocator("only")
    with pytest.raises(ValueError, match=r"no allocator|cannot have"):
        tracer.track_allocation(allocator, size)


def test_a_tracer_is_refused_before_anything_is_logged(tmp_path):
    with pytest.raises(ValueError, match="one of ns, us, ms, s, cycles"):
        EventTracer(unit="hours")
    with pytest.raises(ValueError, match="ends at 2 GiB"):
        EventTracer(max_bytes=1 << 31)
    with pytest.raises(FileNotFoundError):
        EventTracer(tmp_path / "no" / "run.etdp")
    with pytest.raises(FileNotFoundError):
        EventTracer(spill_folder=tmp_path / "no")


# -- room ------------------------------------------------------------------------------------------


def test_what_there_is_no_room_for_is_counted(path):
    tracer = EventTracer(clock=Clock(), max_bytes=1000)
    for i in range(100):
        tracer.log_profiling_delegate(f"event {i}", None, i, i)
    with pytest.warns(RuntimeWarning, match="events were left out for want of room: raise max_"):
        tracer.write(path)
    kept = events_of(path)
    assert [e.what for e in kept] == [f"event {i}" for i in range(len(kept))]
    assert 5 < len(kept) < 1000 / 52
    assert f"{100 - len(kept)} events" in tracer.problems[0]
    assert path.stat().st_size < 1000 + 300


def test_blocks_without_room_take_no_events(path):
    tracer = EventTracer(clock=Clock(), max_bytes=200)
    for i in range(1000):
        tracer.create_event_block(f"block {i}")
        tracer.log_profiling_delegate(None, i, i, i)
    with pytest.warns(RuntimeWarning, match="left out for want of room"):
        tracer.write(path)
    assert [(e.block, e.what) for e in events_of(path)] == [("block 0", 0)]


def test_one_text_too_long_leaves_room_for_others(path):
    tracer = EventTracer(clock=Clock(), max_bytes=4000)
    tracer.log_profiling_delegate("x", None, 0, 0, bytes(5000))
    tracer.log_profiling_delegate("y" * 5000, None, 0, 0)
    tracer.log_profiling_delegate("z", None, 0, 0)
    with pytest.warns(RuntimeWarning, match="2 events were left out for want of room"):
        tracer.write(path)
    assert [e.what for e in events_of(path)] == ["z"]


@pytest.mark.parametrize("spilled", [False, True])
def test_many_batches_are_one_dump(path, tmp_path, monkeypatch, spilled):
    monkeypatch.setattr(event_batches, "FULL", 1000)
    tracer = EventTracer(clock=Clock(), spill_folder=tmp_path if spilled else None)
    expected = []
    for i in range(400):
        if i % 90 == 0:
            tracer.create_event_block(f"run {i}")
        with tracer.start_profiling_delegate(f"event {i % 7}") as entry:
            entry.metadata = bytes([i % 251]) * (i % 5)
        expected.append((f"run {i // 90 * 90}", f"event {i % 7}", entry.start_time, entry.metadata))
    tracer.write(path)
    assert [(e.block, e.what, e.start, e.metadata) for e in events_of(path)] == expected
    assert os.listdir(tmp_path) == ["run.etdp"]  # what was spilled has no name


def test_blocks_that_take_turns_over_many_batches(path, monkeypatch):
    monkeypatch.setattr(event_batches, "FULL", 300)
    tracer = EventTracer(clock=Clock())
    entries = []
    for block in range(5):
        tracer.create_event_block(f"run {block}")
        entries.append([tracer.start_profiling(f"{block}.{i}") for i in range(8)])
    for turn in range(8):
        for block in (3, 1, 4, 0, 2):
            tracer.end_profiling(entries[block][turn])
    tracer.write(path)
    assert [(e.block, e.what) for e in events_of(path)] == [
        (f"run {block}", f"{block}.{i}") for block in range(5) for i in range(8)
    ]


def test_a_full_disk_loses_nothing(path, tmp_path, monkeypatch):
    def full(self, data):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(event_batches, "FULL", 500)
    monkeypatch.setattr(event_batches.Spill, "append", full)
    tracer = EventTracer(clock=Clock(), spill_folder=tmp_path)
    for i in range(50):
        tracer.log_profiling_delegate(None, i, i, i)
    with pytest.warns(RuntimeWarning, match="events stay in memory.*No space left"):
        tracer.write(path)
    assert [e.what for e in events_of(path)] == list(range(50))


def test_a_handler_may_log_while_its_thread_is_logging(path, monkeypatch):
    """As a signal's does, or the `__del__` of an object that is collected: at any step."""
    monkeypatch.setattr(event_batches, "FULL", 100)  # each event would be a batch
    tracer = EventTracer(clock=Clock())
    put = event_batches.EventBatches._put

    def interrupted(self, data):
        place = put(self, data)
        if data.startswith(b"outer"):
            tracer.log_profiling_delegate("inner", None, 1, 2)
        return place

    monkeypatch.setattr(event_batches.EventBatches, "_put", interrupted)
    for i in range(5):
        tracer.log_profiling_delegate(f"outer {i}", None, 3, 4, b"outer too")
    tracer.write(path)
    assert [(e.what, e.metadata) for e in events_of(path)] == [
        event
        for i in range(5)
        for event in (("inner", b""), ("inner", b""), (f"outer {i}", b"outer too"))
    ]


def test_it_starts_without_numpy():
    """A program that is traced must not start slower; numpy is for the writing."""
    import subprocess
    import sys

    code = "import sys, viewer.record; print('numpy' in sys.modules, 'pandas' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout.split() == ["False", "False"], done.stderr

"""Chrome Trace Event JSON: every kind of event, exact times, and files that are cut or hostile."""

import json
from fractions import Fraction

import pytest

from tests.builders.chrome_cases import (
    DATA,
    arguments,
    event,
    named,
    problems,
    read,
    rows,
    slice_event,
)
from viewer.codecs.reading import ReadCancelled, UnreadableFile
from viewer.formats import open_file
from viewer.model.timing import timing_text, timings

ONE = '{"ph":"X","name":"a","pid":1,"tid":2,"ts":1,"dur":2}'


# -- forms of a file ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        f"[{ONE}]",
        f"[{ONE},",
        f"[\n{ONE}\n",
        f" \n[ {ONE} ]\n",
        f"\ufeff[{ONE}]",
        f'{{"traceEvents":[{ONE}]}}',
        f'{{"displayTimeUnit":"ns","otherData":{{"traceEvents":[1]}},"traceEvents" : [{ONE}]}}',
        f'{{"traceEvents":[{ONE}],"stackFrames":{{"1":{{"name":"}},{{"}}}},"x":"]}}"}}',
        f'{{"a":"traceEvents","b":"\\\\\\"","traceEvents":[{ONE}]}}',
    ],
)
@pytest.mark.parametrize("packed", [False, True])
def test_an_object_or_an_array_with_anything_around_it(tmp_path, text, packed):
    trace = read(tmp_path, text=text, packed=packed)
    assert rows(trace) == [("thread 2", "a", 1000, 3000)]
    assert problems(trace) == {}
    assert trace.format == "Chrome trace"


@pytest.mark.slow
def test_long_metadata_before_the_events_and_a_large_event_among_them(tmp_path, monkeypatch):
    """Both are longer than a block, of an eighth of its size."""
    monkeypatch.setattr("viewer.codecs.json_blocks.BLOCK", 1 << 18)
    large = slice_event("large", 5, 1, args={"source": 'x},{"\\' * 60_000})
    text = json.dumps({"samples": [{"q": i} for i in range(90_000)], "traceEvents": [large]})
    assert rows(read(tmp_path, text=text)) == [("thread 2", "large", 5000, 6000)]


def test_events_lie_in_blocks_of_any_size(tmp_path, monkeypatch):
    events = [slice_event(f"op {i}", i, 1, args={"at": i, "of": [{}, {}]}) for i in range(200)]
    text = json.dumps({"traceEvents": events, "after": [{}, {}]}, indent=1)
    meant = [("thread 2", f"op {i}", 1000 * i, 1000 * i + 1000) for i in range(200)]
    for size in (16, 100, 1000, 4096):
        monkeypatch.setattr("viewer.codecs.json_blocks.BLOCK", size)
        trace = read(tmp_path, text=text)
        assert rows(trace) == meant
        assert trace.slices.columns["at"].values.tolist() == list(range(200))
        assert problems(trace) == {}


@pytest.mark.slow
def test_a_file_cut_anywhere_keeps_what_was_complete(tmp_path):
    events = [*named(1, "p"), slice_event("a{[", 1, 2), slice_event('b"\\', 3, 1, args={"x": [1]})]
    text = json.dumps({"traceEvents": events})
    second = text.index(', {"ph": "X", "name": "b')
    for end in range(len(text) - 2, text.index("[") + 2, -1):
        whole = 2 if end >= len(text) - 2 else text[:second].count('"dur"') * (end >= second)
        if not whole:
            with pytest.raises(UnreadableFile, match="nothing in this Chrome trace can be shown"):
                read(tmp_path, text=text[:end])
            continue
        trace = read(tmp_path, text=text[:end])
        assert len(trace.slices) == whole, text[:end]
        assert sum(problems(trace).values()) == 1, text[:end]


def test_a_gzip_cut_short_says_so(tmp_path):
    events = [slice_event(f"op {i * 7919 % 1009}", i, 1) for i in range(5000)]
    whole = read(tmp_path, *events, packed=True)
    data = (tmp_path / "trace.json.gz").read_bytes()
    (tmp_path / "cut.json.gz").write_bytes(data[: len(data) // 2])
    cut = open_file(str(tmp_path / "cut.json.gz"))
    assert 0 < len(cut.slices) < len(whole.slices)
    assert problems(cut) == {"the gzip is truncated: the content before it was read": 1}


@pytest.mark.parametrize("text", ['{"a": [1]}', '[{"a": 1}]', '{"a', '{"traceEvents": 5}'])
def test_other_json_is_refused_with_what_to_do(tmp_path, text):
    with pytest.raises(UnreadableFile, match="JSON without trace events"):
        read(tmp_path, text=text)


def test_reading_can_be_cancelled(tmp_path):
    path = tmp_path / "trace.json"
    path.write_text(f"[{ONE}]")
    with pytest.raises(ReadCancelled):
        open_file(str(path), cancelled=lambda: True)


# -- kinds of events ------------------------------------------------------------------------------


def test_begin_and_end_events_with_arguments_of_both(tmp_path):
    trace = read(
        tmp_path,
        event("B", "outer", 1, args={"x": 1}), event("B", "inner", 2), event("E", "", 3),
        {"ph": "E", "pid": 1, "tid": 2, "ts": 5, "args": {"y": "z"}},
    )  # fmt: skip
    assert (
        rows(trace) == [("thread 2", "inner", 2000, 3000), ("thread 2", "outer", 1000, 5000)][::-1]
    )
    assert arguments(trace, "outer") == {"x": 1, "y": "z"}


@pytest.mark.parametrize(
    ("begun", "ended", "shown"),
    [(7, "a", "a"), ("a", 7, "7"), ([7], 7, "7"), (7, [7], "[7]"), (0.5, 7, 7.0), (7, 0.5, 0.5)],
)
def test_an_argument_of_an_end_event_replaces_that_of_its_begin_event(
    tmp_path, begun, ended, shown
):
    calls = [
        event(phase, "a", 2 * i + (phase == "E"), args={"x": value})
        for i in range(200)
        for phase, value in (("B", begun), ("E", ended))
    ]
    column = read(tmp_path, *calls).slices.columns["x"]
    assert {column.value(i) for i in range(200)} == {shown}


def test_an_end_closes_the_begin_of_its_name_and_overlaps_go_to_lanes(tmp_path):
    trace = read(
        tmp_path, event("B", "a", 1), event("B", "b", 2), event("E", "a", 3), event("E", "b", 4)
    )
    assert rows(trace) == [("thread 2", "a", 1000, 3000), ("thread 2", "b", 2000, 4000)]
    assert sorted(trace.slices.row_lane.tolist()) == [0, 1]


def test_lone_begins_last_at_least_to_the_last_time_of_their_process(tmp_path):
    other = slice_event("of another process", 3, 100, pid=7)
    trace = read(tmp_path, event("E", "x", 1), event("B", "open", 2), slice_event("a", 3, 1), other)
    assert [row for row in rows(trace) if row[1] != other["name"]] == [
        ("thread 2", "open", 2000, 4000), ("thread 2", "a", 3000, 4000),
    ]  # fmt: skip
    open_one = trace.strings.index("open")
    assert [timing_text(t) for t in timings(trace.slices)[trace.slices.name == open_one]] == [
        "unfinished"
    ]
    assert arguments(trace, "open") == {"unpaired": "begin event without an end event"}
    assert problems(trace) == {
        "begin event without an end event: drawn to the end of its process, and lasts at least so "
        "long": 1,
        "end event without a begin event: left out": 1,
    }


def test_overlapping_slices_keep_their_lengths_in_lanes(tmp_path):
    trace = read(tmp_path, slice_event("a", 0, 10), slice_event("b", 5, 10))
    assert rows(trace) == [("thread 2", "a", 0, 10_000), ("thread 2", "b", 5000, 15_000)]


def test_instants_stand_on_their_thread_process_or_the_whole_trace(tmp_path):
    trace = read(
        tmp_path, *named(1, "app"), event("i", "t", 1, s="t"), event("I", "p", 2, s="p"),
        event("R", "mark", 3), event("i", "g", 4, s="g"),
    )  # fmt: skip
    assert rows(trace) == [
        ("thread 2", "t", 1000, 1000), ("process instants", "p", 2000, 2000),
        ("thread 2", "mark", 3000, 3000), ("instants", "g", 4000, 4000),
    ]  # fmt: skip
    assert [arguments(trace, n)["scope"] for n in ("t", "p", "g")] == [
        "thread", "process", "global"
    ]  # fmt: skip
    assert {track.process for track in trace.tracks} == {"app", "whole trace"}


def test_async_slices_have_a_track_for_each_id(tmp_path):
    trace = read(
        tmp_path,
        event("b", "load", 1, cat="io", id="0x1"), event("b", "load", 2, cat="io", id="0x2"),
        event("n", "half", 3, cat="io", id="0x1"), event("e", "load", 4, cat="io", id="0x1"),
        event("e", "load", 9, cat="io", id="0x2"),
        event("b", "own", 1, cat="io", id2={"local": 7}),
        event("e", "own", 2, cat="io", id2={"local": 7}),
    )  # fmt: skip
    assert rows(trace) == [
        ("own · 7", "own", 1000, 2000), ("load · 0x1", "load", 1000, 4000),
        ("load · 0x2", "load", 2000, 9000), ("load · 0x1", "half", 3000, 3000),
    ]  # fmt: skip
    assert arguments(trace, "half") == {"category": "io", "id": "0x1"}


def test_local_ids_are_of_their_process_alone(tmp_path):
    events = [
        {"ph": ph, "name": "a", "cat": "c", "id2": {"local": 1}, "pid": pid, "ts": ts}
        for ph, pid, ts in (("b", 1, 1), ("b", 2, 2), ("e", 1, 3), ("e", 2, 5))
    ]
    assert [row[2:] for row in rows(read(tmp_path, *events))] == [(1000, 3000), (2000, 5000)]


def test_very_many_async_ids_share_a_track_of_their_name(tmp_path):
    events = [
        event(ph, "request", i + late, cat="net", id=i)
        for i in range(300)
        for ph, late in (("b", 0), ("e", 2.5))
    ]
    trace = read(tmp_path, *events)
    assert {row[0] for row in rows(trace)} == {"request"}
    assert [row[2:] for row in rows(trace)] == [(1000 * i, 1000 * i + 2500) for i in range(300)]
    assert set(trace.slices.row_depth.tolist()) == {0}


def test_counters_are_step_functions_for_each_series(tmp_path):
    trace = read(
        tmp_path, *named(1, "app"), slice_event("a", 0, 10),
        event("C", "memory", 4, args={"used": 2.5, "free": "6"}),
        event("C", "memory", 1, args={"used": 1, "free": 7}),
        event("C", "queue", 2, id=9, args={"length": 3}),
        event("C", "bad", 2, args={"length": "many"}), event("C", "below", 1, args={"v": -1}),
    )  # fmt: skip
    found = [(c.process, c.name, c.tick.tolist(), c.value.tolist()) for c in trace.counters]
    assert found == [
        ("app", "memory · used", [1000, 4000], [1.0, 2.5]),
        ("app", "memory · free", [1000, 4000], [7, 6]),
        ("app", "queue 9", [2000], [3]),
        ("app", "below", [1000], [-1]),
    ]
    assert problems(trace) == {"counter without a number: left out": 1}


def test_names_labels_and_order_of_processes_and_threads(tmp_path):
    def said(kind, pid, tid=0, **args):
        return {"ph": "M", "name": kind, "pid": pid, "tid": tid, "args": args}

    trace = read(
        tmp_path, said("process_name", 3, name="python"), said("process_labels", 3, labels="GPU 0"),
        said("process_sort_index", 3, sort_index=-5), said("process_name", 1, name="python"),
        said("process_name", 2, name="python"), said("thread_sort_index", 1, 9, sort_index=-1),
        said("thread_name", 1, 8, name="main"), said("thread_name", 1, 9, name="main"),
        *({**slice_event("a", 1, 1), "pid": p, "tid": t}
          for p, t in ((1, 8), (1, 9), (2, "s"), (3, 10), (3, 9), ("Spans", 0))),
    )  # fmt: skip
    assert [(track.process, track.thread) for track in trace.tracks] == [
        ("python · GPU 0", "thread 9"), ("python · GPU 0", "thread 10"),
        ("python (1)", "main (9)"), ("python (1)", "main (8)"), ("python (2)", "s"),
        ("Spans", "thread 0"),
    ]  # fmt: skip


def test_the_last_name_of_a_thread_counts_however_its_event_is_written(tmp_path):
    def said(name, **more):
        return {"ph": "M", "name": "thread_name", "pid": 1, "tid": 2, "args": {"name": name}} | more

    slices = [slice_event("a", 3 * i, 1, args={f"x{i % 9}": i}) for i in range(3000)]
    # An event with an id is read by another parser than the others of its block.
    trace = read(tmp_path, said("first", id="0x1"), said("last"), *slices)
    assert [track.thread for track in trace.tracks] == ["last"]


def test_data_next_to_the_events_is_told(tmp_path):
    text = f'{{"samples":[{{"cpu":0}}],"metadata":{{"a":1}},"traceEvents":[{ONE}],"otherData":{{}},'
    text += '"systemTraceEvents":"# tracer: nop","powerTraceAsString":""}'
    trace = read(tmp_path, text=text)
    assert problems(trace) == {
        "sample without a usable time or thread: left out": 1,
        "systemTraceEvents next to the events: not shown": 1,
    }
    assert problems(read(tmp_path, text=f'{{"samples":[ ],"traceEvents":[{ONE}]}}')) == {}
    for filled in ("[7]", '["a"]', "[ null]", "[[]]"):
        found = problems(read(tmp_path, text=f'{{"samples":{filled},"traceEvents":[{ONE}]}}'))
        assert found == {"sample without a usable time or thread: left out": 1}
    found = problems(read(tmp_path, text=f'{{"samples":{{"a":1}},"traceEvents":[{ONE}]}}'))
    assert found == {"samples next to the events cannot be read: left out": 1}


def test_what_is_not_shown_is_counted(tmp_path):
    trace = read(
        tmp_path, slice_event("a", 1, 1), event("N", "object", 1), event("N", "object", 2),
        event("?", "x", 1),
    )  # fmt: skip
    assert problems(trace) == {
        "event of phase 'N': not shown": 2, "event of phase '?': not shown": 1,
    }  # fmt: skip


# -- times ----------------------------------------------------------------------------------------


def timed(ts, dur="1"):
    """A complete event whose times are spelled so."""
    return '{"ph":"X","name":"a","pid":1,"tid":2,"ts":' + ts + ',"dur":' + dur + "}"


def test_times_since_1970_are_exact_to_the_nanosecond(tmp_path):
    text = f"[{timed('1629274832123456.789', '0.003')}]"
    assert rows(read(tmp_path, text=text))[0][2:] == (1629274832123456789, 1629274832123456792)


def test_finer_decimals_make_a_tick_a_picosecond_where_that_fits(tmp_path):
    trace = read(tmp_path, slice_event("a", 1.0000015, 2), slice_event("b", 9, 0.000001))
    assert trace.clock.ns_per_tick == Fraction(1, 1000)
    assert rows(trace) == [
        ("thread 2", "a", 1_000_002, 3_000_002), ("thread 2", "b", 9_000_000, 9_000_001),
    ]  # fmt: skip
    far = read(tmp_path, text=f"[{timed('1629274832123456.7895')}]")
    assert far.clock.ns_per_tick == 1
    assert list(problems(far)) == [
        "fractions of a ns are rounded: the times are too far from zero to keep them"
    ]


def test_times_in_any_spelling(tmp_path):
    texts = ["1.5e3", '"7"', "-2.5", "00", "1E-3", '"x"', "null", "1e400", "NaN", "true"]
    events = [ONE.replace(':1,"dur', f':{text},"dur') for text in texts]
    trace = read(tmp_path, text=f"[{','.join(events)}]")
    assert [row[2] for row in rows(trace)] == [-2500, 1, 7000, 1_500_000]
    assert problems(trace)["event without a usable time: left out"] == 5
    assert problems(trace)["event that cannot be read: left out"] == 1


def test_a_missing_or_negative_duration_is_told(tmp_path):
    trace = read(tmp_path, event("X", "none", 1), slice_event("back", 5, -2))
    assert rows(trace) == [("thread 2", "none", 1000, 1000), ("thread 2", "back", 5000, 5000)]
    assert problems(trace) == {
        "complete event without a duration: drawn as an instant": 1,
        "slice ends before it starts: drawn as an instant": 1,
    }


# -- arguments ------------------------------------------------------------------------------------


def test_arguments_are_columns_of_numbers_and_texts(tmp_path):
    trace = read(
        tmp_path,
        slice_event("a", 1, 1, cat="op", args={"n": 1, "f": 1.5, "t": "x", "d": [[1, 2], []]}),
        slice_event("b", 2, 1, args={"n": 2**62, "f": 2, "t": 5, "d": {"k": None}, "z": None}),
        slice_event("c", 3, 1, args={"t": True, "n": None}),
    )
    assert arguments(trace, "a") == {
        "n": 1, "f": 1.5, "t": "x", "d": "[[1, 2], []]", "category": "op"
    }  # fmt: skip
    assert arguments(trace, "b") == {"n": 2**62, "f": 2.0, "t": "5", "d": '{"k": null}'}
    assert arguments(trace, "c") == {"t": "true"}


def test_numbers_that_no_float_or_int64_holds_stay_as_texts(tmp_path):
    trace = read(
        tmp_path, slice_event("a", 1, 1, args={"id": 2**53 + 1, "big": 2**70}),
        slice_event("b", 2, 1, args={"id": 0.5, "big": 1}),
    )  # fmt: skip
    assert arguments(trace, "a") == {"id": str(2**53 + 1), "big": str(2**70)}
    assert arguments(trace, "b") == {"id": "0.5", "big": "1"}


def test_hostile_events_cost_themselves_alone(tmp_path):
    deep = '{"ph":"X","ts":1,"dur":1,"args":{"a":' + "[" * 10_000 + "]" * 10_000 + "}}"
    odd = (
        rb'{"ph":"X","name":"\ud800x","ts":2,"dur":1,"args":{"\udc00":"\ud801","n":NaN}}',
        b'{"ph":"X","name":"\xff","ts":3,"dur":1,"args":{"k":"\xf0"}}',
        b'{"ph":"X","name":"twice","name":"last","ts":4,"dur":1,"args":[1,{"a":2}]}',
        b'{"ph":"X","name":7,"pid":[1],"tid":{"a":1},"ts":5,"dur":1}',
        b"null", b"5", b'"},{"', b"[1]",
    )  # fmt: skip
    trace = read(tmp_path, text=b"[" + deep.encode() + b"," + b",".join(odd) + b"]")
    assert [row[1:] for row in rows(trace)] == [
        ("\ufffdx", 2000, 3000), ("\ufffd", 3000, 4000), ("last", 4000, 5000), ("7", 5000, 6000)
    ]  # fmt: skip
    assert arguments(trace, "\ufffdx") == {"\ufffd": "\ufffd", "n": "NaN"}
    assert arguments(trace, "last") == {"args": '[1, {"a": 2}]'}
    assert problems(trace)["event that cannot be read: left out"] == 2
    assert problems(trace)["text that is not UTF-8: invalid bytes are replaced"] == 1


def test_arguments_that_are_not_utf8_are_counted(tmp_path):
    odd = b'[{"ph":"X","ts":1,"dur":1,"args":{"k":"\xf0","n":null,"ok":"\xc3\xa9"}}]'
    trace = read(tmp_path, text=odd)
    assert arguments(trace, "") == {"k": "\ufffd", "ok": "é"}
    assert problems(trace) == {"text that is not UTF-8: invalid bytes are replaced": 1}


def test_more_names_of_arguments_than_there_is_room_for(tmp_path):
    trace = read(tmp_path, *(slice_event("a", i, 1, args={f"k{i}": i}) for i in range(300)))
    assert len(trace.slices.columns) == 256
    assert sum(problems(trace).values()) == 44


# -- profiles of real tools -----------------------------------------------------------------------


def test_a_pytorch_profile(tmp_path):
    path = DATA / "kineto_cpu.json"
    trace = open_file(str(path))
    events = json.loads(path.read_text(), parse_float=Fraction)["traceEvents"]
    meant = sorted(
        (e["name"], int(e["ts"] * 1000), int((e["ts"] + e.get("dur", 0)) * 1000))
        for e in events
        if e["ph"] in "Xi"
    )
    assert sorted(row[1:] for row in rows(trace)) == meant
    assert problems(trace) == {}
    assert [(t.process, t.thread) for t in trace.tracks] == [
        ("whole trace", "instants"), ("python · CPU", "thread 4711 (python)"),
        ("Spans", "PyTorch Profiler"),
    ]  # fmt: skip
    linear = next(e for e in events if e["name"] == "aten::relu")
    said = arguments(trace, "aten::relu")
    assert said["External id"] == linear["args"]["External id"]
    assert json.loads(said["Input Dims"]) == linear["args"]["Input Dims"]


def test_an_onnx_runtime_profile():
    trace = open_file(str(DATA / "onnxruntime_profile.json"))
    conv = [i for i in range(len(trace.slices)) if trace.name(i) == "/features/Conv_kernel_time"]
    columns = trace.slices.columns
    assert len(conv) == 2
    for i in conv:
        assert int(trace.slices.end[i] - trace.slices.start[i]) == 1_204_000
        assert columns["op_name"].value(i) == "Conv"
        assert columns["provider"].value(i) == "CPUExecutionProvider"
        assert columns["output_type_shape"].value(i) == '[{"float":[1,8,32,32]}]'
        assert columns["category"].value(i) == "Node"
    assert problems(trace) == {}


def flows(trace):
    both = zip(trace.flows.producer.tolist(), trace.flows.consumer.tolist(), strict=True)
    return sorted((trace.name(a), trace.name(b)) for a, b in both)


def test_many_slices_of_one_layout_with_bind_ids(tmp_path):
    events = [
        slice_event(f"op {i}", 10 * i, 5, bind_id=hex(i // 2), flow_out=i % 2 == 0,
                    flow_in=i % 2 == 1)
        for i in range(4000)
    ]  # fmt: skip
    trace = read(tmp_path, *events)
    assert flows(trace) == sorted((f"op {i}", f"op {i + 1}") for i in range(0, 4000, 2))
    assert problems(trace) == {}


def test_a_bind_id_on_an_end_event_has_no_slice_of_its_own(tmp_path):
    trace = read(
        tmp_path, event("B", "a", 1, bind_id=1, flow_out=True), event("E", "a", 2),
        event("B", "b", 3), event("E", "b", 4, bind_id=1, flow_in=True),
    )  # fmt: skip
    assert flows(trace) == []
    assert problems(trace) == {"flow events without a slice, or without a destination: left out": 2}


@pytest.mark.parametrize(
    "value", [True, 1.5, 10**40, -1, "", "x" * 5000, [], {}, [[1]], {"local": {}}, "\ud800"]
)
def test_hostile_ids_cost_their_flow_alone(tmp_path, value):
    good = [slice_event("a", 0, 1, bind_id=7, flow_out=True),
            slice_event("b", 2, 1, bind_id=7, flow_in=True)]  # fmt: skip
    bad = [
        slice_event("c", 4, 1, bind_id=value, flow_out=value, flow_in=True),
        slice_event("d", 6, 1, bind_id=value, flow_out=True), event("s", "s", 4, id=value),
        event("f", "s", 6, id=value, bp=value), event("b", "e", 1, id2={"local": value}),
        event("e", "e", 2, id2=value), event("S", "o", 1, id=value),
        event("F", "o", 2, id=value), event("C", "n", 1, id=value, args={"v": -1}),
        {"ph": "M", "name": value, "pid": 1, "args": value},
    ]  # fmt: skip
    trace = read(tmp_path, text=json.dumps([*good, *bad]))
    assert ("a", "b") in flows(trace)
    assert {trace.name(i) for i in range(len(trace.slices))} >= {"a", "b", "c", "d"}

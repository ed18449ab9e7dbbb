"""Damage in a Chrome trace costs the event that it is in, and is told with its line."""

import gzip
import json
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builders.chrome_cases import DATA, problems, read, rows
from tests.builders.chrome_damage import AFTER, BEFORE, DAMAGES, LAYOUTS, event, written
from viewer.codecs import json_blocks
from viewer.codecs.reading import UnreadableFile
from viewer.formats import open_file
from viewer.formats.chrome import event_scanner
from viewer.model.trace import Trace

CASES = DATA.parent / "chrome_damaged"
LEFT_OUT = "event that cannot be read: left out"
STRAY = "bracket or text that belongs to no event: skipped"
COMMAS = "comma that is missing or doubled between events: the events were read"
# Each of these counts events that are not shown.
LOSSES = (
    LEFT_OUT, "the rest of the file", "the file ends inside", "event without a usable time",
    "event without a phase", "event of phase", "value that is no event",
)  # fmt: skip


def lost(trace: Trace) -> int:
    return sum(p.count for p in trace.problems if p.kind.startswith(LOSSES))


def names(trace: Trace) -> list[str]:
    return [row[1] for row in rows(trace)]


def first(trace: Trace, kind: str) -> str:
    return next(p.first for p in trace.problems if p.kind == kind)


# -- cases of bug reports -------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    "bad",
    [
        '{"name": "op2", "ph": "X", "ts,',
        '{"name": "op2", "ph": "X", ts": 1000, "dur": 5, "pid": 1, "tid": 1, "args": {"k": 100}},',
        '{"name": "say "hi", "ph": "X", "ts": 1000, "dur": 5, "pid": 1, "args": {"k": 100}},',
    ],
)
@pytest.mark.parametrize("packed", [False, True])
def test_one_bad_event_of_a_thousand_costs_itself(tmp_path, bad, packed):
    lines = [
        f'{{"name": "op{i % 7}", "ph": "X", "ts": {10 * i}, "dur": 5, "pid": 1, "tid": 1, '
        f'"args": {{"k": {i}}}}},'
        for i in range(1000)
    ]
    lines[100] = bad
    lines[-1] = lines[-1].rstrip(",")
    text = '{"traceEvents":[\n' + "\n".join(lines) + "\n]}"
    trace = read(tmp_path, text=text, packed=packed)
    assert sorted(trace.slices.columns["k"].values.tolist()) == [*range(100), *range(101, 1000)]
    assert int((trace.slices.end - trace.slices.start).sum()) == 999 * 5000
    assert problems(trace) == {LEFT_OUT: 1}
    assert first(trace, LEFT_OUT).startswith("line 102, byte ")


def test_a_flow_event_with_a_missing_quote():
    trace = open_file(str(CASES / "missing_quote.json"))
    assert [row[2:] for row in rows(trace)] == [(101_524_000, 236_014_000), (102956999, 237132994)]
    assert problems(trace)[LEFT_OUT] == 1
    assert first(trace, LEFT_OUT).startswith("line 3,")


def test_names_keep_what_the_writer_did_not_escape():
    trace = open_file(str(CASES / "windows_names.json"))
    assert names(trace) == [
        "torch\\cuda\\__init__.py(219): _lazy_init", "D:\\new\\users\\x.py(1): f",
        "line1\nline2\ttab", "after",
    ]  # fmt: skip
    assert problems(trace) == {
        "text with backslashes that are not escaped: kept as they are": 2,
        "text with control characters that are not escaped: kept as they are": 1,
        LEFT_OUT: 1,
    }
    assert first(trace, LEFT_OUT).startswith("line 6,")


def test_a_path_that_ends_with_a_backslash(tmp_path):
    text = r'[{"ph":"X","name":"C:\dir\","ts":1,"dur":2},{"ph":"X","name":"\"b\\","ts":3,"dur":1}]'
    trace = read(tmp_path, text=text)
    assert names(trace) == ["C:\\dir\\", '"b\\']


def test_values_that_are_no_finite_numbers_cost_an_argument():
    trace = open_file(str(CASES / "nan_and_inf.json"))
    assert names(trace) == ["Memcpy HtoD", "kern"]
    assert {(c.name, tuple(c.value.tolist())) for c in trace.counters} == {
        ("CPU · sys", (1.5,)), ("CPU · usr", (2, 3)), ("CPU · idle", (96.5,))
    }  # fmt: skip
    count = trace.slices.columns["bytes"]
    assert [count.value(i) for i in range(2)] == [200, None]
    assert problems(trace) == {
        "counter without a number: left out": 5,
        "argument that is not a finite number among numbers: left out": 1,
    }


@pytest.mark.parametrize(
    "spelled",
    ["nan", "NaN", "-nan", "NAN", "inf", "-Inf", "+INF", "Infinity", "-nan(ind)", "1.#INF"],
)
def test_every_spelling_of_nan_and_inf(tmp_path, spelled):
    text = (
        '[{"ph":"X","name":"nan, inf","ts":1,"dur":2,'
        '"args":{"a":7,"l":[0.50,SPELLED],"b":SPELLED}},'
        '{"ph":"X","name":"b","ts":4,"dur":2,"args":{"b":0.25}}]'
    )
    trace = read(tmp_path, text=text.replace("SPELLED", spelled))
    columns = trace.slices.columns
    assert names(trace) == ["nan, inf", "b"]
    assert columns["a"].value(0) == 7
    assert columns["l"].value(0) in ("[0.50,NaN]", "[0.50,Infinity]", "[0.50,-Infinity]")
    assert [columns["b"].value(i) for i in range(2)] == [None, 0.25]


def test_a_brace_too_many_ends_nothing():
    trace = open_file(str(CASES / "stray_brace.json"))
    assert sorted(names(trace)) == sorted(f"a{i}" for i in range(20))
    assert problems(trace) == {STRAY: 1}
    assert first(trace, STRAY).startswith("line 6,")


# -- one event damaged in any way ---------------------------------------------------------------


def check_one_damaged(folder, random: Random, layout: str, damage: str, count: int) -> None:
    """Damage one event: all others but a neighbor must be there, and the loss be told."""
    to_text, _ = LAYOUTS[layout]
    is_bare, bad = random.random() < 0.5, random.randrange(count)
    events = [event(i, is_large=i % 7 == 3) for i in range(count)]
    texts = list(map(to_text, events))
    before = texts[bad]
    texts[bad] = DAMAGES[damage](before, random)
    data = written(layout, texts, is_bare=is_bare)
    path = folder / "damaged.json"
    path.write_bytes(data)
    trace = open_file(str(path))
    slices = trace.slices
    found = {}
    for i in range(len(slices)):
        arguments = {name: column.value(i) for name, column in slices.columns.items()}
        said = {
            key: json.loads(value) if isinstance(value, str) and value[:1] in "{[" else value
            for key, value in arguments.items()
            if value is not None
        }
        found[trace.name(i), int(slices.start[i]), int(slices.end[i])] = said
    missing = [
        i
        for i, one in enumerate(events)
        if i != bad and found.get((one["name"], 10_000 * i, 10_000 * i + 5000)) != one["args"]
    ]
    assert len(missing) <= 1
    assert all(abs(i - bad) == 1 for i in missing)
    if texts[bad] == before:
        return
    # The end of an event alone does not always tell that it was one.
    assert trace.problems or len(slices) == count
    assert damage == "start missing" or len(slices) + lost(trace) >= count
    if len(slices) < count:
        lines = [p.first for p in trace.problems if p.first.startswith("line ")]
        start = written(layout, [*texts[:bad], "@"], is_bare=is_bare).partition(b"@")[0]
        line = start.count(b"\n") + 1
        # The problem names where the event begins, or the neighbor that it was joined with.
        about = (
            json.dumps(event(0), indent=2).count("\n") if layout in ("pretty", "indented") else 1
        )
        near = [int(text[5:].partition(",")[0]) for text in lines]
        assert not near or any(line - about - 9 <= at <= line + about + 9 for at in near)


@pytest.mark.slow
@given(st.integers(0, 1 << 30), st.sampled_from(sorted(LAYOUTS)), st.sampled_from(sorted(DAMAGES)))
def test_damage_costs_its_event_alone(tmp_path_factory, seed, layout, damage):
    check_one_damaged(tmp_path_factory.getbasetemp(), Random(seed), layout, damage, 12)


@pytest.mark.nightly
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("damage", DAMAGES)
def test_damage_costs_its_event_alone_in_blocks_of_any_size(tmp_path, layout, damage, monkeypatch):
    for seed in range(60):
        monkeypatch.setattr(json_blocks, "BLOCK", (1 << 21, 1 << 11, 1 << 13)[seed % 3])
        check_one_damaged(tmp_path, Random(seed), layout, damage, (3, 10, 40, 200)[seed % 4])


def test_damage_in_many_events(tmp_path):
    random = Random(7)
    texts = [json.dumps(event(i)) for i in range(3000)]
    bad = set(range(5, 3000, 10))
    for i in bad:
        texts[i] = DAMAGES["quote missing"](texts[i], random)
    trace = read(tmp_path, text=BEFORE + "\n" + ",\n".join(texts) + AFTER)
    assert {row[2] // 10_000 for row in rows(trace)} == set(range(3000)) - bad
    assert problems(trace) == {LEFT_OUT: len(bad)}


@pytest.fixture
def walked(monkeypatch):
    """The lengths of what the scanner follows, a list that grows."""
    lengths, walk = [], event_scanner.walk

    def counted(data, at, limit, **how):
        end, ended = walk(data, at, limit, **how)
        lengths.append(end - at)
        return end, ended

    monkeypatch.setattr(event_scanner, "walk", counted)
    return lengths


@pytest.mark.slow
@pytest.mark.parametrize("damage", ["quote missing", "truncated", "start missing", "brace missing"])
def test_the_work_on_damage_is_bounded_by_the_file(tmp_path, damage, walked):
    random = Random(3)
    texts = [json.dumps(event(i)) for i in range(9000)]
    for i in range(0, 9000, 60):
        texts[i] = DAMAGES[damage](texts[i], random)
    text = BEFORE + ",\n".join(texts) + AFTER
    trace = read(tmp_path, text=text)
    assert len(trace.slices) >= 9000 - 2 * 150
    assert sum(walked) < 2 * len(text)


# -- what has the form of events, and is none ---------------------------------------------------


def test_events_in_a_list_of_a_damaged_event_are_no_events(tmp_path):
    inner = ",".join(json.dumps(event(i), separators=(",", ":")) for i in range(50, 53))
    texts = [json.dumps(event(i), separators=(",", ":")) for i in range(5)]
    texts[2] = texts[2][:-1] + ',nested":[' + inner + "]}"
    trace = read(tmp_path, text="[" + ",".join(texts) + "]")
    assert [row[2] for row in rows(trace)] == [0, 10_000, 30_000, 40_000]


def test_a_list_that_a_damaged_event_leaves_open_holds_no_events(tmp_path):
    texts = [json.dumps(event(i)) for i in range(40)]
    texts[3] = texts[3][: texts[3].index("[64")]
    trace = read(tmp_path, text=BEFORE + ",\n".join(texts) + AFTER)
    assert [row[2] for row in rows(trace)] == [10_000 * i for i in range(40) if i != 3]
    assert problems(trace) == {LEFT_OUT: 1}


def test_a_text_with_the_form_of_events_is_no_event(tmp_path):
    texts = [json.dumps(event(i)) for i in range(4)]
    hidden = json.dumps(
        {"ph": "X", "name": "z", "ts": 1, "args": {"s": texts[3] + ",\n" + texts[3]}}
    )
    trace = read(tmp_path, text=f"[{texts[0]},\n{hidden},\n{texts[1][1:]},\n{texts[2]}]")
    assert sorted(names(trace)) == sorted([event(0)["name"], "z", event(2)["name"]])


def test_an_event_of_many_megabytes_among_damaged_ones(tmp_path, monkeypatch):
    monkeypatch.setattr(json_blocks, "BLOCK", 1 << 12)
    monkeypatch.setattr(event_scanner, "_PATIENCE", 1 << 12)
    texts = [json.dumps(event(i)) for i in range(6)]
    texts[1] = texts[1][1:]
    texts[3] = json.dumps(event(3) | {"args": {"long": "x, {" * 90_000, "dims": [{}] * 90}})
    trace = read(tmp_path, text="[" + ",".join(texts) + "]")
    assert [row[2] for row in rows(trace)] == [0, 20_000, 30_000, 40_000, 50_000]


# -- what follows the end -----------------------------------------------------------------------

A = [json.dumps(event(i)) for i in range(20)]
B = [json.dumps(event(i)) for i in range(20, 40)]


@pytest.mark.parametrize("between", ["", "\n", "\r\n\n "])
@pytest.mark.parametrize("first_is_bare", [True, False])
@pytest.mark.parametrize("second_is_bare", [True, False])
@pytest.mark.parametrize("packed", [False, True])
def test_files_joined_end_to_end(tmp_path, between, first_is_bare, second_is_bare, packed):
    both = [
        written("one a line", texts, is_bare=is_bare)
        for texts, is_bare in ((A, first_is_bare), (B, second_is_bare))
    ]
    trace = read(tmp_path, text=both[0].strip() + between.encode() + both[1], packed=packed)
    assert len(trace.slices) == 40
    assert problems(trace) == {}


@pytest.mark.parametrize("closing", ["}", "]"])
@pytest.mark.parametrize("is_bare", [True, False])
@pytest.mark.parametrize("at", [0, 6, 19])
def test_a_bracket_too_many_after_an_event(tmp_path, closing, is_bare, at):
    texts = list(A)
    texts[at] += closing
    trace = read(tmp_path, text=written("one a line", texts, is_bare=is_bare))
    assert len(trace.slices) == 20
    assert problems(trace) == {STRAY: 1}
    assert first(trace, STRAY).startswith(f"line {at + 2},")


@pytest.mark.parametrize(
    ("garbage", "count"), [(b"\0" * 4096, 1), (b"<html>", 1), (b'{"a":[1]}', 1), (b'"x": 5', 1)]
)
@pytest.mark.parametrize("is_bare", [True, False])
def test_garbage_behind_the_end_is_told(tmp_path, garbage, count, is_bare):
    data = written("one a line", A, is_bare=is_bare)
    trace = read(tmp_path, text=data + garbage)
    assert len(trace.slices) == 20
    kind = f"data after the end of the events, {len(garbage):,} bytes: not read"
    assert problems(trace) == {kind: count}
    assert first(trace, kind) == f"line {data.count(10) + 1}, byte {len(data)}"


def test_events_behind_garbage_are_read(tmp_path):
    data = b"[" + ",\n".join(A).encode() + b"]\n\0\0\0garbage\n" + ",\n".join(B).encode() + b"]"
    trace = read(tmp_path, text=data)
    assert len(trace.slices) == 40
    assert sum(problems(trace).values()) >= 1


def test_what_cannot_be_read_to_the_end_is_told_with_its_size(tmp_path):
    rest = ' "a" b {] ' * 20_000
    text = "[" + ",\n".join(A) + ",\n" + rest
    trace = read(tmp_path, text=text)
    assert len(trace.slices) == 20
    size = len(text) - len("[" + ",\n".join(A) + ",\n ")
    assert problems(trace) == {f"the rest of the file, {size:,} bytes, is not read": 1}


@pytest.mark.slow
@pytest.mark.parametrize(
    "hostile",
    [
        '[{"ph":',
        '{"ph":[',
        '{"ph":1},[',
        "]{",
        '"',
        "]",
        "}{",
        '{"ph":"X"]',
        ',"a":',
        '{"name":"\\',
    ],
)
def test_hostile_data_takes_no_more_time_than_its_size(tmp_path, hostile, walked, monkeypatch):
    monkeypatch.setattr(event_scanner, "_MOST_LOOKED_AT", 1 << 18)
    text = "[" + ",\n".join(A) + ",\n" + hostile * 40_000
    trace = read(tmp_path, text=text)
    assert len(trace.slices) >= 20
    assert sum(problems(trace).values()) >= 1
    assert sum(walked) < 10 * len(text) + (1 << 19)


def test_a_file_that_ends_inside_an_event_says_so(tmp_path):
    text = BEFORE + ",\n".join(A)
    trace = read(tmp_path, text=text[:-9])
    assert len(trace.slices) == 19
    assert problems(trace) == {"the file ends inside an event: left out": 1}


@pytest.mark.parametrize(
    "start",
    [
        '{"traceEvnts":[', '{"traceEvents:[', '{traceEvents":[', '{"traceEvents"[',
        '{"traceEvents":', '{"schemaVersion":1},"traceEvents":[',
        '{"a":{"traceEvents":[', "{", "[[", "[x",
    ],
)  # fmt: skip
def test_a_damaged_start_costs_no_event(tmp_path, start):
    trace = read(tmp_path, text=start + ",\n".join(A) + "]}")
    assert len(trace.slices) == 20
    assert sum(problems(trace).values()) >= 1


@pytest.mark.slow
def test_one_byte_does_not_cost_a_large_file(tmp_path, monkeypatch):
    monkeypatch.setattr(json_blocks, "LONGEST_EVENT", 1 << 16)
    monkeypatch.setattr(json_blocks, "BLOCK", 1 << 13)
    texts = [json.dumps(event(i)) for i in range(2000)]
    for bad in (texts[3].replace('"X"', '"X'), texts[3][:-1], texts[3][:-2] + "[", texts[3][:40]):
        some = [*texts[:3], bad, *texts[4:]]
        trace = read(tmp_path, text=BEFORE + ",\n".join(some) + AFTER)
        assert len(trace.slices) >= 1998
        assert lost(trace) == 2000 - len(trace.slices)


@pytest.mark.slow
def test_bytes_without_an_event_do_not_fill_the_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(json_blocks, "LONGEST_EVENT", 1 << 20)
    text = b"[" + ",\n".join(A).encode() + b",\n" + b'\0 "' * (1 << 20) + b",\n"
    trace = read(tmp_path, text=text + ",\n".join(B).encode() + b"]")
    assert len(trace.slices) == 40
    assert sum(problems(trace).values()) == 1


def test_events_without_commas_are_read(tmp_path):
    trace = read(tmp_path, text="[" + "\n".join(A + B) + "]")
    assert len(trace.slices) == 40
    assert problems(trace) == {COMMAS: 39}


def test_an_event_without_a_phase_is_told_but_not_an_empty_object_at_the_end(tmp_path):
    trace = read(tmp_path, text="[" + A[0] + ',{"name":"x","ts":1},{}]')
    assert problems(trace) == {"event without a phase: not shown": 1}


# -- gzip -----------------------------------------------------------------------------------------


def test_a_gzip_with_a_wrong_check_keeps_all_its_events(tmp_path):
    packed = bytearray(gzip.compress(written("one a line", A, is_bare=True)))
    packed[-8] ^= 1
    path = tmp_path / "a.json.gz"
    path.write_bytes(packed)
    trace = open_file(str(path))
    assert len(trace.slices) == 20
    assert [p.kind.partition(" (")[0] for p in trace.problems] == ["the gzip is damaged"]


# -- one byte ------------------------------------------------------------------------------------


def is_silent(path, whole: Trace, data: bytes) -> bool:
    path.write_bytes(data)
    try:
        trace = open_file(str(path))
    except UnreadableFile:
        return False
    assert isinstance(trace, Trace)
    return len(trace.slices) < len(whole.slices) and not trace.problems


def check_mutants(folder, random: Random, count: int) -> None:
    """Change, remove or insert bytes of sound files: what slices they cost must be told."""
    names = ("kineto_cpu.json", "onnxruntime_profile.json", "onnxruntime_runs.json",
             "torch_training.json.gz")  # fmt: skip
    for name in names:
        sound = (DATA / name).read_bytes()
        whole = open_file(str(DATA / name))
        assert isinstance(whole, Trace)
        assert whole.problems == ()
        for _ in range(count):
            at, how = random.randrange(len(sound)), random.randrange(3)
            byte = bytes([random.choice((*b'"{}[],:\\x0\n\0\xff', random.randrange(256)))])
            data = sound[:at] + (byte if how < 2 else b"") + sound[at + (how != 1) :]
            assert not is_silent(folder / name, whole, data), (at, how, byte)


@pytest.mark.slow
def test_no_byte_costs_a_slice_in_silence(tmp_path):
    check_mutants(tmp_path, Random(1), 8)


@pytest.mark.nightly
def test_no_byte_of_many_costs_a_slice_in_silence(tmp_path):
    check_mutants(tmp_path, Random(2), 500)

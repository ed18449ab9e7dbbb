"""The plain profile CSV: what is read exactly, what is counted, what is refused."""

from fractions import Fraction
from pathlib import Path

import pytest

from tests.builders.csv_cases import damaged
from viewer.codecs.reading import ReadCancelled, UnreadableFile, never_cancelled, no_progress
from viewer.formats import choose, open_file
from viewer.formats.table.reader import FORMAT, ROW_IN_HEADER, TIME_LIMIT
from viewer.formats.text_rows import UNCLOSED
from viewer.model.trace import KeyKind, Trace

HEADER = "process,thread,name,start_ns,dur_ns"


def read(path: Path) -> Trace:
    return FORMAT.read(str(path), no_progress, never_cancelled)


@pytest.fixture
def trace_of(tmp_path):
    """Read a text (or bytes) as a file."""

    def make(text: str | bytes) -> Trace:
        path = tmp_path / "profile.csv"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return read(path)

    return make


def rows(trace: Trace) -> list[tuple[str, int, int, int]]:
    """(name, start, length, depth) in the order of the rows drawn."""
    s = trace.slices
    return [
        (trace.name(i), int(s.start[i]), int(s.end[i] - s.start[i]), s.depth(i))
        for i in range(len(s))
    ]


def problems(trace: Trace) -> dict[str, tuple[int, str]]:
    return {p.kind: (p.count, p.first) for p in trace.problems}


@pytest.mark.parametrize(
    "name",
    [
        "[node type][avg ms]",
        "x\nnode type, start, first, avg_ms",
        "x\nMsg Timestamp,Message,Time,Unit of Measurement,Timing Source,Event Level,"
        "Event Identifier\n",
    ],
)
def test_a_name_that_looks_like_another_format(tmp_path, name):
    path = tmp_path / "profile.csv"
    path.write_text(f'{HEADER}\np,t,"{name}",0,5\n')
    trace = open_file(str(path))
    assert (trace.format, trace.name(0)) == (FORMAT.name, name)


def test_times_levels_and_arguments(data):
    trace = read(data / "table_csv" / "two_threads.csv")
    assert [(t.process, t.thread) for t in trace.tracks] == [
        ("camera", "main"),
        ("camera", "upload"),
    ]
    assert (trace.clock.unit, trace.clock.ns_per_tick, trace.clock.assumed) == (
        "ns",
        Fraction(1),
        False,
    )
    assert rows(trace) == [
        ("frame", 4812337551000000, 16000000, 0),
        ("resize", 4812337551000000, 4000000, 1),
        ("normalize", 4812337555000000, 1000001, 1),
        ("flush", 4812337556000001, 0, 1),
        ('model "v2"', 4812337556000001, 9999999, 1),
        ("send", 4812337560000000, 123, 0),
    ]
    columns = trace.slices.columns
    assert set(columns) == {"core", "load", "note"}
    assert columns["core"].values.dtype == "int64"
    assert [columns["core"].value(i) for i in range(6)] == [0, 0, 0, 1, 1, 2]
    assert [columns["load"].value(i) for i in range(6)] == [0.5, 0.25, None, 1.0, 0.75, None]
    assert [columns["note"].value(i) for i in range(6)] == [
        None, "bilinear, 2x", None, "NA", "null", None,
    ]  # fmt: skip
    assert trace.problems == ()


def test_any_column_order_separator_and_a_byte_order_mark(data):
    path = data / "table_csv" / "semicolons_bom.csv"
    assert FORMAT.sniff(path.read_bytes()[:4096])
    trace = read(path)
    assert rows(trace) == [("warm-up", 9223372036854775, 5, 0), ("mark", 9223372036854780, 0, 0)]


def test_identities_become_keys(data):
    trace = read(data / "table_csv" / "executorch_like.tsv")
    keys = trace.keys
    found = {
        trace.strings[keys.name[k]]: (
            KeyKind(keys.kind[k]).name, int(keys.instruction[k]), keys.identifier[k]
        )
        for k in range(len(keys))
    }  # fmt: skip
    assert found == {
        "DELEGATE_CALL": ("DELEGATE_CALL", 3, None),
        "Conv2D": ("DELEGATE_EVENT", 3, "12"),
        "GELU, fused": ("DELEGATE_EVENT", 3, "gelu_0"),
        "OPERATOR_CALL": ("OPERATOR_CALL", 4, None),
        "native_call_add.out": ("KERNEL", 4, None),
        "MOVE_CALL": ("CONTROL", 5, None),
        "Method::execute": ("FRAMEWORK", -1, None),
    }
    assert [(s.name, s.method) for s in trace.scopes] == [("forward", "forward")]
    assert trace.slices.columns == {}


def test_a_name_with_a_namespace_is_a_kernel_of_its_instruction(trace_of):
    trace = trace_of(
        f"{HEADER},method,instruction_id\n"
        "p,t,OPERATOR_CALL,0,9,m,4\np,t,llama::custom_sdpa.out,1,5,m,4\np,t,a::b,20,1,,\n"
    )
    names = [trace.strings[name] for name in trace.keys.name.tolist()]
    kinds = [KeyKind(kind).name for kind in trace.keys.kind.tolist()]
    assert dict(zip(names, kinds, strict=True)) == {
        "OPERATOR_CALL": "OPERATOR_CALL",
        "llama::custom_sdpa.out": "KERNEL",
        "a::b": "PLAIN",
    }


def test_equal_identities_share_one_key(trace_of):
    trace = trace_of(f"{HEADER},method,instruction_id\np,t,add,0,1,m,4\np,t,add,1,1,m,4\n"
                     "p,t,add,2,1,n,4\np,t,add,3,1,,\n")  # fmt: skip
    assert trace.slices.key.tolist() == [0, 0, 1, 2]
    assert [(s.name, s.method) for s in trace.scopes] == [("m", "m"), ("n", "n"), ("file", None)]


def test_odd_rows_are_left_out_and_counted(data):
    trace = read(data / "table_csv" / "odd_rows.csv")
    assert [(name, start, length) for name, start, length, _ in rows(trace)] == [
        ("good", 100, 50), ("decimals", 200, 10),
    ]  # fmt: skip
    assert trace.slices.source_row.tolist() == [0, 7]
    assert problems(trace) == {
        "row without a usable start_ns or dur_ns": (5, "data row 2: start_ns is empty"),
        "row with more cells than the header": (1, "data row 6"),
    }


@pytest.mark.parametrize("start", [2**53 + 1, 4812337551000001, -(2**60) - 1, TIME_LIMIT - 3])
@pytest.mark.parametrize("beside", ["", "p,t,bad,x,1\n"])
def test_times_are_exact_beyond_floats(trace_of, start, beside):
    trace = trace_of(f"{HEADER}\np,t,a,{start},3\n{beside}")
    assert (trace.slices.start.tolist(), trace.slices.end.tolist()) == ([start], [start + 3])


def test_a_slice_may_last_longer_than_the_largest_time(trace_of):
    start, length = -TIME_LIMIT, TIME_LIMIT + 87
    trace = trace_of(f"{HEADER}\np,t,a,{start},{length}\np,t,b,{TIME_LIMIT},{length}\n")
    assert (trace.slices.start.tolist(), trace.slices.end.tolist()) == ([start], [87])
    assert problems(trace) == {
        "row without a usable start_ns or dur_ns": (1, "data row 2")  # it would end too late
    }


@pytest.mark.parametrize("start", [-TIME_LIMIT - 1, TIME_LIMIT + 1])
def test_a_start_beyond_the_largest_time_is_quoted(trace_of, start):
    trace = trace_of(f"{HEADER}\np,t,a,{start},0\n")
    assert list(problems(trace).values()) == [(1, f'data row 1: start_ns is "{start}", too large')]


@pytest.mark.parametrize("cell", ["1_000", "٣", "0x10", "1e3", "1.5", "", "nan", "9" * 5000])
def test_what_only_looks_like_a_time_is_none(trace_of, cell):
    trace = trace_of(f"{HEADER}\np,t,a,{cell},3\n")
    assert len(trace.slices) == 0
    said = {"": "empty", "9" * 5000: f'"{"9" * 24}…", too large'}.get(
        cell, f'"{cell}", not whole ns'
    )
    assert problems(trace) == {
        "row without a usable start_ns or dur_ns": (1, f"data row 1: start_ns is {said}")
    }


@pytest.mark.parametrize(
    ("row", "where"),
    [
        ("p,t,a,1,2.5", 'data row 2: dur_ns is "2.5", not whole ns'),
        ("p,t,a,1,-2", 'data row 2: dur_ns is "-2"'),
        (f"p,t,a,{2**63 - 1},2", f'data row 2: start_ns is "{2**63 - 1}", too large'),
        (f"p,t,a,{TIME_LIMIT},2", "data row 2"),  # each is a time, their sum is none
    ],
)
def test_the_first_time_that_is_none_is_quoted(trace_of, row, where):
    assert list(problems(trace_of(f"{HEADER}\np,t,a,0,3\n{row}\n")).values()) == [(1, where)]


@pytest.mark.parametrize(
    "text",
    ["name,price\nbolt,3\n", "process;owner\n1;2\n", "", "a" * 9000, f"{HEADER[:-3]}".ljust(4096)],
)
def test_a_file_of_another_kind_is_not_taken_for_nearly_one(text):
    with pytest.raises(UnreadableFile, match="does not recognize the format"):
        choose(text.encode()[:4096], "other.csv")


def test_columns_of_numbers_and_columns_that_only_look_so(trace_of):
    trace = trace_of(
        f"{HEADER},count,share,code,hash,mixed\n"
        "p,t,a,0,1,-3,0.5,007,1234567890123456789,1\n"
        "p,t,b,1,1,,1e3,8,1,x\n"
    )
    columns = trace.slices.columns
    assert [columns[n].value(0) for n in columns] == [-3, 0.5, "007", "1234567890123456789", "1"]
    assert [columns[n].value(1) for n in columns] == [None, 1000.0, "8", "1", "x"]


def test_columns_that_only_an_export_writes_are_read_over(trace_of):
    trace = trace_of(
        f"{HEADER},debug_handles,operators,source,link_reason,start_ticks,dur_ticks,bytes\n"
        "p,t,a,0,1,7,conv,a.py:3,direct,0,4,64\n"
    )
    assert list(trace.slices.columns) == ["bytes"]


def test_levels_survive_rows_without_length(trace_of):
    # Depth says what the times cannot: "mark" is inside "inner", "end" is beside "outer".
    text = (
        f"{HEADER},depth\np,t,outer,0,10,0\np,t,inner,5,5,1\np,t,mark,10,0,2\np,t,next,10,10,0\n"
        "p,t,end,20,0,0\n"
    )
    expected = {("outer", 0), ("inner", 1), ("mark", 2), ("next", 0), ("end", 0)}
    lines = text.splitlines(keepends=True)
    for body in (lines[1:], [lines[1], lines[4], lines[5], lines[2], lines[3]], lines[:0:-1]):
        trace = trace_of(lines[0] + "".join(body))
        assert {(name, depth) for name, _, _, depth in rows(trace)} == expected
        assert trace.problems == ()


def test_depths_inside_lanes_are_no_problem_and_nest_by_time(trace_of):
    trace = trace_of(f"{HEADER},depth\np,t,a,0,10,0\np,t,b,5,10,1\np,u,a,0,10,0\np,u,b,2,3,1\n")
    assert problems(trace) == {}
    assert [(trace.slices.row_track[r], trace.slices.row_lane[r]) for r in range(4)] == [
        (0, 0), (0, 1), (1, 0), (1, 0),
    ]  # fmt: skip


def test_a_track_with_some_depths_is_nested_by_time(trace_of):
    trace = trace_of(f"{HEADER},depth\np,t,a,0,10,0\np,t,b,2,3,\np,u,c,0,1,\n")
    assert problems(trace) == {"track with a depth on some rows only: nested by time": (1, "")}
    assert [depth for *_, depth in rows(trace)] == [0, 1, 0]


@pytest.mark.parametrize(
    "head",
    [
        b"",
        b"process,thread,name,start_ns\n",
        b"process,thread,name,start_ns,dur_ns,name\n",
        b"a process,thread,name,start_ns,dur_ns\n",
        b"\x00\x01\x02process,thread",
        b'"process,thread,name,start_ns,dur_ns\n',
    ],
)
def test_a_file_without_the_columns_is_not_taken(trace_of, head):
    assert not FORMAT.sniff(head)
    with pytest.raises(UnreadableFile, match="does not name the columns"):
        trace_of(head)


def test_bytes_that_are_no_utf8_are_replaced_and_counted(trace_of):
    trace = trace_of(HEADER.encode() + b"\np,t,caf\xe9,0,1\np,t,\xc3\xa9\xef\xbf\xbd,1,1\n")
    assert [name for name, *_ in rows(trace)] == ["caf\ufffd", "é\ufffd"]
    (problem,) = trace.problems
    assert (problem.kind, problem.count) == ("invalid UTF-8: replaced", 1)


def test_a_quote_that_is_never_closed_costs_its_row_and_names_its_line(trace_of):
    trace = trace_of(f'{HEADER}\np,t,"a\na",0,1\np,t,"b,1,1\np,t,c,2,1\n')
    assert [name for name, *_ in rows(trace)] == ["a\na", "c"]
    (problem,) = trace.problems
    assert (problem.kind, problem.count, problem.first) == (UNCLOSED, 1, "line 4")


def test_cells_may_hold_line_breaks_and_rows_may_end_in_a_separator(trace_of):
    trace = trace_of(f'{HEADER}\np,t,"two\nlines",0,1,\np,t,b,1,1,\n')
    assert [name for name, *_ in rows(trace)] == ["two\nlines", "b"]
    assert trace.problems == ()


def test_a_header_alone_is_an_empty_trace(trace_of):
    for end in ("", "\n", "\r\n"):
        trace = trace_of(HEADER + end)
        assert (len(trace.slices), trace.tracks, trace.problems) == (0, (), ())


def test_too_many_columns_are_refused_before_they_fill_the_memory(trace_of):
    extra = ",".join(f"c{i}" for i in range(300))
    with pytest.raises(UnreadableFile, match="305 columns; the limit is 256"):
        trace_of(f"{HEADER},{extra}\np,t,a,0,1\n")


def test_progress_is_in_bytes_and_reading_can_be_cancelled(data):
    path = data / "table_csv" / "two_threads.csv"
    steps: list[tuple[int, int]] = []
    FORMAT.read(str(path), lambda done, total: steps.append((done, total)), never_cancelled)
    assert steps[-1] == (path.stat().st_size, path.stat().st_size)
    with pytest.raises(ReadCancelled):
        FORMAT.read(str(path), no_progress, lambda: True)


@pytest.mark.nightly
@pytest.mark.parametrize("name", ["two_threads.csv", "executorch_like.tsv"])
def test_no_damage_raises_anything_but_unreadable(data, trace_of, name):
    for bent in damaged((data / "table_csv" / name).read_bytes()):
        FORMAT.sniff(bent[:4096])
        try:
            trace = trace_of(bent)
        except UnreadableFile:
            continue
        assert (trace.slices.end >= trace.slices.start).all()


def test_rows_without_names_that_differ_in_their_method(trace_of):
    trace = trace_of(f"{HEADER},method\nm,t,,1,2,f\nm,t,,4,2,g\n")
    assert rows(trace) == [("", 1, 2, 0), ("", 4, 2, 0)]
    assert [scope.method for scope in trace.scopes] == ["f", "g"]


@pytest.mark.parametrize("rest", ["", "q,t,b,5,1,\n"])
def test_a_row_in_the_line_of_the_header_is_counted(trace_of, rest):
    trace = trace_of(f"{HEADER},note" + "p,t,a,0,7,\n" + rest)
    assert [name for name, *_ in rows(trace)] == ["b"] * bool(rest)
    (problem,) = trace.problems
    assert (problem.kind, problem.count, problem.first) == (ROW_IN_HEADER, 1, "line 1")

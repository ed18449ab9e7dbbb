"""Columns of identifiers: what is in a record's maps, what proves something, what does not."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from tests.paths import DATA
from viewer.analysis.links.link_table import Reason
from viewer.analysis.links.linker import link
from viewer.analysis.links.pairing import (
    MOST_TEXT,
    MOST_VALUES,
    ColumnMatch,
    column_names,
    identified_by,
    identifier_columns,
    sure_column,
    takes_column,
)
from viewer.formats import open_file
from viewer.model.building.builder import TraceBuilder
from viewer.model.trace import Clock, Column, KeyKind, RunKind, Trace
from viewer.program.debug_handles import DelegateMap
from viewer.program.program import Method, Program

WORDS = ["Fancy Fusion", "Fancy Fusion 2", "sin:0;a=b", "cos/1", "div"]
MANUAL = [10, 1, 100, 0, 7]
CLOCK = Clock("cycle", Fraction(5, 4), assumed=True)


def record(name: str) -> Program:
    program = open_file(str(DATA / "etrecord" / f"{name}.etrecord"))
    assert isinstance(program, Program)
    return program


def profile(names: list[str] | None = None, lengths: list[int] | None = None, **columns) -> Trace:
    """Slices one after another with columns of ints and texts; None: a cell without a value."""
    made = {name: column(values) for name, values in columns.items()}
    count = len(next(iter(made.values())).values)
    builder = TraceBuilder("p.csv", "Torq compile profile", "C3", CLOCK)
    track = builder.track("p.csv", "Slice unit 0", flat=True)
    names = names or [f"event {i}" for i in range(count)]
    end = np.cumsum(lengths or [10] * count)
    start = end - np.array(lengths or [10] * count)
    keys = [
        builder.key(KeyKind.LOCATION, n, location=f'loc("m.mlir":{i + 1}:1)')
        for i, n in enumerate(names)
    ]
    builder.add(
        track=track, start=start, end=end, name=builder.intern_all(names),
        key=np.array(keys, np.uint32), source_row=np.arange(count, dtype=np.uint32),
        columns=made,
    )  # fmt: skip
    return builder.build()


def column(values: list[int | str | None] | Column) -> Column:
    if isinstance(values, Column):
        return values
    if any(isinstance(value, str) for value in values):
        return Column.of_texts(values)
    valid = np.array([value is not None for value in values])
    return Column(np.array([value or 0 for value in values], np.int64), valid)


def with_map(entries: list[str]) -> Program:
    """The record with identifiers as texts, but with other ones in its map."""
    program = record("demo_str")
    (method,) = program.methods
    changed = {0: DelegateMap("Demo", dict.fromkeys(entries, (5,)))}
    return replace(program, methods=(replace(method, delegates=changed),))


def found(trace: Trace, program: Program) -> dict[str, ColumnMatch]:
    return {match.column: match for match in identifier_columns(trace, program)}


def sure(trace: Trace, program: Program) -> str | None:
    return sure_column(trace, identifier_columns(trace, program))


def test_coverage_is_told_by_values_by_slices_and_by_time():
    trace = profile(event=["div", "div", "other", "cos/1", None], lengths=[10, 30, 40, 10, 10])
    (match,) = identifier_columns(trace, record("demo_str"))
    assert match == ColumnMatch(
        column="event", values=3, known=2, identifiers=5, met=2, words=2, of_slices=0.6, of_time=0.5
    )


def test_the_best_column_is_first_and_the_own_name_is_a_column():
    trace = profile(WORDS, job_id=MANUAL, event=["div", *"abcd"])
    assert list(found(trace, record("demo_str"))) == ["name", "event"]
    assert list(found(trace, record("demo_manual_int"))) == ["job_id"]
    assert column_names(trace) == ["job_id", "event", "name"]


def test_a_number_is_looked_up_by_its_decimal_text_and_no_other():
    program = record("demo_manual_int")  # 10, 1, 100, 0, 7
    assert found(profile(id=[10, 1]), program)["id"].known == 2
    assert found(profile(id=["10", "x"]), program)["id"].known == 1
    assert found(profile(id=["010", "1.0", " 1", "+1", "x"]), program) == {}
    assert found(profile(id=[11, 101, 70]), program) == {}


def test_words_that_cover_both_sides_are_sure():
    assert sure(profile(event=WORDS * 3), record("demo_str")) == "event"
    assert sure(profile(event=[*WORDS[:3], None]), record("demo_str")) == "event"


@pytest.mark.parametrize(
    ("columns", "program"),
    [
        # Numbers prove nothing, however well they fit: every file has jobs 0, 1, 2 ...
        ({"job_id": MANUAL}, record("demo_manual_int")),
        ({"job_id": list(range(5))}, record("demo_generated_int")),
        ({"job_id": [str(i) for i in range(5)] + ["x"]}, record("demo_generated_int")),
        # Identifiers of another record.
        ({"event": WORDS}, record("demo_manual_int")),
        ({"event": ["DMA In", "DMA Out", "Slice 0", "CSS"]}, record("demo_str")),
        # One word, a column of other things too, a map of which most was not met.
        ({"event": ["div"] * 3}, with_map(["div"])),
        ({"event": ["conv2d", "add", "DMA_IN", "DMA_OUT"]}, with_map(["conv2d", "add"])),
        ({"event": ["conv2d", "add"]}, with_map(["conv2d", "add", "mul", "table", "matmul"])),
        # No map at all.
        ({"event": WORDS}, record("cnn_teal_xnnpack")),
        ({"event": WORDS}, record("cnn_toedge_portable")),
    ],
)
def test_false_pairs_and_weak_ones_are_never_sure(columns, program):
    assert sure(profile(**columns), program) is None


def test_two_columns_that_say_different_things_leave_the_choice_to_the_user():
    program = record("demo_str")
    assert sure(profile(event=WORDS, label=WORDS), program) == "event"
    assert sure(profile(event=WORDS, label=WORDS[::-1]), program) is None


def test_a_profile_that_says_what_its_slices_are_takes_no_column():
    trace = open_file(str(DATA / "etdump" / "demo_str_x4.etdp"))
    assert isinstance(trace, Trace)
    assert not takes_column(trace)
    assert identifier_columns(trace, record("demo_str")) == []


def test_identified_slices_have_the_values_and_all_else_stays():
    trace = profile(event=["div", None, "div", "cos/1"])
    made = identified_by(trace, "event")
    of = made.keys
    told = [
        (KeyKind(of.kind[k]).name, of.identifier[k], of.location[k], made.strings[of.name[k]])
        for k in made.slices.key.tolist()
    ]
    assert told == [
        ("DELEGATE_EVENT", "div", 'loc("m.mlir":1:1)', "event 0"),
        ("LOCATION", None, 'loc("m.mlir":2:1)', "event 1"),
        ("DELEGATE_EVENT", "div", 'loc("m.mlir":3:1)', "event 2"),
        ("DELEGATE_EVENT", "cos/1", 'loc("m.mlir":4:1)', "event 3"),
    ]
    assert made.slices.start is trace.slices.start
    assert made.slices.columns is trace.slices.columns
    assert made.identifier_column == "event"
    assert trace.identifier_column == ""
    for array in (made.slices.key, of.kind, of.scope, of.name, of.instruction, of.identifier):
        assert not array.flags.writeable


def test_a_column_that_is_not_there_is_refused_with_those_that_are():
    trace = profile(event=WORDS, ratio=Column(np.linspace(0, 1, 5)))
    with pytest.raises(ValueError, match="no column 'ratio'; the columns are event, name"):
        identified_by(trace, "ratio")


@pytest.mark.parametrize(
    ("columns", "by", "name"),
    [
        ({"event": WORDS}, "event", "demo_str"),
        ({"job_id": MANUAL}, "job_id", "demo_manual_int"),
        ({"action_id": list(range(5))}, "action_id", "demo_generated_int"),
    ],
)
def test_identified_slices_link_to_the_operators_of_the_map(columns, by, name):
    """The operators are those of the map itself: two pairs fused, then three that stand for one."""
    table = link(identified_by(profile(**columns), by), record(name))
    handles = [table.links[k].handles for k in table.trace.slices.key.tolist()]
    assert handles == [(1, 2), (3, 4), (5,), (5,), (5,)]
    assert {x.reason for x in table.links} == {Reason.BY_IDENTIFIER}
    named = [[op.op for op in table.operators(k)] for k in table.trace.slices.key.tolist()]
    assert named == [["convolution", "relu"], ["convolution", "relu"], ["tan"], ["tan"], ["tan"]]


def test_a_slice_without_a_value_says_so_and_one_without_an_entry_too():
    table = link(identified_by(profile(event=[*WORDS, None, "odd"]), "event"), record("demo_str"))
    reasons = [table.links[k].reason for k in table.trace.slices.key.tolist()[-2:]]
    assert reasons == [Reason.LOCATION_ALONE, Reason.IDENTIFIER_UNKNOWN]


def test_a_computed_slice_keeps_its_identity():
    trace = profile(event=WORDS)
    derived = np.array([True, *[False] * 4])
    trace = replace(trace, slices=replace(trace.slices, derived=derived))
    made = identified_by(trace, "event")
    assert KeyKind(made.keys.kind[made.slices.key[0]]) is KeyKind.LOCATION
    assert found(trace, record("demo_str"))["event"].known == 4


def test_dispatches_keep_their_scope_and_their_inferences():
    """A host profile has runs; what stands in its columns was not logged outside of calls."""
    builder = TraceBuilder("h.csv", "Torq host profile", "H4", CLOCK)
    track = builder.track("h.csv", "Host")
    scopes = [builder.scope("div"), builder.scope("cos/1")]
    keys = [
        builder.key(KeyKind.ACTION, "NSS_WAIT", scope=scope, instruction=action)
        for scope in scopes
        for action in (0, 1)
    ]
    builder.run(RunKind.INFERENCE, "inference", track, scopes[0], 0, 40)
    builder.add(
        track=track, start=np.arange(0, 40, 10), end=np.arange(10, 50, 10),
        name=builder.intern_all(["NSS_WAIT"] * 4), key=np.array(keys, np.uint32),
        source_row=np.arange(4, dtype=np.uint32),
        columns={"dispatch": Column.of_texts(["div", "div", "cos/1", "cos/1"])},
    )  # fmt: skip
    made = identified_by(builder.build(), "dispatch")
    of = made.slices.key
    assert [made.scopes[s].name for s in made.keys.scope[of]] == ["div", "div", "cos/1", "cos/1"]
    assert set(made.keys.instruction[of].tolist()) == {-1}
    table = link(made, record("demo_str"))
    assert [table.links[k].handles for k in of.tolist()] == [(5,)] * 4


# -- hostile columns -------------------------------------------------------------------------------


def test_columns_without_any_value_and_empty_profiles():
    program = record("demo_str")
    empty = TraceBuilder("e.csv", "Torq compile profile", "C3", CLOCK).build()
    assert identifier_columns(empty, program) == []
    assert len(identified_by(empty, "name").slices) == 0
    nothing = profile(event=[None, None], blank=Column.of_codes(np.zeros(2, np.uint32), ("",)))
    assert found(nothing, program) == {}
    assert identified_by(nothing, "blank").keys.identifier.tolist() == [None, None]


def test_huge_and_negative_numbers_are_just_numbers():
    ends = [2**63 - 1, -(2**63), 0, -1, 10]
    match = found(profile(id=ends), record("demo_manual_int"))["id"]
    assert (match.values, match.known) == (5, 2)
    made = identified_by(profile(id=ends), "id")
    assert [made.keys.identifier[k] for k in made.slices.key] == ends
    large = Column(np.array([2**64 - 1, 2**64 - 2], np.uint64))
    made = identified_by(profile(id=large), "id")
    assert [made.keys.identifier[k] for k in made.slices.key] == [2**64 - 1, 2**64 - 2]


def test_amounts_fractions_and_flags_are_no_identifiers():
    trace = profile(
        bytes=Column(np.array([0, 1]), unit="B"), share=Column(np.array([0.0, 1.0])),
        done=Column(np.array([True, False])),
    )  # fmt: skip
    assert column_names(trace) == ["name"]


def test_a_column_of_endless_texts_is_not_proposed_but_can_be_chosen():
    texts = [*WORDS, "a:OpId_1 " * (MOST_TEXT // 8)]
    assert found(profile(text=texts), record("demo_str")) == {}
    assert len(identified_by(profile(text=texts), "text").keys) == 6


def test_a_column_with_a_value_of_its_own_on_every_slice_is_not_proposed():
    count = MOST_VALUES + 1
    ids = Column(np.arange(count))
    texts = Column.of_codes(np.arange(count, dtype=np.uint32), [f"t{i}" for i in range(count)])
    trace = profile(["slice"] * count, id=ids, text=texts)
    assert identifier_columns(trace, record("demo_generated_int")) == []
    assert len(identified_by(trace, "id").keys) == count


# -- debug handle map files ------------------------------------------------------------------------


def map_file(*identifiers: int | str) -> Program:
    entries = {identifier: (i,) for i, identifier in enumerate(identifiers)}
    method = Method(
        "forward", (), delegates={-1: DelegateMap("Npu", entries)}, delegates_only=True
    )  # fmt: skip
    return Program("m.json", "Debug handle map", "", (method,))


def test_a_map_file_may_be_of_a_part_of_the_profile():
    events = profile(event=["conv", "add", "DMA", "wait", "CSS", "host", "conv"])
    assert sure(events, map_file("conv", "add")) == "event"
    assert sure(events, with_map(["conv", "add"])) is None  # a record is of the whole model
    assert sure(events, map_file("conv", "add", "mul")) is None  # a third of it is not there
    assert sure(events, map_file("conv")) == "event"


def test_numbers_of_a_map_file_prove_nothing_either():
    assert sure(profile(job_id=[0, 1, 2]), map_file(0, 1, 2)) is None
    assert sure(profile(job_id=["0", "1", "2"]), map_file(0, 1, 2)) is None
    assert sure(profile(event=["0", "1", "a"]), map_file(0, 1, "a")) is None


def test_columns_that_differ_in_what_the_map_names_are_not_chosen_between():
    one = ["conv", "add", "DMA", "wait"]
    assert sure(profile(one, event=["conv", "add", "x", None]), map_file("conv", "add")) == "event"
    assert sure(profile(one, event=["add", "conv", "x", None]), map_file("conv", "add")) is None

"""Events that are read in pieces, and those that are left."""

import json

import pytest

from tests.builders.chrome_kinds import named, other, torch
from viewer.codecs.json_pieces import Objects
from viewer.formats.chrome import event_fields, pieces
from viewer.formats.chrome.events import EventColumns
from viewer.formats.chrome.pieces import PieceReader, ReadEvents
from viewer.model.building.builder import TraceBuilder
from viewer.model.trace import Clock


def reader() -> PieceReader:
    """One as `EventColumns` has it."""
    return EventColumns(TraceBuilder("x", "test", "1", Clock()))._block_reader._pieces


def read(events: list[dict]) -> tuple[ReadEvents, list[int]]:
    found = reader().read(Objects(json.dumps(events)[1:-1].encode()))
    assert found is not None
    (events_read,), left = found
    return events_read, left.tolist()


@pytest.mark.slow
def test_events_of_a_profiler_are_all_read_by_columns():
    found, left = read([torch(i, "aten::add", [i % 9]) for i in range(500)] + [other(2, "b", None)])
    assert found.rows.tolist() == list(range(500))
    assert left == [500]
    ((name, at, values),) = found.numbers
    assert (name, at.tolist(), values.tolist()) == (
        "External id", list(range(500)), list(range(500))
    )  # fmt: skip


@pytest.mark.slow
def test_text_that_repeats_is_parsed_once():
    known = reader()
    for _ in range(3):
        found = known.read(
            Objects(json.dumps([torch(i, "a", [2]) for i in range(900)])[1:-1].encode())
        )
        assert found is not None
        assert len(found[0][0]) == 900
    # Three threads, then between ts and dur, dur and an id, and the id and the end.
    assert len(known.table) == 6


@pytest.mark.slow
def test_events_with_a_text_of_their_own_are_left():
    events = [torch(i, f"name {i}", [i]) for i in range(500)]
    assert reader().read(Objects(json.dumps(events)[1:-1].encode())) is None


def test_no_more_long_texts_are_held_than_the_limit(monkeypatch):
    monkeypatch.setattr(pieces, "_MOST_BYTES", 100_000)
    known = reader()
    blocks = (
        [{"ph": "X", "ts": i, "args": {"stack": f"{i}" * 5000}} for i in range(at, at + 10)]
        for at in range(0, 100, 10)
    )
    found = [known.read(Objects(json.dumps(block)[1:-1].encode())) for block in blocks]
    assert found[0] is not None
    assert found[-1] is None
    assert known.table.size < 300_000


def test_only_so_many_keys_of_numbers_are_looked_for(monkeypatch):
    monkeypatch.setattr(pieces, "_MOST_CHANGING", 7)
    known = reader()
    events = [
        {"ph": "X", "ts": i, "args": {f"x{i % 9}": i, f"y{i % 9}": 7 * i}} for i in range(900)
    ]
    known.read(Objects(json.dumps(events)[1:-1].encode()))
    assert len(known._changing) == 7


def test_a_number_within_an_argument_is_no_place_to_split_at():
    events = [
        {"ph": "X", "name": "a", "ts": i, "dur": 1, "args": {"data": {"id": i % 40}}}
        for i in range(900)
    ]
    found, left = read(events)
    assert len(found) == 900
    assert left == []
    assert found.numbers == []


def test_arguments_with_ever_other_names_are_left(monkeypatch):
    monkeypatch.setattr(event_fields, "MAX_KINDS", 2)
    events = [
        {"ph": "X", "ts": i, "args": {name: "x"}} for i in range(300) for name in ("a", "b", "c")
    ]
    found, left = read(events)
    assert found.rows.tolist() == [i for i in range(900) if i % 3 < 2]
    assert left == [i for i in range(900) if i % 3 == 2]


def test_of_equal_metadata_the_last_is_read():
    events = [named(0, "a", None), named(2, "b", None)] * 50
    found, left = read(events)
    assert left == []
    assert found.metadata_at.tolist() == [98, 99]
    assert [event.name for event in found.metadata] == ["process_name", "thread_sort_index"]


@pytest.mark.parametrize(
    "event",
    [
        '{"ph":"X","ts":1,"dur":2,"ts":3}', '{"ph":"X","ts":1,"args":{"a":1,"a":2}}',
        '{"ph":"X","ts":1e3,"dur":2}', '{"ph":"X","ts":01,"dur":2}', '{"ph":"X","ts":-1,"dur":2}',
        '{"ph":"X","ts":"1","dur":2}', '{"ph":"X","ts":1.,"dur":2}', '{"ph":"X","ts":1,"dur":}',
        '{"ph":"X","ts":1,"dur":2,"id2":{}}', '{"ph":"X","ts":1,"args":[1]}', '{"ph":"X"}',
        '{"ph":"X","ts":1.1234567}', '{"ph":"X","ts":4611686018427387}', '{"ph":"X","ts":1,}',
        '{"ph":"C","ts":1}', '{"ph":"s","ts":1}', '{"ph":"s","ts":1,"id":1.5}', '{"ph":1,"ts":1}',
        '{"ph":"X","ts":1,"args":{"a":1}', '{"ph":"X","ts":1}}',
        '{"ph":"X","ts":1,"name":"\\ud800"}', '{"ph":"X","ts":1,"args":{"\\u0061":3,"b":1,"a":2}}',
        '{"ph":"X","ts":1,"args":{"a":1},"more":{"ts":2}}',
        '{"ph":"X","ts":1,"args":{},"more":{"ts":2}}',
    ],
)  # fmt: skip
def test_what_is_not_usual_is_left_to_the_parser(event):
    usual = '{"ph":"X","ts":1,"dur":2}'
    found = reader().read(Objects(f"{usual},{usual},{event},{usual}".encode()))
    assert found is not None
    assert found[0][0].rows.tolist() == [0, 1, 3]
    assert found[1].tolist() == [2]

"""Debug handle map files: what is read of them, what is told of odd ones, what is refused."""

import json
from pathlib import Path

import pytest

from tests.paths import DATA
from viewer.codecs.reading import ReadCancelled, UnreadableFile
from viewer.formats import HEAD_SIZE, choose, format_of, open_file
from viewer.formats.executorch import debug_handle_map as reader
from viewer.program.program import Program

MARK = "opscope_debug_handle_map"


def written(path: Path, content: object) -> Path:
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def read(path: Path) -> Program:
    found = open_file(str(path))
    assert isinstance(found, Program)
    assert found.format == "Debug handle map"
    return found


def entries_of(path: Path, *entries: object, **more: object) -> Program:
    calls = {"*": {"delegate": "ToyNpu", "entries": entries}}
    return read(written(path, {MARK: 1, "methods": {"forward": calls}, **more}))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "any name"


def test_a_map_is_read(path):
    program = read(written(path, {
        MARK: 1,
        "methods": {
            "forward": {
                "0": {"delegate": "ToyNpu", "entries": [[10, [1, 2]], ["Fancy Fusion", [1, 2]]]},
                "*": {"delegate": "Other", "entries": [["tan", [7]]]},
            },
            "decode": {"3": {"delegate": "ToyNpu", "entries": [[10, [1]]]}},
        },
        "operators": {
            "1": {"target": "aten.addmm.default", "name": "linear", "module": "head.fc",
                  "file": "/home/user/model.py", "line": 12},
            "2": {"target": "aten.relu.default"},
        },
    }))  # fmt: skip
    forward, decode = program.methods
    assert program.delegates_only
    assert program.problems == ()
    labels = [(o.method, o.debug_handle, o.label) for o in program.operators]
    assert labels == [
        ("forward", 1, "head.fc · linear"), ("forward", 2, "relu"),
        ("forward", 7, "debug handle 7"), ("decode", 1, "head.fc · linear"),
    ]  # fmt: skip
    assert [o.index for o in program.operators] == [0, 1, 2, 3]
    assert (program.operators[0].source.path, program.operators[0].source.line) == (
        "/home/user/model.py", 12,
    )  # fmt: skip
    assert program.operators[2].source is None
    assert forward.delegates[0].backend == "ToyNpu"
    assert forward.delegates[0].entries == {10: (1, 2), "Fancy Fusion": (1, 2)}
    assert forward.delegate_at(0) is forward.delegates[0]
    assert forward.delegate_at(5).entries == {"tan": (7,)}
    assert decode.delegate_at(5) is None
    # Of a call is known what its map names, of any call nothing.
    assert dict(forward.handles) == {0: (1, 2, 1, 2)}


def test_numbers_and_texts_are_two_identifiers(path):
    delegate = entries_of(path, [10, [1]], ["10", [2]], ["7", [3]], [8, [4]]).methods[0].delegates
    found = delegate[-1].handles
    assert (found(10), found("10")) == ((1,), (2,))
    # Where only one kind is there a profile that has no kinds means it.
    assert (found(7), found("7"), found(8), found("8")) == ((3,), (3,), (4,), (4,))
    assert (found("08"), found(1), found("1")) == (None, None, None)


@pytest.mark.parametrize(
    ("entry", "problem"),
    [
        ("x", "an entry is not [identifier, debug handles]: left out"),
        (["x"], "an entry is not [identifier, debug handles]: left out"),
        (["x", [1], 2], "an entry is not [identifier, debug handles]: left out"),
        ([1.5, [1]], "an entry is not [identifier, debug handles]: left out"),
        ([True, [1]], "an entry is not [identifier, debug handles]: left out"),
        ([None, [1]], "an entry is not [identifier, debug handles]: left out"),
        ([2**63, [1]], "an entry is not [identifier, debug handles]: left out"),
        (["x", [1, "b"]], "an identifier's debug handles are not numbers: left out"),
        (["x", [-1]], "an identifier's debug handles are not numbers: left out"),
        (["x", None], "an identifier's debug handles are not numbers: left out"),
        (["tan", [2]], "duplicate identifier: the last one is used"),
    ],
)
def test_odd_entries_are_counted(path, entry, problem):
    program = entries_of(path, ["tan", [1]], entry, entry)
    assert [p.kind for p in program.problems] == [problem]
    assert program.problems[0].count == 2
    assert set(program.methods[0].delegates[-1].entries) == {"tan"}


def test_what_else_is_odd_is_counted(path):
    told = {"entries": []}
    program = read(written(path, {
        MARK: 7,
        "methods": {"forward": {"first": told, "-1": told, "2": [], "*": told}},
        "operators": {"one": {}, "2": "relu", "3": {"target": 5, "line": "x", "file": []}},
    }))  # fmt: skip
    assert {p.kind: p.count for p in program.problems} == {
        "format version later than 1: newer parts are not read": 1,
        'an entry of a method is not an instruction id or "*" with a delegate': 3,
        "an entry of operators is not a debug handle with an object": 2,
    }
    # Told and in no entry: of the one method that there is.
    assert [o.label for o in program.operators] == ["debug handle 3"]


@pytest.mark.parametrize("line", [0, -1, 10**9, 2**62, None, "7"])
def test_a_line_is_one_that_a_file_can_have(path, line):
    told = {"3": {"file": "m.py", "line": line}}
    (operator,) = entries_of(path, ["x", [3]], operators=told).operators
    found = [(frame.path, frame.line) for frame in operator.frames]
    assert found == ([("m.py", 7)] if line == "7" else [])


def test_operators_without_a_method_of_their_own_are_in_none(path):
    methods = {"a": {"*": {"entries": [["x", [1]]]}}, "b": {"*": {"entries": [["x", [1]]]}}}
    operators = {"1": {"name": "add"}, "2": {"name": "mul"}}
    program = read(written(path, {MARK: 1, "methods": methods, "operators": operators}))
    assert [(o.method, o.label) for o in program.operators] == [("a", "add"), ("b", "add")]


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ('{"opscope_debug_handle_map": 1, "methods": {', "not valid JSON"),
        ('{"opscope_debug_handle_map": 1} x', "not valid JSON"),
        ('{"opscope_debug_handle_map": ' + "[" * 100_000, "not valid JSON"),
        ('{"opscope_debug_handle_map": ' + "9" * 5000 + "}", "not valid JSON"),
        ('{"opscope_debug_handle_map": 0, "methods": {"m": {}}}', "no version number"),
        ('{"opscope_debug_handle_map": null, "methods": {"m": {}}}', "no version number"),
        ('{"opscope_debug_handle_map": 1}', "no methods"),
        ('{"opscope_debug_handle_map": 1, "methods": []}', "no methods"),
    ],
)
def test_what_cannot_be_read_says_why_and_what_to_do(path, content, reason):
    with pytest.raises(UnreadableFile, match=reason) as refused:
        read(written(path, content))
    assert refused.value.remedy


def test_a_file_of_any_size_is_not_read_to_its_end(path):
    with path.open("wb") as file:
        file.write(b'{"opscope_debug_handle_map": 1, "methods": {}')
        file.truncate(reader.MOST_BYTES + 1)
    with pytest.raises(UnreadableFile, match="more than 16 MB"):
        read(path)


def test_it_can_be_cancelled_and_tells_its_progress(path):
    written(path, {MARK: 1, "methods": {"m": {}}})
    told = []
    with pytest.raises(ReadCancelled):
        reader.read(str(path), lambda done, total: told.append((done, total)), lambda: True)
    assert told == [(path.stat().st_size, path.stat().st_size)]


def test_a_large_one_can_be_cancelled_on_the_way(path):
    calls = {"*": {"entries": [[i, [i]] for i in range(9000)]}}
    written(path, {MARK: 1, "methods": {"m": calls}})
    for most in (3, 8):  # among its entries, and among its operators
        asked = iter(range(100))
        with pytest.raises(ReadCancelled):
            reader.read(str(path), lambda *_: None, lambda end=most, at=asked: next(at) >= end)


LONG = {"forward": {"*": {"entries": [[f"identifier {i}", [i]] for i in range(300)]}}}


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ('{"opscope_debug_handle_map": 1}', "Debug handle map"),
        ('\ufeff \n{ "opscope_debug_handle_map" : 1}', "Debug handle map"),
        (json.dumps({"methods": {}, MARK: 1}), "Debug handle map"),
        (json.dumps({"note": {"traceEvents": [1]}, MARK: 1}), "Debug handle map"),
        # The mark lies beyond what is looked at, as where a tool sorted the keys.
        (json.dumps({"methods": LONG, MARK: 1}), "Debug handle map"),
        (json.dumps({"operators": {"1": {"file": "x" * 5000}}, MARK: 1}), "Debug handle map"),
        # Chrome traces, whatever is in them.
        ('{"traceEvents": []}', "Chrome trace"),
        (json.dumps({"traceEvents": [{"name": MARK, MARK: 1}]}), "Chrome trace"),
        (json.dumps({"a": MARK, "b": {MARK: 1}, "traceEvents": []}), "Chrome trace"),
        (json.dumps({"methods": 5, "traceEvents": [{"name": "x" * 5000}]}), "Chrome trace"),
        (json.dumps([{"ph": "X", MARK: 1}]), "Chrome trace"),
        ('{"a": "\\"opscope_debug_handle_map\\": 1"}', "Chrome trace"),
    ],
)
def test_it_is_told_from_chrome_traces_by_its_own_keys(text, name):
    assert choose(text.encode()[:HEAD_SIZE], "any").name == name


def test_no_other_sample_is_taken_for_one():
    sniff = format_of("executorch.debug_handle_map").sniff
    for sample in DATA.rglob("*"):
        if sample.is_file():
            with sample.open("rb") as file:
                assert sniff(file.read(HEAD_SIZE)) is (
                    sample.parent.name == "debug_handle_map" and sample.suffix == ".json"
                )

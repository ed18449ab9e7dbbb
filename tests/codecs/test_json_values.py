"""JSON of any kind: what can be read is, unexpected data warns, only InvalidJson is raised."""

import pytest

from tests.builders.record_cases import GRAPH, graph, made, node, read
from viewer.codecs.json_values import InvalidJson, Parsed, mapping, sequence, text, whole_number


def test_a_clean_text_has_no_oddities():
    parsed = Parsed(b'{"a": [1, "\\ud83d\\ude00"]}')
    assert (parsed.value, parsed.warnings) == ({"a": [1, "\U0001f600"]}, [])


def test_half_a_surrogate_pair_is_replaced_wherever_it_is():
    parsed = Parsed(rb'{"\udc00": ["x\ud83d", {"b": "\udfff"}]}')
    assert parsed.value == {"\ufffd": ["x\ufffd", {"b": "\ufffd"}]}
    assert parsed.warnings == ["text with half a surrogate pair: shown with \ufffd"]
    assert Parsed(rb'"\ud800"').value == "\ufffd"


def test_bytes_that_are_no_utf8_are_replaced():
    parsed = Parsed(b'["\xff"]')
    assert (parsed.value, len(parsed.warnings)) == (["\ufffd"], 1)


def test_a_key_that_is_there_twice_is_told_when_asked_for():
    raw = b'{"a": 1, "a": 2}'
    assert (Parsed(raw).value, Parsed(raw).warnings) == ({"a": 2}, [])
    assert Parsed(raw, find_duplicates=True).warnings == ["duplicate key: the last one is used"]


@pytest.mark.parametrize("raw", [b"", b"{", b"[" * 10**6, b"1" * 9000, b'"\\x"', b"\0", b"{}{}"])
def test_what_is_no_json_raises_one_error(raw):
    with pytest.raises(InvalidJson):
        Parsed(raw)


def test_values_of_other_types_are_empty():
    assert (mapping([]), sequence({}), text(5)) == ({}, [], "")
    assert [whole_number(v) for v in (7, "7", 0, 2**63 - 1)] == [7, 7, 0, 2**63 - 1]
    for odd in (-1, "-1", True, 1.0, 2**63, "9" * 19, "", "٣", None, [], float("nan")):
        assert whole_number(odd) is None


def test_half_a_surrogate_pair_and_bytes_that_are_no_utf8(tmp_path):
    trace = '  File "m.py", line 1, in f\n    x = "\ud83d"\n'
    program = read(made(tmp_path, node(stack_trace=trace)))
    assert program.operators[0].source.text == 'x = "\ufffd"'
    assert "surrogate" in program.problems[0].kind
    pair = node(stack_trace=trace.replace("\ud83d", "\U0001f600"))
    assert read(made(tmp_path, pair)).problems == ()
    text = graph(node(note="x")).encode().replace(b'"x"', b'"\xff\xed\xa0\x80"')
    (problem,) = read(made(tmp_path, **{GRAPH: text})).problems
    assert (problem.kind[:18], problem.first) == ("text is not UTF-8:", GRAPH)

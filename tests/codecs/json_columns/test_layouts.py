"""Objects of equal layout by columns, beside json.loads object by object."""

import json
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builders.cell_spans import padded, spans_of
from viewer.codecs.json_columns import layouts as json_layouts
from viewer.codecs.json_columns.layouts import (
    JsonLayout,
    QuotedObjects,
    decimals,
    distinct,
    whole_numbers,
)
from viewer.codecs.json_columns.objects import Objects


def test_values_are_found_by_key_with_whatever_is_in_them(monkeypatch):
    monkeypatch.setattr(json_layouts, "FEWEST", 2)
    given = [
        {"name": f"a{'b' * (i % 5)}", "ts": i * 37, "args": {"shape": [[i, 3], ["x"]], "ok": i > 2}}
        for i in range(9)
    ]
    objects = QuotedObjects(Objects(json.dumps(given)[1:-1].encode()))
    assert objects.is_plain
    (one,), left = objects.group_by_layout({}, "args")
    assert len(left) == 0
    assert [value.path for value in one.layout.values] == [
        ("name",), ("ts",), ("args", "shape"), ("args", "ok")
    ]  # fmt: skip
    for value, (start, end) in zip(one.layout.values, one.spans, strict=True):
        raw = [objects.text[a:b] for a, b in zip(start.tolist(), end.tolist(), strict=True)]
        found = [cell.decode() if value.is_text else json.loads(cell) for cell in raw]
        inner = [each if len(value.path) == 1 else each["args"] for each in given]
        assert found == [each[value.path[-1]] for each in inner]


def test_values_that_all_objects_share_are_constants_until_one_differs(monkeypatch):
    monkeypatch.setattr(json_layouts, "FEWEST", 2)
    known = {}

    def values_of(*objects: dict) -> list[tuple[str, ...]]:
        """Which values are looked at in each object, of a block of these."""
        quoted = QuotedObjects(Objects(json.dumps(objects)[1:-1].encode()))
        (one,), left = quoted.group_by_layout(known, "args")
        assert len(left) == 0
        assert len(one.rows) == len(objects)
        return [value.path for value in one.layout.values]

    def event(ts: int, name: str, tid: int) -> dict:
        return {"name": name, "ts": ts, "args": {"tid": tid}}

    first = values_of(event(1, "a", 7), event(2, "a", 7))
    assert first == [("name",), ("ts",), ("args", "tid")]
    assert values_of(event(3, "a", 7), event(4, "a", 7)) == [("ts",)]
    assert values_of(event(5, "b", 7), event(6, "b", 7)) == first
    assert values_of(event(7, "a", 7), event(8, "b", 7)) == [("name",), ("ts",)]
    ((layout,),) = known.values()
    assert [(value.path, value.sample) for value, _ in layout.constants] == [
        (("args", "tid"), b"7")
    ]
    ((start, end),) = (span for _, span in layout.constants)
    assert layout.example.text[start[0] : end[0]] == b"7"


@pytest.mark.parametrize(
    "text",
    [
        '{"a":1,"a":2}', '{"a":{"x":1}', '{"a" 1}', '{"a":1}}', '{"a":1,}', '{"a":\\"}', "{}",
        '{"args":{}}', '{"args":{"x":1},"a":2', '{1:2}', "[]", '{"a":"\\\\"}',
    ],
)  # fmt: skip
def test_what_is_no_object_or_has_a_key_twice_has_no_layout(text):
    assert JsonLayout.of(text.encode(), "args") is None


def test_quotes_after_two_backslashes_are_too_hard_to_find():
    objects = Objects(b'{"a":"\\\\"}')
    assert objects.is_plain
    assert not QuotedObjects(objects).is_plain


NUMBERS = st.one_of(
    st.integers(-(10**18) + 1, 10**18 - 1).map(str), st.text("0123456789-.e ", max_size=20)
)


@pytest.mark.slow
@given(st.lists(NUMBERS.map(str.encode), min_size=1, max_size=30))
def test_whole_numbers_are_those_of_json(cells):
    text, start, end = spans_of(cells)
    values, good = whole_numbers(padded(text), start, end)
    for cell, value, is_good in zip(cells, values.tolist(), good.tolist(), strict=True):
        try:
            expected = json.loads(cell)
        except ValueError:
            expected = None
        is_whole = type(expected) is int and len(cell.lstrip(b"-")) <= 18 and cell == cell.strip()
        assert is_good == is_whole, cell
        assert not is_good or value == expected


@pytest.mark.slow
@given(
    st.lists(st.tuples(st.integers(0, 2**64), st.integers(0, 10**6 - 1)), min_size=1),
    st.integers(0, 6), st.binary(),
)  # fmt: skip
def test_decimals_are_exact(given, behind, odd):
    """Beside Python's decimals; as many as behind, and two cells that are no such number."""
    kept = behind + 1 if behind else 0
    cells = [f"{whole}" + f".{part:06}"[:kept] for whole, part in given]
    wrong = [odd.replace(b",", b"") + b"x", b"01" + b".234567"[:kept]]
    text, start, end = spans_of([cell.encode() for cell in cells] + wrong)
    values, rest, good = decimals(padded(text), start, end, b"1" + b".234567"[:kept])
    found = zip(cells, values.tolist(), rest.tolist(), good.tolist(), strict=False)
    for cell, value, millionths, is_good in found:
        expected = Decimal(cell) * 1000
        digits = len(cell.replace(".", ""))
        assert is_good or expected > 2**62 or digits > 18, cell
        assert not is_good or value + Decimal(millionths) / 1000 == expected, cell
    assert not good[-2:].any()


@pytest.mark.slow
@given(st.lists(st.text(max_size=20).map(str.encode), min_size=1, max_size=50))
def test_distinct_texts_are_those_of_a_dictionary(cells):
    cells = [cell.replace(b",", b"") for cell in cells] * 3
    text, start, end = spans_of(cells)
    objects = Objects(text)
    found, codes = distinct(objects, start, end)
    assert [found[code] for code in codes.tolist()] == cells
    assert found == list(dict.fromkeys(cells))


def test_thousands_of_distinct_texts_are_told_apart():
    """Far more than the table has room for without two at one place."""
    cells = [b"operator %d" % (i % 20_000) for i in range(60_000)]
    text, start, end = spans_of(cells)
    found, codes = distinct(Objects(text), start, end)
    assert [found[code] for code in codes.tolist()] == cells
    assert len(found) == 20_000

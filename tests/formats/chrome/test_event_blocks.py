"""Faults in strings and numbers are repaired for a block as they are for one event."""

import json
import re
from random import Random
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builders.chrome_cases import problems
from tests.builders.chrome_damage import LAYOUTS, event, written
from viewer.codecs.json_pieces import Objects
from viewer.codecs.json_repairs import Repair, RepairedObjects
from viewer.formats import open_file
from viewer.formats.chrome import event_blocks

STRING = re.compile(r'"((?:[^"\\]|\\.)*)"')
NUMBER = re.compile(r"(?<=[:,\[ ])(-?[0-9.]+)(?=[,}\]])")
IN_STRINGS = (
    "\\", "\\w", "C:\\x\\y", "\t", "\n", "\0", "\x0b", "\udcff", "\udce4b\udcfc\udcdf",
    "\udce2\udc82", "\\\\x", "\\u12", "}, {", '\\"', " nan,", "\x08",
)  # fmt: skip
NUMBERS = (
    "NaN", "nan", "-nan", "inf", "-inf", "+inf", "Infinity", "-Infinity", "1.#IND", "-1.#INF",
    "-nan(ind)", "INF", "+NaN", "nanx", "infinit",
)  # fmt: skip


def in_string(text: str, random: Random) -> str:
    at = random.choice([random.randint(*found.span(1)) for found in STRING.finditer(text)])
    return text[:at] + random.choice(IN_STRINGS) + text[at:]


def number(text: str, random: Random) -> str:
    begin, end = random.choice([found.span(1) for found in NUMBER.finditer(text)])
    return text[:begin] + random.choice(NUMBERS) + text[end:]


def folder(text: str, random: Random) -> str:
    """A path that ends with a backslash."""
    return re.sub(r'"([a-z0-9]+)"(?!:)', r'"C:\\dir\\\1\\"', text, count=random.choice([1, 2]))


def anywhere(text: str, random: Random) -> str:
    at = random.randrange(1, len(text))
    return text[:at] + random.choice(IN_STRINGS) + text[at:]


def with_fault(text: str, random: Random) -> str:
    return random.choice([in_string, in_string, number, folder, anywhere])(text, random)


def content(path) -> tuple:
    trace = open_file(str(path))
    columns = {
        name: [str(column.value(i)) for i in range(len(trace.slices))]
        for name, column in trace.slices.columns.items()
    }
    texts = [trace.strings[i] for i in trace.slices.name.tolist()]
    return columns, texts, trace.start, trace.end, set(trace.problems)


@pytest.mark.slow
@given(
    seed=st.integers(0, 1 << 32),
    layout=st.sampled_from(sorted(LAYOUTS)),
    share=st.sampled_from([0.02, 0.2, 1]),
    lost=st.sampled_from([0, 0, 0.02]),
)
def test_blocks_are_repaired_as_events_are(tmp_path_factory, seed, layout, share, lost):
    random = Random(seed)
    texts = [LAYOUTS[layout][0](event(i)) for i in range(300)]
    texts = [with_fault(text, random) if random.random() < share else text for text in texts]
    texts = [text[1:] if random.random() < lost else text for text in texts]
    path = tmp_path_factory.mktemp("repaired") / "trace.json"
    path.write_bytes(written(layout, texts, is_bare=bool(seed % 2)))
    found = content(path)

    class Unchanged(RepairedObjects):
        def __init__(self, before: Objects) -> None:
            self.is_changed = False

    with patch.object(event_blocks, "RepairedObjects", Unchanged):
        assert content(path) == found


@pytest.mark.slow
@given(seed=st.integers(0, 1 << 32), layout=st.sampled_from(sorted(LAYOUTS)))
def test_a_repaired_object_is_what_the_repair_of_its_text_is(seed, layout):
    random = Random(seed)
    text = with_fault(LAYOUTS[layout][0](event(random.randrange(30))), random)
    raw = text.encode("utf-8", "surrogateescape")
    plain = raw.decode("utf-8", "replace")
    repaired = RepairedObjects(Objects(raw))
    objects = repaired.objects
    if len(objects) > 1:  # split in a string
        return
    for is_escaped in (True, False):
        expected = Repair(plain, is_escaped=is_escaped)
        try:
            value = json.loads(expected.text)
        except ValueError:
            continue
        assert json.loads(objects.text[: objects.size]) == value
        assert bool(len(repaired.backslashes)) == expected.has_backslashes
        assert bool(len(repaired.controls)) == expected.has_controls
        assert bool(len(repaired.respelled)) == expected.is_respelled
        assert bool(len(repaired.not_utf8)) == ("\ufffd" in plain)
        return


def test_the_last_event_may_end_with_a_path(tmp_path):
    event = '{"ph":"X","name":"a","pid":1,"tid":1,"ts":TIME,"dur":1,"args":{"p":"C:\\dir\\"}}'
    path = tmp_path / "trace.json"
    texts = [event.replace("TIME", str(2 * i)) for i in range(3)]
    path.write_text('{"traceEvents":[' + ",\n".join(texts) + "]}")
    trace = open_file(str(path))
    assert len(trace.slices) == 3
    assert problems(trace) == {"text with backslashes that are not escaped: kept as they are": 3}


@pytest.mark.parametrize(
    ("before", "after", "problem"),
    [
        ('"C:\\work\\x"', "C:\\work\\x", "text with backslashes that are not escaped"),
        ('"C:\\dir\\"', "C:\\dir\\", "text with backslashes that are not escaped"),
        ('"a\tb"', "a\tb", "text with control characters"),
        ('"K\udcfche"', "K\ufffdhe", "text that is not UTF-8"),
        ("nan", "NaN", None),
    ],
)
def test_a_fault_in_every_event(tmp_path, before, after, problem):
    path = tmp_path / "trace.json"
    texts = [
        f'{{"ph":"X","name":"op{i % 7}","pid":1,"tid":1,"ts":{10 * i},"dur":5,'
        f'"args":{{"p":{before},"k":{i}}}}}'
        for i in range(3000)
    ]
    path.write_bytes(("[" + ",\n".join(texts) + "]").encode("utf-8", "surrogateescape"))
    with patch.object(event_blocks, "ObjectsApart", side_effect=AssertionError):
        trace = open_file(str(path))
    columns = trace.slices.columns
    assert {columns["p"].value(i) for i in range(3000)} == {after}
    assert [columns["k"].value(i) for i in range(3000)] == list(range(3000))
    found = {kind.partition(" that")[0]: count for kind, count in problems(trace).items()}
    assert found == ({problem.partition(" that")[0]: 3000} if problem else {})
    if problem:
        assert trace.problems[0].first == "line 1, byte 1"

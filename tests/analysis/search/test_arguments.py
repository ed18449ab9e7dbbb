"""Searching by argument and category: equal to plain loops, and refusals that name the nearest."""

import random
from fractions import Fraction

import numpy as np
import pytest

from tests.analysis.statistics.test_pivot import generated
from tests.builders.clocked_traces import space_of
from viewer.analysis.links.labels import slice_labels
from viewer.analysis.links.linker import unlinked
from viewer.analysis.search.query import LONGEST, Argument, parse
from viewer.analysis.search.search import SearchedTrace, refusal
from viewer.api.profile import Profile


def searched(trace):
    table = unlinked(trace)
    return SearchedTrace(table, *slice_labels(table))


def compares(value, sign: str, text: str) -> bool:
    """Whether the value of an argument compares as a query asks, without what computes it."""
    if value is None:
        return False
    if sign in ("", ":"):
        return text in str(value)
    if sign == "=":
        return str(value) == text
    left, right = float(value), float(text)
    return {">": left > right, ">=": left >= right, "<": left < right, "<=": left <= right}[sign]


@pytest.mark.parametrize("seed", range(6))
def test_arguments_are_those_of_a_loop(seed):
    trace, dice = generated(seed), random.Random(seed)
    ready = searched(trace)
    for _ in range(20):
        name, sign = dice.choice("ab"), dice.choice(["", ":", "=", ">", ">=", "<", "<="])
        if name == "b" and sign not in ("", ":", "="):
            continue
        text = dice.choice(["-2", "0", "2", "3.5"] if name == "a" else "xyzq") if sign else ""
        if name == "a" and sign == "=" and "." in text:
            continue
        query = parse(f"arg:{name}{sign}{text}")
        column = trace.slices.columns[name]
        expected = [compares(column.value(i), sign, text) for i in range(len(trace.slices))]
        assert ready.matches(query).tolist() == expected, query.text
        assert ready.matches(parse(f"-arg:{name}{sign}{text}")).tolist() == [
            not hit for hit in expected
        ]


def test_a_category_is_a_field():
    trace = generated(2)
    values = [trace.slices.columns["category"].value(i) for i in range(len(trace.slices))]
    hits = searched(trace).matches(parse("category:P"))
    assert hits.tolist() == [value == "p" for value in values]


@pytest.mark.parametrize(
    ("text", "node"),
    [
        ("arg:Batch", Argument("batch")),
        ("ARG:batch >= -2.5", Argument("batch", ">=", "-2.5", Fraction(-5, 2))),
        ('arg:"Input Dims":[64,', Argument("input dims", ":", "[64,", None)),
        ('arg:mode="a b"', Argument("mode", "=", "a b", None)),
        ("arg:n=7", Argument("n", "=", "7", Fraction(7))),
    ],
)
def test_the_forms_of_an_argument(text, node):
    query = parse(text)
    assert (query.node, query.complaint) == (node, "")


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("arg:", "expected the name of an argument"),
        ("arg:n>", "expected a value after >"),
        ("arg:n>big", "expected a number after >, such as arg:batch>8"),
        ("arg:n: x", "expected a value after :"),
    ],
)
def test_wrong_arguments_are_one_sentence(text, complaint):
    query = parse(text)
    assert query.node is None
    assert complaint in query.complaint


def test_any_text_is_parsed_or_refused():
    dice = random.Random(5)
    ready = searched(generated(1))
    pieces = ["arg:", *'ab"><=:.5-( ']
    for _ in range(400):
        text = "".join(dice.choices(pieces, k=9))
        query = parse(text[:LONGEST])
        assert (query.node is None) == bool(query.complaint) or not text.strip()
        ready.matches(query)


def test_what_no_slice_has_names_the_nearest():
    trace = generated(1)
    ready = searched(trace)
    assert refusal(parse("arg:categry>1 or op:x"), [ready]) == (
        "no slice has the argument categry: category is similar"
    )
    assert refusal(parse("arg:a"), [ready]) == ""
    profile = Profile(space_of([trace]))
    with pytest.raises(ValueError, match=r"category is similar"):
        profile.query("arg:categry")
    with pytest.raises(ValueError, match=r"Unknown field modul;.*; module: is similar"):
        profile.query("modul:x")
    assert len(profile.query("arg:a>0")) == np.sum(ready.matches(parse("arg:a>0")))

"""Dataclasses become JSON and columns and come back equal, or are refused."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from tests.builders.equal_traces import differences
from viewer.codecs.column_file import (
    ColumnFile,
    DamagedFile,
    NotStorable,
    Packer,
    unpacked,
    write_columns,
)


class Color(IntEnum):
    RED = 0
    BLUE = 7


@dataclass(frozen=True)
class Part:
    number: int
    text: str | None = None


@dataclass(frozen=True, eq=False)
class Whole:
    flag: bool
    rate: Fraction
    color: Color
    share: float
    values: NDArray[Any]
    codes: NDArray[np.uint32]
    maybe: NDArray[np.int64] | None
    objects: NDArray[np.object_]
    texts: tuple[str, ...]
    shared: tuple[str, ...] | None
    parts: tuple[Part, ...]
    mixed: tuple[int | str, ...]
    named: Mapping[str, Part]
    facts: Mapping[str, int | str]


def written(value: Whole, path: str) -> ColumnFile:
    packer = Packer()
    write_columns(path, {}, packer.pack(value, Whole), packer.columns)
    return ColumnFile(path)


def objects(items: list[object]) -> NDArray[np.object_]:
    array = np.full(len(items), None, object)
    array[:] = items
    return array


TEXTS = st.text(st.characters(codec=None, categories=None), max_size=6)  # with surrogates
NUMBERS = st.integers(-(2**80), 2**80)
PARTS = st.builds(Part, NUMBERS, st.none() | TEXTS)
DTYPES = [np.int64, np.uint8, np.float64, np.float32, np.bool_, np.uint16, np.int8]


@st.composite
def wholes(draw):
    many = draw(st.integers(0, 40))
    texts = tuple(draw(st.lists(TEXTS, min_size=many, max_size=many)))
    array = np.frombuffer(draw(st.binary(max_size=64)), np.uint8)
    dtype = draw(st.sampled_from(DTYPES))
    values = (array % 2).astype(np.bool_) if dtype is np.bool_ else array.astype(dtype)
    return Whole(
        draw(st.booleans()),
        draw(st.fractions()),
        draw(st.sampled_from(Color)),
        draw(st.floats()),
        values,
        array.astype(np.uint32),
        draw(st.none() | st.just(array.astype(np.int64))),
        objects(draw(st.lists(st.none() | TEXTS | NUMBERS, max_size=20))),
        texts,
        draw(st.sampled_from([None, texts, texts[:3]])),
        tuple(draw(st.lists(PARTS, max_size=4))),
        tuple(draw(st.lists(TEXTS | NUMBERS, max_size=4))),
        draw(st.dictionaries(TEXTS, PARTS, max_size=3)),
        draw(st.dictionaries(TEXTS, TEXTS | NUMBERS, max_size=3)),
    )


@pytest.mark.slow
@given(value=wholes())
def test_any_value_comes_back_equal(value, tmp_path_factory):
    path = str(tmp_path_factory.getbasetemp() / "any.columns")
    again = unpacked(written(value, path), ColumnFile(path).content, Whole)
    assert list(differences(value, again)) == []
    if value.shared is value.texts and len(value.texts) > 16:
        assert again.shared is again.texts  # stored once


EMPTY = np.empty(0, np.uint32)


def whole(**changed: object) -> Whole:
    values: dict[str, Any] = {
        "flag": True, "rate": Fraction(1, 3), "color": Color.BLUE, "share": 0.5,
        "values": EMPTY, "codes": EMPTY, "maybe": None, "objects": objects([None, "a", 5]),
        "texts": tuple(map(str, range(20))), "shared": ("ä",) * 20, "parts": (Part(1),),
        "mixed": (1, "a"), "named": {"a": Part(2, "b")}, "facts": {"b": 1},
    }  # fmt: skip
    return Whole(**{**values, **changed})


@pytest.mark.parametrize(
    "changed",
    [
        {"flag": 1}, {"rate": 0.5}, {"color": 7}, {"share": "1"}, {"values": [1]},
        {"codes": np.empty(0, np.int64)}, {"maybe": np.empty(0, np.int32)}, {"parts": (1,)},
        {"values": np.array(["a"])}, {"values": np.zeros((2, 2))}, {"values": objects([1])},
        {"objects": objects([1.5])}, {"objects": objects([True])}, {"mixed": (1.5,)},
        {"mixed": (None,)}, {"texts": tuple([1] * 20)}, {"facts": {"a": None}},
        {"values": np.zeros(2, ">i8")},
    ],
)  # fmt: skip
def test_what_has_no_form_is_refused(changed):
    with pytest.raises(NotStorable):
        Packer().pack(whole(**changed), Whole)


WRONG = [None, True, -1, 0, 99, 1.5, "x", [], [1], [1, 0], {}, {"texts": [0, 1]}, {"texts": [9, 9]},
         [[]], [["a", [1]]], 2**70, [0, 0, 0], [2, 1, 0]]  # fmt: skip


@pytest.mark.slow
def test_a_tree_that_does_not_fit_is_refused_and_nothing_else_is_raised(tmp_path):
    file = written(whole(), str(tmp_path / "a.columns"))
    refused = 0

    def places(tree, way=()):
        yield way
        lists = enumerate(tree) if isinstance(tree, list) else ()
        for key, child in tree.items() if isinstance(tree, dict) else lists:
            yield from places(child, (*way, key))

    for way in places(file.content):
        for value in WRONG:
            tree = json.loads(json.dumps(file.content))
            if not way:
                tree = value
            else:
                holder = tree
                for key in way[:-1]:
                    holder = holder[key]
                holder[way[-1]] = value
            try:
                again = unpacked(file, tree, Whole)
            except DamagedFile:
                refused += 1
                continue
            assert type(again.flag) is bool
            assert type(again.color) is Color
            assert again.codes.dtype == np.uint32
            assert again.objects.dtype == object
            assert all(type(text) is str for text in again.texts)
    assert refused > 300

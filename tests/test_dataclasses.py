"""Our dataclasses behave as those of the standard library, but for a frozen class at run time."""

import copy
import dataclasses
import pickle
from dataclasses import field

import numpy as np
import pytest

from viewer.dataclasses import asdict, dataclass, fields, is_dataclass, replace

NAN = float("nan")


def classes(decorator, **options):
    """Classes of all kinds in `viewer`: with defaults, without fields, derived, with methods."""

    @decorator(**options)
    class Point:
        x: int
        y: int = 2
        hidden: list = field(default_factory=list, repr=False, compare=False)

    @decorator(**options)
    class Empty:
        pass

    @decorator(**options)
    class Single:
        value: object

    @decorator(**options)
    class Derived(Single):
        label: str = field(default="", kw_only=True)

    @decorator(**options)
    class WithMethods:
        x: int

        def __eq__(self, other: object) -> bool:
            return isinstance(other, type(self))

        def __hash__(self) -> int:
            return 7

        def __repr__(self) -> str:
            return "shown by itself"

    @decorator(**options)
    class WithEquality:
        x: int

        def __eq__(self, other: object) -> bool:
            return isinstance(other, type(self))

    return Point, Empty, Single, Derived, WithMethods, WithEquality


def outcome(function, *values):
    """What a function returns, or the type of its error."""
    try:
        return function(*values)
    except Exception as error:
        return type(error)


def objects(decorator, options):
    point, empty, single, derived, with_methods, with_equality = classes(decorator, **options)
    return [
        point(1), point(1, 2, [3]), point(1, 3), empty(), empty(), single(1), single((1,)),
        single(NAN), single([1]), derived(1), derived(1, label="a"), with_methods(1),
        with_methods(2), with_equality(1),
    ]  # fmt: skip


OPTIONS = [
    {**dict.fromkeys(chosen, True), **eq}
    for chosen in ((), ("frozen",), ("slots",), ("frozen", "slots"), ("slots", "weakref_slot"))
    for eq in ({}, {"eq": False})
]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_objects_compare_and_show_themselves_as_those_of_the_standard_library(options):
    made, expected = objects(dataclass, options), objects(dataclasses.dataclass, options)
    assert [[a == b for b in made] for a in made] == [[a == b for b in expected] for a in expected]
    for value, standard in zip(made, expected, strict=True):
        assert repr(value).split(".")[-1] == repr(standard).split(".")[-1]
        assert asdict(value) == asdict(standard)
        assert [part.name for part in fields(value)] == [part.name for part in fields(standard)]
        assert hasattr(value, "__dict__") == hasattr(standard, "__dict__")
        hashes = outcome(hash, value), outcome(hash, standard)
        assert hashes[0] == hashes[1] or "eq" in options  # else by identity


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_what_is_wrong_for_the_standard_library_is_wrong(options):
    for decorator in (dataclass, dataclasses.dataclass):
        point, _, single, *_ = classes(decorator, **options)
        assert outcome(point) is TypeError
        assert outcome(single, 1, 2) is TypeError
        assert (point(1) == single(1)) is False


@dataclass(frozen=True, slots=True)
class Parts:
    numbers: tuple[int, ...]
    whole: object = None


def test_copies_and_pickles_are_equal():
    parts = Parts((1, 2), Parts(()))
    assert copy.copy(parts) == copy.deepcopy(parts) == pickle.loads(pickle.dumps(parts)) == parts
    assert replace(parts, whole=None) == Parts((1, 2))
    assert is_dataclass(Parts)


def test_a_value_that_holds_itself_is_shown():
    holder = Parts((), [])
    holder.whole.append(holder)
    assert repr(holder) == "Parts(numbers=(), whole=[...])"


def test_a_field_that_is_the_same_array_is_equal():
    """As in the standard library: identity comes before equality, which an array has not."""
    array = np.arange(3)
    assert Parts((), array) == Parts((), array)
    with pytest.raises(ValueError, match="ambiguous"):
        assert Parts((), array) == Parts((), array.copy())

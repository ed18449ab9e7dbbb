"""Colors by an argument: a color for each text, a ramp of numbers, the same in all open files."""

from fractions import Fraction

import numpy as np
import pytest

from tests.analysis.statistics.test_pivot import generated
from viewer.analysis.links.linker import unlinked
from viewer.gui.session.session import Session
from viewer.model.building.builder import TraceBuilder
from viewer.model.inference_views import only_inferences
from viewer.model.trace import Clock, Column, KeyKind
from viewer.render.color_schemes import (
    ArgumentRange,
    LengthRange,
    classes_of,
    range_of,
    ranges_together,
    scheme_of,
)
from viewer.render.palette import PLAIN, RAMP, RAMP_STEPS
from viewer.view.open_trace import color_classes, palette_of, ramp_of


@pytest.mark.parametrize(("id", "title"), [("arg:Batch Size", "arg:Batch Size"), ("name", "Name")])
def test_every_argument_has_a_scheme(id, title):
    assert scheme_of(id).title == title


@pytest.mark.parametrize("id", ["arg:", "argument", "arg", ""])
def test_other_texts_are_no_scheme(id):
    assert scheme_of(id) is None


@pytest.mark.parametrize(
    ("least", "most"), [(1, 50), (0, 7), (-5, 5), (1, 10**9), (0.25, 0.5), (3, 2**63)]
)
def test_the_steps_of_a_ramp_ascend_from_the_least_to_the_most(least, most):
    steps = ArgumentRange((), Fraction(least), Fraction(most)).steps()
    assert len(steps) == RAMP_STEPS + 1
    assert (steps[0], steps[-1]) == (least, float(most))
    assert sorted(set(steps)) == list(steps)


def test_equal_numbers_have_one_step():
    assert ArgumentRange((), Fraction(4), Fraction(4)).steps() == (4.0,)


def test_texts_of_several_files_are_counted_together():
    both = ranges_together(
        [ArgumentRange((("a", 3), ("b", 2))), ArgumentRange((("b", 5),), Fraction(1), Fraction(2))]
    )
    assert both == ArgumentRange((("b", 7), ("a", 3)), Fraction(1), Fraction(2))


def argued(seed, texts):
    """A trace of slices with a text or none, a number or none, and what these are."""
    dice = np.random.default_rng(seed)
    count = 200
    text = [None if i < 0 else texts[i] for i in dice.integers(-1, len(texts), count)]
    number = dice.integers(1, 1000, count)
    has = dice.random(count) < 0.7
    builder = TraceBuilder(f"argued {seed}", "test", "", Clock())
    track = builder.track("p", "one")
    builder.add(
        track=track, start=np.arange(count) * 10, end=np.arange(count) * 10 + 5,
        name=builder.intern("s"), key=builder.key(KeyKind.PLAIN, "s"),
        columns={"a b": Column.of_texts(text), "n": Column(number, has)},
    )  # fmt: skip
    return builder.build(), text, np.where(has, number, -1)


@pytest.mark.parametrize("seed", range(6))
def test_values_have_one_color_in_all_files_and_frequent_ones_different_ones(seed, qapp):
    words = [f"value {i}" for i in range(9)]
    session = Session()
    (first, *facts), (second, *others) = argued(seed, words[:7]), argued(seed + 50, words[2:])
    session.add([first, second])
    ranges = ramp_of(session.traces, "arg:a b")
    color_of = {}
    for opened, (text, number) in zip(session.traces, (facts, others), strict=True):
        palette = palette_of(opened, "arg:a b", ranges)
        for value, color in zip(text, palette.tolist(), strict=True):
            assert color_of.setdefault(value, color) == color
        classes = color_classes(opened, "arg:a b", ranges).of(opened.trace)
        titles = color_classes(opened, "arg:a b", ranges).titles
        assert [titles[i] for i in classes] == [value or "No a b" for value in text]
        steps = palette_of(opened, "arg:n", ramp_of(session.traces, "arg:n"))
        assert np.array_equal(steps == PLAIN, number < 0)
        order = np.argsort(number[number >= 0])
        assert (np.diff(steps[number >= 0][order].astype(int)) >= 0).all(), "larger is stronger"
        assert set(steps[number >= 0].tolist()) <= set(range(RAMP, RAMP + RAMP_STEPS))
    assert color_of.pop(None) == PLAIN
    assert len(set(color_of.values())) == len(words)


def test_an_argument_that_no_slice_has_colors_by_name(qapp):
    session = Session()
    session.add([argued(1, ["x"])[0]])
    opened = session.traces[0]
    assert np.array_equal(palette_of(opened, "arg:other"), palette_of(opened, "name"))
    assert "No slice has the argument other" in opened.why_not_by("arg:other")
    assert opened.why_not_by("arg:n") == ""


def test_a_view_of_some_inferences_has_the_classes_of_its_slices():
    trace = generated(3)
    table = unlinked(trace)
    for name in ("a", "b"):
        values = LengthRange(Fraction(1), Fraction(2), range_of(trace, name))
        classes = classes_of(f"arg:{name}", table, values)
        index = np.flatnonzero(np.arange(len(trace.slices)) % 3 == 1)
        assert np.array_equal(classes.of(trace)[index], classes.of(trace, index))
        part = only_inferences(trace)
        texts = [part.slices.columns[name].value(i) for i in range(len(part.slices))]
        if name == "b":
            assert [classes.titles[i] for i in classes.of(part)] == [t or "No b" for t in texts]

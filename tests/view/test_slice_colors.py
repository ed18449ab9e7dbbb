"""The color of the swatch of one slice, which is that of the slice on the timeline."""

import numpy as np
import pytest

from viewer.analysis.numbers.compared import STEP_TITLES, OperatorErrors
from viewer.model.trace import KeyKind
from viewer.render.color_schemes import SCHEMES
from viewer.render.palette import PLAIN, RAMP, SLAB
from viewer.resources import SAMPLES
from viewer.view.open_trace import color_classes, palette_of, scheme_key, slice_colors

_PATHS = {sample.key: sample.paths() for sample in SAMPLES}


@pytest.fixture
def attention(opened):
    return opened(*_PATHS["attention_xnnpack"]).traces[0]


@pytest.mark.parametrize("scheme", [scheme.id for scheme in SCHEMES])
def test_a_swatch_has_the_color_of_its_slice(attention, scheme):
    palette = palette_of(attention, scheme)
    for i in range(len(palette)):
        operators = attention.link(i).operators
        if len(operators) < 2 or scheme in ("name", "delegate", "duration", "error", "links"):
            assert slice_colors(attention, i, operators, scheme) == (palette[i],)


def test_a_slice_of_several_operators_has_their_colors(attention):
    keys = attention.trace.keys.kind[attention.trace.slices.key]
    calls = np.flatnonzero(keys == KeyKind.DELEGATE_CALL).tolist()
    i = next(i for i in calls if len(attention.link(i).operators) > 1)
    operators = attention.link(i).operators
    assert palette_of(attention, "operator")[i] == SLAB
    assert slice_colors(attention, i, operators, "operator") == tuple(k % 12 for k in operators)


def test_errors_color_slices_by_powers_of_ten(attention):
    assert scheme_key(attention, "error") == "name", "nothing is compared"
    keys = attention.trace.keys.kind[attention.trace.slices.key]
    calls = np.flatnonzero(keys == KeyKind.DELEGATE_CALL).tolist()
    shared = next(i for i in calls if len(attention.link(i).operators) > 1)
    own = attention.link(shared).operators
    attention.errors = OperatorErrors({own[0]: 2e-5, own[1]: 0.5})
    assert palette_of(attention, "error")[shared] == RAMP + 6, "the largest of them"
    classes = color_classes(attention, "error")
    assert classes.titles[:7] == STEP_TITLES
    colors = attention.operator_colors("error")
    assert (colors[own[0]], colors[own[1]]) == (RAMP + 2, RAMP + 6)
    assert (colors == PLAIN).sum() == len(colors) - 2
    first = scheme_key(attention, "error")
    attention.errors = OperatorErrors({own[0]: 0.0})
    assert palette_of(attention, "error")[shared] == RAMP
    assert first not in attention.palettes, "colors of other errors are dropped"
    assert attention.operator_colors("error")[own[1]] == PLAIN

"""The color of the swatch of one slice, which is that of the slice on the timeline."""

import numpy as np
import pytest

from viewer.model.trace import KeyKind
from viewer.render.color_schemes import SCHEMES
from viewer.render.palette import SLAB
from viewer.resources import SAMPLES
from viewer.view.slice_colors import palette_of, slice_colors

_PATHS = {sample.key: sample.paths() for sample in SAMPLES}


@pytest.fixture
def attention(opened):
    return opened(*_PATHS["attention_xnnpack"]).traces[0]


@pytest.mark.parametrize("scheme", [scheme.id for scheme in SCHEMES])
def test_a_swatch_has_the_color_of_its_slice(attention, scheme):
    palette = palette_of(attention, scheme)
    for i in range(len(palette)):
        operators = attention.link(i).operators
        if len(operators) < 2 or scheme in ("name", "delegate", "duration", "links"):
            assert slice_colors(attention, i, operators, scheme) == (palette[i],)


def test_a_slice_of_several_operators_has_their_colors(attention):
    keys = attention.trace.keys.kind[attention.trace.slices.key]
    calls = np.flatnonzero(keys == KeyKind.DELEGATE_CALL).tolist()
    i = next(i for i in calls if len(attention.link(i).operators) > 1)
    operators = attention.link(i).operators
    assert palette_of(attention, "operator")[i] == SLAB
    assert slice_colors(attention, i, operators, "operator") == tuple(k % 12 for k in operators)

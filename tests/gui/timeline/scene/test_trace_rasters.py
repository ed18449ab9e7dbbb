"""What the timeline draws with: a palette index per slice, and the highlighted subset."""

import pytest

from viewer.gui.timeline.scene.drawings import highlighted
from viewer.gui.timeline.scene.trace_rasters import rasters_of
from viewer.model.trace import KeyKind
from viewer.render.palette import FRAME, OPERATORS, SLAB, UNLINKED, Emphasis, cell_colors
from viewer.resources import SAMPLES
from viewer.view.open_trace import palette_of

_PATHS = {sample.key: sample.paths() for sample in SAMPLES}


@pytest.fixture
def attention(opened):
    return opened(*_PATHS["attention_xnnpack"]).traces[0]


def test_by_operator_a_slice_has_the_color_of_its_operator(attention):
    palette = palette_of(attention, "operator")
    kinds = attention.trace.keys.kind[attention.trace.slices.key]
    assert len(palette) == len(attention.trace.slices)
    of_operator = attention.operator_colors("operator")
    for i in range(len(palette)):
        operators = attention.link(i).operators
        if len(operators) == 1 and kinds[i] == KeyKind.OPERATOR_CALL:
            assert palette[i] == of_operator[operators[0]]
        elif len(operators) > 1:
            assert palette[i] == SLAB
        elif kinds[i] == KeyKind.FRAMEWORK:
            assert palette[i] == FRAME


def test_what_should_be_linked_and_is_not_is_marked(opened):
    shown = opened(*_PATHS["delegate_handle_map"]).traces[0]
    palette = palette_of(shown, "operator")
    lost = [i for i in range(len(palette)) if shown.link(i).reason.state.name == "UNLINKED"]
    assert lost
    assert set(palette[lost].tolist()) == {UNLINKED}


def test_without_a_record_slices_are_colored_by_name(opened):
    shown = opened(_PATHS["attention_xnnpack"][0]).traces[0]
    assert (palette_of(shown, "operator") == palette_of(shown, "name")).all()
    assert len(set(palette_of(shown, "name").tolist())) > 3


def test_by_name_equal_names_have_equal_colors(attention):
    palette = palette_of(attention, "name")
    kinds = attention.trace.keys.kind[attention.trace.slices.key]
    calls = (kinds == KeyKind.OPERATOR_CALL).nonzero()[0].tolist()
    colors = {(attention.label(i), int(palette[i])) for i in calls}
    assert len(colors) == len({attention.label(i) for i in calls}) > 3
    assert {color for _, color in colors} <= set(range(OPERATORS))


def test_a_new_scheme_keeps_what_does_not_depend_on_it(attention):
    before = rasters_of(attention, "operator")
    after = rasters_of(attention, "name", before)
    assert after.raster.drawn is before.raster.drawn
    assert (after.palette != before.palette).any()


def test_highlighted_slices_are_drawn_in_full_above_the_dimmed_rest(attention):
    rasters = rasters_of(attention, "operator")
    colors = cell_colors(True, Emphasis.DIMMED)
    rasters.hits = highlighted(attention, rasters.palette, (3,))
    source = rasters.source(dark=True, emphasis=Emphasis.DIMMED)
    assert source.hits is rasters.hits
    assert (source.colors.body == colors.body).all()
    assert (source.hit_colors.body == cell_colors(True, Emphasis.FULL).body).all()


@pytest.mark.parametrize("operators", [(3,), (3, 4), (999,)])
def test_highlighted_are_the_slices_that_are_linked_to_the_operators(attention, operators):
    """Of one operator all of its slices, of several those of exactly these; perhaps none."""
    raster = highlighted(attention, palette_of(attention, "operator"), operators)
    slices, links = attention.trace.slices, attention.table.links
    wanted = [
        i
        for i in range(len(slices))
        if slices.end[i] > slices.start[i]
        and (
            operators[0] in links[slices.key[i]].operators
            if len(operators) == 1
            else set(links[slices.key[i]].operators) == set(operators)
        )
    ]
    assert sorted(raster.drawn.number(i) for i in range(len(raster.drawn.start))) == wanted

"""Colors: legible labels, stable schemes, and the pixels of cells."""

import numpy as np
import pytest

from viewer.render.palette import (
    KERNELS,
    OPERATOR_FILLS,
    ROUND_SIDE,
    SIDE,
    SLAB,
    Emphasis,
    by_name,
    canvas_rgb,
    cell_colors,
    contrast,
    edge_rgb,
    edge_table,
    fills,
    label_colors,
    label_rgb,
    mix,
    rgb_table,
)

# fill, contrast of the label, contrast on the dark canvas, edge, contrast of the edge on white
DESIGN = [
    (0x86A127, 6.3, 6.2, 0x576919, 6.1),
    (0x10D5FF, 10.6, 10.3, 0x0A8AA6, 4.0),
    (0xAFC9B4, 10.5, 10.2, 0x728375, 4.0),
    (0xFB6772, 6.5, 6.3, 0xA3434A, 6.1),
    (0xD0BCD2, 10.5, 10.2, 0x877A89, 4.1),
    (0x68A57B, 6.4, 6.3, 0x446B50, 6.1),
    (0x9392C4, 6.3, 6.2, 0x605F7F, 6.1),
    (0xCDBE43, 9.8, 9.5, 0x857C2C, 4.3),
    (0x12BAAF, 7.7, 7.5, 0x0C7972, 5.3),
    (0xEFB88D, 10.6, 10.3, 0x9B785C, 4.0),
    (0x5C95FF, 6.4, 6.2, 0x3C61A6, 6.1),
    (0xC9899E, 6.7, 6.5, 0x835967, 5.8),
]


@pytest.mark.parametrize(("number", "row"), list(enumerate(DESIGN)))
def test_operator_colors_have_the_contrasts_of_the_design(number, row):
    fill, label, canvas, edge, on_white = row
    assert OPERATOR_FILLS[number] == fill
    assert label_rgb(fill) == 0x101318
    assert contrast(fill, 0x101318) == pytest.approx(label, abs=0.06)
    assert contrast(fill, canvas_rgb(True)) == pytest.approx(canvas, abs=0.06)
    assert contrast(edge, 0xFFFFFF) == pytest.approx(on_white, abs=0.06)
    assert all(abs((edge_rgb(fill) >> s & 255) - (edge >> s & 255)) <= 1 for s in (16, 8, 0))


@pytest.mark.parametrize("dark", [True, False])
@pytest.mark.parametrize(
    ("emphasis", "least"), [(Emphasis.FULL, 4.5), (Emphasis.DIMMED, 4.4), (Emphasis.UNMATCHED, 4.5)]
)
def test_every_label_is_legible(dark, emphasis, least):
    pairs = zip(fills(dark, emphasis), label_colors(dark, emphasis), strict=True)
    assert min(contrast(fill, label) for fill, label in pairs) >= least


def test_context_is_gray_and_operators_are_not():
    for dark in (True, False):
        for fill in fills(dark)[SLAB:KERNELS]:
            channels = [fill >> s & 255 for s in (16, 8, 0)]
            assert max(channels) - min(channels) <= 24


def test_mixing_and_contrast_have_known_ends():
    assert mix(0x000000, 0xFFFFFF, 0.5) == 0x808080
    assert mix(0x123456, 0xFFFFFF, 0.0) == 0x123456
    assert contrast(0x000000, 0xFFFFFF) == contrast(0xFFFFFF, 0x000000) == pytest.approx(21)


def test_a_name_has_its_color_whatever_else_is_there():
    names = ["convolution", "aten::mm", "", "größe", "\udc80"]
    together = by_name(names)
    assert [int(by_name([n])[0]) for n in names] == together.tolist()
    # CRC-32 of "123456789" is 0xCBF43926, as its definition states.
    assert by_name(["123456789"]).tolist() == [0xCBF43926 % 12]
    assert together.max() < 12


@pytest.mark.parametrize("dark", [True, False])
def test_cells_become_the_colors_of_the_palette(dark):
    colors, table = cell_colors(dark), rgb_table(dark)
    canvas = 0xFF000000 | canvas_rgb(dark)
    full = 0xFF00 | np.arange(36)
    assert colors.body[full].tolist() == table[:36].tolist()
    assert (colors.body[np.arange(64)] == canvas).all()
    assert colors.body[full | SIDE << 6].tolist() == edge_table(dark)[:36].tolist()
    for cell in (full | SIDE << 6).tolist():
        assert colors.line[cell] == edge_table(dark)[cell & 63]
    assert (colors.line[full | ROUND_SIDE << 6] != colors.line[full | SIDE << 6]).all()


def test_a_shared_pixel_is_seen_and_grows_with_what_is_covered():
    body = cell_colors(True).body
    steps = [contrast(int(body[s << 8 | 3]) & 0xFFFFFF, canvas_rgb(True)) for s in range(1, 256)]
    assert steps[0] > 2
    assert (np.diff(steps) >= 0).all()


def test_emphasis_mixes_to_the_canvas():
    assert fills(True, Emphasis.DIMMED)[0] == mix(OPERATOR_FILLS[0], canvas_rgb(True), 0.34)
    assert fills(False, Emphasis.DIMMED)[0] == mix(OPERATOR_FILLS[0], 0xFFFFFF, 0.42)


def test_what_is_no_hit_is_one_faint_gray_that_is_still_seen():
    for dark in (True, False):
        (gray,) = set(fills(dark, Emphasis.HIDDEN))
        assert 1.15 < contrast(gray, canvas_rgb(dark)) < 1.8
        assert (
            max(gray >> s & 255 for s in (0, 8, 16)) - min(gray >> s & 255 for s in (0, 8, 16)) < 16
        )

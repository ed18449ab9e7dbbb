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
    (0x61EFC1, 13.0, 12.6, 0x3F9B7D, 3.4),
    (0xEAD2F3, 13.3, 12.9, 0x98889E, 3.3),
    (0xA47E25, 5.0, 4.8, 0x6B5218, 7.4),
    (0x8EB9AF, 8.6, 8.4, 0x5C7872, 4.8),
    (0xF6D67B, 13.1, 12.8, 0xA08B50, 3.3),
    (0x009878, 5.1, 5.0, 0x00634E, 7.3),
    (0x9DB14B, 7.8, 7.6, 0x667331, 5.2),
    (0xAC89AA, 6.1, 6.0, 0x70596E, 6.3),
    (0x5FBBFF, 8.9, 8.7, 0x3E7AA6, 4.6),
    (0xEEAD92, 9.8, 9.5, 0x9B705F, 4.3),
    (0x6F81DC, 5.2, 5.0, 0x48548F, 7.1),
    (0xE46780, 5.8, 5.6, 0x944353, 6.6),
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

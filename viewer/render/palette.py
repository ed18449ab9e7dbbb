"""The palette of slice colors, shared by all schemes, and its conversion to pixels.

A scheme (`viewer.render.color_schemes`) gives every slice a palette index (uint8, below 64):

    0..11   operators: position in the program mod 12     14   linkable but not linked (hatched)
    12      slab: shared by several operators             15   plain: no operator expected
    13      frame: a runtime scope                        16..27  kernel variants of 0..11
    28      unattributed: hatched on a faint fill
    29..35  the ramp, from low to high       36..40  heat: cost in the graph
    41, 42  slower and faster: changes between two arms

The raster draws *cells*, not colors: uint16 = shade << 8 | part << 6 | palette index. Shade 0 is
empty, 255 is full, and values between are the covered share of a shared pixel's time. So a change
of theme or selection changes no cell. The fills of operators are of similar lightness (62 to 79 in
CIELAB), so that none looks emphasized, and all pairs are distinguishable in normal vision and
simulated protanopia, deuteranopia and tritanopia. The ramp runs from blue to yellow with increasing
lightness, so it works for all color vision; in the light theme it is reversed, so that high values
always stand out most.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from enum import Enum
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from viewer.dataclasses import dataclass
from viewer.model.recorded_names import NSS_START, NSS_WAIT, job_name

Palette = NDArray[np.uint8]
Pixels = NDArray[np.uint32]

OPERATOR_FILLS = (
    0x86A127, 0x10D5FF, 0xAFC9B4, 0xFB6772, 0xD0BCD2, 0x68A57B,
    0x9392C4, 0xCDBE43, 0x12BAAF, 0xEFB88D, 0x5C95FF, 0xC9899E,
)  # fmt: skip
OPERATORS = len(OPERATOR_FILLS)
SLAB, FRAME, UNLINKED, PLAIN, KERNELS = 12, 13, 14, 15, 16
UNATTRIBUTED = KERNELS + OPERATORS
RAMP_FILLS = (0x4055A3, 0x5872A6, 0x738CA6, 0x90A5A3, 0xAFBC9D, 0xCFD394, 0xF1EA85)
RAMP, RAMP_STEPS = UNATTRIBUTED + 1, len(RAMP_FILLS)
# From low to high, by dark theme or not; no step has the color of an operator.
HEAT_FILLS = {
    True: (0x3A2C27, 0x5A3628, 0x7F412A, 0xA54D28, 0xE46C2C),
    False: (0xFDEEE0, 0xFBD9BC, 0xFEAD5E, 0xEE8C45, 0xDB6420),
}
HEAT, HEAT_STEPS = RAMP + RAMP_STEPS, 5
# Slower and faster, by dark theme or not: the colors of changes in all views.
CHANGE_FILLS = {True: (0xEA8B54, 0xAEFDCC), False: (0xA84C09, 0x0A7466)}
SLOWER, FASTER = HEAT + HEAT_STEPS, HEAT + HEAT_STEPS + 1
SLOWER_MARK, FASTER_MARK = "▲", "▼"
COLORS_OF_CHANGES = (
    "▲ orange: slower · ▼ green: faster · gray: no change or inconclusive · "
    "hatched: only in one arm"
)
PALETTE_SIZE = 64
CELLS = 1 << 16  # the number of different cells

# Units that are adjacent in every Torq profile must not share a color: the actions of a host use
# eight of the twelve, and consecutive NSS jobs cycle through the other four.
_EVEN = 0x00FF00FF  # two of the three channels of a pixel
_ACTIONS = {
    NSS_START: 0, NSS_WAIT: 6, "HOST_COPY": 11, "HOST_START": 1, "HOST_WAIT": 8, "HOST_PROGRAM": 3,
    "ALLOC": 5, "DEALLOC": 7,
}  # fmt: skip
_PLACED = _ACTIONS | {job_name(i): (4, 10, 9, 2)[i % 4] for i in range(256)}

# The part of its slice that a cell shows; two bits. Only slices wider than 3 px have parts.
INNER, SIDE, ROUND_SIDE = 1, 2, 3

_CANVAS = {True: 0x14161A, False: 0xFFFFFF}
# slab, frame, unlinked, plain, by dark theme or not
_GRAYS = {
    True: (0x4A5361, 0x2B3139, 0x3D434B, 0x5A6370),
    False: (0xCCD0D4, 0xE8ECF1, 0xDCE0E6, 0xC0C4C4),
}
_GRAY_LABELS = {True: (0xF2F4F7, 0xC9D0D9), False: (0x191C21, 0x3A424E)}
_DARK_LABEL, _LIGHT_LABEL = 0x101318, 0xFFFFFF
_KERNEL_MIX = 0.46
_EDGE_MIX = 0.35
# Unattributed time is not a slice of the file, but everything that exists must be visible.
_UNATTRIBUTED_MIX = 0.72
_HIDDEN_MIX = 0.68
_UNMATCHED_MIX = 0.72
# Even a nearly empty shared pixel must be visible.
_FAINTEST = 0.5
_CORNER_MIX = 0.7


class Emphasis(Enum):
    """How strongly slices are drawn: fully, behind a selection, behind search hits, as one gray."""

    FULL = "full"
    DIMMED = "dimmed"
    UNMATCHED = "unmatched"
    HIDDEN = "hidden"


@dataclass(frozen=True, eq=False, slots=True)
class CellColors:
    """Tables of 65,536 pixels, indexed by cell.

    body: the inner lines of a slice. line: its first and last pixel line (an edge in the light
    theme, rounded corners in both).
    """

    body: Pixels
    line: Pixels


def mix(a: int, b: int, t: float) -> int:
    """Return the 0xRRGGBB at fraction t between a and b."""
    return sum(int((a >> s & 255) * (1 - t) + (b >> s & 255) * t + 0.5) << s for s in (16, 8, 0))


def mixed_pixels(pixels: Pixels, color: int | Pixels, part: float) -> Pixels:
    """Return pixels of 0xRRGGBB mixed with one color or many; 0 keeps them, 1 replaces them."""
    share, over = round(part * 256), np.asarray(color, np.uint32)
    low, high = (
        (pixels >> np.uint32(shift) & np.uint32(_EVEN)) * np.uint32(256 - share)
        + (over >> np.uint32(shift) & np.uint32(_EVEN)) * np.uint32(share)
        for shift in (0, 8)
    )
    mixed: Pixels = low >> np.uint32(8) & np.uint32(_EVEN) | high & ~np.uint32(_EVEN)
    return mixed


def contrast(a: int, b: int) -> float:
    """Return the WCAG contrast of two 0xRRGGBB, 1 to 21."""
    low, high = sorted((_luminance(a), _luminance(b)))
    return (high + 0.05) / (low + 0.05)


def label_rgb(fill: int) -> int:
    """Return the more legible of the dark and the light label color on a fill."""
    return max((_DARK_LABEL, _LIGHT_LABEL), key=lambda label: contrast(label, fill))


def edge_rgb(fill: int) -> int:
    """Return the edge color of a slice in the light theme: its fill, 35 % darker."""
    return mix(fill, 0, _EDGE_MIX)


def canvas_rgb(dark: bool) -> int:
    """Return the color behind the slices."""
    return _CANVAS[dark]


@lru_cache
def fills(dark: bool, emphasis: Emphasis = Emphasis.FULL) -> tuple[int, ...]:
    """Return the fill of every palette index in use, as 0xRRGGBB."""
    canvas = _CANVAS[dark]
    full = (
        *OPERATOR_FILLS,
        *_GRAYS[dark],
        *(mix(fill, canvas, _KERNEL_MIX) for fill in OPERATOR_FILLS),
        mix(_GRAYS[dark][PLAIN - SLAB], canvas, _UNATTRIBUTED_MIX),
        *(RAMP_FILLS if dark else reversed(RAMP_FILLS)),
        *HEAT_FILLS[dark],
        *CHANGE_FILLS[dark],
    )
    if emphasis is Emphasis.HIDDEN:
        # One faint gray, so that only the hits are colored.
        return (mix(_GRAYS[dark][PLAIN - SLAB], canvas, _HIDDEN_MIX),) * len(full)
    part = 0.0
    if emphasis is Emphasis.DIMMED:
        part = 0.34 if dark else 0.42
    elif emphasis is Emphasis.UNMATCHED:
        part = _UNMATCHED_MIX
    return tuple(mix(fill, canvas, part) for fill in full)


@lru_cache
def label_colors(dark: bool, emphasis: Emphasis = Emphasis.FULL) -> tuple[int, ...]:
    """Return the label color of every palette index in use, as 0xRRGGBB."""
    labels = [label_rgb(fill) for fill in fills(dark, emphasis)]
    if emphasis is Emphasis.FULL:
        labels[SLAB], labels[FRAME] = _GRAY_LABELS[dark]
    return tuple(labels)


@lru_cache
def rgb_table(dark: bool, emphasis: Emphasis = Emphasis.FULL) -> Pixels:
    """Return 0xffRRGGBB of all 64 palette indexes (unused ones look plain). Read-only."""
    table = np.full(PALETTE_SIZE, fills(dark, emphasis)[PLAIN], np.uint32)
    table[: len(fills(dark, emphasis))] = fills(dark, emphasis)
    table |= np.uint32(0xFF000000)
    table.flags.writeable = False
    return table


@lru_cache
def edge_table(dark: bool, emphasis: Emphasis = Emphasis.FULL) -> Pixels:
    """Return 0xffRRGGBB of every index's edge: darker in the light theme, else the fill."""
    if dark:
        return rgb_table(dark, emphasis)
    table = np.array([edge_rgb(int(fill)) for fill in rgb_table(dark, emphasis)], np.uint32)
    table |= np.uint32(0xFF000000)
    table.flags.writeable = False
    return table


@lru_cache
def cell_colors(dark: bool, emphasis: Emphasis = Emphasis.FULL) -> CellColors:
    """Return the pixels of every cell for one theme and emphasis. Read-only, cached."""
    canvas = _CANVAS[dark]
    fill, edge = rgb_table(dark, emphasis), edge_table(dark, emphasis)
    corner = _mixed(edge, canvas, np.array([[_CORNER_MIX]]))[0]
    shade = np.arange(256)[:, None] / 255
    blend = np.where(shade > 0, (1 - _FAINTEST) * (1 - shade), 1.0)
    tables = []
    # by part: plain, INNER, SIDE, ROUND_SIDE
    for parts in ((fill, fill, edge, edge), (fill, edge, edge, corner)):
        table = np.stack([_mixed(part, canvas, blend) for part in parts], axis=1).reshape(-1)
        table.flags.writeable = False
        tables.append(table)
    return CellColors(*tables)


@lru_cache(maxsize=16)
def joined_tables(colors: CellColors, over: CellColors) -> tuple[Pixels, Pixels]:
    """Return the bodies and the lines of both: those of `over` begin at `CELLS`."""
    return np.append(colors.body, over.body), np.append(colors.line, over.line)


def by_name(names: Sequence[str]) -> Palette:
    """Return one palette index per name, from the text alone: the same in every file."""
    return np.fromiter(
        (
            _PLACED[name]
            if name in _PLACED
            else zlib.crc32(name.encode("utf-8", "surrogatepass")) % OPERATORS
            for name in names
        ),
        np.uint8,
        len(names),
    )


def _luminance(rgb: int) -> float:
    red, green, blue = (
        c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4
        for c in ((rgb >> s & 255) / 255 for s in (16, 8, 0))
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _mixed(colors: Pixels, canvas: int, part: NDArray[np.float64]) -> Pixels:
    """Mix colors (n) with the canvas by each part (m, 1); returns (m, n) pixels."""
    result = np.full((len(part), len(colors)), 0xFF000000, np.uint32)
    for shift in (16, 8, 0):
        channel = (colors >> np.uint32(shift) & np.uint32(255)).astype(np.float64)
        level = channel + (float(canvas >> shift & 255) - channel) * part
        result |= (level + 0.5).astype(np.uint32) << np.uint32(shift)
    return result

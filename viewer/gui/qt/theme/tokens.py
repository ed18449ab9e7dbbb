"""The colors of the window as named tokens, in two sets: `DARK` and `LIGHT`.

Hues are reserved for slices and for marking the current or clickable item; all else is gray. Lowest
contrast against canvas, panel and chrome: text1 >= 12.5, text2 >= 6.3, text3 >= 4.7, accent >= 4.9.
The colors of slices are in `viewer.render.palette`.
"""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtGui import QColor


@dataclass(frozen=True, slots=True)
class Tokens:
    """The colors of one theme as "#RRGGBB", named by use.

    All `text*` colors are readable on canvas, panel and chrome; on a selected row, only `text1` and
    `text2` are.
    """

    canvas: str
    panel: str
    chrome: str
    raised: str
    hover: str
    hairline: str
    line: str
    grid: str
    load: str
    text1: str
    text2: str
    text3: str
    accent: str
    accent_fill: str
    on_accent: str
    selection: str
    related: str
    ring: str
    hit: str  # search hits
    warning: str
    error: str
    ok: str
    slab: str
    slab_label: str
    frame: str
    frame_label: str
    diamond: str
    counter_area: str
    counter_peak: str
    counter_line: str
    code_keyword: str
    code_string: str
    code_number: str
    code_call: str
    code_comment: str
    unit_dma: str  # activity of an NPU unit: moving data, computing, both at once, host
    unit_compute: str
    unit_both: str
    unit_host: str
    slower: str  # changes between two arms, and the rows of slower and faster lines
    faster: str
    slower_row: str
    faster_row: str


DARK = Tokens(
    canvas="#14161A",
    panel="#1B1E23",
    chrome="#23272D",
    raised="#2D323A",
    hover="#2A2F36",
    hairline="#30353D",
    line="#444B56",
    grid="#1F2329",
    load="#2A2F36",
    text1="#E8EBEF",
    text2="#AAB2BD",
    text3="#8A93A0",
    accent="#5AA2FF",
    accent_fill="#2B6FD6",
    on_accent="#FFFFFF",
    selection="#1E3A60",
    related="#1C2939",
    ring="#FFFFFF",
    hit="#FF6AD5",
    warning="#E8B44C",
    error="#F47C7C",
    ok="#5CC28A",
    slab="#4A5361",
    slab_label="#F2F4F7",
    frame="#2B3139",
    frame_label="#C9D0D9",
    diamond="#9BA4B0",
    counter_area="#3B444F",
    counter_peak="#282E36",
    counter_line="#AAB2BD",
    code_keyword="#C49BF0",
    code_string="#8CC48B",
    code_number="#E0A875",
    code_call="#7FB8F5",
    code_comment="#8A93A0",
    unit_dma="#4E9BF5",
    unit_compute="#E5A13C",
    unit_both="#B48BE6",
    unit_host="#5FBFA8",
    slower="#EA8B54",
    faster="#AEFDCC",
    slower_row="#43301F",
    faster_row="#1D3A2B",
)

LIGHT = Tokens(
    canvas="#FFFFFF",
    panel="#F8F9FB",
    chrome="#ECEFF3",
    raised="#FFFFFF",
    hover="#E9EDF2",
    hairline="#DDE1E7",
    line="#BEC6D1",
    grid="#F3F5F7",
    load="#E6E9EE",
    text1="#191C21",
    text2="#4E5764",
    text3="#616A77",
    accent="#1763D0",
    accent_fill="#1763D0",
    on_accent="#FFFFFF",
    selection="#CFE2FC",
    related="#EDF4FE",
    ring="#101318",
    hit="#B8007F",
    warning="#8F5F00",
    error="#C4313B",
    ok="#1A7A48",
    slab="#CCD0D4",
    slab_label="#191C21",
    frame="#E8ECF1",
    frame_label="#3A424E",
    diamond="#6B7480",
    counter_area="#D7DDE5",
    counter_peak="#EDF0F4",
    counter_line="#6B7480",
    code_keyword="#7A3EB1",
    code_string="#2B7A2F",
    code_number="#A3541A",
    code_call="#1559B0",
    code_comment="#616A77",
    unit_dma="#2F78D6",
    unit_compute="#C97F17",
    unit_both="#8A5BC4",
    unit_host="#2C8C78",
    slower="#A84C09",
    faster="#0A7466",
    slower_row="#FDE9D8",
    faster_row="#DDF3EF",
)


def mix(color: str, other: str, share: float) -> str:
    """Blend `share` (0 to 1) of `other` into `color`, per channel; returns "#RRGGBB"."""
    a, b = QColor(color), QColor(other)
    channels = zip((a.red(), a.green(), a.blue()), (b.red(), b.green(), b.blue()), strict=True)
    return "#" + "".join(f"{round(x + (y - x) * share):02X}" for x, y in channels)

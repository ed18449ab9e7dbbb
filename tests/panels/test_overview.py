"""The overview panel: units of the whole trace and of a range, and that the bar adds up."""

import pytest

from viewer.model.times import NARROW_SPACE
from viewer.panels.overview import OverviewPanel
from viewer.session import Area

THIN = "\u2009"
C3 = "torq/compile_c3_taskid_mtu.csv"


@pytest.fixture
def panel(shown):
    return shown(OverviewPanel, C3, "torq/tiny_cnn.mlir")


def table(panel):
    """Name -> (indent, time, share, cycles) as shown."""
    return {
        row.op: (row.indent, *(plain(text) for text in row.texts[1:])) for row in panel.model.rows
    }


def plain(text):
    """A text with plain spaces for the narrow ones."""
    return text.replace(THIN, " ").replace(NARROW_SPACE, " ")


def test_units_stand_below_what_they_are_part_of(panel):
    rows = table(panel)
    assert list(rows)[:5] == ["DMA + CDMA", "DMA", "DMA In", "DMA Out", "CDMA"]
    assert [rows[name][0] for name in ("Compute", "Slice units", "Slice unit 1", "CSS")] == [
        0, 1, 2, 1,
    ]  # fmt: skip
    # By hand: CSS is one task of 8,000 cycles at 1.25 ns; the trace is 166,068 cycles long.
    assert rows["CSS"] == (1, "10.000", "4.8", "8 000")
    assert rows["Overall"][3] == "166 068"


def test_the_bar_adds_up_to_the_whole_and_nothing_idle_is_nothing(panel):
    text = plain(panel.footer.text())
    # By hand: 67,791 + 40,577 + 57,700 cycles are all 166,068.
    assert "Only DMA 84.738 µs 40.8 %, Both 50.721 µs 24.4 %, Only compute 72.125 µs" in text
    assert "Idle 0" in text
    assert text.endswith("Overall 207.585 µs")


def test_a_selected_range_has_an_overview_of_its_own(panel):
    session = panel._session
    every = frozenset((0, track) for track in range(6))
    # The last task on the CSS runs from cycle 127,212 on for 8,000 cycles.
    trace = session.traces[0].trace
    css = next(i for i in range(len(trace.slices)) if trace.name(i) == "CSS")
    start, end = session.traces[0].span_ns(css)
    session.select_area(Area(start, end, every))
    rows = table(panel)
    assert rows["CSS"][2] == "100.0"
    assert rows["Slice unit 0"][1] == "0"
    assert "selected range, 10.000 µs" in plain(panel.subtitle.text())
    session.clear_selection()
    assert table(panel)["CSS"][2] == "4.8"
    assert panel.subtitle.text().startswith("the whole trace")


def test_a_profile_without_units_says_what_would_have_them(shown):
    panel = shown(OverviewPanel, "etdump/cnn_portable_x1.etdp")
    assert panel.is_empty

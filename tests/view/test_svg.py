"""Timelines as SVG: complete, of limited size, and harmless whatever names are in a file."""

from xml.etree import ElementTree

import numpy as np
import pytest

from tests.builders.clocked_traces import groups_of
from tests.builders.workspaces import workspace_of
from viewer.formats import TraceBuilder
from viewer.gui.qt.theme.style_sheet import DARK, LIGHT
from viewer.model.inference_views import Inferences
from viewer.model.trace import Clock, KeyKind
from viewer.resources import SAMPLES
from viewer.view.clock_groups import clock_groups
from viewer.view.open_trace import views_of
from viewer.view.timeline_drawing import CLASS, TOKENS, timeline_style, timeline_svg

SVG = "{http://www.w3.org/2000/svg}"


def trace_of(spans, names=("a",), process="p", thread="t"):
    builder = TraceBuilder("/x/some.csv", "CSV", "", Clock())
    start, end = (np.array(part, np.int64) for part in zip(*spans, strict=True))
    texts = [names[i % len(names)] for i in range(len(spans))]
    builder.add(
        track=builder.track(process, thread),
        start=start,
        end=end,
        name=builder.intern_all(texts),
        key=np.array([builder.key(KeyKind.PLAIN, text) for text in texts]),
    )
    return builder.build()


def picture(trace, **options):
    groups, shown = groups_of(trace)
    return timeline_svg(shown, groups[0], **options)


def texts(svg):
    return [e.text for e in ElementTree.fromstring(svg).iter(f"{SVG}text")]


def tips(svg):
    root = ElementTree.fromstring(svg)
    return [e.findtext(f"{SVG}title") for e in root.iter(f"{SVG}rect") if len(e)]


def test_a_slice_has_its_name_and_its_duration():
    found = picture(trace_of([(0, 1_500_000)], names=("conv",)))
    assert tips(found.svg) == ["conv\n1.500 ms"]
    assert {"p", "t", "conv"} <= set(texts(found.svg))
    assert (found.exact, found.slices, found.left_out) == (1, 1, 0)


def test_slices_beyond_the_limit_are_groups_with_a_count():
    found = picture(trace_of([(10 * i, 10 * i + 5) for i in range(5000)]), most_boxes=50)
    assert found.exact < 200
    assert found.slices == 5000
    assert any("slices\n" in tip and "busy" in tip for tip in tips(found.svg))
    assert len(found.svg) < 100_000


def test_only_slices_in_the_range_are_drawn():
    found = picture(trace_of([(0, 10), (100, 110)], names=("a", "b")), span_ns=(90, 200))
    assert tips(found.svg) == ["b\n10 ns"]


def test_a_slice_without_a_duration_is_a_mark():
    svg = picture(trace_of([(5, 5), (10, 20)])).svg
    assert ElementTree.fromstring(svg).find(f".//{SVG}path[@class='z']") is not None


HOSTILE = (
    "</svg><script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "\x00\x1b\u202eabc",
    "",
)


def test_hostile_names_are_only_text():
    trace = trace_of([(100 * i, 100 * i + 90) for i in range(4)], HOSTILE, *HOSTILE[:2])
    svg = picture(trace).svg
    found = {e.tag.removeprefix(SVG) for e in ElementTree.fromstring(svg).iter()}
    assert found == {"svg", "title", "style", "rect", "text", "path"}
    assert not {"\x00", "\x1b", "\u202e"} & set(svg)


def test_long_names_and_many_tracks_are_limited():
    builder = TraceBuilder("/x/some.csv", "CSV", "", Clock())
    for i in range(500):
        builder.add(
            track=builder.track("p", f"{i} {'x' * 5000}"),
            start=np.array([0]),
            end=np.array([10 + i]),
            name=builder.intern_all(["y" * 5000]),
            key=builder.key(KeyKind.PLAIN, "x"),
        )
    found = picture(builder.build(), most_rows=20)
    assert found.left_out == 481
    assert len(found.svg) < 60_000


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.key)
def test_samples_are_well_formed_and_complete(sample):
    workspace = workspace_of(*sample.paths())
    views = views_of(workspace, {Inferences.AS_RUN}, {})
    shown = [views[trace, Inferences.AS_RUN] for trace in workspace.traces]
    for group in clock_groups(shown):
        found = timeline_svg(shown, group)
        ElementTree.fromstring(found.svg)
        assert found.exact == found.slices == sum(len(shown[i].trace.slices) for i in group.traces)


def test_styles_are_in_the_sheet_alone():
    svg = picture(trace_of([(0, 5)]), style=False).svg
    assert "<style" not in svg
    assert "style=" not in svg
    assert f".{CLASS} .c0" in timeline_style()
    assert "prefers-color-scheme: dark" in timeline_style()


def test_colors_are_those_of_the_window():
    for is_dark, tokens in ((False, LIGHT), (True, DARK)):
        own = TOKENS[is_dark]
        assert {name: getattr(tokens, name) for name in own.__slots__} == {
            name: getattr(own, name) for name in own.__slots__
        }

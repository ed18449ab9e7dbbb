"""The SVG file of flame graphs: what a browser reads in it."""

import xml.etree.ElementTree as ET
from itertools import pairwise
from pathlib import Path

import pytest

from tests.builders.call_traces import trace_of
from viewer.analysis.calls.call_tree import CallTree
from viewer.analysis.links.linker import unlinked
from viewer.render.flame_graph import boxes, svg
from viewer.render.flame_graph.boxes import FlameGraph, flame_graph
from viewer.render.flame_graph.svg import svg_lines, write_svg
from viewer.render.palette import contrast, fills, label_colors

SVG = "{http://www.w3.org/2000/svg}"


def graph_of(*slices, process="p", title: str = "run.etdp", notes=()) -> FlameGraph:
    table = CallTree(unlinked(trace_of(*slices, process=process))).table()
    return flame_graph(table, title, "Call tree by name, the whole trace", notes)


def parsed(*graphs: FlameGraph) -> ET.Element:
    return ET.fromstring("\n".join(svg_lines(graphs)))


def tooltips(root: ET.Element) -> dict[str, ET.Element]:
    """The boxes by the lines of their tooltips."""
    found = {}
    for box in root.iter(f"{SVG}rect"):
        tip = box.find(f"{SVG}title")
        if tip is not None:
            found[tip.text] = box
    return found


def texts(root: ET.Element) -> list[str]:
    return [element.text for element in root.iter(f"{SVG}text")]


def test_a_box_has_its_figures_and_the_width_of_its_total():
    root = parsed(graph_of(("t", "main", 0, 400), ("t", "conv", 100, 200), ("u", "load", 0, 200)))
    found = tooltips(root)
    assert set(found) == {
        "p\nTotal 600 ns\nSelf 0\n100.0 % of the total",
        "t\nTotal 400 ns\nSelf 0\n66.7 % of the total",
        "main\nTotal 400 ns\nSelf 300 ns\nCount 1\n66.7 % of the total",
        "conv\nTotal 100 ns\nSelf 100 ns\nCount 1\n16.7 % of the total",
        "u\nTotal 200 ns\nSelf 0\n33.3 % of the total",
        "load\nTotal 200 ns\nSelf 200 ns\nCount 1\n33.3 % of the total",
    }
    box = {tip.partition("\n")[0]: element.attrib for tip, element in found.items()}
    assert [box[name]["width"] for name in ("p", "main", "conv")] == ["1200", "800", "200"]
    assert [box[name]["x"] for name in ("p", "main", "conv", "u")] == ["10", "10", "10", "810"]
    rows = [int(box[name]["y"]) for name in ("p", "t", "main", "conv")]
    assert [below - above for above, below in pairwise(rows)] == [18] * 3
    assert rows[-1] + 18 < int(root.get("height"))
    assert texts(root)[:2] == ["run.etdp", "Call tree by name, the whole trace: total 600 ns"]


def test_it_needs_nothing_else_and_has_its_own_background():
    root = parsed(graph_of(("t", "a", 0, 9)))
    assert {element.tag.removeprefix(SVG) for element in root.iter()} == {
        "svg", "title", "desc", "style", "rect", "text"
    }  # fmt: skip
    assert not [key for element in root.iter() for key in element.attrib if "href" in key]
    assert root.get("font-family") == "sans-serif"
    background = next(root.iter(f"{SVG}rect"))
    assert background.attrib == {"width": "100%", "height": "100%", "fill": "#ffffff"}


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("<script>alert('x')</script>", "<script>alert('x')</script>"),
        (']]>&amp;"', ']]>&amp;"'),
        ("bell\x07 null\x00 \ufffe", "bell\\x07 null\\x00 \\ufffe"),
        ("two\nlines\r", "two\\nlines\\r"),
        ("turned \u202eback", "turned \\u202eback"),
        ("half \ud800", "half \\ud800"),
        ("", "(no name)"),
        ("畳み込み 😀", "畳み込み 😀"),
    ],
)
def test_a_hostile_name_is_a_text_like_any_other(tmp_path, name, shown):
    path = tmp_path / "f.svg"
    write_svg(path, [graph_of(("t", name, 0, 100), title=name, notes=[name])])
    root = ET.parse(path).getroot()
    assert any(tip.split("\n")[0] == shown for tip in tooltips(root))
    found = texts(root)
    assert found[-1] == shown  # the label
    assert len(list(root.iter(f"{SVG}style"))) == 1
    if name:
        assert found[0] == found[2] == shown


def test_a_label_is_cut_to_its_box():
    slices = [("t", "convolution_of_the_second_layer", 0, 80), ("u", "x", 80, 1000)]
    found = texts(parsed(graph_of(*slices)))
    assert "convolution_…" in found  # 13 letters of 0.6 * 11 px, in 96 px
    narrow = texts(parsed(graph_of(("t", "convolution", 0, 10), ("u", "x", 10, 1000))))
    assert not [text for text in narrow if text.startswith("c")]


def test_wide_letters_take_more_room():
    def label(name: str) -> str:
        found = texts(parsed(graph_of(("t", name, 0, 100), ("u", "x", 100, 1000))))
        return next(text for text in found if text.startswith(name[0]))

    assert len(label("i" * 50)) > len(label("M" * 50)) > len(label("畳" * 50)) > 3


def test_a_name_without_end_is_limited_also_in_the_tooltip():
    lines = list(svg_lines([graph_of(("t", "a" * 10_000_000, 0, 9), title="b" * 10_000_000)]))
    assert max(map(len, lines)) < 1000


def test_what_is_left_out_is_said(monkeypatch):
    slices = [("t", "main", 0, 20_000), ("t", "a", 0, 1), ("t", "b", 5, 6), ("t", "c", 10, 5000)]
    assert "Not drawn: 2 calls narrower than 0.1 px, and those below" in texts(
        parsed(graph_of(*slices))
    )
    for module in (boxes, svg):
        monkeypatch.setattr(module, "MOST_BOXES", 3)
    assert "Only the 3 widest boxes are drawn, without 1 other" in texts(parsed(graph_of(*slices)))
    for module in (boxes, svg):
        monkeypatch.setattr(module, "MOST_LEVELS", 2)
    assert "Only the first 2 levels are drawn" in texts(parsed(graph_of(*slices)))


def test_several_graphs_are_one_below_the_other():
    first = graph_of(("t", "a", 0, 9), title="a.etdp", notes=["28 derived slices left out"])
    second = graph_of(("u", "b", 0, 8), ("u", "c", 0, 5), process="q", title="b.etdp")
    root = parsed(first, second)
    found = texts(root)
    assert found.index("a.etdp") < found.index("28 derived slices left out") < found.index("b.etdp")
    rows = [int(box.get("y")) for box in tooltips(root).values()]
    assert rows == sorted(rows)
    title = next(e for e in root.iter(f"{SVG}text") if e.text == "b.etdp")
    assert rows[2] + 17 < float(title.get("y")) - 14
    assert max(rows) + 17 < int(root.get("height"))


def test_a_graph_without_time_says_so():
    root = parsed(graph_of(("t", "a", 5, 5)))
    assert not tooltips(root)
    assert "There is no time to show" in texts(root)


def test_the_file_is_replaced_only_if_all_of_it_is_written(tmp_path: Path, monkeypatch):
    path = tmp_path / "f.svg"
    path.write_text("before", encoding="utf-8")
    graph = graph_of(("t", "a", 0, 9))
    with monkeypatch.context() as context:
        context.setattr(svg, "rgb_text", lambda color: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            write_svg(path, [graph])
    assert path.read_text(encoding="utf-8") == "before"
    assert list(tmp_path.iterdir()) == [path]
    write_svg(path, [graph])
    assert path.read_text(encoding="utf-8").endswith("</svg>\n")
    with pytest.raises(FileNotFoundError):
        write_svg(tmp_path / "gone" / "f.svg", [graph])


def test_labels_are_legible():
    for fill, label in zip(fills(False), label_colors(False), strict=True):
        assert contrast(fill, label) >= 4.5

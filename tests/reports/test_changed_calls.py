"""The changes of call paths in words, and as a saved flame graph."""

import xml.etree.ElementTree as ET

import pytest

from tests.analysis.comparison.test_rows import arms
from tests.render.flame_graph.test_changed_calls import NEW, OLD, calls_of
from viewer.analysis.comparison.comparison import Comparison
from viewer.analysis.comparison.path_changes import path_changes
from viewer.model.times import plain_spaces
from viewer.render.flame_graph.svg import svg_lines, write_svg
from viewer.render.palette import COLORS_OF_CHANGES
from viewer.reports.compare_text import (
    box_text,
    counts_text,
    mark_of,
    medians_text,
    path_lines,
    picture_of,
)

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def calls():
    return calls_of(OLD, NEW)


def number(calls, *names):
    changes = calls.changes
    return next(i for i in range(len(changes)) if tuple(changes.names_of(i)) == names)


def test_how_many_paths_changed(calls):
    assert counts_text(calls.changes) == (
        "9 paths: 2 slower, 2 faster, 4 only in A, 1 only in B"
    )  # fmt: skip
    assert medians_text(calls.changes) == "medians of 3 + 3 sessions"
    assert counts_text(calls_of(OLD, OLD).changes) == "8 paths, no proven change"


@pytest.mark.parametrize(
    ("names", "mark", "text"),
    [
        (("main", "kept", "x"), "▲", "+3.003 µs"),
        (("tail",), "▼", "−201 ns"),
        (("main", "kept", "more"), "", "90 ns only in B"),
        (("main", "gone"), "", "4.004 µs only in A"),
    ],
)
def test_a_box_says_its_change_and_the_sign(calls, names, mark, text):
    path = number(calls, *names)
    assert mark_of(calls.changes, path) == mark
    assert plain_spaces(box_text(calls.changes, path)) == text


def test_a_tip_has_both_arms_and_the_verdict(calls):
    lines = [
        plain_spaces(line) for line in path_lines(calls.changes, number(calls, "main", "kept"))
    ]
    assert lines[0].startswith("▲ +2.4")
    assert lines[1:3] == ["A 5.606 µs, self 0", "B 8.098 µs, self 0"]
    assert lines[3].startswith("Slower. 95 % interval")


def test_a_call_that_only_a_has_says_what_called_it(calls):
    lines = path_lines(calls.changes, number(calls, "main", "gone", "inner"))
    assert lines[-2:] == ["Only in A", "Called by main > gone"]


def test_operators_that_moved_say_why():
    compared = Comparison(*arms("02_module_renamed"))
    changes = path_changes(compared, compared)
    lines = [line for i in range(len(changes)) for line in path_lines(changes, i)]
    assert any("module blocks.0.dw is stages.0.depthwise" in line for line in lines)


def test_a_saved_graph_has_marks_colors_and_figures(calls, tmp_path):
    graph = picture_of(calls, "a.csv → b.csv")
    root = ET.fromstring("\n".join(svg_lines([graph])))
    texts = [plain_spaces(element.text) for element in root.iter(f"{SVG}text")]
    assert texts[0] == "a.csv → b.csv"
    assert texts[1].startswith("B, and what only A has, medians of 3 + 3 sessions: total ")
    assert COLORS_OF_CHANGES in texts
    assert "▲ x +3.003 µs" in texts
    tips = {box.find(f"{SVG}title").text: box.get("fill") for box in root.iter(f"{SVG}rect")
            if box.find(f"{SVG}title") is not None}  # fmt: skip
    hatched = {tip.partition("\n")[0] for tip, fill in tips.items() if fill == "url(#hatch)"}
    assert hatched == {"gone", "inner", "deep", "away", "more"}
    assert all("Count" not in tip for tip in tips)
    write_svg(tmp_path / "x.svg", [graph])
    assert (tmp_path / "x.svg").stat().st_size

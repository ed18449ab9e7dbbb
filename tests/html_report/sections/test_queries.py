"""Tracks of queries in a report: their text, picture and rows, and no other change."""

import re

import pytest

from tests.paths import DATA
from viewer.html_report.html import text
from viewer.html_report.options import DerivedRows, ReportOptions
from viewer.html_report.report import report_page
from viewer.model.times import format_time
from viewer.view.derived_tracks import DerivedTrack, derived_trace
from viewer.workspace.workspace import Workspace


@pytest.fixture
def space():
    workspace = Workspace()
    workspace.open(str(DATA / "etdump/demo_portable_x3.etdp"))
    return workspace


def derived(columns: list[str], rows: list[tuple[object, ...]], name: str = "gaps") -> DerivedRows:
    trace = derived_trace(DerivedTrack(name, ""), columns, rows)
    return DerivedRows(name, "SELECT '<b>' AS name", columns, rows, len(rows), trace, 1_000)


def page_of(space: Workspace, *rows: DerivedRows) -> str:
    return report_page(space, ReportOptions(derived=rows))[0].decode()


@pytest.mark.slow
def test_slices_and_rows_are_shown_and_escaped(space):
    rows = [("<i>a</i>", 0, 500), ("b", 500, 250), ("c", 600, 0), ("d", 1, None)]
    page = page_of(space, derived(["name", "ts", "dur_ns"], rows))
    section = page[page.index('id="queries"') :]
    section = section[: section.index("</section>")]
    assert "SELECT &#x27;&lt;b&gt;&#x27; AS name" in section
    assert "<i>" not in section
    assert "No figure of this report counts these rows." in section
    boxes = re.findall(r'<rect x="([\d.]+)" y="\d+" width="([\d.]+)"', section)
    assert sorted(boxes) == [("0.00", "480.00"), ("480.00", "240.00"), ("576.00", "0.50")]
    assert section.count("<tr") == 1 + len(rows)
    assert f'<td class="n" data-v="500">{text(format_time(500))}</td>' in section
    assert '<td class="n"></td><td>d</td>' in section
    assert "<title>gaps: b ·" in section


@pytest.mark.slow
def test_nothing_else_changes(space):
    plain = page_of(space)
    assert 'id="queries"' not in plain
    page = page_of(space, derived(["ts", "value"], [(0, 2), (500, 4)]))
    without = re.sub(r'<section id="queries".*?</section>\n', "", page, flags=re.DOTALL)
    without = re.sub(r'<li><a href="#queries">.*?</li>', "", without)
    stamp = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d[^<]*")
    assert stamp.sub("", without) == stamp.sub("", plain)
    assert 'd="M0 ' in page


@pytest.mark.slow
def test_many_rows_are_bounded(space):
    rows = [(f"n{n}", n % 1_000, 3, str(n % 40)) for n in range(20_000)]
    page = page_of(space, derived(["name", "ts", "dur", "pivot"], rows))
    assert page.count("<rect") < 6_000
    assert "19 850 more rows" in page.replace("\u2009", " ").replace("\u202f", " ")

"""Tracks of queries in a report: their text, picture and rows, and no other change."""

import math
import re

import numpy as np
import pytest

from tests.paths import DATA
from viewer.html_report.contents import QueryRows, ReportOptions
from viewer.html_report.html import text
from viewer.html_report.report import report_markdown, report_page
from viewer.model.times import format_time
from viewer.query.engine import Result
from viewer.view.derived_tracks import ChartKind, DerivedTrack, derived_trace
from viewer.workspace.workspace import Workspace


@pytest.fixture
def space():
    workspace = Workspace()
    workspace.open(str(DATA / "etdump/demo_portable_x3.etdp"))
    return workspace


def result_of(columns: list[str], rows: list[tuple[object, ...]]) -> Result:
    """Rows with the types that DuckDB states."""
    values = [next((v for v in column if v is not None), "") for column in zip(*rows, strict=True)]
    types = [{int: "BIGINT", float: "DOUBLE"}.get(type(value), "VARCHAR") for value in values]
    return Result(columns, types, rows, len(rows))


def derived(columns: list[str], rows: list[tuple[object, ...]], name: str = "gaps") -> QueryRows:
    trace = derived_trace(DerivedTrack(name, ""), columns, rows)
    result = result_of(columns, rows)
    return QueryRows(name, "SELECT '<b>' AS name", result, trace=trace, span_ns=1_000)


def section_of(page: str) -> str:
    section = page[page.index('id="queries"') :]
    return section[: section.index("</section>")]


def page_of(space: Workspace, *rows: QueryRows) -> str:
    return report_page(space, ReportOptions(queries=rows))[0].decode()


@pytest.mark.slow
def test_slices_and_rows_are_shown_and_escaped(space):
    rows = [("<i>a</i>", 0, 500), ("b", 500, 250), ("c", 600, 0), ("d", 1, None)]
    page = page_of(space, derived(["name", "ts", "dur_ns"], rows))
    section = section_of(page)
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


def chart(rows: list[tuple[object, ...]], kind: ChartKind, columns: list[str]) -> QueryRows:
    return QueryRows("times", "SELECT 1", result_of(columns, rows), chart=kind)


@pytest.mark.slow
def test_bars_have_the_heights_of_their_rows(space):
    rows = [("<b>a</b>", 1_000), ("b", 500), ("c", None), ("d", -250)]
    section = section_of(page_of(space, chart(rows, ChartKind.BARS, ["name", "dur_ns"])))
    heights = [float(h) for h in re.findall(r'<rect [^>]*height="([\d.]+)"', section)]
    assert heights == pytest.approx([heights[0], heights[0] / 2, heights[0] / 4], abs=0.2)
    assert "Chart times" in section
    assert "Derived by query" not in section
    assert f"<title>&lt;b&gt;a&lt;/b&gt;: {text(format_time(1_000))}</title>" in section
    assert section.count("<tr") == 1 + len(rows)


@pytest.mark.slow
@pytest.mark.parametrize("kind", [ChartKind.LINE, ChartKind.POINTS])
def test_lines_and_points_are_at_their_values(space, kind):
    rows = [(8, 2.0), (0, 1.0), (2, 3.0)]
    section = section_of(page_of(space, chart(rows, kind, ["x", "y"])))
    if kind is ChartKind.LINE:
        (points,) = re.findall(r'<polyline points="([^"]*)"', section)
        places = [tuple(map(float, pair.split(","))) for pair in points.split()]
    else:
        places = [
            (float(x), float(y))
            for x, y in re.findall(r'<circle cx="([\d.]+)" cy="([\d.]+)"', section)
        ]
    (x0, y0), (x1, y1), (x2, y2) = places
    assert (x1 - x0) / (x2 - x0) == pytest.approx(0.25, abs=0.01)
    assert (y0 - y2) / (y0 - y1) == pytest.approx(0.5, abs=0.01)


@pytest.mark.slow
@pytest.mark.parametrize("kind", [ChartKind.BARS, ChartKind.LINE, ChartKind.POINTS])
@pytest.mark.parametrize("seed", range(6))
def test_charts_of_any_numbers_are_finite_and_bounded(space, kind, seed):
    rng = np.random.default_rng(seed)
    count = int(rng.choice([1, 2, 30, 20_000]))
    values = rng.normal(size=count) * 10.0 ** float(rng.integers(-12, 300))
    values[rng.integers(count)] = float(rng.choice([0.0, math.inf, math.nan, -1.7e308, 2e-323]))
    values[0] = float(rng.choice([1.7e308, 0.0, -5e-324]))
    names = [float(n) for n in range(count)] if seed % 2 else [f"n{n}" for n in range(count)]
    rows = list(zip(names, values.tolist(), strict=True))
    section = section_of(page_of(space, chart(rows, kind, ["x", "y"])))
    assert len(section) < 1_000_000
    pictures = re.findall("<svg.*?</svg>", section, re.DOTALL)
    assert not any(re.search(r'="[^"]*\b(nan|inf)\b', picture) for picture in pictures)


@pytest.mark.slow
def test_a_query_without_rows_says_why(space):
    rows = QueryRows("gone", "SELECT x", complaint="queries need duckdb", chart=ChartKind.BARS)
    section = section_of(page_of(space, rows))
    assert "SELECT x" in section
    assert "<p>queries need duckdb</p>" in section
    no_numbers = chart([("a", "b")], ChartKind.BARS, ["x", "y"])
    assert "A chart needs a column" in section_of(page_of(space, no_numbers))


def test_markdown_has_tables(space):
    rows = [(f"n|{n}", 1_000 * n) for n in range(15)]
    rows += [("```", 1)]
    queries = [
        chart(rows, ChartKind.BARS, ["name", "dur_ns"]),
        QueryRows("b", "SELECT '````'", complaint="why"),
    ]
    page = report_markdown(space, ReportOptions(queries=queries))
    assert "### Chart times" in page
    assert "| n\\|3 | 3.000 µs |" in page
    assert "6 more rows." in page
    assert "### Derived by query b" in page
    assert "\nwhy\n" in page
    assert "\n```sql\nSELECT 1\n```\n" in page
    assert "\n`````sql\nSELECT '````'\n`````\n" in page

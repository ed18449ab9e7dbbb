"""Pieces of HTML: escaped, on one line, limited."""

import json

from tests.builders.reports import HOSTILE, Page
from viewer.html_report.html import Cell, Row, embedded_json, figures, section, table, text


def test_texts_are_escaped_on_one_line_and_limited():
    assert text("<b>&\"'") == "&lt;b&gt;&amp;&quot;&#x27;"
    assert text("a\nb\x00\u202e") == "a\\nb\\x00\\u202e"
    assert text("x" * 1000, 10) == "x" * 10 + "…"


def test_embedded_data_cannot_end_its_element_and_is_read_back():
    html = embedded_json("d", list(HOSTILE))
    inside = html.removeprefix('<script type="application/json" id="d">').removesuffix("</script>")
    assert not set("<>&\u2028\u2029") & set(inside)
    assert inside.isascii()
    assert json.loads(inside) == list(HOSTILE)


def test_a_table_has_a_caption_and_numbers_to_sort_by():
    html = table("Rows", ["Time", "Name"], [Row([Cell("1 ns", 1), Cell("<a>")], {"p": 0})], left=1)
    page = Page(html)
    assert ("tr", {"data-p": "0"}) in page.tags
    assert ("td", {"class": "n", "data-v": "1"}) in page.tags
    assert page.text.split() == ["Rows", "Time", "Name", "1", "ns", "<a>"]
    assert table("Rows", ["Name"], [], left=1) == ""


def test_empty_parts_make_no_section():
    assert section("s", "Title", "", "") == ""
    assert figures([]) == ""

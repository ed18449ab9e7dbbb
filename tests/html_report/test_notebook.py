"""What a notebook shows: small pieces of HTML without script."""

import re
from xml.etree import ElementTree

import pytest

import viewer
from viewer.html_report.report import notebook_page, timeline_picture
from viewer.resources import resource
from viewer.workspace.workspace import Workspace


@pytest.fixture
def attention():
    folder = resource("samples", "attention_xnnpack")
    return viewer.open(folder / "attn_xnnpack_x5.etdp", folder / "attn_teal_xnnpack.etrecord")


def test_a_profile_has_figures_findings_operators_and_a_picture(attention):
    page = notebook_page(attention.workspace)
    assert "median of 4 inferences: 51.607 µs" in page.replace("\u202f", " ")
    assert page.count("<li>") == 3
    assert page.count("<tr") == 1 + 5
    assert page.count("<svg") == 1
    assert len(page) < 60_000


def test_there_is_no_script_and_nothing_from_elsewhere(attention):
    page = notebook_page(attention.workspace)
    assert not re.search(r"<script|javascript:|\son\w+=|<link|src=|@import|url\(", page)
    assert set(re.findall(r"https?://[^\"']+", page)) == {"http://www.w3.org/2000/svg"}


def test_a_picture_is_one_svg_per_clock_and_whole_on_request(attention):
    first, whole = (timeline_picture(attention.workspace, whole=one) for one in (False, True))
    for picture in (first, whole):
        assert ElementTree.fromstring(picture).tag == "{http://www.w3.org/2000/svg}svg"
    assert "run 2 of 5" in first
    assert "run 5 of 5" not in first
    assert "run 5 of 5" in whole


def test_hostile_names_are_texts(tmp_path):
    path = tmp_path / "x.csv"
    name = '"</script><img src=x onerror=alert(1)>"'
    path.write_text(f"process,thread,name,start_ns,dur_ns\np,t,{name},0,100\n")
    page = notebook_page(viewer.open(path).workspace)
    assert "<img" not in page
    assert "</script>" not in page
    assert "&lt;/script&gt;" in page


def test_without_files_there_is_nothing():
    assert notebook_page(Workspace()) == ""
    assert timeline_picture(Workspace()) == ""

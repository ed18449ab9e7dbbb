"""The page about a lake."""

import re
import shutil

import pytest

from tests.builders.lakes import built
from viewer.fleet.answers.report import fleet_page, write_fleet_report
from viewer.fleet.lake import Lake

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def page(lake_of_builds):
    return fleet_page(Lake(str(lake_of_builds)))


def texts(page):
    return re.sub(r"\s+", " ", re.sub("<[^>]*>", " ", page))


def test_it_says_first_what_changed(page):
    shown = texts(page)
    assert "1 of 2 model-device pairs changed." in shown
    section = page.split('id="changes"')[1].split("</section>")[0]
    assert section.count("<tr data-verdict=") == len(re.findall(r"9 → 10", section))
    assert "blocks.1.dw · convolution" in section
    assert "phone2" not in section


def test_it_has_trends_and_noise(page):
    assert "Build 9" in page
    assert page.index("Build 9") < page.index("Build 10")
    assert page.count('<svg class="trend"') == 1
    noise = texts(page.split('id="noise"')[1])
    assert "phone1" in noise
    assert "%" in noise


def test_it_needs_no_network_and_no_script(page):
    assert "<script" not in page
    assert "default-src 'none'" in page
    assert not re.findall(r"(?:src|href)=\"(?!#)", page)
    assert " style=" not in page


def test_names_cannot_add_markup(builds, tmp_path):
    evil = tmp_path / "10" / "<img src=x onerror=alert(1)>" / "net"
    shutil.copytree(builds / "10" / "phone1" / "net", evil)
    (evil / "bad<b>.etdp").write_bytes(b"junk")
    assert built(tmp_path / "lake", tmp_path / "10", pattern="{device}/{model}/{name}.etdp").failed
    page = fleet_page(Lake(str(tmp_path / "lake")), title="<b>A & B</b>")
    assert "<img" not in page
    assert "<b>" not in page
    assert "&lt;b&gt;A &amp; B&lt;/b&gt;" in page
    assert "No model has profiles of two builds on one device." in page
    assert "files that failed" in page


def test_the_file_is_written_whole(lake_of_builds, tmp_path):
    path = tmp_path / "report.html"
    size = write_fleet_report(Lake(str(lake_of_builds)), str(path))
    assert path.stat().st_size == size < 1_000_000
    assert path.read_text().endswith("</html>\n")

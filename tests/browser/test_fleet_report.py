"""The report of a lake in a real browser: nothing is refused, cut or wider than the page."""

import base64
import os
from pathlib import Path

import pytest

from tests.browser.chromium import Chromium, browser_path
from tests.builders.fleet_dumps import write_fleet
from tests.builders.lakes import built
from viewer.fleet.answers.report import write_fleet_report
from viewer.fleet.lake import Lake

pytestmark = pytest.mark.skipif(browser_path() is None, reason="there is no Chromium")
PICTURES = os.environ.get("OPSCOPE_PICTURES")


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """The address of the report of two models on twelve devices and three builds."""
    folder = tmp_path_factory.mktemp("fleet")
    write_fleet(folder / "dumps", 144, models=2, devices=12, builds=3)
    built(folder / "lake", folder / "dumps")
    write_fleet_report(Lake(str(folder / "lake")), str(folder / "report.html"))
    return (folder / "report.html").as_uri()


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [400, 1280])
def test_nothing_is_wider_than_the_page(page, tmp_path, width, theme):
    with Chromium(tmp_path / "profile") as browser:
        browser.ask("Page.enable")
        browser.ask("Network.enable")
        browser.ask("Network.emulateNetworkConditions", offline=True, latency=0,
                    downloadThroughput=0, uploadThroughput=0)  # fmt: skip
        browser.ask(
            "Page.addScriptToEvaluateOnNewDocument",
            source="window.refused = [];"
            "addEventListener('securitypolicyviolation', e => refused.push(e.violatedDirective));",
        )
        features = [{"name": "prefers-color-scheme", "value": theme}]
        browser.ask("Emulation.setEmulatedMedia", features=features)
        browser.ask("Emulation.setDeviceMetricsOverride", width=width, height=900,
                    deviceScaleFactor=1, mobile=False)  # fmt: skip
        browser.open(page)
        browser.wait_for("document.readyState === 'complete'")
        assert browser.value("document.documentElement.scrollWidth") <= width
        assert browser.value("refused") == []
        assert browser.value("document.querySelectorAll('svg.trend').length") == 2
        # Names of devices are not broken into letters.
        tall = "[...document.querySelectorAll('#trends td:last-child')].map(e => e.offsetHeight)"
        assert browser.value(f"Math.max(...{tall})") < 40
        if PICTURES:
            found = browser.ask("Page.captureScreenshot", format="png", captureBeyondViewport=True)
            name = f"fleet_{width}_{theme}.png"
            Path(PICTURES, name).write_bytes(base64.b64decode(found["data"]))

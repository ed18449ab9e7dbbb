"""A report in a real browser: with and without JavaScript, with the network off, whatever names."""

import base64
import json
import os
import shutil
import subprocess
import tarfile
from pathlib import Path

import pytest

from tests.browser.chromium import Chromium, browser_path
from tests.builders import bench_sizes, many_slices
from tests.builders.reports import hostile_workspace, sample
from viewer.html_report.report import write_report
from viewer.workspace.workspace import Workspace

pytestmark = pytest.mark.skipif(browser_path() is None, reason="there is no Chromium")
PICTURES = os.environ.get("OPSCOPE_PICTURES")
READY = "document.readyState === 'complete' && document.documentElement.className === 'js'"


@pytest.fixture
def browser(tmp_path):
    """A browser without a network that counts what its policy refuses."""
    with Chromium(tmp_path / "profile") as found:
        found.ask("Network.enable")
        found.ask("Network.emulateNetworkConditions", offline=True, latency=0,
                  downloadThroughput=0, uploadThroughput=0)  # fmt: skip
        found.ask("Page.enable")
        found.ask(
            "Page.addScriptToEvaluateOnNewDocument",
            source="window.refused = [];"
            "addEventListener('securitypolicyviolation', e => refused.push(e.violatedDirective));"
            "addEventListener('error', e => refused.push(e.message));",
        )
        yield found


def page(workspace: Workspace, folder: Path) -> str:
    """Write a report; its address."""
    path = folder / "report.html"
    write_report(workspace, path)
    return path.as_uri()


def show(browser: Chromium, width: int, theme: str) -> None:
    features = [{"name": "prefers-color-scheme", "value": theme}]
    browser.ask("Emulation.setEmulatedMedia", features=features)
    browser.ask("Emulation.setDeviceMetricsOverride", width=width, height=900,
                deviceScaleFactor=1, mobile=False)  # fmt: skip


def keep(browser: Chromium, name: str) -> None:
    """Keep a picture of the whole page, if that is wanted."""
    if PICTURES:
        found = browser.ask("Page.captureScreenshot", format="png", captureBeyondViewport=True)
        Path(PICTURES, f"report_{name}.png").write_bytes(base64.b64decode(found["data"]))


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [400, 1280])
def test_nothing_is_wider_than_the_page(browser, tmp_path, width, theme):
    show(browser, width, theme)
    browser.open(page(sample("attention_xnnpack"), tmp_path))
    browser.wait_for(READY)
    assert browser.value("document.documentElement.scrollWidth") <= width
    assert browser.value("refused") == []
    drawn = "document.querySelector('.live canvas').getContext('2d').getImageData(300, 60, 1, 1)"
    assert browser.wait_for(f"[...{drawn}.data].slice(0, 3).join()")
    keep(browser, f"{width}_{theme}")


def test_a_slice_its_operator_and_its_line_are_selected_together(browser, tmp_path):
    show(browser, 1280, "light")
    browser.open(page(sample("attention_xnnpack"), tmp_path))
    browser.wait_for(READY)
    browser.value("document.querySelector('#operators tr[data-l] button').click()")
    assert browser.value("document.querySelectorAll('#operators tr.selected').length") == 1
    assert browser.value("document.querySelectorAll('#source tr.selected').length") >= 1
    text = "document.getElementById('selected').textContent"
    assert (
        browser.value(text) == "blocks.0 · scaled_dot_product_attention: 120 slices in this report"
    )
    browser.value("document.getElementById('next-match').click()")
    assert browser.value(text).startswith("1 of 120 · ")
    browser.value("document.querySelector('#source tr[data-line] button').click()")
    assert browser.value(text).startswith("Line ")


def test_a_click_on_the_timeline_selects_and_keys_move_it(browser, tmp_path):
    show(browser, 1280, "light")
    browser.open(page(sample("attention_xnnpack"), tmp_path))
    browser.wait_for(READY)
    browser.value("document.querySelector('.live canvas').scrollIntoView()")
    where = "(() => {const r = document.querySelector('.live canvas').getBoundingClientRect();"
    left, top = browser.value(f"{where} return [r.left, r.top]}})()")
    at = {"x": left + 260, "y": top + 100, "button": "left", "clickCount": 1}
    for kind in ("mousePressed", "mouseReleased"):
        browser.ask("Input.dispatchMouseEvent", type=kind, **at)
    text = "document.getElementById('selected').textContent"
    chosen = browser.wait_for(text)
    assert "µs" in chosen or "ns" in chosen
    for key in "wwdd":
        browser.ask("Input.dispatchKeyEvent", type="keyDown", key=key, text=key)
        browser.ask("Input.dispatchKeyEvent", type="keyUp", key=key)
    browser.ask("Input.dispatchKeyEvent", type="keyDown", key="Escape")
    assert browser.value(f"{text} === '' && document.getElementById('selected').hidden")
    assert browser.value("refused") == []


def test_search_finds_slices_and_rows(browser, tmp_path):
    browser.open(page(sample("attention_xnnpack"), tmp_path))
    browser.wait_for(READY)
    browser.value(
        "(e => {e.value = 'layer_norm'; e.dispatchEvent(new Event('input', {bubbles: true}))})"
        "(document.getElementById('search'))"
    )
    assert browser.value("document.getElementById('matches').textContent") == "40 slices"
    rows = "[...document.querySelectorAll('#operators tbody tr')].filter(r => !r.hidden).length"
    assert browser.value(rows) == 4


def test_a_table_is_sorted_by_a_column(browser, tmp_path):
    browser.open(page(sample("attention_xnnpack"), tmp_path))
    browser.wait_for(READY)
    cells = "[...document.querySelectorAll('#operators tbody tr td:nth-child(4)')]"
    values = f"{cells}.map(c => +c.dataset.v)"
    browser.value("document.querySelectorAll('#operators th button')[3].click()")
    down = browser.value(f"{values}.filter(n => n === n)")
    assert down == sorted(down, reverse=True)
    assert browser.value("document.querySelectorAll('#operators th')[3].ariaSort") == "descending"


def test_without_a_script_there_are_pictures_and_tables(browser, tmp_path):
    browser.ask("Emulation.setScriptExecutionDisabled", value=True)
    show(browser, 1280, "light")
    browser.open(page(sample("attention_xnnpack"), tmp_path))
    browser.wait_for("document.readyState === 'complete'")
    assert (
        browser.value("document.querySelector('.static svg').getBoundingClientRect().height") > 90
    )
    assert browser.value("document.querySelectorAll('#operators tbody tr').length") > 15
    assert browser.value("document.querySelector('.tools').getBoundingClientRect().height") == 0
    keep(browser, "no_script")


def test_hostile_names_do_nothing(browser, tmp_path):
    browser.open(page(hostile_workspace(), tmp_path))
    browser.wait_for(READY)
    assert browser.value("window.pwned === undefined && document.images.length === 0")
    assert browser.value("refused") == []


@pytest.mark.parametrize("key", ["attention_xnnpack", "torq_npu"])
def test_it_prints_on_few_pages(browser, tmp_path, key):
    browser.open(page(sample(key), tmp_path))
    browser.wait_for(READY)
    found = browser.ask("Page.printToPDF", printBackground=True, preferCSSPageSize=True)
    pdf = base64.b64decode(found["data"])
    assert 1 <= pdf.count(b"/Type /Page\n") + pdf.count(b"/Type/Page\n") <= 3
    if PICTURES:
        Path(PICTURES, f"report_{key}.pdf").write_bytes(pdf)


def test_a_large_trace_is_painted_at_once_and_moves_smoothly(browser, tmp_path):
    workspace = Workspace()
    workspace.add(many_slices.trace(bench_sizes.size(1_000_000, 200_000, "OPSCOPE_BENCH_SLICES")))
    show(browser, 1280, "light")
    browser.open(page(workspace, tmp_path))
    browser.wait_for(READY)
    paint = browser.wait_for("performance.getEntriesByType('paint')[0]?.startTime")
    frames = browser.ask(
        "Runtime.evaluate", awaitPromise=True, returnByValue=True,
        expression="""(async () => {
            const canvas = document.querySelector('.live canvas'), drawn = [];
            canvas.focus();
            for (let i = 0; i < 90; i += 1) {
                const key = 'wds'[Math.floor(i / 30)];
                canvas.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true }));
                await new Promise((resolve) => requestAnimationFrame(() => {
                    const start = performance.now();
                    queueMicrotask(() => { drawn.push(performance.now() - start); resolve(); });
                }));
            }
            const at = performance.now();
            await new Promise(requestAnimationFrame);
            return [drawn.length, performance.now() - at];
        })()""",
    )["result"]["value"]  # fmt: skip
    print(
        f"\nfirst paint after {paint:.0f} ms; {frames[0]} frames, the last took {frames[1]:.1f} ms"
    )
    assert frames[0] == 90
    assert browser.value("refused") == []


def axe(folder: Path) -> str:
    """The source of axe-core from npm; skips the test without it."""
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("there is no npm to get axe-core with")
    try:
        done = subprocess.run(
            [npm, "pack", "axe-core"], cwd=folder, capture_output=True, text=True, timeout=120
        )
    except subprocess.TimeoutExpired:
        pytest.skip("npm pack axe-core takes too long")
    if done.returncode:
        pytest.skip("npm cannot get axe-core")
    with tarfile.open(folder / done.stdout.split()[-1]) as archive:
        source = archive.extractfile("package/axe.min.js")
        assert source is not None
        return source.read().decode()


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("key", ["attention_xnnpack", "torq_npu"])
def test_axe_finds_no_violation(browser, tmp_path, key, theme):
    source = axe(tmp_path)
    show(browser, 1280, theme)
    browser.open(page(sample(key), tmp_path))
    browser.wait_for(READY)
    browser.value("document.querySelector('#operators tr[data-p] button').click()")
    # The debugger's own script is not subject to the policy of the page.
    browser.ask("Runtime.evaluate", expression=source)
    found = browser.ask(
        "Runtime.evaluate", awaitPromise=True, returnByValue=True,
        expression="axe.run().then(r => JSON.stringify(r.violations.map(v => "
        "[v.id, v.nodes.map(n => n.html.slice(0, 200) + ' ' + n.failureSummary)])))",
    )["result"]["value"]  # fmt: skip
    assert json.loads(found) == []

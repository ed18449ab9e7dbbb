"""A headless Chromium that is asked over its debugging pipe: no driver, no web socket, no network.

    with Chromium(tmp_path) as browser:
        browser.open("http://127.0.0.1:9001/")
        browser.wait_for("document.title")
        png = browser.screenshot()

Messages are JSON texts that end with a zero byte, by file descriptors 3 and 4 of the browser
(https://chromedevtools.github.io/devtools-protocol/).
"""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome")
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--disable-dev-shm-usage", "--window-size=1920,1080", "--remote-debugging-pipe",
)  # fmt: skip
ANSWER_LIMIT_S = 60


def browser_path() -> str | None:
    """The browser's executable, None if there is none."""
    return next((found for name in NAMES if (found := shutil.which(name))), None)


class Chromium:
    """One browser with one page; `path` is a new folder for what it keeps."""

    def __init__(self, path: Path) -> None:
        executable = browser_path()
        assert executable is not None
        read_by_it, self._to = os.pipe()
        self._from, written_by_it = os.pipe()

        def descriptors() -> None:
            # Out of the way first: either may be 3 or 4 itself.
            one, other = os.dup(read_by_it), os.dup(written_by_it)
            os.dup2(one, 3)
            os.dup2(other, 4)

        self._process = subprocess.Popen(
            [executable, *FLAGS, f"--user-data-dir={path}", "about:blank"],
            preexec_fn=descriptors, close_fds=False, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )  # fmt: skip
        os.close(read_by_it)
        os.close(written_by_it)
        self._buffer = b""
        self._number = 0
        pages = self.ask("Target.getTargets")["targetInfos"]
        page = next(p["targetId"] for p in pages if p["type"] == "page")
        attached = self.ask("Target.attachToTarget", targetId=page, flatten=True)
        self._session = attached["sessionId"]

    def __enter__(self) -> Chromium:
        return self

    def __exit__(self, *error: object) -> None:
        self._process.terminate()
        try:
            self._process.wait(20)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait(timeout=60)
        os.close(self._to)
        os.close(self._from)

    def open(self, address: str) -> None:
        """Go to a page."""
        self.ask("Page.navigate", url=address)

    def value(self, script: str) -> Any:
        """What an expression is on the page."""
        found = self.ask("Runtime.evaluate", expression=script, returnByValue=True)
        return found["result"].get("value")

    def wait_for(self, script: str, limit_s: float = 120) -> Any:
        """What an expression is once it is true; AssertionError if it stays false."""
        end = time.monotonic() + limit_s
        while time.monotonic() < end:
            if value := self.value(script):
                return value
            select.select([self._from], [], [], 0.2)
        raise AssertionError(f"{script} stayed false for {limit_s} s")

    def screenshot(self) -> bytes:
        """The page as a PNG."""
        return base64.b64decode(self.ask("Page.captureScreenshot", format="png")["data"])

    def ask(self, method: str, **parameters: Any) -> Any:
        """The answer to one message; events in between are passed over."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if session := getattr(self, "_session", None):
            message["sessionId"] = session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self._to, data) :]
        end = time.monotonic() + ANSWER_LIMIT_S
        while time.monotonic() < end:
            found, _, rest = self._buffer.partition(b"\0")
            if b"\0" not in self._buffer:
                if select.select([self._from], [], [], 1)[0]:
                    more = os.read(self._from, 1 << 16)
                    assert more, "the browser ended"
                    self._buffer += more
                continue
            self._buffer = rest
            answer = json.loads(found)
            if answer.get("id") == self._number:
                assert "error" not in answer, answer["error"]
                return answer["result"]
        raise AssertionError(f"no answer to {method} in {ANSWER_LIMIT_S} s")

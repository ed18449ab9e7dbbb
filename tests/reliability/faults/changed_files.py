"""Files that other programs truncate and write in place while they are open in the window.

To record again over an open file is the normal loop of work. While each panel reads what it shows,
one of the open files is cut, emptied, or written with other bytes of the same size. No process may
die, and nothing may raise. Death is a finding of the campaign itself.
"""

from __future__ import annotations

import os
import random
import shutil
import tempfile
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

from tests.reliability.campaign import Job, Options, Outcome
from tests.reliability.programs import ROOT

if TYPE_CHECKING:
    from viewer.gui.window.main_window import MainWindow

_LONG, _SHORT = 1000, 24
_NUMBERS = ROOT / "tests/data/numbers"
# What is open at the same time. Numbers are compared with each reference in turn.
_FILES = (
    _NUMBERS / "portable.etdp", _NUMBERS / "portable.etrecord", _NUMBERS / "portable.bin",
    _NUMBERS / "xnnpack.etdp", _NUMBERS / "xnnpack.bin", _NUMBERS / "reference.npz",
    _NUMBERS / "mixed.bpte", ROOT / "tests/data/torq/tiny_cnn.mlir",
    ROOT / "tests/data/chrome_json/onnxruntime_runs.json",
    ROOT / "tests/data/table_csv/two_threads.csv",
)  # fmt: skip
_OPENED = (".etdp", ".etrecord", ".bpte", ".mlir", ".json", ".csv")
_LAZY = ("portable.bin", "xnnpack.bin", "reference.npz", "mixed.bpte")
_REFERENCES = ("reference.npz", "mixed.bpte", "xnnpack.etdp")
# Files are whole again, and loaded again, after so many changes.
_RELOADS_EVERY = 6
_LATEST_S = 0.02
_SETTLES_S = 2.0


def jobs(options: Options) -> list[Job]:
    """Return the job of files that change."""
    return [Job("faults", "changed files", check, (_LONG if options.is_long else _SHORT,), 3600.0)]


def check(options: Options, count: int) -> Outcome:
    """Change open files `count` times."""
    os.environ["QT_QPA_PLATFORM"] = "offscreen"
    folder = Path(tempfile.mkdtemp(prefix="opscope-reliability-"))
    try:
        return _check(options, count, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _check(options: Options, count: int, folder: Path) -> Outcome:
    from tests.reliability.soak.window import Watch
    from viewer.gui.app.application import window_to_draw

    chosen = random.Random(options.seed)
    contents = {path.name: path.read_bytes() for path in _FILES if path.exists()}
    for name, content in contents.items():
        (folder / name).write_bytes(content)
    watch = Watch(folder, options.seed)
    watch._audit = lambda *_: None  # type: ignore[method-assign]
    watch.install()
    failures: list[str] = []
    opened = [str(folder / name) for name in contents if name.endswith(_OPENED)]
    said = 0
    with window_to_draw(opened, None, size=(1400, 900), theme="light", failures=failures) as window:
        panels = [one for one in window.controller.commands.commands if one.startswith("panel.")]
        for number in range(count):
            if number % _RELOADS_EVERY == 0:
                _reload(window, folder, contents, chosen)
            names = [*contents] if chosen.random() < 0.4 else _LAZY
            name, panel = chosen.choice(names), panels[number % len(panels)]
            watch.count += 1
            watch.actions.append(f"{panel}: {name}")
            data = _changed(contents[name], chosen)
            wait = chosen.random() * _LATEST_S if chosen.random() < 0.7 else 0.0
            writer = threading.Thread(target=_write, args=(folder / name, data, wait))
            writer.start()
            if not wait:
                writer.join(timeout=60)
            _use(window, panel, chosen)
            writer.join(timeout=60)
            _use(window, "panel.numbers", chosen)
            said += "has changed since" in _texts(window)
    return Outcome(count, tuple(watch.findings.values()), f"{said} times said in Numbers")


def _changed(content: bytes, chosen: random.Random) -> bytes | int:
    """Other bytes of the same size, or where to cut the file."""
    if chosen.random() < 0.2:
        return chosen.randbytes(len(content))
    return chosen.choice([0, 0, 1, 4096, chosen.randrange(len(content))])


def _write(path: Path, data: bytes | int, wait: float) -> None:
    """Change a file in place."""
    time.sleep(wait)
    if isinstance(data, int):
        os.truncate(path, data)
    else:
        with open(path, "r+b") as file:
            file.write(data)


def _reload(
    window: MainWindow, folder: Path, contents: dict[str, bytes], chosen: random.Random
) -> None:
    """Write whole files, load them again, and compare logged values with another reference."""
    from viewer.gui.session.feeds.numbers import NumbersFeed
    from viewer.gui.session.feeds.references import Reference

    for name, content in contents.items():
        (folder / name).write_bytes(content)
    controller = window.controller
    controller.commands.actions["file.reload"].trigger()
    window.settle(_SETTLES_S)
    reference = Reference(str(folder / chosen.choice(_REFERENCES)))
    NumbersFeed.of(controller.session).choose(reference)
    _use(window, "panel.numbers", chosen)


def _use(window: MainWindow, panel: str, chosen: random.Random) -> None:
    """Show a panel and select a slice, and a row of each table that is visible."""
    from PySide6.QtWidgets import QAbstractItemView

    from viewer.view.state import SliceRef

    controller = window.controller
    controller.commands.actions[panel].trigger()
    session = controller.session
    places = [place for place, one in enumerate(session.traces) if len(one.trace.slices)]
    if places:
        place = chosen.choice(places if chosen.random() < 0.5 else places[:1])
        index = chosen.randrange(len(session.traces[place].trace.slices))
        session.select_slice(SliceRef(place, index), reveal=True)
    for view in window.findChildren(QAbstractItemView):
        model = view.model()
        if view.isVisible() and model is not None and model.rowCount():
            view.setCurrentIndex(model.index(chosen.randrange(model.rowCount()), 0))
    window.settle(_SETTLES_S)


def _texts(window: MainWindow) -> str:
    from PySide6.QtWidgets import QLabel

    return " ".join(label.text() for label in window.findChildren(QLabel) if label.isVisible())

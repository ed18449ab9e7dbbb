"""Names in a hostile file are not interpreted as HTML by the widgets of the window."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from tests.reliability.campaign import Finding, Options, Outcome
from tests.reliability.security.hostile import write_files

if TYPE_CHECKING:
    from PySide6.QtWidgets import QWidget

_TAGS = ("<b>bold", "<img src", "<a href='http://example", "<script>")


def check(options: Options) -> Outcome:
    """Open hostile files, show all panels, and look at every label and tooltip."""
    from PySide6.QtWidgets import QWidget

    findings: dict[str, Finding] = {}
    count = 0
    with tempfile.TemporaryDirectory(prefix="opscope-reliability-") as name:
        os.environ["XDG_RUNTIME_DIR"] = os.environ["XDG_CONFIG_HOME"] = name
        files = [str(path) for path in write_files(Path(name))]
        from viewer.gui.app.application import window_to_draw

        failures: list[str] = []
        with window_to_draw(
            files, None, size=(1600, 900), theme="dark", failures=failures
        ) as window:
            controller = window.controller
            for panel in (None, *controller.docks.by_name):
                if panel is not None:
                    controller.docks.show_panel(panel)
                    window.settle()
                for widget in window.findChildren(QWidget):
                    count += 1
                    for what in _interpreted(widget):
                        findings.setdefault(f"{panel}: {what}", Finding(f"panel {panel}: {what}"))
        findings |= {text: Finding(text) for text in failures}
    return Outcome(count, tuple(findings.values()), f"{len(files)} hostile files")


def _interpreted(widget: QWidget) -> list[str]:
    """The texts of a widget that Qt shows as HTML, though they are of a file."""
    from PySide6.QtGui import Qt
    from PySide6.QtWidgets import QLabel

    found = []
    kind = type(widget).__name__
    tip = widget.toolTip()
    if Qt.mightBeRichText(tip) and any(tag in tip for tag in _TAGS):
        found.append(f"tooltip of {kind}: {tip[:100]!r}")
    if isinstance(widget, QLabel) and any(tag in widget.text() for tag in _TAGS):
        shown = widget.textFormat()
        is_rich = shown is Qt.TextFormat.RichText or (
            shown is Qt.TextFormat.AutoText and Qt.mightBeRichText(widget.text())
        )
        if is_rich:
            found.append(f"{kind}: {widget.text()[:100]!r}")
    return found

"""Names in a hostile file are not interpreted as HTML by the widgets of the window."""

from __future__ import annotations

import os
import tempfile
from itertools import product, starmap
from pathlib import Path
from typing import TYPE_CHECKING

from tests.reliability.campaign import Finding, Options, Outcome
from tests.reliability.security.hostile import write_files

if TYPE_CHECKING:
    from PySide6.QtWidgets import QWidget

_MOST_ROWS, _MOST_COLUMNS = 60, 20
_TAGS = ("<b>b", "<img src", "<a href='http://example", "<script>")


def check(options: Options) -> Outcome:
    """Open hostile files, show all panels, and look at every label and tooltip."""
    from PySide6.QtWidgets import QWidget

    findings: dict[str, Finding] = {}
    count, hostile = 0, set[str]()
    with tempfile.TemporaryDirectory(prefix="opscope-reliability-") as name:
        os.environ["XDG_RUNTIME_DIR"] = os.environ["XDG_CONFIG_HOME"] = name
        files = [str(path) for path in write_files(Path(name))]
        from viewer.gui.app.application import window_to_draw
        from viewer.view.state import SliceRef

        failures: list[str] = []
        with window_to_draw(
            files, None, size=(1600, 900), theme="dark", failures=failures
        ) as window:
            controller = window.controller
            session = controller.session
            for number, shown in enumerate(session.traces):
                names = [shown.trace.name(i) for i in range(len(shown.trace.slices))]
                named = [i for i, one in enumerate(names) if _TAGS[0] in one]
                if named:
                    session.select_slice(SliceRef(number, named[0]), reveal=True)
            for panel in (None, *controller.docks.by_name):
                if panel is not None:
                    controller.docks.show_panel(panel)
                    window.settle()
                for widget in window.findChildren(QWidget):
                    count += 1
                    text = str(widget.property("text") or "") + widget.toolTip()
                    hostile |= {text} if any(tag in text for tag in _TAGS) else set()
                    for what in _interpreted(widget):
                        findings.setdefault(f"{panel}: {what}", Finding(f"panel {panel}: {what}"))
        findings |= {text: Finding(text) for text in failures}
    if not hostile:
        findings[""] = Finding("no widget shows a name with HTML: nothing is tested")
    return Outcome(count, tuple(findings.values()), f"{len(hostile)} texts with HTML in widgets")


def _interpreted(widget: QWidget) -> list[str]:
    """The texts of a widget that Qt shows as HTML, though they are of a file."""
    from PySide6.QtGui import Qt
    from PySide6.QtWidgets import QAbstractItemView, QLabel

    found = []
    kind = type(widget).__name__
    tips = [widget.toolTip()]
    if isinstance(widget, QAbstractItemView) and widget.model() is not None:
        cells = starmap(widget.model().index, product(range(_MOST_ROWS), range(_MOST_COLUMNS)))
        role = Qt.ItemDataRole.ToolTipRole
        tips += [str(cell.data(role) or "") for cell in cells if cell.isValid()]
    for tip in tips:
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

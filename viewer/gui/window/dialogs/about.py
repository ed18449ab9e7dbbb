"""The About dialog: version, bundled packages and fonts, their licenses and license texts."""

from __future__ import annotations

import platform
import re
import sys
import sysconfig
from collections.abc import Iterator
from importlib import import_module, metadata
from pathlib import Path

from PySide6.QtCore import QModelIndex, Qt, Slot
from PySide6.QtGui import QStandardItem, QStandardItemModel
from PySide6.QtWidgets import QDialogButtonBox, QHeaderView, QPlainTextEdit, QVBoxLayout, QWidget

from viewer import __version__
from viewer.dataclasses import dataclass, replace
from viewer.gui.qt.accessibility import FramedDialog
from viewer.gui.qt.crash_report import versions
from viewer.gui.qt.theme.theme import Theme
from viewer.gui.qt.widgets.controls import laid_out
from viewer.gui.qt.widgets.labels import label
from viewer.gui.qt.widgets.tables import ROW_HEIGHT, QuietTable
from viewer.resources import resource

_LONGEST = 1 << 20  # characters in a license text


@dataclass(frozen=True, slots=True)
class BundledPart:
    """A bundled package; `what` is its purpose, `module` has the version without metadata."""

    name: str
    version: str
    license: str
    what: str
    page: str
    module: str = ""


# The packages in a bundle: the requirements in pyproject.toml and their dependencies.
# `parts` states their versions.
# tests/gui/window/dialogs/test_licenses.py compares them.
_KNOWN = (
    BundledPart("PySide6-Essentials", "", "LGPL-3.0-only", "Qt: the window",
                "https://doc.qt.io/qtforpython-6/", "PySide6"),
    BundledPart("shiboken6", "", "LGPL-3.0-only", "Qt from Python",
                "https://doc.qt.io/qtforpython-6/", "shiboken6"),
    BundledPart("pyqtgraph", "", "MIT", "timeline", "https://www.pyqtgraph.org", "pyqtgraph"),
    BundledPart("numpy", "", "BSD-3-Clause", "columns", "https://numpy.org", "numpy"),
    BundledPart("pandas", "", "BSD-3-Clause", "tables", "https://pandas.pydata.org", "pandas"),
    BundledPart("pyarrow", "", "Apache-2.0", "CSV, Parquet", "https://arrow.apache.org", "pyarrow"),
    BundledPart("protobuf", "", "BSD-3-Clause", "Perfetto traces",
                "https://protobuf.dev", "google.protobuf"),
    BundledPart("perfetto", "", "Apache-2.0", "Perfetto's definitions",
                "https://perfetto.dev", "perfetto"),
    BundledPart("flatbuffers", "", "Apache-2.0", "writing ETDumps",
                "https://flatbuffers.dev", "flatbuffers"),
    BundledPart("argcomplete", "", "Apache-2.0", "completion in shells",
                "https://github.com/kislyuk/argcomplete", "argcomplete"),
    BundledPart("msgspec", "", "BSD-3-Clause", "JSON",
                "https://jcristharif.com/msgspec/", "msgspec"),
    BundledPart("backports.zstd", "", "PSF-2.0", "Zstandard",
                "https://github.com/rogdham/backports.zstd", "backports.zstd"),
    BundledPart("rustworkx", "", "Apache-2.0", "graph layout",
                "https://www.rustworkx.org", "rustworkx"),
    BundledPart("python-dateutil", "", "Apache-2.0 OR BSD-3-Clause", "required by pandas",
                "https://github.com/dateutil/dateutil", "dateutil"),
    BundledPart("six", "", "MIT", "required by pandas", "https://github.com/benjaminp/six", "six"),
    BundledPart("tzdata", "", "Apache-2.0", "required by pandas",
                "https://github.com/python/tzdata", "tzdata"),
    BundledPart("colorama", "", "BSD-3-Clause", "required by pyqtgraph",
                "https://github.com/tartley/colorama", "colorama"),
)  # fmt: skip


# The fonts in `resources/fonts`, with the files of their licenses.
_FONTS = {
    BundledPart("Inter", "4.002", "OFL-1.1", "font of the window", "https://rsms.me/inter/"):
        "Inter-OFL.txt",
    BundledPart("JetBrains Mono", "2.305", "OFL-1.1", "font of code",
                "https://www.jetbrains.com/lp/mono/"): "JetBrainsMono-OFL.txt",
}  # fmt: skip


def parts() -> list[BundledPart]:
    """Opscope, Python, all bundled or installed packages of `_KNOWN`, and the fonts."""
    bundled = [
        BundledPart("Opscope", __version__, "Apache-2.0", "this program", ""),
        BundledPart(
            "Python", platform.python_version(), "PSF-2.0", "the language", "https://python.org"
        ),
    ]
    for package in _KNOWN:
        if version := _version(package):
            bundled.append(replace(package, version=version, license=_license(package)))
    return [*bundled, *_FONTS]


def text_of(name: str) -> str:
    """The license texts of a part, "" if it came with none."""
    texts = []
    for path in _files_of(name):
        try:
            texts.append(path.read_text(encoding="utf-8", errors="replace")[:_LONGEST].strip())
        except OSError:
            continue
    return f"\n\n{'-' * 60}\n\n".join(dict.fromkeys(text for text in texts if text))


def _version(package: BundledPart) -> str:
    try:
        return metadata.version(package.name)
    except metadata.PackageNotFoundError:
        pass
    # Only a bundle lacks metadata; otherwise, a module of that name would be an unrelated one.
    if getattr(sys, "_MEIPASS", None) is None:
        return ""
    try:
        return str(getattr(import_module(package.module), "__version__", ""))
    except ImportError:
        return ""


def _license(package: BundledPart) -> str:
    """The license expression in the metadata, else in `_KNOWN`: older metadata has a whole text."""
    try:
        stated = str(metadata.metadata(package.name).json.get("license_expression", ""))
    except metadata.PackageNotFoundError:
        stated = ""
    return stated if stated and len(stated) < 80 else package.license


def _files_of(name: str) -> Iterator[Path]:
    for font, text in _FONTS.items():
        if font.name == name:
            yield resource("fonts", text)
            return
    above = resource().parent
    of_qt = name in ("PySide6-Essentials", "shiboken6")  # their wheels contain no text
    if getattr(sys, "_MEIPASS", None) is not None:
        folder = {"Opscope": "opscope"}.get(name, "Qt and PySide6" if of_qt else name)
        yield from _texts_below(above / "licenses" / folder)
        return
    if name == "Opscope" and (above / "packaging" / "LICENSE").is_file():
        yield above / "packaging" / "LICENSE"
        return
    if of_qt:
        yield from _texts_below(above / "packaging" / "licenses")
    if name == "Python":
        for folder in (sysconfig.get_path("stdlib"), sys.base_prefix):
            yield from (p for p in (Path(folder) / "LICENSE.txt",) if p.is_file())
        return
    try:
        files = metadata.distribution(name).files or ()
    except metadata.PackageNotFoundError:
        return
    for file in files:
        if _is_license(file.name) and any(part.endswith(".dist-info") for part in file.parts):
            yield Path(str(file.locate()))


def _texts_below(folder: Path) -> Iterator[Path]:
    if folder.is_dir():
        yield from sorted(path for path in folder.rglob("*") if path.is_file())


def _is_license(name: str) -> bool:
    return bool(re.match(r"(LICEN[CS]E|COPYING|NOTICE)", name, re.IGNORECASE)) and not (
        name.endswith(".py")
    )


_SIZE = 720, 640
_COLUMNS = ("Component", "Version", "License", "For")
_WIDTHS = (160, 90, 230)


class AboutDialog(FramedDialog):
    """Shows versions and licenses; `log` is the path of the log of fatal faults."""

    def __init__(self, theme: Theme, log: str, parent: QWidget | None = None) -> None:
        super().__init__(theme, parent)
        self.setWindowTitle("About Opscope")
        self.resize(theme.px(_SIZE[0]), theme.px(_SIZE[1]))
        self.parts: list[BundledPart] = parts()
        self.model = QStandardItemModel(self)
        self.model.setHorizontalHeaderLabels(_COLUMNS)
        for part in self.parts:
            cells = (part.name, part.version, part.license, part.what)
            items = [QStandardItem(cell) for cell in cells]
            items[2].setToolTip(part.license)
            self.model.appendRow(items)
        self.table = QuietTable("Components and their licenses")
        self.table.setModel(self.model)
        self.table.setSelectionMode(self.table.SelectionMode.SingleSelection)
        self.table.setEditTriggers(self.table.EditTrigger.NoEditTriggers)
        self.table.verticalHeader().setDefaultSectionSize(theme.px(ROW_HEIGHT))
        for column, width in enumerate(_WIDTHS):
            self.table.setColumnWidth(column, theme.px(width))
        header = self.table.horizontalHeader()
        header.setDefaultAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
        header.setSectionResizeMode(len(_COLUMNS) - 1, QHeaderView.ResizeMode.Stretch)
        self.text = QPlainTextEdit()
        self.text.setReadOnly(True)
        self.text.setTabChangesFocus(True)
        self.text.setAccessibleName("License text")
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Close)
        buttons.rejected.connect(self.reject)
        column_of = laid_out(QVBoxLayout(self), gap=10, margins=(20, 16, 20, 16))
        about = (
            "Shows profiles of on-device ML on one timeline, linked to the model's source. Works "
            "offline and sends no data; only Open in Perfetto UI opens a page in your browser."
        )
        system = f"{versions()}\nCrashes are logged to {log}"
        column_of.addWidget(label(f"Opscope {__version__}", theme, "title"))
        column_of.addWidget(label(about, theme, "body", wrap=True))
        self.where = label(system, theme, "caption", "text2", wrap=True)
        self.where.setTextInteractionFlags(
            Qt.TextInteractionFlag.TextSelectableByMouse
            | Qt.TextInteractionFlag.TextSelectableByKeyboard
        )
        column_of.addWidget(self.where)
        column_of.addWidget(self.table, 1)
        column_of.addWidget(self.text, 1)
        column_of.addWidget(buttons)
        self.table.selectionModel().currentRowChanged.connect(self._show)
        self.table.selectRow(0)
        self.table.setFocus()

    @Slot(QModelIndex)
    def _show(self, current: QModelIndex) -> None:
        part = self.parts[current.row()]
        missing = f"{part.name} includes no license text ({part.license}). "
        self.text.setPlainText(
            text_of(part.name) or missing + (f"It is at {part.page}" if part.page else "")
        )

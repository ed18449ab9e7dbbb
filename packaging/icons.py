"""The application's icon in the forms that systems want, drawn from resources/icons/app.svg.

    icons.py FOLDER

writes FOLDER/16.png to FOLDER/1024.png, FOLDER/opscope.ico (Windows) and FOLDER/opscope.icns
(macOS). Runs with build/venv's Python, since Qt draws them; needs no display. Both containers hold
PNGs as they are: Windows since Vista, macOS since 10.7.
"""

from __future__ import annotations

import struct
import sys
from pathlib import Path

from application import ROOT

SOURCE = ROOT / "resources" / "icons" / "app.svg"
SIZES = (16, 24, 32, 48, 64, 128, 256, 512, 1024)
_ICO = (16, 24, 32, 48, 64, 128, 256)
# Apple's type of each picture, by its pixels; those for twice the density have types of their own.
_ICNS = (
    (b"icp4", 16), (b"icp5", 32), (b"ic11", 32), (b"ic12", 64), (b"ic07", 128), (b"ic13", 256),
    (b"ic08", 256), (b"ic14", 512), (b"ic09", 512), (b"ic10", 1024),
)  # fmt: skip


def ico(pictures: dict[int, bytes]) -> bytes:
    """A Windows icon of PNGs by their edge in pixels, 256 at most."""
    place = 6 + 16 * len(pictures)
    entries = b""
    for edge, png in pictures.items():
        entries += struct.pack("<4B2H2I", edge % 256, edge % 256, 0, 0, 1, 32, len(png), place)
        place += len(png)
    return struct.pack("<3H", 0, 1, len(pictures)) + entries + b"".join(pictures.values())


def icns(pictures: dict[int, bytes]) -> bytes:
    """A macOS icon of PNGs by their edge in pixels."""
    parts = b"".join(
        kind + struct.pack(">I", 8 + len(pictures[edge])) + pictures[edge] for kind, edge in _ICNS
    )
    return b"icns" + struct.pack(">I", 8 + len(parts)) + parts


def _draw() -> dict[int, bytes]:
    from PySide6.QtCore import QBuffer, QIODevice
    from PySide6.QtGui import QImage, QPainter
    from PySide6.QtSvg import QSvgRenderer

    renderer = QSvgRenderer(str(SOURCE))
    drawn = {}
    for edge in SIZES:
        image = QImage(edge, edge, QImage.Format.Format_ARGB32_Premultiplied)
        image.fill(0)
        painter = QPainter(image)
        renderer.render(painter)
        painter.end()
        buffer = QBuffer()
        buffer.open(QIODevice.OpenModeFlag.WriteOnly)
        image.save(buffer, "PNG")
        drawn[edge] = buffer.data().data()
    return drawn


def main() -> None:
    """Write all pictures into the folder that is named."""
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    drawn = _draw()
    for edge, png in drawn.items():
        (folder / f"{edge}.png").write_bytes(png)
    (folder / "opscope.ico").write_bytes(ico({edge: drawn[edge] for edge in _ICO}))
    (folder / "opscope.icns").write_bytes(icns(drawn))


if __name__ == "__main__":
    main()

"""Makes SVG files of Qt well-formed: QSvgGenerator writes control characters as they are.

XML forbids them, so no browser would open the picture of a file with such a name in it.
"""

from __future__ import annotations

import re

# C0 without tab and line ends; U+FFFE and U+FFFF. In UTF-8, no other character has these bytes.
_FORBIDDEN = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f]|\xef\xbf[\xbe\xbf]")
_REPLACEMENT = "\ufffd".encode()


def well_formed(svg: bytes) -> bytes:
    """Return an SVG file in UTF-8 with U+FFFD in place of characters that XML forbids."""
    return _FORBIDDEN.sub(_REPLACEMENT, svg)

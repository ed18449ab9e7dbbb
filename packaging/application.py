"""Name and version of Opscope for the scripts of this folder, from where the program has them.

Read as text: a build needs neither the program nor its packages installed.
"""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
_TEXT = (ROOT / "viewer" / "__init__.py").read_text(encoding="utf-8")


def _stated(name: str) -> str:
    found = re.search(rf'^{name} = "([^"]+)"$', _TEXT, re.MULTILINE)
    if found is None:
        raise SystemExit(f"viewer/__init__.py states no {name}")
    return found[1]


VERSION = _stated("__version__")
APPLICATION_ID = _stated("APPLICATION_ID")

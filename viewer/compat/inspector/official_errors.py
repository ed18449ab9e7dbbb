"""The error for inputs on which the official Inspector fails."""

from __future__ import annotations

VERSION = "1.5.1"


class InspectorError(Exception):
    """The official Inspector raises here: `kind` is its exception's name, `text` its message."""

    def __init__(self, kind: str, text: str) -> None:
        super().__init__(f"Inspector {VERSION} stops here with {kind}: {text}")
        self.kind = kind
        self.text = text

"""Decodes the texts of ExecuTorch's flatbuffers."""

from __future__ import annotations

from collections.abc import Callable

CountProblem = Callable[[str, int, str], None]
"""Called with a kind of problem, how often it occurs, and its first place."""


def decoded(texts: list[bytes], count_problem: CountProblem) -> list[str]:
    """Decode the texts of a file; texts that are not UTF-8 are counted."""
    decoded = [text.decode("utf-8", "replace") for text in texts]
    bad = [t for t, raw in zip(decoded, texts, strict=True) if "\ufffd" in t and t.encode() != raw]
    if bad:
        count_problem("text is not UTF-8: shown with \ufffd", len(bad), repr(bad[0]))
    return decoded

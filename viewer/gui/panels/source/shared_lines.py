"""The text below the source: time that several lines share, or its change between two arms."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from viewer.analysis.cost.lines import SharedCost, lines_text
from viewer.analysis.statistics import figure_terms
from viewer.gui.panels.source.compared_lines import SharedChange
from viewer.gui.qt.theme.tokens import Tokens
from viewer.gui.qt.widgets.labels import span
from viewer.gui.qt.widgets.verdict_marks import FASTER, SLOWER
from viewer.model.times import format_time, tick_to_ns

_MOST = 6
_SHAPES = {SLOWER: "▲ ", FASTER: "▼ "}


def shared_times(shared: Sequence[SharedCost], rate: Fraction, tokens: Tokens) -> str:
    """Return the shared times of a file as rich text. rate: the ns of a tick."""
    return _text(
        [
            _part(one.lines, one.elsewhere, format_time(tick_to_ns(one.ticks, rate)), tokens)
            for one in shared[:_MOST]
        ],
        len(shared),
        tokens,
    )


def shared_changes(changes: Sequence[SharedChange], tokens: Tokens) -> str:
    """Return the changes of the shared times of a file as rich text."""
    colors = {SLOWER: tokens.slower, FASTER: tokens.faster}
    parts = []
    for one in changes[:_MOST]:
        color = colors.get(one.change.verdict, tokens.text1)
        figures = ", ".join(filter(None, (one.change.change, one.change.ratio)))
        by = f"{_SHAPES.get(one.change.verdict, '')}{figures}"
        by = span(by.replace(" ", "\N{NO-BREAK SPACE}"), color)
        times = f"{one.change.a or '–'} → {one.change.b or '–'}"
        parts.append(f"{_part(one.lines, one.elsewhere, times, tokens)}&nbsp; {by}")
    return _text(parts, len(changes), tokens)


def _part(lines: Sequence[int], elsewhere: bool, time: str, tokens: Tokens) -> str:
    where = lines_text(lines) + (" and other files" if elsewhere else "")
    return f"{span(where, tokens.text2)}&nbsp; {span(time, tokens.text1, bold=True)}"


def _text(parts: Sequence[str], count: int, tokens: Tokens) -> str:
    every = [span(figure_terms.SHARED.title, tokens.text2), *parts]
    if count > _MOST:
        every.append(span(f"and {count - _MOST} more", tokens.text3))
    return "&nbsp;&nbsp;&nbsp;&nbsp;".join(every)

"""Writes flame graphs as one SVG file that needs no script and nothing else (SVG 1.1).

The file has its own light background, so that it looks the same in a dark viewer. Names come from
files of strangers: they are on one line, without control characters, which XML forbids, and limited
in length. The fonts that show it are not known when it is written.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from functools import lru_cache
from html import escape
from unicodedata import east_asian_width

from viewer import __version__
from viewer.codecs.atomic_file import replacing
from viewer.model import figures as figure_terms
from viewer.model.text import name_text, one_line
from viewer.model.times import counted, format_share, format_time, group_digits, plain_spaces
from viewer.render.flame_graph.boxes import BOXES_PER_PX, MOST_BOXES, MOST_LEVELS, WIDTH, FlameGraph
from viewer.render.palette import (
    FRAME,
    SLAB,
    UNLINKED,
    canvas_rgb,
    edge_rgb,
    fills,
    label_colors,
)

# Average widths of letters in a sans-serif font, in parts of the font's size. Fonts differ, so
# these are rather those of wide ones.
_LETTER, _CAPITAL, _FULL_WIDTH = 0.6, 0.74, 1.02
_LEAST_LETTERS = 2  # a label that would be shorter is left out


def escaped(text: str) -> str:
    """Text as it is written between two tags."""
    return escape(text, quote=False)


def cut_to(text: str, width: float, size: float) -> str:
    """Return as much of a text as fits into some px, with "…" if it is cut; "" if too little.

    size: of the font, in px.
    """
    room, ends, length = width / size, width / size - _LETTER, 0
    used = 0.0
    for index, letter in enumerate(text):
        used += _letter_width(letter)
        if used <= ends:
            length = index + 1
        if used > room:
            return f"{text[:length]}…" if length >= _LEAST_LETTERS else ""
    return text


def _letter_width(letter: str) -> float:
    if letter.isascii():
        return _CAPITAL if letter.isupper() or letter in "mw%@&" else _LETTER
    return _FULL_WIDTH if east_asian_width(letter) in "WF" else _CAPITAL


def px_text(value: float) -> str:
    """Return a length for an attribute: "12.5"."""
    return f"{value:.3f}".rstrip("0").rstrip(".")


def rgb_text(color: int) -> str:
    """Return 0xRRGGBB as "#rrggbb"."""
    return f"#{color:06x}"


_MARGIN = 10
_ROW = 18  # px from one level to the next
_BOX = 17
_TITLE_SIZE, _SIZE = 14, 11  # of letters, in px
_LINE = 16  # px from one line of text to the next
_BASELINE = 12.5  # of a label in its box
_PADDING = 4
_EDGE_FROM = 3  # px; narrower boxes have no edge, which would hide them
_MOST_LETTERS = 500  # of a name in a tooltip


def write_svg(path: str | os.PathLike[str], graphs: Sequence[FlameGraph]) -> None:
    """Write flame graphs as an SVG file, one below the other; the file is replaced atomically.

    Raises OSError as `viewer.codecs.atomic_file.replacing` does.
    """
    with replacing(path) as file:
        for line in svg_lines(graphs):
            file.write(f"{line}\n".encode())


def svg_lines(graphs: Sequence[FlameGraph]) -> Iterator[str]:
    """Yield the lines of an SVG file with flame graphs, one below the other."""
    width = WIDTH + 2 * _MARGIN
    height = sum(_height(graph) for graph in graphs)
    yield '<?xml version="1.0" encoding="UTF-8"?>'
    yield (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="{_SIZE}">'
    )
    yield f"<title>{_text('Flame graph: ' + ', '.join(graph.title for graph in graphs))}</title>"
    width_of = " or ".join(dict.fromkeys(graph.width_of for graph in graphs))
    yield f"<desc>Opscope {__version__}. The width of a box is {escaped(width_of)}.</desc>"
    yield from _style(graphs)
    yield f'<rect width="100%" height="100%" fill="{rgb_text(canvas_rgb(False))}"/>'
    top = 0
    for graph in graphs:
        yield from _graph(graph, top)
        top += _height(graph)
    yield "</svg>"


def _notes(graph: FlameGraph) -> list[str]:
    """Return the lines between the title and the boxes."""
    whole = f"{_share_of(graph)} {format_time(graph.whole_ns)}"
    lines = [f"{graph.scope}: {whole}", *graph.notes]
    if not graph.names:
        lines.append("There is no time to show")
    if graph.narrow:
        least = f"narrower than {1 / BOXES_PER_PX:g} px"
        lines.append(f"Not drawn: {counted(graph.narrow, 'call')} {least}, and those below")
    if graph.beyond:
        lines.append(
            f"Only the {group_digits(MOST_BOXES)} widest boxes are drawn, "
            f"without {counted(graph.beyond, 'other')}"
        )
    if graph.is_cut:
        lines.append(f"Only the first {MOST_LEVELS} levels are drawn")
    return [plain_spaces(line) for line in lines]


def _share_of(graph: FlameGraph) -> str:
    return "self time" if graph.bottom_up else "total"


def _height(graph: FlameGraph) -> int:
    lines = (1 + len(_notes(graph))) * _LINE
    return _MARGIN + lines + _LINE // 2 + graph.level_count * _ROW + _MARGIN


def _style(graphs: Sequence[FlameGraph]) -> Iterator[str]:
    """Yield the rules of all colors in use: "cN" for the edges of boxes of color N.

    Fills are attributes, because some programs ignore rules and would draw black boxes.
    """
    used = sorted({color for graph in graphs for color in set(graph.color.tolist())})
    fill, label = fills(False), label_colors(False)
    yield "<style>"
    yield "text{pointer-events:none}"
    yield f".title{{fill:{rgb_text(label[SLAB])};font-weight:bold;font-size:{_TITLE_SIZE}px}}"
    yield f".note{{fill:{rgb_text(label[FRAME])}}}"
    yield "rect{stroke-width:0}"
    yield ".wide{stroke-width:.5}"
    for color in used:
        yield f".c{color}{{stroke:{rgb_text(edge_rgb(fill[color]))}}}"
    yield "</style>"
    if any(graph.hatched for graph in graphs):
        yield (
            '<defs><pattern id="hatch" width="6" height="6" patternUnits="userSpaceOnUse">'
            f'<rect width="6" height="6" fill="{rgb_text(fill[UNLINKED])}"/>'
            f'<path d="M-1 1l2-2M0 6l6-6M5 7l2-2" stroke="{rgb_text(edge_rgb(fill[UNLINKED]))}"/>'
            "</pattern></defs>"
        )


def _graph(graph: FlameGraph, top: int) -> Iterator[str]:
    """Yield the elements of one flame graph; top: in px."""
    baseline = top + _MARGIN + _LINE - 4
    head = cut_to(one_line(graph.title), WIDTH, _TITLE_SIZE)
    yield f'<text class="title" x="{_MARGIN}" y="{baseline}">{escaped(head)}</text>'
    notes = _notes(graph)
    for note in notes:
        baseline += _LINE
        text = escaped(cut_to(one_line(note), WIDTH, _SIZE))
        yield f'<text class="note" x="{_MARGIN}" y="{baseline}">{text}</text>'
    first = top + _MARGIN + (1 + len(notes)) * _LINE + _LINE // 2
    whole, base = max(graph.whole_ns, 1), _share_of(graph)
    fill, ink = ([rgb_text(color) for color in colors(False)] for colors in (fills, label_colors))
    columns = zip(
        graph.names, graph.depth.tolist(), graph.start.tolist(), graph.width.tolist(),
        graph.total_ns.tolist(), graph.self_ns.tolist(), graph.count.tolist(),
        graph.color.tolist(), graph.details or [()] * len(graph.names),
        graph.behind or [""] * len(graph.names), strict=True,
    )  # fmt: skip
    for name, depth, start, width, total, self_time, count, color, details, behind in columns:
        text = _name(name)
        share = format_share(self_time if graph.bottom_up else total, whole)
        figures = [
            f"{figure_terms.TOTAL.title} {format_time(total)}",
            f"{figure_terms.SELF.title} {format_time(self_time)}",
            f"{figure_terms.COUNT.title} {group_digits(count)}",
            f"{share} of the {base}",
        ]
        if depth < graph.first_frame and not graph.bottom_up:
            del figures[2]  # processes and threads are not called
        if details:
            figures = [one_line(line) for line in details]
        tip = escaped("\n".join([text, *map(plain_spaces, figures)]))
        wide = " wide" if width >= _EDGE_FROM else ""
        y = first + depth * _ROW
        paint = "url(#hatch)" if graph.hatched and color == UNLINKED else fill[color]
        yield (
            f'<rect class="c{color}{wide}" fill="{paint}" x="{px_text(_MARGIN + start)}" y="{y}" '
            f'width="{px_text(width)}" height="{_BOX}">'
            f"<title>{tip}</title></rect>"
        )
        room = width - 2 * _PADDING
        label = cut_to(text, room, _SIZE)
        if behind and cut_to(f"{text} {behind}", room, _SIZE) == f"{text} {behind}":
            label = f"{text} {behind}"
        if label:
            yield (
                f'<text fill="{ink[color]}" x="{px_text(_MARGIN + start + _PADDING)}" '
                f'y="{y + _BASELINE}">{escaped(label)}</text>'
            )


@lru_cache(1 << 12)
def _name(name: str) -> str:
    """Return a name as it is shown: on one line, and not too long."""
    return one_line(name_text(name[:_MOST_LETTERS] + ("…" if len(name) > _MOST_LETTERS else "")))


def _text(text: str) -> str:
    return escaped(one_line(text[:_MOST_LETTERS]))

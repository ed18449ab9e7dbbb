"""Sixty ways to write one table of layers, with its truth: names, types, durations, inferences."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

# Name, type, and the duration in us: names with spaces, a separator, quotes and a number.
LAYERS = (
    ("/stem/conv + /stem/act", "Convolution", 1204),
    ("pool, 3x3", "Pooling", 533),
    ("{Foreign[/a.../b]}", "Foreign", 71),
    ("4", "Softmax", 2710),
    ("fc:OpId_21", "FullyConnected", 340),
)
_PLAIN = ("name", "type", "time_ms")
_UNITS = {"us": 1, "ms": 1000, "s": 10**6, "ns": 0.001}
_BOX = ("╒═╤╕", "│", "╞═╪╡", "╘═╧╛")
_ASCII = ("+-++", "|", "+=++", "+-++")

Table = list[list[str]]


@dataclass(frozen=True, slots=True)
class Variant:
    """A text, and how often it has the table."""

    name: str
    text: str
    blocks: int = 1


def variants() -> Iterator[Variant]:
    """All of them."""
    writers: dict[str, Callable[[Sequence[str], Table], str]] = {
        "comma": _separated(","), "semicolon": _separated(";"), "tab": _separated("\t"),
        "bar": _separated("|"), "fixed": _fixed(2), "wide": _fixed(6), "right": _fixed(3, ">"),
        "box": _boxed(*_BOX), "ascii": _boxed(*_ASCII), "markdown": _markdown,
        "json": _json, "json in an object": lambda header, rows: json.dumps(
            {"model": "m", "layers": json.loads(_json(header, rows))}),
    }  # fmt: skip
    for name, write in writers.items():
        yield Variant(f"{name}, plain", write(_PLAIN, _rows("ms")))
        header = ("Layer Name", "Layer Type", "Duration (us)")
        yield Variant(f"{name}, us", write(header, _rows("us")))
        is_json = name.startswith("json")
        if not is_json:
            total = [*_rows("ms"), ["Total", "", _text(sum(us for _, _, us in LAYERS), "ms")]]
            yield Variant(f"{name}, total", write(("Operator", "Op Type", "Avg (ms)"), total))
            block = write(("Node Name", "Node Type", "Latency [ms]"), _rows("ms"))
            yield Variant(f"{name}, blocks", f"{block}\n{block}\n{block}", 3)
    for name in ("comma", "tab", "fixed", "box", "markdown", "json"):
        write = writers[name]
        in_cells = [[*row[:2], f"{row[2]} us"] for row in _rows("us")]
        yield Variant(f"{name}, units in cells", write(("op", "kind", "time"), in_cells))
        numbered = [[str(i), *row] for i, row in enumerate(_rows("ns"))]
        yield Variant(f"{name}, numbered", write(("ID", "Op", "Type", "durationNs"), numbered))
        wide = [[*row, "(1,3,224,224)", "CPU", "3.5%", "1"] for row in _rows("us")]
        header = ("Name", "OpType", "Time(us)", "Shape", "Device", "Share(%)", "Calls")
        yield Variant(f"{name}, further columns", write(header, wide))
    for name in ("comma", "fixed", "box"):
        text = writers[name](_PLAIN, _rows("ms"))
        yield Variant(f"{name}, in a log", f"tool v1.2\nmodel: m.onnx\n\n{text}\ndone in 12 s\n")


def _text(us: float, unit: str) -> str:
    value = us / _UNITS[unit]
    return f"{value:.0f}" if unit in ("us", "ns") else f"{value:.3f}"


def _rows(unit: str) -> Table:
    return [[name, kind, _text(us, unit)] for name, kind, us in LAYERS]


def _separated(separator: str) -> Callable[[Sequence[str], Table], str]:
    def write(header: Sequence[str], rows: Table) -> str:
        out = io.StringIO()
        csv.writer(out, delimiter=separator, lineterminator="\n").writerows([header, *rows])
        return out.getvalue()

    return write


def _widths(header: Sequence[str], rows: Table) -> list[int]:
    return [max(map(len, column)) for column in zip(header, *rows, strict=True)]


def _fixed(gap: int, aligned: str = "<") -> Callable[[Sequence[str], Table], str]:
    def write(header: Sequence[str], rows: Table) -> str:
        widths = _widths(header, rows)
        sides = ["<"] + [aligned] * (len(header) - 1)
        lines = [
            (" " * gap)
            .join(
                f"{cell:{side}{width}}"
                for cell, side, width in zip(row, sides, widths, strict=True)
            )
            .rstrip()
            for row in (header, *rows)
        ]
        rule = "-" * max(map(len, lines))
        return "\n".join([rule, lines[0], rule, *lines[1:], rule, ""])

    return write


def _boxed(top: str, side: str, middle: str, bottom: str) -> Callable[[Sequence[str], Table], str]:
    def write(header: Sequence[str], rows: Table) -> str:
        widths = _widths(header, rows)

        def rule(of: str) -> str:
            return of[0] + of[2].join(of[1] * (width + 2) for width in widths) + of[3]

        def line(row: Sequence[str]) -> str:
            cells = [f" {cell:<{width}} " for cell, width in zip(row, widths, strict=True)]
            return side + side.join(cells) + side

        body = [line(row) for row in rows]
        return "\n".join([rule(top), line(header), rule(middle), *body, rule(bottom), ""])

    return write


def _markdown(header: Sequence[str], rows: Table) -> str:
    lines = [f"| {' | '.join(row)} |" for row in (header, *rows)]
    return "\n".join([lines[0], "|" + " --- |" * len(header), *lines[1:], ""])


def _json(header: Sequence[str], rows: Table) -> str:
    items = [dict(zip(header, row, strict=True)) for row in rows]
    for item in items:
        for key, text in item.items():
            if text.replace(".", "", 1).isdecimal() and key.casefold() not in ("name", "op"):
                item[key] = json.loads(text) if "Name" not in key else text
    return json.dumps(items)

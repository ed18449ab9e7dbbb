"""Sixty ways to write one table of layers, with its truth: names, types, durations, inferences."""

from __future__ import annotations

import csv
import io
import json
import random
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


_NAMES = ("Layer", "layer_name", "Node Name", "Operator", "name", "OpName", "Kernel Name", "NODE")
_TYPES = ("type", "Op Type", "LayerType", "node_type", "Kind", "Operator Type")
_TIMES = ("time", "Duration", "latency", "Exec Time", "avg", "Avg. Time", "mean_time", "elapsed")
_UNIT_FORMS = ("{} ({})", "{} [{}]", "{}_{}", "{}({})", "{}")
# Heading and cells that are neither a name nor a duration.
_FURTHER = (
    ("ID", lambda at: str(at)), ("Input Shape", lambda at: f"1x{at + 3}x224"),
    ("Target", lambda at: ("CPU", "NPU")[at % 2]), ("Share (%)", lambda at: f"{at}.5"),
    ("Calls", lambda at: "10"), ("min (us)", lambda at: "1"), ("max (us)", lambda at: "99999"),
    ("MACs", lambda at: str(at * 1000)), ("dtype", lambda at: "int8"),
)  # fmt: skip


def random_variant(seed: int) -> Variant:
    """One that a seed chooses: the words, the order of columns, units, totals, blocks, a log."""
    dice = random.Random(seed)
    writers = {
        **{f"separated by {s!r}": _separated(s) for s in ",;\t|"},
        **{f"fixed {g}{side}": _fixed(g, side) for g in (2, 4, 9) for side in "<>"},
        "box": _boxed(*_BOX), "ascii": _boxed(*_ASCII), "markdown": _markdown, "json": _json,
    }  # fmt: skip
    name = dice.choice(sorted(writers))
    unit, form = dice.choice(("us", "ms", "s", "ns")), dice.choice(_UNIT_FORMS)
    time = form.format(dice.choice(_TIMES), unit)
    in_cells = form == "{}"
    columns = [
        (dice.choice(_NAMES), [layer for layer, _, _ in LAYERS]),
        (dice.choice(_TYPES), [kind for _, kind, _ in LAYERS]),
        (time, [f"{_precise(us, unit)}{f' {unit}' if in_cells else ''}" for _, _, us in LAYERS]),
        *(
            (heading, [cell(at) for at in range(len(LAYERS))])
            for heading, cell in dice.sample(_FURTHER, dice.randrange(4))
        ),
    ]
    if dice.random() < 0.5:
        dice.shuffle(columns)
    header = [heading for heading, _ in columns]
    rows = [list(row) for row in zip(*(cells for _, cells in columns), strict=True)]
    blocks = dice.choice((1, 1, 1, 2, 5)) if name != "json" else 1
    if name != "json" and header[0] != time and dice.random() < 0.3:
        whole = f"{_precise(sum(us for _, _, us in LAYERS), unit)}{f' {unit}' if in_cells else ''}"
        total = [whole if heading == time else "" for heading in header]
        total[0] = dice.choice(("Total", "TOTAL", "Sum", "total"))
        if "fixed" not in name:
            rows.append(total)
    text = "\n".join([writers[name](header, rows)] * blocks)
    if name != "json" and dice.random() < 0.3:
        text = f"runtime 2.1 (build 77)\nloading m.onnx ...\n\n{text}\nfinished\n"
    text = text.replace("\n", "\r\n") if dice.random() < 0.2 else text
    what = f"{seed}: {name}, {blocks} x {', '.join(header)}"
    return Variant(what, text, blocks)


def _precise(us: float, unit: str) -> str:
    """A duration with all of its digits."""
    value = us / _UNITS[unit]
    return f"{value:.6f}" if unit == "s" else _text(us, unit)

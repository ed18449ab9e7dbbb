"""Grammars of files that Opscope itself writes: sessions, settings and files of columns."""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from tests.paths import DATA
from tests.reliability.fuzz import json_changes
from tests.reliability.fuzz.values import HOSTILE, NAMES, Dice, count, name, number, some
from viewer.codecs.temporary_folder import TemporaryFolder

# What sessions of the fuzzer have as their inputs, next to them.
INPUTS = ("demo_str_x4.etdp", "demo_str.etrecord", "compile_c3_taskid_mtu.csv")
_QUERIES = (
    "SELECT name, start_ns, dur_ns FROM slices",
    "SELECT start_ns, depth AS value, name AS pivot FROM slices",
    "SELECT 'a', 9223372036854775807 AS ts, 9223372036854775807 AS dur",
    "SELECT name, -170141183460469231731687303715884105728::HUGEINT AS n FROM slices",
    "SELECT 'nan'::DOUBLE, 'inf'::DOUBLE",
    "COPY slices TO 'stolen.csv'",
    "SELECT * FROM read_text('/etc/passwd')",
    "",
    ";",
    "SELECT '\0\u202e<b>' AS name, 1 AS n",
)
_SCALES = (
    "1",
    "5/4",
    "0",
    "1/0",
    "-1",
    "1e999999999",
    "1e-400",
    "9" * 400,
    "nan",
    "",
    "1.25",
    "inf",
)


def session(dice: Dice) -> bytes:
    """Return a session file: valid in types in most cases, with any values."""
    inputs = [
        {"path": dice.choice((*INPUTS, *INPUTS, name(dice))), "size": dice.choice((-1, -1, 3104,
            number(dice))),
         "sha256": dice.choice(("", "", "0" * 64, name(dice))),
         "absolute": dice.choice(("", "", INPUTS[0], "/nowhere/x", "//host/share/x",
             "\\\\host\\x"))}
        for _ in range(1 + count(dice, 3))
    ]  # fmt: skip
    tree: dict[str, Any] = {
        "opscope_session": dice.choice((1,) * 20 + (2, 0, "1", None)),
        "inputs": inputs,
        "choices": _choices(dice),
        "view": _view(dice),
    }
    if dice.random() < 0.15:
        _spoil(tree, dice)
    return json.dumps(tree).encode()


def _input(dice: Dice) -> int:
    return dice.choice((0, 0, 1, 2, 3, -1, 2**40))


def _choices(dice: Dice) -> dict[str, Any]:
    rate = lambda: dice.choice(_SCALES)  # noqa: E731
    everything = {
        "links": [{"profile": _input(dice), "record": dice.choice((None, _input(dice)))}],
        "methods": [{"profile": _input(dice), "scope": dice.choice(("Execute", name(dice))),
                     "method": dice.choice(("forward", name(dice)))}],
        "inferences": [{"profile": _input(dice), "scope": "Execute", "method": "forward",
                        "numbers": [number(dice) for _ in range(count(dice, 4))]}],
        "columns": [{"profile": _input(dice), "column": name(dice)}],
        "clocks": [{"profile": dice.choice((None, _input(dice))), "ns_per_tick": rate(),
                    "delegate": dice.choice(("", name(dice)))} for _ in range(1 + count(dice, 3))],
        "source_paths": [{"recorded": name(dice), "here": name(dice)}],
    }  # fmt: skip
    return dict(some(dice, list(everything.items()), 0.4))


def _view(dice: Dice) -> dict[str, Any] | None:
    if dice.random() < 0.1:
        return None

    def ns() -> int:
        return dice.choice((0, 5, 1000, 10**6, -(2**62), 2**62, -7, dice.randrange(10**7)))

    def place() -> list[Any]:
        process = dice.choice((*INPUTS, name(dice)))
        return [_input(dice), process, *some(dice, ["forward"], 0.5)]

    def rows() -> dict[str, Any]:
        return {
            "input": _input(dice),
            "rows": [dice.choice((0, 3, 40, 2**32 - 1)) for _ in range(3)],
        }

    everything: dict[str, Any] = {
        "start_ns": ns(), "end_ns": ns(), "clock": _input(dice),
        "clocks": [
            {"input": _input(dice), "start_ns": ns(), "end_ns": ns(), "height": number(dice),
             "collapsed": True, "tie": {"scale": dice.choice(_SCALES), "anchor_ns": ns(),
                 "reason": name(dice)}}
            for _ in range(count(dice, 3))
        ],
        "strips": [_input(dice) for _ in range(count(dice, 4))],
        "slice": rows(), "others": [rows()],
        "operators": {"input": _input(dice), "operators": [number(dice) for _ in range(3)]},
        "area": {"start_ns": ns(), "end_ns": ns(), "tracks": [place()], "clock": _input(dice)},
        "tracks": {
            "folded": [place()], "pinned": [place()], "hidden": [place()],
            "moved": [{"what": place(), "before": dice.choice((None, place()))}],
            "heights": [{"what": place(), "px": number(dice)}], "filter": name(dice),
            "order": name(dice),
        },
        "color_by": dice.choice(("name", "operator", name(dice))), "lit": [name(dice),
            number(dice)],
        "run": {"input": _input(dice), "run": number(dice)}, "warm_up": True,
        "inferences": dice.choice(("aligned", "mean", "median", name(dice))),
        "measured": [ns(), ns()], "measured_on": _input(dice),
        "marks": [{"start_ns": ns(), "end_ns": ns(), "name": name(dice), "note": name(dice),
                   "clock": dice.choice((None, _input(dice)))} for _ in range(count(dice, 4))],
        "mark": number(dice), "search": dice.choice((*NAMES, "dur > 5", "(", "name:")),
            "only_hits": True,
        "ruler": name(dice), "front": [name(dice)],
        "derived": [{"name": name(dice), "sql": dice.choice(_QUERIES), "clock": dice.choice(
            (None, _input(dice)))} for _ in range(count(dice, 3))],
        "tables": [{"table": dice.choice(("statistics", "operators", name(dice))), "by": name(dice),
            "then": name(dice), "hidden": [name(dice)], "picked": [name(dice)]}],
        "charts": [{"name": name(dice), "sql": dice.choice(_QUERIES), "kind": dice.choice(
            ("bars", "line", "points", "table", name(dice)))} for _ in range(count(dice, 3))],
    }  # fmt: skip
    return dict(some(dice, list(everything.items()), 0.5))


def _spoil(tree: Any, dice: Dice) -> None:
    while isinstance(tree, (dict, list)) and tree:
        key: Any = dice.choice(list(tree) if isinstance(tree, dict) else range(len(tree)))
        if dice.random() < 0.4 or not isinstance(tree[key], (dict, list)):
            tree[key] = dice.choice(HOSTILE)
            return
        tree = tree[key]


def settings(dice: Dice) -> bytes:
    """Return a settings file in the INI form of Qt, with any values."""
    from viewer.gui.qt import settings as stored

    known = [one for one in vars(stored).values() if isinstance(one, stored.Setting)]
    names = [one.name for one in known]
    groups: dict[str, list[str]] = {}
    for _ in range(count(dice, 30)):
        group, _, key = dice.choice((*names, name(dice))).rpartition("/")
        groups.setdefault(group or "General", []).append(f"{key}={_ini_value(dice)}")
    lines = []
    for group, entries in groups.items():
        lines += [f"[{group}]", *entries, ""]
    return "\n".join(lines).encode("utf-8", "surrogatepass")


def _ini_value(dice: Dice) -> str:
    values = (
        "true", "false", "1", "0", "", "@Invalid()", "@ByteArray(\\0\\xff)", "a, b", '"a, b"',
        "dark", "mean",
        "@Variant(\\0\\0\\0\\x7f\\0\\0\\0\\xePyQt_PyObject\\0)", "@Size(1 2)", "@Point(x)",
        "@Rect()", "@DateTime(",
        '"[\\"a.etdp\\"]"', '"[[\\"a\\", \\"b\\"]]"', '"{\\"open\\": [\\"Ctrl+O\\"]}"',
        '"' + "[" * 2000 + '"',
        "@@x", "\\x", '"', "@Variant(\\0\\0\\0\\x4\\0)", "@String(x)", "%U0041", str(2**70),
    )  # fmt: skip
    if dice.random() < 0.7:
        return dice.choice((*values, "٣", "²", "--5"))
    return dice.choice((name(dice), str(number(dice)), f'"[{json.dumps(name(dice))}]"'))


# -- files of columns ------------------------------------------------------------------------------

_COLUMN_SAMPLES = (
    "chrome_json/kineto_cpu.json", "table_csv/two_threads.csv", "torq/demo_str_c1.csv",
    "etdump/demo_str_x4.etdp",
)  # fmt: skip
_FIRST = struct.Struct("<16sQQI")
_ALIGNED = 64


@cache
def _columns_of(sample: str) -> bytes:
    """Return a profile and its raster as a file of columns."""
    from viewer.codecs.column_file import Packer, write_columns
    from viewer.formats import open_file
    from viewer.model.trace import Trace
    from viewer.render.raster import KeptRaster, RowRaster

    trace = open_file(str(DATA / sample))
    assert isinstance(trace, Trace)
    packer, palette = Packer(), (trace.slices.name % 12).astype("u1")
    raster = KeptRaster.of(RowRaster.of(trace.slices, palette), palette)
    content = {"trace": packer.pack(trace, Trace), "raster": packer.pack(raster, KeptRaster)}
    with TemporaryFolder() as folder:
        place = Path(folder) / "a.columns"
        write_columns(str(place), {"size": 1}, content, packer.columns)
        return place.read_bytes()


def columns(dice: Dice) -> bytes:
    """Return a file of columns as it was written, or with another head or other columns."""
    data = _columns_of(dice.choice(_COLUMN_SAMPLES))
    return data if dice.random() < 0.05 else columns_changed(data, [], dice)


def columns_changed(data: bytes, others: Sequence[bytes], dice: Dice) -> bytes:
    """Return a file of columns with sizes and CRCs that fit, and with other values.

    Raises ValueError for another file.
    """
    if len(data) < _FIRST.size:
        raise ValueError("no file of columns")
    mark, _, size, _ = _FIRST.unpack(data[: _FIRST.size])
    head = json.loads(data[_FIRST.size : _FIRST.size + size])
    blocks = bytearray(data[-(-(_FIRST.size + size) // _ALIGNED) * _ALIGNED :])
    rows = head["columns"] if isinstance(head, dict) else []
    for _ in range(dice.choice((0, 1, 1, 2, 8))):
        row = dice.choice(rows) if isinstance(rows, list) and rows else None
        if isinstance(row, list) and len(row) == 4:
            _change_column(row, blocks, dice)
    if dice.random() < 0.6:
        json_changes.change(head.get("content", head) if dice.random() < 0.8 else head, dice)
    raw = json.dumps(head).encode()
    begin = -(-(_FIRST.size + len(raw)) // _ALIGNED) * _ALIGNED
    first = _FIRST.pack(mark, begin + len(blocks), len(raw), zlib.crc32(raw))
    return first + raw + bytes(begin - _FIRST.size - len(raw)) + bytes(blocks)


def _change_column(row: list[Any], blocks: bytearray, dice: Dice) -> None:
    """Change numbers of a column, and its CRC with them."""
    dtype, count, offset, _ = row
    width = int(str(dtype)[-1]) if str(dtype)[-1] in "1248" else 0
    numbers = isinstance(count, int) and isinstance(offset, int) and width
    if not numbers or count <= 0 or not 0 <= offset < offset + width * count <= len(blocks):
        return
    for _ in range(dice.choice((1, 2, 20))):
        where = offset + width * dice.randrange(count)
        blocks[where : where + width] = dice.choice(
            (b"\xff" * width, bytes(width), b"\x7f" * width, dice.randbytes(width))
        )
    row[3] = zlib.crc32(blocks[offset : offset + width * count])

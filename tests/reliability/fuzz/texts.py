"""Grammars of the text formats: profile CSVs of Torq, plain tables, and MLIR."""

from __future__ import annotations

import csv
import gzip
import io
import json
import zipfile

from tests.reliability.fuzz.values import (
    EDGES,
    HOSTILE,
    Dice,
    count,
    name,
    number,
    number_text,
    some,
    tick,
)

_LOCATIONS = (
    'loc("m.mlir":2:3)', "loc(unknown)", 'loc(callsite("m.mlir":11:10 at "m.mlir":2:3))',
    'loc(fused["m.mlir":1:2, "m.mlir":3:4])', 'loc("Relu, 0"("m.mlir":13:10))', "loc(", "loc()", "",
    'loc("m.mlir":2:3 to :9)', 'loc(fused<"CSE">["a":1:2])', "loc(" + "callsite(" * 40,
        'loc("\\22":1:1)',
    'loc("m.mlir":99999999999999999999:1)', "@L2C3", "#loc5",
)  # fmt: skip
_HOST_EVENTS = (
    "INIT", "INIT_HW_OPEN", "DISPATCH", "DISPATCH_HW_OPEN", "NSS_START", "NSS_WAIT", "HAL_CALL",
    "HAL_QUEUE_WAIT", "HOST_COPY", "ALLOC",
)  # fmt: skip


def _text(dice: Dice) -> str:
    return name(dice).replace("\n", " ").replace("\r", "")


def _encoded(lines: list[str], dice: Dice) -> bytes:
    text = "\n".join(lines) + dice.choice(("\n", "\n", ""))
    data = text.encode("utf-8", "surrogatepass")
    return b"\xef\xbb\xbf" + data if dice.random() < 0.03 else data


def torq_runtime(dice: Dice) -> bytes:
    """Return a Torq runtime profile."""
    header = dice.choice(
        ("id;time_since_open;time_since_start;location",) * 4
        + ("id;time_since_open;time_since_start", "id;time_since_open;time_since_start;location;x")
    )
    lines = [header]
    for row in range(count(dice)):
        cells = [dice.choice((str(row), number_text(dice))), number_text(dice), number_text(dice),
                 dice.choice(_LOCATIONS)]  # fmt: skip
        lines.append(";".join(cells[: header.count(";") + dice.choice((1, 1, 1, 0, 2))]))
    return _encoded(lines, dice)


def torq_host(dice: Dice) -> bytes:
    """Return a Torq host profile of either header."""
    with_dispatch = dice.random() < 0.7
    lines = [
        "dispatch_name,invocation_id,action_id,timestamp_us,event"
        if with_dispatch
        else "actionIndex,elapsed_time(us),timestamp(us),event,location"
    ]
    now = tick(dice)
    for _ in range(count(dice, 24)):
        now = now + dice.randrange(5) if dice.random() < 0.9 else tick(dice)
        event = dice.choice((*_HOST_EVENTS, _text(dice)))
        for ending in dice.choice(
            (("BEGIN", "END"), ("START", "END"), ("BEGIN",), ("END",), ("",))
        ):
            time = dice.choice((str(now), str(now + 3), number_text(dice)))
            if with_dispatch:
                cells = [
                    dice.choice(("main_dispatch_0", "__HAL_QUEUE_EXECUTE__", _text(dice))),
                    str(dice.choice((0, 0, 1, number(dice)))),
                    str(dice.choice((-1, 0, 1, 2, number(dice)))),
                    time,
                    f"{event}_{ending}",
                ]
            else:
                cells = [str(dice.randrange(4)), number_text(dice), time, f"{event}_{ending}",
                         dice.choice(_LOCATIONS)]  # fmt: skip
            lines.append(",".join(cells))
    return _encoded(lines, dice)


def torq_annotated(dice: Dice) -> bytes:
    """Return a Torq annotated profile of any generation."""
    units = [f"{one}_used_in_program" for one in ("slice_0", "dma_in", "dma_out", "cdma", "css")]
    first = dice.choice((["nss_program_index"], ["action_id", "job_id"]))
    columns = [
        *first, "operation", *some(dice, ("invocation_names", "original_operators",
        "original_operator", "total_time")), *some(dice, units), "timestamp_start", "timestamp_end",
        *some(dice, ("location", "invocation_name", name(dice) or "x")),
    ]  # fmt: skip
    out = io.StringIO()
    table = csv.writer(out, delimiter=";", lineterminator="\n")
    table.writerow(columns)
    for _ in range(count(dice)):
        start = tick(dice)
        row = []
        for column in columns:
            if column.startswith("timestamp"):
                row.append(
                    dice.choice((str(start), str(start + 5), number_text(dice), "", f"{start}.5"))
                )
            elif column.endswith("used_in_program"):
                row.append(dice.choice(("True", "False", "", "1")))
            elif column in ("action_id", "job_id", "nss_program_index"):
                row.append(dice.choice(("0", "1", "1.0", "-1", "", number_text(dice))))
            elif column == "operation":
                row.append(dice.choice(("torq_hl.start_program", "torq_hl.wait_program",
                                        "torq_hl.host_copy", "HAL_CALL", name(dice))))  # fmt: skip
            elif column == "location":
                row.append(dice.choice(_LOCATIONS))
            else:
                row.append(dice.choice(("tosa.conv2d@L11", "a,b", number_text(dice), name(dice))))
        table.writerow(row[: len(row) - dice.choice((0, 0, 0, 1))])
    return _encoded(out.getvalue().split("\n")[:-1], dice)


def torq_compile(dice: Dice) -> bytes:
    """Return a Torq compile profile of any generation."""
    how = dice.randrange(3)
    lines = []
    if how:
        first = "taskId" if how == 2 else "actionIndex"
        lines.append(f"{first}, elapsed_time(us), timestamp(us), event, location, bytes")
    for row in range(1 + count(dice)):
        size = dice.choice(("", "4096", number_text(dice)))
        place = dice.choice(_LOCATIONS)
        if how:
            event = dice.choice(("DMA In", "DMA Out", "Slice 1", "CSS", "CDMA", "NSS", name(dice)))
            cells = [str(row), number_text(dice), number_text(dice), event, place, size]
        else:
            event = dice.choice(("DI0", "DO1", "S1_1", "S2", "CSS0", "CDMA_L2D0", name(dice)))
            kind = dice.choice(("DMA_IN", "conv2d", name(dice)))
            cells = [event, number_text(dice), number_text(dice), place, kind, size]
            cells = cells if dice.random() < 0.5 else cells[:5]
        lines.append(",".join(cells))
    return _encoded(lines, dice)


_TIME_COLUMNS = (
    ("start_us", "dur_us"), ("Start (ns)", "End (ns)"), ("begin [ms]", "Took"), ("ts", "dur"),
    ("Start", "Stop"), ("startUs", "durationMs"), ("time", "x"), ("start_s", "latency_s"),
    ("start_ps", "dur_ps"),
)  # fmt: skip
_WAYS = (
    "{:d}", "{:,}", "{:_}", "{:.3f}", "{:e}", " {:d} ", "{:+d}", "{:d},5", "{:d}.{:d}", "{:d} us",
)  # fmt: skip


def plain_table(dice: Dice) -> bytes:
    """Return a table as people write it: any names, numbers, encoding and packing."""
    start, last = dice.choice(_TIME_COLUMNS)
    columns = [
        start,
        last,
        *some(dice, ("name", "op", "pid", "thread", "core", "identifier", "depth", "method", "",
                     "note", "dur_us", name(dice)), 0.4),
    ]  # fmt: skip
    if dice.random() < 0.5:
        dice.shuffle(columns)
    separator = dice.choice(",,;\t|")
    lines = some(dice, ("# by hand", "sep=;", "", "#" + separator.join(columns)), 0.15)
    lines.append(separator.join(columns))
    if dice.random() < 0.1:
        lines.append(separator.join(dice.choice(("us", "", "[ms]", "text")) for _ in columns))
    way = dice.choice(_WAYS)
    for row in range(count(dice, 20)):
        cells = []
        for column in columns:
            if column in (start, last) and dice.random() < 0.95:
                value = row * 1000 + dice.randrange(900) if dice.random() < 0.9 else tick(dice)
                cell = way.format(value, dice.randrange(10**6))
            else:
                cell = dice.choice((number_text(dice), _text(dice), "[NULL]", "nan"))
            cells.append(f'"{cell}"' if separator in cell or dice.random() < 0.05 else cell)
        lines.append(separator.join(cells[: len(cells) - dice.choice((0,) * 12 + (1,))]))
        lines += some(dice, ("", "# note", " "), 0.03)
    text = dice.choice(("\n", "\n", "\r\n", "\r")).join(lines) + dice.choice(("\n", ""))
    encoding = dice.choice(("utf-8",) * 4 + ("utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"))
    data = text.encode(encoding, "replace")
    packing = dice.random()
    if packing < 0.08:
        return gzip.compress(data, 1, mtime=0)
    if packing < 0.16:
        out = io.BytesIO()
        with zipfile.ZipFile(
            out, "w", dice.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED))
        ) as z:
            for number in range(dice.choice((1, 1, 1, 2, 0))):
                z.writestr(zipfile.ZipInfo(f"{number}.csv"), data)
        return out.getvalue()
    return data


def json_table(dice: Dice) -> bytes:
    """Return objects of JSON with the columns of a plain table, in a list or one on each line."""
    start, last = dice.choice(_TIME_COLUMNS)
    keys = [start, last, "name", *some(dice, ("op", "pid", "thread", "args", "", name(dice)), 0.4)]
    rows = []
    for row in range(count(dice, 20)):
        times = {
            key: dice.choice(
                (row * 1000 + 7, row + 0.125, str(row), tick(dice), None, number(dice))
            )
            for key in (start, last)
        }
        others = {
            key: dice.choice((_text(dice), 5, None, [1], {"a": 1.5}, *HOSTILE)) for key in keys
        }
        rows.append(dice.choice((5, None, {})) if dice.random() < 0.03 else {**others, **times})
    if dice.random() < 0.3:
        return _encoded([json.dumps(row) for row in rows], dice)
    tree = dice.choice((rows, {"nodes": rows}, {"a": {"b": [rows, rows]}}, [rows, {"x": rows}]))
    return json.dumps(tree, indent=dice.choice((None, 1))).encode("utf-8", "surrogatepass")


def table(dice: Dice) -> bytes:
    """Return a profile CSV, separated by commas, tabs or semicolons, or another table."""
    if dice.random() < 0.6:
        return plain_table(dice)
    columns = [
        "process", "thread", "name", "start_ns", "dur_ns",
        *some(dice, ("depth", "method", "instruction_id", "identifier", "derived", "timing",
                     "inference", "source", "module", "core", "load", name(dice)), 0.25),
    ]  # fmt: skip
    if dice.random() < 0.2:
        dice.shuffle(columns)
    out = io.StringIO()
    writer = csv.writer(
        out, delimiter=dice.choice(",,\t;"), lineterminator=dice.choice(("\n", "\n", "\r\n"))
    )
    writer.writerow(columns)
    for _ in range(count(dice, 20)):
        values = {
            "process": dice.choice(("p", "p", "q", name(dice))),
            "thread": dice.choice(("main", "main", "t2", name(dice))),
            "name": name(dice),
            "start_ns": number_text(dice),
            "dur_ns": dice.choice((str(dice.randrange(60)), number_text(dice))),
            "depth": dice.choice(("0", "1", "2", "", "600", number_text(dice))),
            "derived": dice.choice(("true", "false", "", "True")),
            "timing": dice.choice(("", "placed", "rounded, derived", "estimated", name(dice))),
            "inference": dice.choice(("", "1", "2", number_text(dice))),
            "instruction_id": number_text(dice),
        }
        row = [
            values.get(column) or dice.choice((number_text(dice), name(dice))) for column in columns
        ]
        writer.writerow(row[: len(row) - dice.choice((0,) * 9 + (1,))])
    return out.getvalue().encode("utf-8", "surrogatepass")


def mlir(dice: Dice) -> bytes:
    """Return MLIR text: functions, operations, regions, types, attributes and locations."""
    lines = ["// RUN: x"] if dice.random() < 0.1 else []
    lines += [f"#loc{i} = {dice.choice(_LOCATIONS)}" for i in range(count(dice, 3))]
    lines.append(
        dice.choice(("module {", "module @m attributes {a = 1 : i32} {", "builtin.module {"))
    )
    for function in range(1 + count(dice, 2)):
        lines.append(f"  func.func @f{function}(%arg0: {_type(dice)}) -> {_type(dice)} {{")
        _operations(lines, dice, 0)
        lines.append(f"    return %0 : {_type(dice)}")
        lines.append("  }")
    lines.append("}")
    if dice.random() < 0.2:
        del lines[dice.randrange(len(lines))]
    return _encoded(lines, dice)


def _operations(lines: list[str], dice: Dice, depth: int) -> None:
    for _ in range(1 + count(dice)):
        result, operand = f"%{dice.randrange(4)}", dice.choice(("%arg0", "%0", "%1#1", "%x"))
        of = dice.choice(("tosa.add", "tosa.conv2d", "torq_hl.slice", "arith.constant", "scf.if"))
        attributes = dice.choice(
            ("", " {a = 1 : i8}", ' {s = "}\\22"}', " {a = [1, [2]], b = #x<y<z>>}",
            " {a = {b = {}}}",
             " {a = dense<1> : " + _type(dice) + "}")
        )  # fmt: skip
        place = dice.choice(("", "", " loc(#loc0)", f" {dice.choice(_LOCATIONS)}"))
        kind = _type(dice)
        if dice.random() < 0.4:
            text = f'{result} = "{of}"({operand}){attributes} : ({kind}) -> {kind}{place}'
        else:
            text = f"{result} = {of} {operand}, {operand}{attributes} : {kind}{place}"
        if depth < 3 and dice.random() < 0.1:
            lines.append(f'    {result} = "scf.if"({operand}) ({{')
            _operations(lines, dice, depth + 1)
            lines.append(f"    }}) : (i1) -> {kind}{place}")
        else:
            lines.append(f"    {text}")


def _type(dice: Dice) -> str:
    sizes = "x".join(str(dice.choice((1, 8, 56, "?", *EDGES))) for _ in range(count(dice, 4)))
    element = dice.choice(
        ("i8", "f32", "!quant.uniform<i8:f32, 0.5>", "complex<f32>", "tensor<2xi8>")
    )
    return dice.choice((f"tensor<{sizes}x{element}>", f"memref<{sizes}x{element}>", "index", "()"))

"""Files whose names and texts are formulas, terminal escapes, HTML and direction overrides."""

from __future__ import annotations

import json
from pathlib import Path

from tests.builders.etdump_writer import Run, write_dump
from tests.builders.record_cases import made, node

# Never shown as they are by a terminal, a spreadsheet or the window.
TEXTS = (
    "=cmd|' /C calc'!A0",
    "+1+1",
    "-2+3",
    "@SUM(1)",
    "\t=1",
    " =1+1",
    "\r=1",
    "＝1",
    '=HYPERLINK("http://example.org/?"&A1)',
    "\x1b]0;title\x07",
    "\x1b[2J\x1b[H",
    "\x9b31m",
    "\x08\x08",
    "a\u202etxt.exe",
    "a\u2066b",
    "a\x00b",
    "line\nline",
    "line\r\nline",
    "<b>bold</b>",
    "<img src='file:///etc/passwd'>",
    "<a href='http://example.org'>x</a>",
    "<script>alert(1)</script>",
    "&lt;b&gt;",
    "]]><svg onload='x'/>",
    '" onload="x',
    "%s%n",
    "{0.__class__}",
)
MARK = "<b>bold</b>"


def write_files(folder: Path) -> list[Path]:
    """Write a hostile file of several formats, with hostile names too."""
    chrome = folder / "\x1b[31m=a<b>b<b>.json"
    events = [
        {
            "ph": "X",
            "name": text,
            "cat": text,
            "pid": number % 3,
            "tid": text,
            "ts": 10 * number,
            "dur": 5,
            "args": {text: text},
        }
        for number, text in enumerate(TEXTS)
    ]
    events += [
        {"ph": "M", "name": kind, "pid": number % 3, "tid": text, "args": {"name": text}}
        for number, text in enumerate(TEXTS)
        for kind in ("process_name", "thread_name")
    ]
    chrome.write_text(json.dumps({"traceEvents": events}))
    table = folder / "=1+1.csv"
    rows = "".join(
        f'"{text.replace(chr(34), chr(34) * 2)}",{10 * number},{10 * number + 5}\n'
        for number, text in enumerate(TEXTS)
        if "\0" not in text
    )
    table.write_text(f"name,start,end\n{rows}", newline="")
    dump = folder / "-dump\u202e.etdp"
    times = [
        {
            "name": text,
            "chain": 0,
            "instruction": number,
            "start": 100 * number,
            "end": 100 * number + 50,
            "text": text,
        }
        for number, text in enumerate(TEXTS, 1)
    ]
    execute = {"name": "Method::execute", "chain": -1, "instruction": 0, "start": 0, "end": 100_000}
    write_dump(dump, [Run(text, [execute, *times]) for text in TEXTS[:3]])
    record = made(
        folder, node(stack_trace=f'File "{TEXTS[0]}", line 1\n  {MARK}', nn_module_stack=MARK)
    )
    return [chrome, table, dump, record]

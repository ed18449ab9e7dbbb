"""What commands print and export of hostile files: no terminal escape, no formula, no script."""

from __future__ import annotations

import contextlib
import csv
import io
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from xml.dom import minidom
from xml.parsers.expat import ExpatError

from tests.reliability.campaign import Finding, Options, Outcome
from tests.reliability.security.hostile import write_files

# What a terminal acts on. Tabs and line ends may be printed.
_ESCAPE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
_FORMULA = re.compile(r"[\s\u200b-\u200f\u2060\ufeff]*[=+\-@\t\r＝＋－＠]")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_ACTIVE = ("script", "foreignObject", "image", "iframe", "use", "a", "animate", "set")

COMMANDS: tuple[tuple[str, ...], ...] = (
    ("info",),
    ("info", "--json"),
    ("stats", "--by", "name"),
    ("stats", "--by", "name", "--json"),
    ("stats", "--by", "thread"),
    ("calls",),
    ("calls", "--json"),
    ("calls", "--folded"),
    ("calls", "--bottom-up"),
    ("delegation",),
    ("delegation", "--json"),
    ("findings",),
    ("findings", "--json"),
    ("estimates",),
    ("estimates", "--json"),
)
EXPORTS: tuple[tuple[str, ...], ...] = (
    *(
        ("export", "--table", table, "-o", f"{{}}.{table}.{suffix}")
        for table in ("slices", "operators", "statistics", "untimed", "handle_map")
        for suffix in ("csv", "tsv")
    ),
    ("export", "-o", "{}.pftrace"),
    ("calls", "--svg", "{}.svg"),
    ("calls", "--folded", "-o", "{}.txt"),
    ("calls", "-o", "{}.tree.txt"),
    ("screenshot", "-o", "{}.window.svg"),
)


def check(options: Options) -> Outcome:
    """Run every command on hostile files, in this process."""
    findings: list[Finding] = []
    count = 0
    with tempfile.TemporaryDirectory(prefix="opscope-reliability-") as name:
        folder = Path(name)
        (folder / "in").mkdir()
        (folder / "out").mkdir()
        files = write_files(folder / "in")
        missing = folder / "in" / "\x1b[31mmissing\u202e\n.csv"
        inputs = [[str(one)] for one in (*files, missing)] + [[str(one) for one in files]]
        for number, given in enumerate(inputs):
            for command in (*COMMANDS, *EXPORTS):
                output = str(folder / "out" / str(number))
                line = [part.replace("{}", output) for part in (*command, *given)]
                if command[0] == "screenshot" and number not in (0, len(inputs) - 1):
                    continue
                count += 1
                findings += _run(line)
        dump = str(files[2])
        for line in (
            ["inspect", "--etdump_path", dump],
            ["info", "--nonsense\x1b[31m"],
            ["stats", dump, "--by", "\x1b[31m"],
            ["export", dump, "-o", "\x1b[31m"],
        ):
            count += 1
            findings += _run(line)
        written = sorted((folder / "out").iterdir())
        for path in written:
            findings += [Finding(f"{path.name}: {fault}") for fault in faults_of(path)]
    unique = {one.what: one for one in findings}
    return Outcome(count, tuple(unique.values()), f"{len(written)} files written")


def _run(line: list[str]) -> Iterator[Finding]:
    from viewer.cli import main

    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code = main(line)
        except SystemExit as stopped:
            code = stopped.code
        except Exception as error:
            yield Finding(f"opscope {line[0]}: {error!r}", repr(line))
            return
    shown = " ".join(line[:3])
    if code not in (0, 1, 2):
        yield Finding(f"opscope {shown}: exit code {code}")
    for stream, text in (("stdout", out.getvalue()), ("stderr", err.getvalue())):
        found = _ESCAPE.search(text)
        if found:
            context = text[max(found.start() - 40, 0) : found.end() + 40]
            yield Finding(f"opscope {line[0]}: {stream} has {found[0]!r}: {context!r}", repr(line))
        if "internal error" in text or "Traceback" in text:
            yield Finding(f"opscope {line[0]}: {text[-300:]}", repr(line))


def faults_of(path: Path) -> list[str]:
    """What a spreadsheet, a browser or a terminal would run in a written file."""
    if path.suffix in (".csv", ".tsv"):
        with open(path, newline="", encoding="utf-8") as file:
            rows = csv.reader(file, delimiter="\t" if path.suffix == ".tsv" else ",")
            cells = {cell for row in rows for cell in row}
        return [f"formula {cell!r}" for cell in sorted(cells) if is_formula(cell)]
    if path.suffix == ".svg":
        text = path.read_text(encoding="utf-8")
        return [f"SVG: {fault}" for fault in svg_faults(text)]
    if path.suffix == ".txt":
        found = _ESCAPE.search(path.read_text(encoding="utf-8"))
        return [f"escape {found[0]!r}"] if found else []
    return []


def is_formula(cell: str) -> bool:
    """Whether a spreadsheet would run a cell."""
    return bool(_FORMULA.match(cell)) and not _NUMBER.fullmatch(cell)


def svg_faults(text: str) -> list[str]:
    """Active elements and attributes of a picture; it is our own file, so parsing it is safe."""
    try:
        picture = minidom.parseString(text.encode())
    except ExpatError as error:
        return [f"not well-formed: {error}: {text.splitlines()[error.lineno - 1][:200]!r}"]
    faults = []
    for element in picture.getElementsByTagName("*"):
        is_raster = element.getAttribute("xlink:href").startswith("data:image/png;")
        if element.tagName.rpartition(":")[2] in _ACTIVE and not is_raster:
            faults.append(f"element {element.tagName}")
        for name, value in element.attributes.items():
            if name.lower().startswith("on") or "javascript:" in value.lower():
                faults.append(f"attribute {name}={value[:40]!r}")
    return faults

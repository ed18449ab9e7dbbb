"""Makes pages of the help: the Python API from docstrings, and the columns of all tables.

api_reference.py    writes resources/help/api.md, and the tables in python.md and fleets.md there

Docstrings are in Google style: a summary, paragraphs, and the sections of `SECTIONS`. The page is
part of the source, because the help window and the README show it without a build; a test compares
it with what this module makes.
"""

from __future__ import annotations

import enum
import importlib
import inspect
import re
import sys
import textwrap
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, is_dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from application import ROOT

PAGE = ROOT / "resources" / "help" / "api.md"
_SECTION = re.compile(r"^### (\w+)\n.*?(?=^##|\Z)", re.M | re.S)
_ROWS = re.compile(r"(?<=^\|---\|---\|---\|---\|\n)(?:^\|.*\n)+", re.M)
SECTIONS = ("Args", "Attributes", "Returns", "Raises", "Source")
_ENTRIES = ("Args", "Attributes", "Raises")
_ENTRY = re.compile(r"(\w+): (.+)")
_WIDTH = 88

_INTRODUCTION = (
    "# Python API\n",
    "Lists what is public in the package `viewer`: functions and classes with their arguments, "
    "results and errors.\n",
    "[From Python](python.md) shows how to use the tables and has all of their columns. Everything "
    "that is not on this page can change at any time. Names on it change only with a release that "
    "says so: a name that is replaced still works for one release, with a warning. The number "
    "`viewer.SCHEMA` is raised if the meaning of a column or of a key of `--json` changes; new "
    "columns and keys leave it.\n",
    "Times are whole ns, or ticks of the file, never float seconds. Importing these modules loads "
    "no Qt. `NothingToExport` is in `viewer.codecs.atomic_file`.\n",
)

# What is public, in the order of the page: a module, what it is for, and its names.
PUBLIC: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("viewer", "Open and compare profiles.",
     ("open", "Profile", "compare", "ComparedProfiles", "lake", "UnreadableFile")),
    ("viewer.api.frames", "What methods of a profile return that is more than one table.",
     ("Answer",)),
    ("viewer.api.outputs", "What `Profile.plot` returns.", ("Picture",)),
    ("viewer.fleet.profile_lake", "What `viewer.lake` returns, and its errors.",
     ("ProfileLake", "UnusableLake", "WrongQuery", "NoDuckDB")),
    ("viewer.record", "For delegates, simulators and runtimes in Python. [Delegates](delegates.md) "
     "has examples.",
     ("EventTracer", "EventTracerEntry", "DelegateMappingBuilder", "DelegateInstance",
      "write_debug_handle_map")),
    ("viewer.formats", "For authors of formats and parsers, and to read single files.",
     ("open_file", "formats", "choose", "format_of", "head_of", "Format", "FileTooLarge",
      "ReadCancelled", "no_progress", "never_cancelled", "register_metadata_parser",
      "unregister_metadata_parser")),
    ("viewer.model.building.builder", "The only way to make a trace; every format uses it.",
     ("TraceBuilder",)),
    ("viewer.compat.perfetto_logger", "Replaces Torq's module. [Migrating](migrating.md) has "
     "examples.",
     ("TimeChartView", "TimeChartLog", "csv_to_view_compile_profile",
      "csv_to_view_runtime_profile", "convert_to_perfetto", "main")),
    ("viewer.compat.inspector_cli", "Replaces ExecuTorch's command line.", ("run",)),
    ("viewer.cli", "The command `opscope`.", ("main",)),
)  # fmt: skip

# Names of these modules that are no function or class, with what they are.
VALUES = {
    "viewer": {
        "SCHEMA": "the version of the columns of tables and of the keys of `--json`",
    },
    "viewer.formats": {
        "HEAD_SIZE": "the number of bytes that `sniff` gets, 4096",
        "Progress": "a function of the bytes or rows that were read, and of all of them",
        "Cancelled": "a function without arguments that returns whether to stop",
        "TraceBuilder": "makes a trace, `viewer.model.building.builder.TraceBuilder`",
        "UnreadableFile": "the only error of readers, `viewer.UnreadableFile`",
    },
    "viewer.compat.perfetto_logger": {
        "TYPE_SLICE_BEGIN": "for `set_track_event`: a slice starts",
        "TYPE_SLICE_END": "for `set_track_event`: a slice ends",
    },
}


@dataclass(slots=True)
class Docstring:
    """The parts of a docstring in Google style; sections that it lacks are absent."""

    text: list[str] = field(default_factory=list)  # paragraphs, the summary first
    entries: dict[str, dict[str, str]] = field(default_factory=dict)
    prose: dict[str, str] = field(default_factory=dict)


def parsed(docstring: str) -> Docstring:
    """Return the parts of a docstring. Raises ValueError for a line that fits none."""
    found = Docstring()
    section = ""
    for block in inspect.cleandoc(docstring).split("\n\n"):
        lines = block.splitlines()
        if lines[0] in (f"{name}:" for name in SECTIONS):
            section = lines.pop(0)[:-1]
            body = textwrap.dedent("\n".join(lines))
            if section in _ENTRIES:
                found.entries[section] = _entries(body)
            else:
                found.prose[section] = " ".join(body.split())
        elif section:
            raise ValueError(f"a paragraph after the section {section}: {lines[0]}")
        else:
            found.text.append(block if "::" in block else " ".join(block.split()))
    return found


def _entries(body: str) -> dict[str, str]:
    """Return the entries of a section: a name, a colon, and indented lines that go on."""
    entries = dict[str, str]()
    name = ""
    for line in body.splitlines():
        match = _ENTRY.match(line)
        if not line.startswith(" ") and match:
            name = match[1]
            entries[name] = match[2]
        elif line.startswith(" ") and name:
            entries[name] += f" {line.strip()}"
        else:
            raise ValueError(f'no entry "name: meaning": {line}')
    return entries


@dataclass(frozen=True, slots=True)
class Documented:
    """A public function, method, property or class: its name on the page, and itself."""

    name: str
    item: Any

    @property
    def docstring(self) -> Docstring:
        return parsed(inspect.getdoc(self.item) or "")

    @property
    def is_class(self) -> bool:
        return inspect.isclass(self.item)

    @property
    def is_property(self) -> bool:
        return isinstance(self.item, property | cached_property)

    @property
    def function(self) -> Callable[..., Any]:
        """What has the signature: a function itself, or that of a property."""
        if isinstance(self.item, property):
            return self.item.fget
        return self.item.func if isinstance(self.item, cached_property) else self.item

    def parameters(self) -> list[inspect.Parameter]:
        """Return the parameters that a caller gives."""
        given = inspect.signature(self.function).parameters.values()
        return [parameter for parameter in given if parameter.name != "self"]

    @property
    def result(self) -> str:
        """The type of the result, "None" if there is none."""
        return str(inspect.signature(self.function).return_annotation)


def documented() -> Iterator[tuple[str, list[Documented]]]:
    """Yield each module with all that is public in it, members after their class."""
    for module, _, names in PUBLIC:
        found = []
        for name in names:
            item = getattr(importlib.import_module(module), name)
            found.append(Documented(name, item))
            if inspect.isclass(item):
                found += members(name, item)
        yield module, found


def members(name: str, owner: type) -> Iterator[Documented]:
    """Yield the constructor of a class if it has a docstring of its own, and its public members."""
    constructor = vars(owner).get("__init__")
    if constructor is not None and constructor.__doc__ and not is_dataclass(owner):
        yield Documented(f"{name}.__init__", constructor)
    for base in (each for each in owner.__mro__ if each.__module__.startswith("viewer.")):
        for key, item in vars(base).items():
            if not key.startswith("_") and (
                inspect.isfunction(item) or isinstance(item, property | cached_property)
            ):
                yield Documented(f"{name}.{key}", item)


def page() -> str:
    """Return the text of the page."""
    parts = list(_INTRODUCTION)
    purposes = {module: purpose for module, purpose, _ in PUBLIC}
    for module, items in documented():
        parts.append(f"## {module}\n\n{purposes[module]}\n")
        values = VALUES.get(module, {})
        if values:
            parts.append("".join(f"- `{name}`: {text}\n" for name, text in values.items()))
        parts += _parts(module, items)
    return "\n".join(parts)


def _parts(module: str, items: list[Documented]) -> Iterator[str]:
    """Yield the text of each item; properties follow their class and its constructor."""
    properties = [item for item in items if item.is_property]
    others = [item for item in items if not item.is_property]
    for item, following in zip(others, [*others[1:], None], strict=True):
        yield _described(module, item)
        owner = item.name.removesuffix(".__init__")
        is_head = item.is_class or item.name != owner
        if is_head and (following is None or following.name != f"{owner}.__init__"):
            own = [each for each in properties if each.name.startswith(f"{owner}.")]
            if own:
                yield "Properties:\n"
                yield "".join(map(_property, own))


def _described(module: str, item: Documented) -> str:
    docstring = item.docstring
    owner, _, member = item.name.rpartition(".")
    shown = owner if member == "__init__" else item.name
    level = "####" if owner and member != "__init__" else "###"
    blocks = []
    if member != "__init__":
        title = item.name if owner else f"{module}.{item.name}"
        blocks.append(f"{level} {title}")
    if not item.is_class:
        blocks.append(f"```python\n{_signature(shown, item)}\n```")
    blocks += docstring.text
    for section in ("Args", "Attributes"):
        if section in docstring.entries:
            entries = docstring.entries[section].items()
            blocks.append("\n".join(f"- `{name}`: {text}" for name, text in entries))
    if "Returns" in docstring.prose:
        blocks.append(f"**Returns:** {docstring.prose['Returns']}")
    if "Raises" in docstring.entries:
        entries = docstring.entries["Raises"].items()
        blocks.append("**Raises:**")
        blocks.append("\n".join(f"- `{name}`: {text}" for name, text in entries))
    if "Source" in docstring.prose:
        blocks.append(f"**Source:** {docstring.prose['Source']}")
    return "\n\n".join(blocks) + "\n"


def _property(item: Documented) -> str:
    name = item.name.rpartition(".")[2]
    kind = item.result.rpartition(".")[2] if "[" not in item.result else item.result
    return f"- `{name}` (`{kind}`): {' '.join(item.docstring.text)}\n"


def _signature(name: str, item: Documented) -> str:
    """Return a call with types and defaults, on one line if it fits."""
    texts = []
    keyword_only = False
    for parameter in item.parameters():
        if parameter.kind is parameter.KEYWORD_ONLY and not keyword_only:
            keyword_only = True
            if not any(each.startswith("*") for each in texts):
                texts.append("*")
        star = "*" if parameter.kind is parameter.VAR_POSITIONAL else ""
        text = f"{star}{parameter.name}: {parameter.annotation}"
        if parameter.default is not parameter.empty:
            text += f" = {_default(parameter.default)}"
        texts.append(text)
    result = "" if name == item.name.removesuffix(".__init__") != item.name else item.result
    end = f" -> {result}" if result else ""
    line = f"{name}({', '.join(texts)}){end}"
    if len(line) <= _WIDTH:
        return line
    return "\n".join([f"{name}(", *(f"    {text}," for text in texts), f"){end}"])


def _default(value: object) -> str:
    if isinstance(value, enum.Enum):
        return f"{type(value).__name__}.{value.name}"
    if callable(value):
        name = getattr(value, "__name__", "...")
        return "..." if name == "<lambda>" else name
    return f'"{value}"' if isinstance(value, str) else repr(value)


def tables_page(text: str, tables: Mapping[str, Any]) -> str:
    """Return a page with the columns that tables have, each table under a heading with its name."""
    from viewer.fleet.schemas import lake_type

    def row(column: Any, table: Any) -> str:
        kind = lake_type(column) if hasattr(table, "schema") else column.dtype
        return f"| `{column.name}` | {kind} | {column.unit} | {column.meaning} |\n"

    def section(match: re.Match[str]) -> str:
        table = tables.get(match[1])
        rows = "".join(row(column, table) for column in table.columns) if table else ""
        return _ROWS.sub(lambda _: rows, match[0], count=1) if rows else match[0]

    return _SECTION.sub(section, text)


def pages() -> dict[Path, str]:
    """Return all pages: path -> text."""
    from viewer.fleet.schemas import TABLES as LAKE
    from viewer.tables.catalog import ANSWERS, TABLES

    of_tables = {PAGE.with_name("python.md"): TABLES | ANSWERS, PAGE.with_name("fleets.md"): LAKE}
    texts = {path: path.read_text(encoding="utf-8") for path in of_tables}
    return {PAGE: page()} | {
        path: tables_page(texts[path], tables) for path, tables in of_tables.items()
    }


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    for path, text in pages().items():
        path.write_text(text, encoding="utf-8")

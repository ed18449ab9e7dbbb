"""Reads the Torq annotated profile that was saved as a workbook (.xlsx).

torq.performance and annotate_profiling.py write the rows of the CSV (`annotated_csv`) in a sheet
"Detailed Performance Data", under titles for people (`python/torq/performance.py`,
`_HUMAN_FRIENDLY_COLUMNS`). A workbook is a ZIP archive of XML (ECMA-376, SpreadsheetML). Only
texts, numbers and truth values are read, by their places. The parser is expat, which reads piece by
piece; a document type, without which there are no entities, is refused.
"""

from __future__ import annotations

import re
import zipfile
from collections.abc import Callable, Iterator
from contextlib import closing
from decimal import Decimal, InvalidOperation
from xml.parsers import expat

from viewer.codecs.memory_budget import allowance
from viewer.codecs.reading import Cancelled, Progress, UnreadableFile
from viewer.codecs.unpacking import UnpackedMember
from viewer.formats import format_of
from viewer.formats.executorch.etrecord.archive import DAMAGED
from viewer.formats.torq import annotated_csv
from viewer.formats.torq.host_csv import CLOCK as HOST_CLOCK
from viewer.model.building.builder import TraceBuilder
from viewer.model.trace import Trace

_PIECE = 1 << 16
_COLUMN = re.compile(r"([A-Z]{1,3})[0-9]{1,7}")
MOST_COLUMNS = 256
# Rows of a sheet, as spreadsheet programs have.
_MOST_ROWS = 1 << 20
# A text of a cell, longer than any that a spreadsheet program accepts.
_LONGEST = 1 << 16
# Sheets of equal rows compress 1:60. Parsing takes a hundred times as long as unpacking: so more is
# refused earlier than elsewhere. Bytes of XML that may come of any packed size.
_MOST_RATIO, _ALWAYS = 150, 1 << 20
_TEXT_MEMORY = 120  # bytes of a text besides its letters


class NoSheet(ValueError):
    """The workbook is not readable as one, or has no such sheet; the text says which."""


def rows_of_sheet(archive: zipfile.ZipFile, title: str) -> Iterator[list[str]]:
    """The rows of the sheet with a title, each with its cells as text, "" for an empty one.

    Line ends in cells are spaces. Raises NoSheet, UnreadableFile, and what `zipfile` raises for a
    damaged archive.
    """
    names = set(archive.namelist())
    place = _place(archive, names, title)
    sheet = _Sheet(_shared(archive, names))
    with _opened(archive, place) as file:
        for _ in _parsed(file, sheet.start, sheet.end, sheet.text):
            # As if the cells were written out, since the operators of a slice are joined.
            allowance().take_unpacked(sheet.size)
            yield from sheet.rows
            sheet.rows.clear()
    yield from sheet.rows


def _place(archive: zipfile.ZipFile, names: set[str], title: str) -> str:
    """The member with the sheet of a title."""
    if "xl/workbook.xml" not in names:
        raise NoSheet("it is no workbook")
    sheets: dict[str, str] = {}
    targets: dict[str, str] = {}

    def sheet(name: str, values: dict[str, str]) -> None:
        if name == "sheet":
            number = next((v for k, v in values.items() if k.rpartition(":")[2] == "id"), "")
            sheets[values.get("name", "")] = number

    def relation(name: str, values: dict[str, str]) -> None:
        if name == "Relationship":
            targets[values.get("Id", "")] = values.get("Target", "")

    _read(archive, "xl/workbook.xml", sheet)
    if title not in sheets:
        sheet_names = ", ".join(list(sheets)[:4]) or "none"
        raise NoSheet(f'it has no sheet "{title}" (it has: {sheet_names[:200]})')
    if "xl/_rels/workbook.xml.rels" in names:
        _read(archive, "xl/_rels/workbook.xml.rels", relation)
    target = targets.get(sheets[title], "worksheets/sheet1.xml").lstrip("/").removeprefix("xl/")
    if f"xl/{target}" not in names:
        raise NoSheet(f'the sheet "{title}" is missing in it')
    return f"xl/{target}"


def _opened(archive: zipfile.ZipFile, member: str) -> UnpackedMember:
    return UnpackedMember(archive, archive.getinfo(member), f"{member} in it", _MOST_RATIO, _ALWAYS)


def _read(archive: zipfile.ZipFile, member: str, start: Callable[..., None]) -> None:
    with _opened(archive, member) as file:
        for _ in _parsed(file, start, lambda name: None, lambda text: None):
            pass


def _shared(archive: zipfile.ZipFile, names: set[str]) -> list[str]:
    """The texts that cells refer to by number."""
    texts: list[str] = []
    if "xl/sharedStrings.xml" not in names:
        return texts
    parts: list[str] = []
    size = 0
    is_text = False

    def start(name: str, values: dict[str, str]) -> None:
        nonlocal is_text
        is_text = name == "t"
        if name == "si":
            parts.clear()

    def end(name: str) -> None:
        nonlocal is_text, size
        is_text = False
        if name == "si":
            texts.append(_in_a_line("".join(parts)))
            size += len(texts[-1]) + _TEXT_MEMORY

    def text(piece: str) -> None:
        if is_text:
            parts.append(piece)

    with _opened(archive, "xl/sharedStrings.xml") as file:
        for _ in _parsed(file, start, end, text):
            allowance().take(size)
    return texts


class _Sheet:
    """The handlers of a sheet; `rows` has those that are complete."""

    def __init__(self, texts: list[str]) -> None:
        self.rows: list[list[str]] = []
        self.size = 0  # of the texts of all cells
        self._count = 0
        self._texts = texts
        self._row: dict[int, str] = {}
        self._column = -1
        self._kind = ""
        self._parts: list[str] = []
        self._is_value = False

    def start(self, name: str, values: dict[str, str]) -> None:
        """An element starts."""
        if name == "row":
            self._row, self._column = {}, -1
        elif name == "c":
            self._kind = values.get("t", "n")
            self._parts.clear()
            match = _COLUMN.fullmatch(values.get("r", ""))
            self._column = _number(match[1]) if match else self._column + 1
        elif name in ("v", "t"):
            self._is_value = True

    def end(self, name: str) -> None:
        """An element ends."""
        if name in ("v", "t"):
            self._is_value = False
        elif name == "c" and self._parts:
            if self._column < MOST_COLUMNS:
                cell = self._cell("".join(self._parts))
                self._row[self._column] = cell
                self.size += len(cell)
            self._parts.clear()
        elif name == "row":
            row = self._row
            self.rows.append([row.get(column, "") for column in range(max(row) + 1)] if row else [])
            self._count += 1
            if self._count > _MOST_ROWS:
                raise NoSheet(f"it has more than {_MOST_ROWS:,} rows")

    def text(self, piece: str) -> None:
        """Text of an element."""
        if self._is_value:
            self._parts.append(piece)

    def _cell(self, value: str) -> str:
        if self._kind == "s":
            is_known = value.isdecimal() and len(value) < 10 and int(value) < len(self._texts)
            return self._texts[int(value)] if is_known else ""
        if self._kind == "b":
            return "True" if value.strip() == "1" else "False"
        return number_text(value) if self._kind == "n" else _in_a_line(value)


def _in_a_line(text: str) -> str:
    """A text of a cell without line ends, cut where no spreadsheet program writes on."""
    return text[:_LONGEST].replace("\r", " ").replace("\n", " ")


def number_text(value: str) -> str:
    """A number without an exponent and without a fraction of zeros; other text as it is."""
    try:
        number = Decimal(value.strip())
    except InvalidOperation:
        return value
    if not number.is_finite() or not -40 < number.adjusted() < 40:
        return value
    text = f"{number:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _number(letters: str) -> int:
    """The place of a column: A is 0, AA is 26."""
    number = 0
    for letter in letters:
        number = number * 26 + ord(letter) - ord("A") + 1
    return number - 1


def _parsed(
    file: UnpackedMember,
    start: Callable[[str, dict[str, str]], None],
    end: Callable[[str], None],
    text: Callable[[str], None],
) -> Iterator[None]:
    """Parse a file piece by piece; names are without their namespaces. Raises NoSheet."""
    parser = expat.ParserCreate()

    def refuse(*_: object) -> None:
        raise NoSheet("its XML has a document type, which no workbook has")

    parser.StartDoctypeDeclHandler = refuse
    parser.EntityDeclHandler = refuse
    parser.StartElementHandler = lambda name, values: start(
        name.rpartition(":")[2] if ":" in name else name, values
    )
    parser.EndElementHandler = lambda name: end(name.rpartition(":")[2] if ":" in name else name)
    parser.CharacterDataHandler = text
    try:
        while piece := file.read(_PIECE):
            parser.Parse(piece, False)
            yield
        parser.Parse(b"", True)
    except expat.ExpatError as error:
        raise NoSheet(f"its XML is damaged ({error})") from error


SHEET = "Detailed Performance Data"
_COLUMNS = {
    "Action ID": "action_id",
    "Job ID": "job_id",
    "Action in program": "operation",
    "torq-hw Operation in program": "operation",
    "Invocation Name (if applicable)": "invocation_name",
    "Slice Invocation Names (if applicable)": "invocation_names",
    "Original Operator": "original_operator",
    "Original Operators": "original_operators",
    "Total Time [us]": "total_time",
    "Slice ID (if applicable)": "slice_id",
    "Slice 0 Used in NSS Program": "slice_used_0_in_program",
    "Slice 1 Used in NSS Program": "slice_used_1_in_program",
    "DMA In Used in NSS Program": "dma_in_used_in_program",
    "DMA Out Used in NSS Program": "dma_out_used_in_program",
    "CDMA Used in CSS Program": "cdma_used_in_program",
    "CSS Used in CSS Program": "css_used_in_program",
    "Timestamp Start": "timestamp_start",
    "Timestamp Start [us]": "timestamp_start",
    "Timestamp End": "timestamp_end",
    "Timestamp End [us]": "timestamp_end",
    "Location": "location",
    "NSS Program Index": "nss_program_index",
    "NSS Program Start Timestamp [us]": "nss_program_timestamp_start",
    "NSS Program End Timestamp [us]": "nss_program_timestamp_end",
    "NSS Program Total Time [us]": "nss_program_timestamp_total",
}


def sniff(head: bytes) -> bool:
    """Whether it is a ZIP archive that starts as Office documents do."""
    return head.startswith(b"PK\x03\x04") and b"[Content_Types].xml" in head


def read(path: str, progress: Progress, cancelled: Cancelled) -> Trace:
    """The slices of the sheet. Raises UnreadableFile, ReadCancelled."""
    builder = TraceBuilder(path, annotated_csv.FORMAT.name, "", HOST_CLOCK)
    try:
        with closing(zipfile.ZipFile(path)) as archive:
            rows = annotated_csv.SheetRows(_rows(archive), cancelled)
            return annotated_csv.trace_of(path, builder, rows)
    except NoSheet as error:
        raise UnreadableFile(
            path,
            f"this is an Office document, and no annotated profile of Torq: {error}",
            remedy="Save a table as CSV",
        ) from error
    except DAMAGED as error:
        raise UnreadableFile(
            path, f"this Office document is damaged ({error})", remedy="Save it again"
        ) from error
    except UnreadableFile as error:
        raise UnreadableFile(
            path, f"the sheet {SHEET}: {error.reason}", where=error.where, remedy=error.remedy
        ) from error


def _rows(archive: zipfile.ZipFile) -> Iterator[list[str]]:
    """The rows of the sheet, with the header as the CSV has it."""
    rows = rows_of_sheet(archive, SHEET)
    yield [_COLUMNS.get(title.strip(), title) for title in next(rows, [])]
    yield from rows


FORMAT = format_of("torq.annotated_xlsx")

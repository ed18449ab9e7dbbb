"""Workbooks (.xlsx) as xlsxwriter writes them: shared texts, numbers, truth values."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable, Iterable, Sequence
from xml.sax.saxutils import escape

_NS = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
_RELATIONS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
Cell = str | int | float | bool | None


def column(number: int) -> str:
    """The letters of a column."""
    letters = ""
    number += 1
    while number:
        number, rest = divmod(number - 1, 26)
        letters = chr(ord("A") + rest) + letters
    return letters


def workbook(
    rows: Sequence[Sequence[Cell]],
    title: str = "Detailed Performance Data",
    *,
    doctype: str = "",
    inline: bool = False,
) -> bytes:
    """A workbook with one sheet; inline: texts are in the cells."""
    texts: dict[str, int] = {}
    lines = []
    for y, row in enumerate(rows, 1):
        cells = []
        for x, value in enumerate(row):
            place = f'r="{column(x)}{y}"'
            if value is None:
                continue
            if isinstance(value, bool):
                cells.append(f'<c {place} t="b"><v>{int(value)}</v></c>')
            elif isinstance(value, str) and inline:
                cells.append(f'<c {place} t="inlineStr"><is><t>{escape(value)}</t></is></c>')
            elif isinstance(value, str):
                number = texts.setdefault(value, len(texts))
                cells.append(f'<c {place} s="1" t="s"><v>{number}</v></c>')
            else:
                cells.append(f"<c {place}><v>{value:.16G}</v></c>")
        lines.append(f'<row r="{y}">{"".join(cells)}</row>')
    shared = "".join(f"<si><t>{escape(text)}</t></si>" for text in texts)
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("[Content_Types].xml", "<Types/>")
        archive.writestr(
            "xl/workbook.xml",
            f'<workbook {_NS} xmlns:r="{_RELATIONS}"><sheets>'
            f'<sheet name="{escape(title)}" sheetId="1" r:id="rId1"/></sheets></workbook>',
        )
        archive.writestr(
            "xl/_rels/workbook.xml.rels",
            '<Relationships><Relationship Id="rId1" Target="worksheets/sheet1.xml"/>'
            "</Relationships>",
        )
        archive.writestr("xl/sharedStrings.xml", f"<sst {_NS}>{shared}</sst>")
        archive.writestr(
            "xl/worksheets/sheet1.xml",
            f"{doctype}<worksheet {_NS}><sheetData>{''.join(lines)}</sheetData></worksheet>",
        )
    return out.getvalue()


def annotated_workbook(count: int) -> bytes:
    """A workbook that annotate_profiling.py could have written, with `count` slices."""
    titles = (
        "Action ID", "Job ID", "Action in program", "Invocation Name (if applicable)",
        "Original Operator", "Total Time [us]", "Timestamp Start [us]", "Timestamp End [us]",
        "Location",
    )  # fmt: skip
    rows = (
        (i, i % 7, f"op{i % 9}", f"call{i}", "conv", 1.5, 2 * i, 2 * i + 1.5, f"a.mlir:{i}:1")
        for i in range(count)
    )
    return workbook([titles, *rows])


def sheet_of(rows: Callable[[int], Iterable[str]], text: str = "") -> bytes:
    """An annotated workbook with more rows, as XML, which may use one more shared text.

    rows: gets the number of the text.
    """
    with zipfile.ZipFile(io.BytesIO(annotated_workbook(2))) as old:
        members = {name: old.read(name).decode() for name in old.namelist()}
    body, texts = "xl/worksheets/sheet1.xml", "xl/sharedStrings.xml"
    number = members[texts].count("<si>")
    members[texts] = members[texts].replace("</sst>", f"<si><t>{text}</t></si></sst>")
    begin, end = members.pop(body).split("</sheetData>")
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
        with archive.open(body, "w") as member:
            member.write(begin.encode())
            for row in rows(number):
                member.write(row.encode())
            member.write(f"</sheetData>{end}".encode())
    return out.getvalue()

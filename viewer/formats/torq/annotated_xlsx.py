"""Reads the Torq annotated profile that was saved as a workbook (.xlsx).

torq.performance and annotate_profiling.py write it if the name of their output ends in .xlsx: the
rows of the CSV (`annotated_csv`) in a sheet "Detailed Performance Data", under titles for people
(`python/torq/performance.py`, `_HUMAN_FRIENDLY_COLUMNS`). The rows become those of the CSV, which
is then read.
"""

from __future__ import annotations

import csv
import os
import zipfile
from contextlib import closing
from dataclasses import replace

from viewer.codecs.reading import Cancelled, Progress, ReadCancelled, UnreadableFile
from viewer.codecs.temporary_folder import TemporaryFolder
from viewer.formats import format_of
from viewer.formats.executorch.etrecord.archive import DAMAGED
from viewer.formats.torq import annotated_csv
from viewer.formats.torq.workbook_cells import NoSheet, rows_of_sheet
from viewer.model.trace import Trace

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
_ROWS_AT_ONCE = 1000


def sniff(head: bytes) -> bool:
    """Whether it is a ZIP archive that starts as Office documents do."""
    return head.startswith(b"PK\x03\x04") and b"[Content_Types].xml" in head


def read(path: str, progress: Progress, cancelled: Cancelled) -> Trace:
    """The slices of the sheet. Raises UnreadableFile, ReadCancelled."""
    with TemporaryFolder() as folder:
        table = os.path.join(folder, os.path.basename(path) or "profile")
        try:
            with closing(zipfile.ZipFile(path)) as archive:
                _write(archive, table, cancelled)
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
        try:
            trace = annotated_csv.read(table, progress, cancelled)
        except UnreadableFile as error:
            raise UnreadableFile(
                path, f"the sheet {SHEET}: {error.reason}", where=error.where, remedy=error.remedy
            ) from error
    return replace(trace, path=path)


def _write(archive: zipfile.ZipFile, to: str, cancelled: Cancelled) -> None:
    """Write the rows of the sheet as the CSV has them."""
    with open(to, "w", encoding="utf-8", errors="replace", newline="") as file:
        writer = csv.writer(file, delimiter=";", lineterminator="\n")
        width = 0
        for number, row in enumerate(rows_of_sheet(archive, SHEET)):
            if number % _ROWS_AT_ONCE == 0 and cancelled():
                raise ReadCancelled
            if not number:
                row = [_COLUMNS.get(title.strip(), title) for title in row]
                width = len(row)
            # A line end in a cell would be one of the CSV.
            cells = [cell.replace("\r", " ").replace("\n", " ") for cell in row[:width]]
            writer.writerow([*cells, *[""] * (width - len(cells))])


FORMAT = format_of("torq.annotated_xlsx")

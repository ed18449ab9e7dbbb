"""Reads the Torq annotated profile that was saved as a workbook (.xlsx).

torq.performance and annotate_profiling.py write it if the name of their output ends in .xlsx: the
rows of the CSV (`annotated_csv`) in a sheet "Detailed Performance Data", under titles for people
(`python/torq/performance.py`, `_HUMAN_FRIENDLY_COLUMNS`).
"""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from contextlib import closing

from viewer.codecs.reading import Cancelled, Progress, UnreadableFile
from viewer.formats import format_of
from viewer.formats.executorch.etrecord.archive import DAMAGED
from viewer.formats.torq import annotated_csv
from viewer.formats.torq.host_csv import CLOCK as HOST_CLOCK
from viewer.formats.torq.workbook_cells import NoSheet, rows_of_sheet
from viewer.model.building.builder import TraceBuilder
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

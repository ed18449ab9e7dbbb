"""Both answers of `opscope inspect` to an ETDump or an ETRecord: ours, and the official tool's."""

from __future__ import annotations

import io
import json
from contextlib import suppress
from pathlib import Path

from tests.paths import DATA
from tests.reliability.fuzz.kinds import Kind
from viewer.analysis.statistics.events import event_statistics
from viewer.codecs.reading import UnreadableFile
from viewer.compat.inspector import official, official_record
from viewer.compat.inspector.answers import InspectorAnswers
from viewer.compat.inspector.official_record import InspectorError
from viewer.model.trace import Trace
from viewer.workspace.workspace import Workspace

INSPECTED = ("etdump", "etrecord")


def check_inspect(path: Path, kind: Kind) -> None:
    """Write both tables and their JSON; an ETRecord goes with the ETDump of its model."""
    is_dump = kind.name == "etdump"
    dump, record = (path, None) if is_dump else (DATA / kind.partner, path)
    with suppress(UnreadableFile, InspectorError):
        loaded = official_record.read(str(record)) if record else None
        theirs = official.answer(*official.read(str(dump)), loaded)
        list(theirs.sheet(include_metadata=True).grid())
        json.dumps(theirs.as_json())
    with suppress(UnreadableFile):
        workspace = Workspace()
        trace = workspace.open(str(dump))
        if record:
            workspace.open(str(record))
        if isinstance(trace, Trace):
            ours = InspectorAnswers(event_statistics(workspace.links(trace)))
            ours.sheet(include_metadata=True).write_tsv(io.BytesIO())
            json.dumps(ours.as_json())

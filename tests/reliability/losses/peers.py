"""Readers of their own that say how many slices fewer a changed file has by itself.

They are asked only where slices are missing and nothing counts them.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

from perfetto.common.exceptions import PerfettoException

from tests.peers.trace_processor import TraceProcessor

# Phases of the format that are no slices: a changed letter can make one of them.
_OTHER_PHASES = frozenset("CDFINOPRSTVabcefimnpstv(),=")


def nothing(sound: bytes, changed: bytes) -> int:
    """A byte of it costs only what is counted."""
    return 0


def by_json(sound: bytes, changed: bytes) -> int:
    """What Python's json finds; nothing is excused in a text that it refuses."""
    try:
        return max(_events(sound) - _events(changed), 0)
    except ValueError:
        return 0


def _events(data: bytes) -> int:
    content = json.loads(data)
    events = content["traceEvents"] if isinstance(content, dict) else content
    return sum(
        isinstance(event, dict) and event.get("ph") not in _OTHER_PHASES | {"M"} for event in events
    )


def by_trace_processor(sound: bytes, changed: bytes) -> int:
    """What Perfetto's own engine finds; nothing is excused in a file that it refuses."""
    try:
        return max(_slices(sound) - _slices(changed), 0)
    except PerfettoException:
        return 0


def _slices(data: bytes) -> int:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trace.pftrace"
        path.write_bytes(data)
        with TraceProcessor(path) as peer:
            return int(peer.rows("select count(*) from slice")[0][0])

"""Reads profiles of profilers that sample: stacks that they saw, with a weight or a time each.

Each kind is in a module of its own: speedscope, V8's CPU profiles, Firefox profiles, collapsed
stacks. What samples become is in `viewer.formats.samples.stacks`.
"""

from __future__ import annotations

import re

from viewer.codecs.reading import Cancelled, Progress, UnreadableFile
from viewer.codecs.unpacking import inflated_head
from viewer.formats import format_of, head_of
from viewer.formats.samples import collapsed, cpu_profile, firefox, speedscope
from viewer.model.building.builder import TraceBuilder
from viewer.model.trace import Clock, Trace

# A Chrome trace may have CPU profiles of V8 in its events.
_TRACE_EVENTS = re.compile(rb'"(?:traceEvents|ph)"\s*:')
_KINDS = {
    "speedscope": speedscope,
    "V8": cpu_profile,
    "Firefox": firefox,
    "collapsed stacks": collapsed,
}


def sniff(head: bytes) -> bool:
    """Whether it is a file of one of the kinds, compressed or not."""
    return bool(_kind_of(head))


def read(path: str, progress: Progress, cancelled: Cancelled) -> Trace:
    """Read the samples of a file. Raises UnreadableFile and ReadCancelled."""
    kind = _kind_of(head_of(path))
    if not kind:
        raise UnreadableFile(path, "it has changed while it was opened", remedy="Open it again")
    builder = TraceBuilder(path, FORMAT.name, kind, Clock())
    _KINDS[kind].read(builder, progress, cancelled)
    return builder.build()


def _kind_of(head: bytes) -> str:
    data = inflated_head(head) or head
    if _TRACE_EVENTS.search(data) is not None:
        return ""
    return next((kind for kind, module in _KINDS.items() if module.sniff(data)), "")


FORMAT = format_of("samples.reader")

"""Logging for Opscope: used by delegates, simulators and backends written in Python.

Needs neither torch nor executorch, and importing it loads no Qt, numpy or pandas, so that a traced
program does not start more slowly.
"""

from viewer.record.debug_handle_map import (
    DelegateInstance,
    DelegateMappingBuilder,
    write_debug_handle_map,
)
from viewer.record.event_tracer import EventTracer, EventTracerEntry

__all__ = [
    "DelegateInstance",
    "DelegateMappingBuilder",
    "EventTracer",
    "EventTracerEntry",
    "write_debug_handle_map",
]

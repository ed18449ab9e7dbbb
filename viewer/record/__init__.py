"""The logging side: what delegates, simulators and back ends in Python write for Opscope to read.

Needs neither torch nor executorch, and brings neither Qt, numpy nor pandas along, so that a program
that is traced does not start slower.
"""

from viewer.record.debug_handle_map import DelegateMappingBuilder
from viewer.record.debug_handle_map_file import DelegateInstance, write_debug_handle_map
from viewer.record.event_tracer import EventTracer, EventTracerEntry

__all__ = [
    "DelegateInstance",
    "DelegateMappingBuilder",
    "EventTracer",
    "EventTracerEntry",
    "write_debug_handle_map",
]

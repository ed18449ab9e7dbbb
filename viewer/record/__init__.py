"""The logging side: what a delegate, a simulator or a Python back end writes for Opscope to read.

May import model, and export for writing files whole; no Qt. Importing it loads neither numpy nor
pandas, so that a program that is traced does not start slower.
"""

from viewer.record.event_tracer import EventTracer, EventTracerEntry

__all__ = ["EventTracer", "EventTracerEntry"]

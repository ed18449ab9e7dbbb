"""The messages of a Perfetto trace, under the name that scripts of Torq's perfetto_logger import.

They are those of the `perfetto` package: `perfetto_api.Trace()`, `perfetto_api.TrackEvent`.
"""

from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import *  # noqa: F403

"""Inferences of one logged method, and their median."""

from itertools import count

from viewer.formats import open_file
from viewer.model.building.builder import TraceBuilder
from viewer.model.inference_views import Inferences, series_of, times_of_methods, view_of
from viewer.model.trace import Clock, RunKind, Trace


def trace_of(*inferences: tuple[str, str, int]) -> Trace:
    """A trace of a load and then inferences, each a process, a scope and a duration."""
    builder = TraceBuilder("runs", "test", "", Clock())
    start = count(0, 1000)
    for process in dict.fromkeys(process for process, _, _ in inferences):
        track, at = builder.track(process, "t"), next(start)
        builder.run(RunKind.LOAD, "load", track, builder.scope("load"), at, at + 1)
    for process, scope, duration in inferences:
        track, at = builder.track(process, "t"), next(start)
        builder.run(RunKind.INFERENCE, scope, track, builder.scope(scope), at, at + duration)
    return builder.build()


def medians(trace: Trace, **options) -> dict[str, tuple[int, int]]:
    """Duration of the median, and of how many it is, by process and scope."""
    return {
        f"{process} {trace.scopes[scope].name}": (own.median, own.runs)
        for (process, scope, *_), own in times_of_methods(trace, **options).items()
    }


def test_processes_and_scopes_are_methods_of_their_own():
    trace = trace_of(("p", "a", 5), ("p", "a", 3), ("p", "b", 7), ("q", "a", 2), ("p", "a", 4))
    assert medians(trace) == {"p a": (4, 3), "p b": (7, 1), "q a": (2, 1)}
    assert series_of(trace, trace.runs[-1])[0] == "p"


def test_the_warm_up_counts_only_if_asked():
    trace = trace_of(("p", "a", 90), ("p", "a", 3), ("p", "a", 4), ("p", "a", 6))
    assert medians(trace) == {"p a": (4, 3)}
    assert medians(trace, warm_up=True) == {"p a": (5, 4)}


def test_the_median_view_shows_these_inferences(data):
    trace = open_file(str(data / "etdump" / "multi_forward_decode_portable_x3.etdp"))
    shown = [run.end - run.start for run in view_of(trace, Inferences.TYPICAL).runs]
    assert shown == [
        own.typical.end - own.typical.start for own in times_of_methods(trace).values()
    ]
    assert len(shown) == 2

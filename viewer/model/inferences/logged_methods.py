"""Which inferences are of the same logged method, and the median one of each method.

The runtime logs no method, so inferences of one process and scope count as one method.
"""

from __future__ import annotations

from viewer.model.trace import Run, Trace
from viewer.model.warm_up import counted_inferences, median_inference

ProcessAndScope = tuple[str, int]


def process_and_scope(trace: Trace, run: Run) -> ProcessAndScope:
    """Return the process of a run, and its scope: what inferences of one method share."""
    return trace.tracks[run.track].process, run.scope


def median_of_methods(
    trace: Trace, *, warm_up: bool = False
) -> dict[ProcessAndScope, tuple[Run, int]]:
    """Return the inference of median duration of each method, and of how many it is the median.

    warm_up: whether inferences that warm up count. Those that did not finish do not
    (`counted_inferences`).
    """
    of_method: dict[ProcessAndScope, list[Run]] = {}
    for run in counted_inferences(trace, warm_up=warm_up):
        of_method.setdefault(process_and_scope(trace, run), []).append(run)
    return {method: (median_inference(runs), len(runs)) for method, runs in of_method.items()}

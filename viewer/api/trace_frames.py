"""Tables of what traces have besides slices: the values of counters, and flows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from viewer.analysis.torq.unit_counters import unit_counters
from viewer.api.schema import COUNTERS, FLOWS
from viewer.export.perfetto.flows import flows_among
from viewer.model.times import ticks_to_ns
from viewer.workspace.exports import common_offsets
from viewer.workspace.snapshot import LinkedTrace, process_name
from viewer.workspace.workspace import Workspace


def frame_of_counters(workspace: Workspace, traces: Sequence[LinkedTrace]) -> pd.DataFrame:
    """Return the values of all counters, counter by counter."""
    heads: list[tuple[str | None, ...]] = []
    counts, derived = list[int](), list[bool]()
    ticks, ns, values = [], [], []
    for one, offset in zip(traces, common_offsets(traces), strict=True):
        stated = len(one.trace.counters)
        rate = one.rate.ns_per_tick
        for number, counter in enumerate(unit_counters(one.trace)):
            process = process_name(workspace.traces, one.trace, counter.process)
            heads.append((one.trace.path, process, counter.name, counter.unit or None))
            counts.append(len(counter.tick))
            derived.append(number >= stated)
            ticks.append(counter.tick)
            ns.append(ticks_to_ns(counter.tick, rate) + offset)
            values.append(counter.value.astype(np.float64) * counter.scale(rate))
    of_row = np.repeat(np.arange(len(heads)), counts)
    columns: dict[str, Any] = {
        name: pd.Categorical([head[part] for head in heads]).take(of_row)
        for part, name in enumerate(("file", "process", "name", "unit"))
    }
    columns["start_ns"] = np.concatenate([np.empty(0, np.int64), *ns])
    columns["start_ticks"] = np.concatenate([np.empty(0, np.int64), *ticks])
    columns["value"] = np.concatenate([np.empty(0), *values])
    columns["derived"] = np.array(derived, np.bool_)[of_row]
    return pd.DataFrame({spec.name: columns[spec.name] for spec in COUNTERS}, copy=False)


def frame_of_flows(traces: Sequence[LinkedTrace]) -> pd.DataFrame:
    """Return the flows of all traces; slices are numbered over all of them, as in their table."""
    files, kinds, first = [], [], 0
    ends: list[list[Any]] = [[], []]
    for one in traces:
        edges = flows_among(one.table, None)
        stated = len(one.trace.flows)
        ends[0].append(edges.producer + first)
        ends[1].append(edges.consumer + first)
        files += [one.trace.path] * len(edges.producer)
        kinds += ["stated"] * stated + ["proven"] * (len(edges.producer) - stated)
        first += len(one.trace.slices)
    producer, consumer = (np.concatenate([np.empty(0, np.int64), *end]) for end in ends)
    columns = {
        "file": pd.Categorical(files),
        "producer": producer,
        "consumer": consumer,
        "kind": pd.Categorical(kinds, categories=["stated", "proven"]),
    }
    return pd.DataFrame({spec.name: columns[spec.name] for spec in FLOWS}, copy=False)

"""Reads what ExecuTorch's runner of language models logs at its end: load, prefill and decode.

`Stats::to_json_string` of `extension/llm/runner/stats.h` writes one line for each generation:

    PyTorchObserver {"prompt_tokens":480,"generated_tokens":40,"model_load_start_ms":...,
    "model_load_end_ms":...,"inference_start_ms":...,"inference_end_ms":...,
    "prompt_eval_end_ms":...,"first_token_ms":...,"aggregate_sampling_time_ms":...,
    "SCALING_FACTOR_UNITS_PER_SECOND":1000}

A generation is an inference of two slices. Its rates are computed here. A model is loaded once.
"""

from __future__ import annotations

import json
import os
from fractions import Fraction
from typing import Any

from viewer.codecs.reading import Cancelled, Progress, UnreadableFile
from viewer.formats import format_of
from viewer.formats.row_reader import lines_of
from viewer.formats.runtimes.placed import PlacedBars
from viewer.model.building.builder import TraceBuilder
from viewer.model.timing import Timing
from viewer.model.trace import Clock, RunKind, Trace

_MARK = "PyTorchObserver {"
_TIMES = ("model_load_start", "model_load_end", "inference_start", "prompt_eval_end",
          "inference_end")  # fmt: skip
_UNUSABLE = "line of a generation without usable times: left out"
_LAST = 1 << 62


def sniff(head: bytes) -> bool:
    """Whether a line of the first ones is that of a generation."""
    return _MARK.encode() in head and b'"model_load_start_ms"' in head


def read(path: str, progress: Progress, cancelled: Cancelled) -> Trace:
    """A load and the inferences of all generations. Raises UnreadableFile, ReadCancelled."""
    builder = TraceBuilder(path, FORMAT.name, "", Clock())
    bars = PlacedBars(builder, Timing.MEASURED)
    track = builder.track(os.path.basename(path), "runner", flat=True)
    scope = builder.scope("generate")
    loads: set[tuple[int, int]] = set()
    for first, lines in lines_of(path, builder, progress, cancelled):
        for number, line in enumerate(lines, first):
            if _MARK not in line:
                continue
            found = _generation(line)
            if found is None:
                builder.problem(_UNUSABLE, 1, f"line {number}")
                continue
            times, values = found
            load, loaded, start, prefilled, end = times
            if (load, loaded) not in loads:
                loads.add((load, loaded))
                bars.add(track, "load", loaded - load, number, {}, load)
                builder.run(RunKind.LOAD, "load", track, scope, load, loaded)
            for name, tokens, begin, last in (
                ("prefill", "prompt_tokens", start, prefilled),
                ("decode", "generated_tokens", prefilled, end),
            ):
                arguments = _arguments(values.get(tokens), last - begin)
                sampling = values.get("aggregate_sampling_time_ms")
                if name == "decode" and isinstance(sampling, int):
                    arguments["sampling ms"] = str(sampling)
                bars.add(track, name, last - begin, number, arguments, begin)
            builder.run(RunKind.INFERENCE, "generate", track, scope, start, end)
    if not len(bars):
        raise UnreadableFile(
            path, "no line of a generation has usable times", remedy="Record it again"
        )
    bars.finish()
    return builder.build()


def _arguments(tokens: object, ns: int) -> dict[str, str]:
    if not isinstance(tokens, int) or isinstance(tokens, bool):
        return {}
    rate = {"tokens/s": f"{tokens * 10**9 / ns:.6g}"} if ns > 0 else {}
    return {"tokens": str(tokens), **rate}


def _generation(line: str) -> tuple[list[int], dict[str, Any]] | None:
    """The times of `_TIMES` in ns, ascending, and all values; None if they are not usable."""
    try:
        values, _ = json.JSONDecoder().raw_decode(line[line.index(_MARK) + len(_MARK) - 1 :])
        per_second = values.get("SCALING_FACTOR_UNITS_PER_SECOND", 1000)
        times = [Fraction(values[f"{name}_ms"]) * 10**9 / per_second for name in _TIMES]
    except (ValueError, KeyError, TypeError, ZeroDivisionError, RecursionError):
        return None
    whole = [round(time) for time in times]
    is_usable = whole[0] >= 0 and whole[-1] < _LAST and whole == sorted(whole)
    return (whole, values) if is_usable else None


FORMAT = format_of("executorch.runner_log")

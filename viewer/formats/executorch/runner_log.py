"""Reads what ExecuTorch's runner of language models logs at its end: load, prefill and decode.

`Stats::to_json_string` of `extension/llm/runner/stats.h` writes one line for each generation:

    PyTorchObserver {"prompt_tokens":480,"generated_tokens":40,"model_load_start_ms":...,
    "model_load_end_ms":...,"inference_start_ms":...,"inference_end_ms":...,
    "prompt_eval_end_ms":...,"first_token_ms":...,"aggregate_sampling_time_ms":...,
    "SCALING_FACTOR_UNITS_PER_SECOND":1000}

Where the output of the program is not kept, as on Android, only what it logs is there:

    Prompt Tokens: 480    Generated Tokens: 40
    Model Load Time:        7.120000 (seconds)
    Total inference time:   20.410000 (seconds)    Rate: ...
    Prompt evaluation:      9.600000 (seconds)     Rate: ...
    Generated 40 tokens:    10.810000 (seconds)    Rate: ...
    Sampling time over 520 tokens:  0.002000 (seconds)

Then bars are placed. A generation is two inferences, whose phases are prefill and decode.
"""

from __future__ import annotations

import json
import os
import re
from fractions import Fraction
from typing import Any

from viewer.codecs.reading import Cancelled, Progress, UnreadableFile
from viewer.dataclasses import dataclass, field
from viewer.formats import format_of
from viewer.formats.runtimes.rows import PlacedBars
from viewer.formats.text_rows import lines_of
from viewer.model.building.builder import TraceBuilder
from viewer.model.timing import Timing
from viewer.model.trace import Clock, RunKind, Trace

_MARK = "PyTorchObserver {"
_TIMES = ("model_load_start", "model_load_end", "inference_start", "prompt_eval_end",
          "inference_end")  # fmt: skip
_SAMPLING = "aggregate_sampling_time_ms"
_OF_OBSERVER, _UNIT = '_start_ms":', "(seconds)"
_UNUSABLE = "line of a generation without usable times: left out"
_UNKNOWN = "times of a generation that cannot be read: left out"
_TOO_LONG = "sampling time longer than its generation: left out"
_LAST = 1 << 62
_TOKENS = re.compile(r"\bPrompt Tokens: ([0-9]{1,9}) +Generated Tokens: ([0-9]{1,9})\b")
_SECONDS = re.compile(
    r"\b(Model Load Time|Total inference time|Prompt evaluation|Generated(?= [0-9]{1,9} tokens)"
    r"|Sampling time|Time to first generated token)[^:]{0,40}:\s*"
    r"([0-9]{1,8}\.[0-9]{1,9}) \(seconds\)"
)
_SPANS = {"Model Load Time": "load", "Prompt evaluation": "prefill", "Generated": "decode"}


@dataclass(slots=True)
class _Generation:
    """What is known of one generation.

    spans: the starts and lengths in ns of "load", "prefill" and "decode"; None for a start that is
    not known. values: as the observer names them. unit: of its times, in ns. total:
    of prefill and decode, -1 if not known.
    """

    line: int
    spans: dict[str, tuple[int | None, int]] = field(default_factory=dict)
    unit: int = 10**6
    values: dict[str, Any] = field(default_factory=dict)
    total: int = -1

    def is_whole(self) -> bool:
        """Whether it has both of its slices; earlier versions do not log the second one."""
        _, prefill = self.spans.get("prefill", (None, self.total + 1))
        if "decode" not in self.spans and self.total >= prefill:
            self.spans["decode"] = None, self.total - prefill
        return {"prefill", "decode"} <= self.spans.keys()


def sniff(head: bytes) -> bool:
    """Whether a line of the first ones is that of a generation, or two are of what it logs."""
    if _MARK.encode() in head:
        return b'"model_load_start_ms"' in head
    return b"Model Load Time:" in head and b"Prompt evaluation:" in head


def read(path: str, progress: Progress, cancelled: Cancelled) -> Trace:
    """A load and the inferences of all generations. Raises UnreadableFile, ReadCancelled."""
    builder = TraceBuilder(path, FORMAT.name, "", Clock())
    observed: list[_Generation] = []
    logged: list[_Generation] = []
    unknown: list[int] = []
    for first, lines in lines_of(path, builder, progress, cancelled):
        for number, line in enumerate(lines, first):
            if _MARK in line or _OF_OBSERVER in line:
                found = _generation(line, number)
                if found is None:
                    builder.problem(_UNUSABLE, 1, f"line {number}")
                else:
                    observed.append(found)
            elif not _add_logged(logged, line, number) and _UNIT in line:
                unknown.append(number)
    whole = observed or [one for one in logged if one.is_whole()]
    if not observed:
        left_out = len(unknown) + len(logged) - len(whole)
        builder.problem(_UNKNOWN, left_out, f"line {unknown[0]}" if unknown else "")
    if not whole:
        raise UnreadableFile(
            path, "no line of a generation has usable times", remedy="Record it again"
        )
    bars = PlacedBars(builder, Timing.MEASURED if observed else Timing.PLACED)
    thread = "runner" if observed else "placed · runner"
    track = builder.track(os.path.basename(path), thread, flat=True)
    scope = builder.scope("generate")
    loads: set[tuple[int | None, int]] = set()
    for each in whole:
        begin, length = each.spans.get("load", (None, 0))
        if "load" in each.spans and (begin, length) not in loads:
            loads.add((begin, length))
            begin = bars.end_of(track) if begin is None else begin
            bars.add(track, "load", length, each.line, {}, begin)
            builder.run(RunKind.LOAD, "load", track, scope, begin, begin + length)
        for name, of in (("prefill", "prompt_tokens"), ("decode", "generated_tokens")):
            begin, length = each.spans[name]
            begin = bars.end_of(track) if begin is None else begin
            tokens = _count(each.values.get(of))
            arguments = _arguments(tokens, length)
            sampling = _count(each.values.get(_SAMPLING)) if name == "decode" else None
            if sampling is not None and sampling * each.unit > each.spans["prefill"][1] + length:
                # Its sum starts with any number in some versions.
                builder.problem(_TOO_LONG, 1, f"line {each.line}")
                sampling = None
            if sampling is not None:
                arguments["sampling ms"] = str(sampling)
            bars.add(track, name, length, each.line, arguments, begin)
            builder.run(
                RunKind.INFERENCE,
                "generate",
                track,
                scope,
                begin,
                begin + length,
                phase=name,
                tokens=max(tokens or 0, 0),
                sampling=min(max(sampling or 0, 0) * each.unit, length),
            )
    bars.finish()
    return builder.build()


def _count(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _arguments(tokens: int | None, ns: int) -> dict[str, str]:
    if tokens is None:
        return {}
    rate = {"tokens/s": f"{tokens * 10**9 / ns:.6g}"} if ns > 0 else {}
    return {"tokens": str(tokens), **rate}


def _generation(line: str, number: int) -> _Generation | None:
    """What a line of the observer states; None if its times are not usable."""
    try:
        values, _ = json.JSONDecoder().raw_decode(line[line.index(_MARK) + len(_MARK) - 1 :])
        per_second = Fraction(values.get("SCALING_FACTOR_UNITS_PER_SECOND", 1000))
        times = [Fraction(values[f"{name}_ms"]) * 10**9 / per_second for name in _TIMES]
    except (ValueError, KeyError, TypeError, ZeroDivisionError, RecursionError, OverflowError):
        return None
    load, loaded, start, prefilled, end = whole = [round(time) for time in times]
    if load < 0 or end >= _LAST or whole != sorted(whole):
        return None
    spans: dict[str, tuple[int | None, int]] = {
        "load": (load, loaded - load),
        "prefill": (start, prefilled - start),
        "decode": (prefilled, end - prefilled),
    }
    return _Generation(number, spans, round(Fraction(10**9) / per_second), values)


def _add_logged(found: list[_Generation], line: str, number: int) -> bool:
    """Add what a line of the log states to the last generation, or begin one; False if nothing."""
    if tokens := _TOKENS.search(line):
        counts = {"prompt_tokens": int(tokens[1]), "generated_tokens": int(tokens[2])}
        found.append(_Generation(number, values=counts))
        return True
    match = _SECONDS.search(line)
    if match is None or match[1].startswith("Time to"):
        return match is not None
    if not found or _SPANS.get(match[1]) in found[-1].spans:
        found.append(_Generation(number))
    last, ns = found[-1], round(Fraction(match[2]) * 10**9)
    if match[1] == "Sampling time":
        last.values[_SAMPLING] = ns // 10**6
    elif match[1] == "Total inference time":
        last.total = ns
    else:
        last.spans[_SPANS[match[1]]] = None, ns
    return True


FORMAT = format_of("executorch.runner_log")

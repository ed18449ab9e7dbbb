"""Facts about slices, operators and areas, as plain text for panels. No Qt.

Most functions read only the selected slice or operator, so they do not depend on the trace's size.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterable, Mapping, Sequence

from viewer.analysis.delegates.delegation import rounding_loss
from viewer.analysis.links.delegate_clocks import clock_rate, native_ns_of
from viewer.analysis.links.labels import run_label, series_names, track_name
from viewer.analysis.memory.logged_allocations import allocation_text
from viewer.analysis.statistics.selection import selection_statistics
from viewer.codecs.json_values import sequence
from viewer.dataclasses import dataclass
from viewer.model.figures import TimeScope, inferences_text, typical_text, whole_scope_text
from viewer.model.inference_views import Inferences, series_of
from viewer.model.queries import (
    NATIVE_DURATION,
    NATIVE_START,
    NATIVE_UNIT,
    busy_time,
    children_of,
    self_time_of,
)
from viewer.model.text import LONGEST, capped, one_line
from viewer.model.times import (
    MINUS,
    NARROW_SPACE,
    THIN_SPACE,
    counted,
    format_position,
    format_rate,
    format_share,
    format_time,
    group_digits,
    split_time,
    tick_to_ns,
)
from viewer.model.timing import (
    NS_PER,
    Timing,
    holds_value,
    is_rounded_zero,
    timing_of,
    timing_sentence,
)
from viewer.model.trace import Column, KeyKind, Run, RunKind
from viewer.model.untimed import values_of, values_summary
from viewer.model.warm_up import counted_inferences
from viewer.program.debug_handles import shader_of
from viewer.program.frames import Frame
from viewer.program.program import Operator, Program, Tensor
from viewer.view.open_trace import OpenTrace
from viewer.view.selection import chosen_in
from viewer.view.state import Area

# The card shows these in their own rows.
_TORQ_NUMBERS = (KeyKind.LOCATION, KeyKind.ACTION, KeyKind.JOB)
_MOST_NODES = 3
_SAID_ELSEWHERE = (NATIVE_DURATION, NATIVE_START, NATIVE_UNIT, "instruction_id")
_TITLES = {"metadata": "Metadata"}  # other columns keep their name in the file
MISSING = "–"
_SHORT_LINE = 80  # characters of an array that is not broken into lines

_PREFERRED, _SUPPORTED = "preferredComputeUnit", "supportedComputeUnits"
_METADATA_TITLES = {
    "operatorName": "Operation",
    "outputNames": "Outputs",
    "estimatedCost": "Cost (est.)",
}
# Parallel lists in PyTorch's traces: dtype, shape, and value as text of every argument.
_INPUTS, _CONCRETE = ("Input type", "Input Dims"), "Concrete Inputs"
_NO_TYPE = "–"
_LONGEST_ARGUMENT = 200  # characters; a trace may state an argument of any length
_UNITS = {"NE": "Neural Engine"}  # CPU and GPU are known by these names


def plain_number(text: str) -> str:
    """Return a table's number without digit grouping and with an ASCII minus, "" if missing."""
    return "" if text == MISSING else text.replace(THIN_SPACE, "").replace(MINUS, "-")


def plain_ns(ns: float | str) -> str:
    """Return a time in ns for a copy: whole ns, or the decimals of a mean."""
    return f"{float(ns):.3f}" if isinstance(ns, float) and not ns.is_integer() else str(int(ns))


@dataclass(frozen=True, slots=True)
class Figure:
    """A number with its unit and caption. copied: what copying the number gives, "" for itself."""

    number: str
    unit: str
    caption: str
    copied: str = ""


def figure(ns: float, caption: str) -> Figure:
    """Format a time as a figure."""
    return Figure(*split_time(format_time(ns)), caption, str(ns) if ns == int(ns) else "")


def position(ns: int, caption: str) -> Figure:
    """Format a position in whole ns as a figure."""
    return Figure(*split_time(format_position(ns)), caption, str(ns))


def slice_figures(open_trace: OpenTrace, i: int) -> tuple[Figure, ...]:
    """Return duration, self time and start of a slice, the start relative to the trace's start.

    For a slice timed by a separate clock, return only that clock's duration and start; for one that
    holds a value, only that.
    """
    if holds_value(open_trace.trace.slices, i) and (value := open_trace.native(i)):
        return (Figure(*value, "value"),)
    measured_values = (
        (open_trace.native(i), "duration"),
        (open_trace.native(i, NATIVE_START), "start"),
    )
    if measured_values[0][0] is not None:
        logged = tuple(
            Figure(*measured, caption) for measured, caption in measured_values if measured
        )
        ns = native_ns_of(open_trace.table, i)
        return logged if ns is None else (figure(ns, "duration"), *logged)
    slices, rate = open_trace.trace.slices, open_trace.axis.ns_per_tick
    start, end = open_trace.span_ns(i)
    if is_rounded_zero(slices, i):
        number, unit = split_time(open_trace.length_text(i))
        start_figure = position(start - open_trace.axis.to_ns(open_trace.trace.start), "start")
        return Figure(number, unit, "duration"), start_figure
    caption = "duration"
    if timing_of(slices, i) & Timing.UNFINISHED:
        caption = "at least: no end"
    return (
        # The difference of the rounded-down ends, as in the tooltip and in every export.
        figure(end - start, caption),
        figure(tick_to_ns(self_time_of(slices, i), rate), "self"),
        position(start - open_trace.axis.to_ns(open_trace.trace.start), "start"),
    )


def slice_rows(open_trace: OpenTrace, i: int) -> dict[str, str]:
    """Return what the file states about a slice, as title -> text."""
    trace, slices = open_trace.trace, open_trace.trace.slices
    key, keys = int(slices.key[i]), trace.keys
    rows: dict[str, str] = {}
    instruction = int(keys.instruction[key])
    # Torq has columns for the numbers of actions and jobs.
    has_instruction = instruction >= 0 and keys.kind[key] not in _TORQ_NUMBERS
    rows["Event"] = _pretty(trace.name(i)) + (
        f" · instruction {instruction}" if has_instruction else ""
    )
    if keys.identifier[key] is not None:
        rows["Identifier"] = _pretty(repr(keys.identifier[key]))
    if kernel := _kernel_inside(open_trace, i):
        rows["Kernel"] = kernel
    nodes = open_trace.table.nodes(key) if open_trace.link(i).nodes else ()
    if nodes:
        which = "" if len(nodes) == 1 else f"one of {len(nodes)}: "
        more = f" +{len(nodes) - _MOST_NODES}" if len(nodes) > _MOST_NODES else ""
        rows["Node"] = which + ", ".join(node.name for node in nodes[:_MOST_NODES]) + more
    rows["Track"] = track_text(open_trace, i)
    if open_trace.file.rank is not None:
        rows["Rank"] = open_trace.file.rank.text
    if unattributed := _unattributed(open_trace, i):
        rows["Unattributed"] = unattributed
    if (loss := rounding_loss(trace, i)) is not None:
        most = format_time(tick_to_ns(loss.ticks, open_trace.axis.ns_per_tick))
        rows["Rounding"] = f"up to {most} may be rounding of {counted(loss.events, 'event')}"
    rows["Time"] = timing_sentence(slices, i)
    logged = values_of(trace.untimed, i)
    if len(logged):
        rows["Logged"] = values_summary(trace.untimed, logged)
    if allocated := allocation_text(trace, i):
        rows["Allocates"] = f"{allocated}; after it, the time is not logged"
    if timing_of(slices, i) & Timing.DERIVED:
        rows["Origin"] = "computed by Opscope, not in the file"
    if (native := open_trace.native(i)) is not None:
        rate = clock_rate(open_trace.table, i)
        clock_text = "separate clock"
        if rate is not None:
            clock_text = f"{NARROW_SPACE.join(native)} at {format_rate(rate)} (chosen)"
        elif native[1] in NS_PER and shader_of(keys.identifier[key]):
            clock_text = (
                f"separate clock in {native[1]}: its times can add up to more than the call"
            )
        if not holds_value(slices, i):
            rows["Clock"] = f"{clock_text}; position inside its call is for drawing only"
    stated, covered = metadata_rows(slices.columns, i)
    rows |= {title: capped(text) for title, text in stated.items()}
    for name, column in slices.columns.items():
        value = column.value(i)
        is_covered = name in (*_SAID_ELSEWHERE, *covered) or value in (
            trace.name(i),
            keys.location[key],
        )
        if not is_covered and value is not None:
            rows[_TITLES.get(name, name)] = _value_text(value, column.unit)
    # What the file states as a whole has no slice of its own.
    return {**rows, **{f"File: {name}": text for name, text in trace.stated.items()}}


def ticks_text(open_trace: OpenTrace, i: int) -> str:
    """Return the exact length in ticks and the clock rate: "1 643 · 1 tick = 1 ns"."""
    slices = open_trace.trace.slices
    length = int(slices.end[i]) - int(slices.start[i])
    return f"{group_digits(length)} · {open_trace.rate.tick_text}"


def track_text(open_trace: OpenTrace, i: int) -> str:
    """Return the process, thread and inference of a slice, and its bundled input."""
    trace = open_trace.trace
    number = trace.slices.track(i)
    track = trace.tracks[number]
    thread = track_name(open_trace.table, number)
    parts = [thread if len(trace.tracks) == 1 else f"{track.process} › {thread}"]
    run = run_of(open_trace, i)
    # In views of aligned or averaged inferences the thread's name already includes them.
    if run is not None and open_trace.trace is open_trace.file:
        parts.append("load" if run.kind is RunKind.LOAD else run.text)
        if run.bundled_input >= 0:
            parts.append(f"bundled input {run.bundled_input}")
    return " · ".join(parts)


def run_of(open_trace: OpenTrace, i: int) -> Run | None:
    """Return the inference or load in which a slice starts, None outside all of them."""
    trace = open_trace.trace
    number = trace.run_at(trace.slices.track(i), int(trace.slices.start[i]))
    return None if number is None else trace.runs[number]


def _kernel_inside(open_trace: OpenTrace, i: int) -> str:
    trace = open_trace.trace
    inner = children_of(trace.slices, i)
    kernels = inner[trace.keys.kind[trace.slices.key[inner]] == KeyKind.KERNEL]
    if len(kernels) == 0 or trace.keys.kind[trace.slices.key[i]] == KeyKind.FRAMEWORK:
        return ""
    first = int(kernels[0])
    length = int(trace.slices.end[first]) - int(trace.slices.start[first])
    more = f" +{len(kernels) - 1}" if len(kernels) > 1 else ""
    time = format_time(tick_to_ns(length, open_trace.axis.ns_per_tick))
    return f"{trace.name(first)}{more} · {time}"


def _unattributed(open_trace: OpenTrace, i: int) -> str:
    """Return the unattributed time of a delegate call: "2.104 µs · 55.1 %"; "" for none."""
    trace, slices = open_trace.trace, open_trace.trace.slices
    if trace.keys.kind[slices.key[i]] != KeyKind.DELEGATE_CALL:
        return ""
    inner = children_of(slices, i)
    inner = inner[trace.keys.kind[slices.key[inner]] == KeyKind.UNATTRIBUTED]
    part = int((slices.end - slices.start)[inner].sum())
    if not part:
        return ""
    total = int(slices.end[i] - slices.start[i])
    time = format_time(tick_to_ns(part, open_trace.axis.ns_per_tick))
    return f"{time} · {format_share(part, total)}"


def _value_text(value: int | float | bool | str, unit: str) -> str:
    """Format a value of the file. An integer without a unit may be an identifier: no separators."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        text = group_digits(value) if unit else str(value)
    elif isinstance(value, float):
        text = f"{value:g}"
    else:
        text = _pretty(value)
    return f"{text}{NARROW_SPACE}{unit}" if unit else text


def _pretty(text: str) -> str:
    """Break JSON into lines, keep other text; cut both at `LONGEST` characters."""
    if text[:1] == "[" and len(text) <= _SHORT_LINE:
        return text
    if text[:1] in ("{", "[") and len(text) < 10 * LONGEST:
        with contextlib.suppress(ValueError, RecursionError):
            text = _json_lines(json.loads(text))
    return capped(text)


def _json_lines(value: object, indent: str = "") -> str:
    """Format JSON with one line per element; arrays of numbers, such as shapes, are one line."""
    inside = indent + "  "
    if isinstance(value, dict) and value:
        fields = (f"{inside}{_json_line(k)}: {_json_lines(v, inside)}" for k, v in value.items())
        return "{\n" + ",\n".join(fields) + f"\n{indent}}}"
    line = _json_line(value)
    if isinstance(value, list) and any(isinstance(each, list | dict | str) for each in value):
        has_objects = any(isinstance(each, dict) for each in value)
        if has_objects or len(line) > _SHORT_LINE:
            elements = (inside + _json_lines(each, inside) for each in value)
            return "[\n" + ",\n".join(elements) + f"\n{indent}]"
    return line


def _json_line(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


# -- operators ------------------------------------------------------------------------------------


def tensor_text(tensor: Tensor) -> str:
    """Return dtype and shape: "f32  1 × 4 × 8 × 8"; "scalar" if 0-dimensional, "?" if unknown."""
    shape = "?" if tensor.shape is None else " × ".join(map(str, tensor.shape)) or "scalar"
    return f"{tensor.dtype or '?'}  {shape}"


def makers(program: Program, method: str) -> Mapping[str, int]:
    """Map each value name to the index of the operator that produces it, in one method."""
    return {
        tensor.name: operator.index
        for operator in program.operators
        if operator.method == method
        for node in operator.nodes
        for tensor in node.outputs
    }


def place_texts(operator: Operator) -> list[tuple[Frame, str]]:
    """Return the frames of the model, outermost first, each with "AttentionBlock.forward".

    The class is included only if there are at least as many module types as forward calls.
    """
    frames = [f for f in operator.frames if not f.is_library]
    modules = next((n.modules for n in operator.nodes if n.modules), ())
    classes = [t.rpartition(".")[2] for _, t in modules if not t.startswith("torch.")]
    calls = [f for f in frames if f.function == "forward"]
    named = dict(zip(map(id, calls), classes, strict=False)) if len(calls) <= len(classes) else {}
    return [(f, f"{named[id(f)]}.{f.function}" if id(f) in named else f.function) for f in frames]


def no_line_text(operators: Iterable[Operator]) -> str:
    """Why some operators have no source line."""
    if any(operator.frames for operator in operators):
        return "Only torch's own lines were recorded."
    return "No source line was recorded."


# -- areas ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class NameCount:
    """The number of slices with a name that an area touches, and their time inside it in ns."""

    name: str
    count: int
    ns: int


@dataclass(frozen=True, slots=True)
class AreaFacts:
    """An area's contents: slice count, busy ns per track, and names by time, longest first."""

    slices: int
    busy: tuple[tuple[str, int], ...]
    names: tuple[NameCount, ...]


def area_facts(traces: Sequence[OpenTrace], area: Area) -> AreaFacts:
    """Count the slices in an area; the figures per name match the Selection panel's."""
    busy: list[tuple[str, int]] = []
    for number, track in sorted(area.tracks):
        open_trace = traces[number]
        first, last = (open_trace.axis.to_ticks_floor(ns) for ns in (area.t0, area.t1))
        ticks = busy_time(open_trace.trace.slices, track, first, last)
        name = f"{os.path.basename(open_trace.trace.path)} › {track_name(open_trace.table, track)}"
        busy.append((name, tick_to_ns(ticks, open_trace.axis.ns_per_tick)))
    counts: dict[str, tuple[int, int]] = {}
    total = 0
    for number, chosen in chosen_in(area, traces).items():
        statistics, rate = selection_statistics(chosen, "name"), traces[number].axis.ns_per_tick
        total += statistics.slices
        figures = statistics.figures.statistics
        for name, count, ticks in zip(
            statistics.labels, figures.count.tolist(), figures.total.tolist(), strict=True
        ):
            name_count = counts.get(name, (0, 0))
            counts[name] = name_count[0] + count, name_count[1] + int(ticks * rate)
    names = [NameCount(name, count, ns) for name, (count, ns) in counts.items()]
    return AreaFacts(total, tuple(busy), tuple(sorted(names, key=lambda x: (-x.ns, -x.count))))


def scope_text(
    open_trace: OpenTrace, scope: TimeScope, *, loads: bool = False, per_inference: bool = False
) -> str:
    """Name the scope of costs: "run 2", the selected range, all inferences or the whole trace.

    loads: as for `whole_scope_text`. per_inference: whether the figures are those of
    `OpenTrace.figures_for`.
    """
    if scope.run is not None:
        named = run_label(open_trace.table, scope.run).rpartition(" · ")[2]
        return typical_text(scope.typical_of, open_trace.file.unit) if scope.typical_of else named
    if scope.ticks is not None:
        ns = open_trace.axis.to_ns(scope.ticks[1]) - open_trace.axis.to_ns(scope.ticks[0])
        return f"the selected range of {format_time(ns)}"
    is_one = open_trace.inferences in (Inferences.TYPICAL, Inferences.MEAN)
    if is_one and open_trace.trace is not open_trace.file:
        count = len(counted_inferences(open_trace.file, warm_up=False)) - open_trace.cut
        is_typical = open_trace.inferences is Inferences.TYPICAL
        unit = open_trace.file.unit
        return typical_text(count, unit) if is_typical else f"the mean of {unit.counted(count)}"
    if per_inference and (base := open_trace.base_of(scope)).is_of_several:
        text = inferences_text(open_trace.figures_for(scope).trace, scope)
        phase = base.phase or _phases(open_trace)
        return f"{text} of {phase}" if phase else text
    text, phases = whole_scope_text(open_trace.trace, scope, loads=loads), _phases(open_trace)
    between = " of " if open_trace.trace.unit.noun in text else ", "
    return f"{text}{between}{phases}" if phases else text


def _phases(open_trace: OpenTrace) -> str:
    """Return "prefill and decode", what figures of all inferences add up; "" of one method."""
    from viewer.analysis.findings.finding import joined

    trace = open_trace.trace
    series = {series_of(trace, run): None for run in trace.inferences() if run.part >= 0}
    return joined(list(filter(None, series_names(open_trace.table, list(series)).values())))


def metadata_rows(columns: Mapping[str, Column], i: int) -> tuple[dict[str, str], set[str]]:
    """Return rows in words for slice i, and the columns that need no row of their own.

    The metadata itself needs none if every value in it is in a column.
    """
    from viewer.formats.executorch.etdump.metadata import METADATA
    from viewer.formats.executorch.etdump.metadata import values_of as metadata_values

    rows, covered = _core_ml(columns, i)
    if inputs := _inputs(columns, i):
        rows["Inputs"] = inputs
        covered |= {*_INPUTS, _CONCRETE}
    column = columns.get(METADATA)
    raw = column.value(i) if column is not None else None
    values = metadata_values(raw.encode("utf-8", "surrogatepass")) if isinstance(raw, str) else None
    if values and all(name in columns or f"{METADATA}.{name}" in columns for name in values):
        covered.add(METADATA)
    return rows, covered


def _inputs(columns: Mapping[str, Column], i: int) -> str:
    """Return a line per argument of a PyTorch operator: "float [8, 4]"; "" if lengths differ."""
    types, shapes = (_list(columns, name, i) for name in _INPUTS)
    values = _list(columns, _CONCRETE, i)
    if not types or len(shapes) != len(types) or not all(isinstance(t, str) for t in types):
        return ""
    if _value(columns, _CONCRETE, i) is None:
        values = [""] * len(types)
    elif len(values) != len(types) or not all(isinstance(v, str) for v in values):
        return ""
    return "\n".join(
        _short(f"{type_ or _NO_TYPE} {value or (json.dumps(shape) if type_ else '')}").rstrip()
        for type_, shape, value in zip(types, shapes, values, strict=True)
    )


def _short(argument: str) -> str:
    """Return an argument on one line, cut at `_LONGEST_ARGUMENT` characters."""
    text = one_line(argument[: _LONGEST_ARGUMENT + 1])
    return text if len(text) <= _LONGEST_ARGUMENT else f"{text[:_LONGEST_ARGUMENT]}…"


def _core_ml(columns: Mapping[str, Column], i: int) -> tuple[dict[str, str], set[str]]:
    """Return the rows about an operator of Core ML's plan; none for other metadata."""
    from viewer.formats.executorch.etdump.metadata import FELL_BACK

    preferred, units = _value(columns, _PREFERRED, i), _texts(_value(columns, _SUPPORTED, i))
    if not isinstance(preferred, str) or not units:
        return {}, set()
    others = [_UNITS.get(unit, unit) for unit in units if unit != preferred]
    note = ""
    if _value(columns, FELL_BACK, i) is True:
        note = f" ({_UNITS['NE']} is supported)"
    elif others:
        are = "is" if len(others) == 1 else "are"
        note = f" ({' and '.join(others)} {are} supported too)"
    rows = {"Compute unit": _UNITS.get(preferred, preferred) + note}
    covered = {_PREFERRED, _SUPPORTED, FELL_BACK}
    for name, title in _METADATA_TITLES.items():
        if (value := _value(columns, name, i)) is not None:
            rows[title] = ", ".join(_texts(value)) or str(value)
            covered.add(name)
    return rows, covered


def _value(columns: Mapping[str, Column], name: str, i: int) -> int | float | bool | str | None:
    return columns[name].value(i) if name in columns else None


def _texts(value: object) -> list[str]:
    """Return the texts in a list that is JSON text, none for other values."""
    return [text for text in _elements(value) if isinstance(text, str)]


def _list(columns: Mapping[str, Column], name: str, i: int) -> list[object]:
    return _elements(_value(columns, name, i))


def _elements(value: object) -> list[object]:
    """Return the elements of a list that is JSON text, none for other values."""
    try:
        return list(sequence(json.loads(str(value))))
    except (ValueError, RecursionError):
        return []

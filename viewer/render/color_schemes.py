"""The color schemes of slices: eight, arguments, and the classes of each in a trace.

A *scheme* assigns a *class* to every slice: its operator, its module, its duration. A class has a
title and a palette index (`viewer.render.palette`), and is the same class in every file with that
title. It depends on a key, a name or a duration: nothing is done per slice but a lookup.

Colors depend on the class, so they are the same in every panel, in all open files, and after
reopening them. Operators and modules cycle through the colors in the order of their program;
operator types and backends have a fixed color, or one from a hash of their name, like names. The 12
colors repeat after 12 classes: the most expensive names, operators and modules of a file take turns
that differ (`Turns`), neighbors differ, and the label and the legend resolve the rest. The ramp of
durations covers everything that is open. Runtime scopes, shared slices and unknown ones are gray in
every scheme except link state, whose subject they are.

An argument of slices has one color for each text, and a ramp for numbers, over all open traces. The
most frequent texts have different colors; of the others, several can have the same.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from fractions import Fraction
from itertools import pairwise
from math import ceil

import numpy as np
from numpy.typing import NDArray

from viewer.analysis.links.labels import key_labels, unlinked_text
from viewer.analysis.links.link_table import LinkTable
from viewer.analysis.statistics.group_keys import ARGUMENT, argument, missing_of_slices
from viewer.arrays import Bools, Floats, Ints, parts_of
from viewer.dataclasses import dataclass, replace
from viewer.model.intervals import durations
from viewer.model.queries import NATIVE_DURATION, foreign
from viewer.model.times import NARROW_SPACE, format_time, group_digits
from viewer.model.trace import Column, KeyKind, Trace
from viewer.program.program import Operator, Program, type_of
from viewer.render.palette import (
    FRAME,
    KERNELS,
    OPERATORS,
    PLAIN,
    RAMP,
    RAMP_STEPS,
    SLAB,
    UNATTRIBUTED,
    UNLINKED,
    Palette,
    by_name,
)

# Above this ratio of the largest number to the smallest, the steps of the ramp are a progression.
_MOST_LINEAR = 100


@dataclass(frozen=True, slots=True)
class ArgumentRange:
    """What an argument has: how often each frequent text, and its smallest and largest number."""

    texts: tuple[tuple[str, int], ...] = ()
    least: Fraction | None = None
    most: Fraction | None = None

    def steps(self) -> tuple[float, ...]:
        """Return the start of each step of the ramp, and its end; only one of equal numbers."""
        if self.least is None or self.most is None:
            return ()
        least, most = float(self.least), float(self.most)
        if least == most:
            return (least,)
        place = np.arange(1, RAMP_STEPS) / RAMP_STEPS
        is_linear = least <= 0 or most < _MOST_LINEAR * least
        inner = least + (most - least) * place if is_linear else least * (most / least) ** place
        return (least, *(float(f"{edge:.3g}") for edge in inner.tolist()), most)


NO_VALUES = ArgumentRange()


def range_of(trace: Trace, name: str) -> ArgumentRange:
    """Return what an argument has in a trace: one pass over its slices."""
    column = argument(trace, name)
    if column is None:
        return ArgumentRange()
    values = column.values if column.valid is None else column.values[column.valid]
    if column.strings is not None:
        count = np.bincount(values, minlength=len(column.strings))
        often = np.argsort(-count, kind="stable")[:OPERATORS]
        return ArgumentRange(tuple((column.strings[i], int(count[i])) for i in often if count[i]))
    numbers = values[np.isfinite(values)]
    if not len(numbers):
        return ArgumentRange()
    ends = (numbers.min().item(), numbers.max().item())
    return ArgumentRange((), *(Fraction(end) for end in ends))


def ranges_together(ranges: Iterable[ArgumentRange]) -> ArgumentRange:
    """Return what an argument has in several traces."""
    counts, ends = Counter[str](), list[Fraction]()
    for each in ranges:
        counts.update(dict(each.texts))
        ends += [end for end in (each.least, each.most) if end is not None]
    texts = sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:OPERATORS]
    return ArgumentRange(tuple(texts), min(ends, default=None), max(ends, default=None))


@dataclass(frozen=True, slots=True, eq=False)
class ArgumentClasses:
    """The classes of an argument: one for each text or step, and the last for slices without it.

    titles, color: as in `Classes`. edges: the number at which each step but the first starts.
    """

    name: str
    titles: tuple[str, ...]
    color: Palette
    edges: Floats
    column: Column | None

    def of(self, trace: Trace, which: Ints | slice) -> Numbers:
        """Return the class of slices of the trace, or of a view of it."""
        column = argument(trace, self.name)
        missing = len(self.titles) - 1
        if column is None:
            return np.full(len(trace.slices.key[which]), missing, np.int32)
        values = column.values[which]
        if column.strings is None:
            numbers = np.searchsorted(self.edges, values, "right").astype(np.int32)
            has = np.isfinite(values)
        elif self.column is not None and column.strings is self.column.strings:
            numbers, has = values.astype(np.int32), np.ones(len(values), np.bool_)
        else:
            number = {title: i for i, title in enumerate(self.titles[:-1])}
            of_string = np.array([number.get(s, missing) for s in column.strings], np.int32)
            numbers, has = of_string[values], np.ones(len(values), np.bool_)
        if column.valid is not None:
            has &= column.valid[which]
        numbers[~has] = missing
        return numbers


def argument_classes(trace: Trace, scheme: str, together: ArgumentRange) -> ArgumentClasses:
    """Return the classes of a trace by the argument of a scheme: "arg:NAME"."""
    name = scheme.removeprefix(ARGUMENT)
    column, nothing = argument(trace, name), f"No {name}"
    if column is not None and column.strings is not None:
        color = np.append(by_name(column.strings), PLAIN).astype(np.uint8)
        return ArgumentClasses(name, (*column.strings, nothing), color, np.empty(0), column)
    steps = together.steps()
    titles = [f"{_text(a)} – {_text(b)}" for a, b in pairwise(steps)] or [_text(s) for s in steps]
    first = RAMP if len(titles) > 1 else RAMP + RAMP_STEPS - 1
    color = np.array([*range(first, first + len(titles)), PLAIN], np.uint8)
    return ArgumentClasses(name, (*titles, nothing), color, np.array(steps[1:-1]), column)


def _text(value: float) -> str:
    return group_digits(int(value)) if value == int(value) else f"{value:g}"


Numbers = NDArray[np.int32]

# With a smaller ratio between the longest and shortest slice, a ramp makes no sense.
_LEAST_RATIO = 1.01
_COARSE = 1.2

# In `Classes.of_key`: the slices of such a key are classified by name, or by duration.
BY_NAME, BY_LENGTH = -1, -2

SCOPES = "Scopes of the runtime"
GAPS = "Unattributed time"
NOT_LINKED = "Not linked"
NOTHING_TO_LINK = "Nothing to link"
TOP_LEVEL = "Top level of the model"
OWN_KERNELS = "Kernels of the runtime"
OTHER_CLOCK = "Separate clock"
NO_LENGTH = "No duration"

# Operators of one family share a color: a model has one or two per family, and families differ.
_FAMILIES = (
    "convolution conv2d depthwise_conv2d transpose_conv2d",
    "view reshape transpose permute cat concat slice chunk split expand unsqueeze squeeze flatten",
    "max_pool2d avg_pool2d adaptive_avg_pool2d mean sum reduce_sum reduce_max amax argmax",
    "add sub rescale",
    "linear addmm fully_connected",
    "matmul bmm mm scaled_dot_product_attention einsum",
    "relu gelu silu hardtanh hardswish leaky_relu clamp sigmoid tanh elu softplus",
    "mul div pow sqrt rsqrt reciprocal",
    "layer_norm batch_norm group_norm rms_norm native_layer_norm",
    "softmax _softmax log_softmax exp log",
    "embedding index index_select gather where select cast const constant",
    "quantize_per_tensor dequantize_per_tensor quantize_per_channel dequantize_per_channel",
)
_TYPE_COLORS = {op: i for i, family in enumerate(_FAMILIES) for op in family.split()}
_BACKENDS = (
    "XnnpackBackend", "QnnBackend", "VulkanBackend", "CoreMLBackend", "MPSBackend", "EthosUBackend",
    "NeuropilotBackend", "OpenvinoBackend", "VgfBackend", "CudaBackend",
)  # fmt: skip
_KERNEL_COLOR = len(_BACKENDS)  # not used by any backend in the list
# Colors of link states, distinguishable for all color vision: one operator, several, none, nearby.
_ONE, _SEVERAL, _NONE, _NEAR = 10, 0, 9, 4


@dataclass(frozen=True, slots=True, eq=False)
class Classes:
    """The classes of one trace in one scheme.

    titles, color: the title and palette index of each class; both together identify it. of_key: the
    class of each key of the trace, or `BY_NAME` or `BY_LENGTH`. of_name: the class of each of the
    trace's strings, empty unless a key needs it. edges: ascending durations in ticks at which the
    next step of the ramp starts; class 0 is the first step. faded: whether a key's slices are
    kernels inside a call of the same color. measured: whether any key is classified by duration.
    by_operator: classes are operators, whose time is that of their calls. by_argument: classes are
    those of an argument of slices instead.
    """

    titles: tuple[str, ...]
    color: Palette
    of_key: Numbers
    faded: Bools
    of_name: Numbers
    edges: NDArray[np.uint64]
    measured: bool = False
    by_operator: bool = False
    by_argument: ArgumentClasses | None = None

    def of(self, trace: Trace, which: Ints | slice = slice(None)) -> Numbers:
        """Return the class of every slice, or of some slices."""
        if self.by_argument is not None:
            return self.by_argument.of(trace, which)
        slices = trace.slices
        numbers: Numbers = self.of_key.take(slices.key[which])
        if len(self.of_name):
            is_by_name = numbers == BY_NAME
            numbers[is_by_name] = self.of_name[slices.name[which][is_by_name]]
        if self.measured:
            measured = numbers == BY_LENGTH
            lengths = durations(slices.start[which], slices.end[which])
            numbers[measured] = self._steps(lengths[measured])
            native = slices.columns.get(NATIVE_DURATION)
            if native is not None:
                other = True if native.valid is None else native.valid[which]
                numbers[measured & other] = self.titles.index(OTHER_CLOCK)
        return numbers

    def _steps(self, lengths: NDArray[np.uint64]) -> Numbers:
        step = np.searchsorted(self.edges, lengths, "right").astype(np.int32)
        step[lengths == 0] = self.titles.index(NO_LENGTH)
        return step

    def taking(self, turns: Mapping[str, int]) -> Classes:
        """Return the same classes with other colors for some titles."""
        if not turns:
            return self
        color = self.color.copy()
        # Names may repeat the title of a class of keys.
        for i in [i for i, title in enumerate(self.titles) if title in turns]:
            if color[i] < OPERATORS:
                color[i] = turns[self.titles[i]]
        return replace(self, color=color)

    def palette(self, trace: Trace, which: Ints | slice = slice(None)) -> Palette:
        """Return the palette index of every slice, or of some slices (uint8)."""
        faded = np.where(self.faded, KERNELS, 0).astype(np.uint8)
        if self.by_argument is None and (self.of_key >= 0).all():
            return (self.color[self.of_key] + faded).take(trace.slices.key[which])
        if isinstance(which, slice) and which == slice(None) and (count := len(trace.slices)):
            return np.concatenate([self.palette(trace, part) for part in parts_of(count)])
        per_slice: Palette = self.color[self.of(trace, which)] + faded[trace.slices.key[which]]
        return per_slice

    def numbers(self, name: tuple[str, int]) -> Ints:
        """Return the classes with a title and color: usually one, none if there is none.

        Names may have the title and color of a class of keys; then there are several.
        """
        same = np.flatnonzero(self.color == name[1]).tolist()
        return np.array([i for i in same if self.titles[i] == name[0]], np.int64)


@dataclass(frozen=True, slots=True)
class LengthRange:
    """The shortest and the longest duration of a slice, in ticks or in ns.

    values: what the argument has that slices are colored by.
    """

    least: Fraction
    most: Fraction
    values: ArgumentRange = NO_VALUES

    def times(self, ns_per_tick: Fraction) -> LengthRange:
        """Convert ticks to ns."""
        return LengthRange(self.least * ns_per_tick, self.most * ns_per_tick)

    def steps(self) -> tuple[Fraction, ...]:
        """Return the start of each step of the ramp, in a geometric progression.

        Only one step if all slices are about equally long.
        """
        ratio = float(self.most / self.least) ** (1 / RAMP_STEPS)
        if ratio < _LEAST_RATIO:
            return (self.least,)
        exact = [self.least * Fraction(ratio**i) for i in range(1, RAMP_STEPS)]
        # Round to digits that the legend can show in full; the steps are further apart than that.
        digits = 2 if ratio > _COARSE else 3
        return (self.least, *(Fraction(f"{float(edge):.{digits}g}") for edge in exact))


@dataclass(frozen=True, slots=True)
class Scheme:
    """One color scheme: its name in saved states and commands, its title, and its description."""

    id: str
    title: str
    tells: str

    @property
    def legend_title(self) -> str:
        """The title in a sentence; the name of an argument as it is."""
        return self.title[0].lower() + self.title[1:]


SCHEMES = (
    Scheme("operator", "Operator", "Every operator has its own color"),
    Scheme("name", "Name", "Slices with the same name have the same color"),
    Scheme("type", "Operator type", "Operators of the same type have the same color"),
    Scheme("module", "Module", "Operators in the same module have the same color"),
    Scheme("delegate", "Delegate", "Each backend has a color; not delegated slices have another"),
    Scheme("duration", "Duration", "Longer slices have stronger colors"),
    Scheme("error", "Error", "Larger errors of logged values have stronger colors"),
    Scheme("links", "Link state", "Whether a slice is linked to one operator, several, or none"),
)
BY_ID = {scheme.id: scheme for scheme in SCHEMES}


def scheme_of(id: str) -> Scheme | None:
    """Return a scheme, or that of an argument of slices, "arg:NAME"; None if there is none."""
    name = id.removeprefix(ARGUMENT)
    if name in ("", id):
        return BY_ID.get(id)
    return Scheme(id, id, f"Each text of {name} has a color, larger numbers a stronger one")


DEFAULT, NAMES, ERROR = "operator", "name", "error"
# Per scheme, the colors of classes that do not have their usual one, by title.
Turns = Mapping[str, Mapping[str, int]]
NO_TURNS: Turns = {}
TURN_SCHEMES = (DEFAULT, NAMES, "module")
NO_ERRORS = "No logged values are compared: choose a reference in Numbers"


def why_not(scheme: str, table: LinkTable) -> str:
    """Return why a trace cannot be colored by a scheme, as a sentence; "" if it can."""
    if scheme.startswith(ARGUMENT):
        return missing_of_slices(table.trace, scheme)
    if scheme in ("operator", "type", "module"):
        if table.program is None:
            source = unlinked_text(table.trace)
            return f"{source[0].upper()}{source[1:]} is linked, so no slice has an operator"
        if not table.sets:
            return "No slice is linked to an operator"
        if scheme == "operator" and table.program.is_nested:
            return "The operators call one another, so they are colored by name"
        if scheme == "module" and not any(op.module_path for op in _linked(table)):
            return "No operator that ran has a module"
    elif scheme == "delegate":
        kinds = (KeyKind.DELEGATE_CALL, KeyKind.DELEGATE_EVENT)
        if not np.isin(table.trace.keys.kind, kinds).any():
            return "No slice ran in a delegate"
    elif scheme == "duration":
        if lengths_of(table.trace) is None:
            return "No slice has a duration"
    elif scheme == "links" and not (table.states > 0).any():
        return "The file has no operator IDs"
    return NO_ERRORS if scheme == ERROR else ""  # unless `OpenTrace` has errors


def scheme_for(scheme: str, table: LinkTable) -> str:
    """Return the scheme that a trace is actually colored by: the given one, or by name."""
    return NAMES if why_not(scheme, table) else scheme


def classes_of(
    scheme: str,
    table: LinkTable,
    lengths: LengthRange | None = None,
    ns_per_tick: Fraction = Fraction(1),
) -> Classes:
    """Return the classes of a trace in a scheme that applies to it.

    lengths (in ns), ns_per_tick: the range of the ramp of durations or of an argument; other
    schemes ignore them.
    """
    if scheme.startswith(ARGUMENT):
        classes = argument_classes(table.trace, scheme, (lengths or lengths_together([])).values)
        plain, faded = np.zeros(len(table.links), np.int32), np.zeros(len(table.links), np.bool_)
        none = np.empty(0, np.int32), np.empty(0, np.uint64)
        return Classes(classes.titles, classes.color, plain, faded, *none, by_argument=classes)
    if scheme == "name":
        return _by_name(table)
    if scheme == "duration":
        return _by_duration(table, lengths or lengths_together([]), ns_per_tick)
    if scheme == "delegate":
        return classes_of_keys(
            table, [_backend_class(table, key) for key in range(len(table.links))]
        )
    if scheme == "links":
        return classes_of_keys(table, [_link_class(table, key) for key in range(len(table.links))])
    return _by_operator(scheme, table)


def operator_colors(scheme: str, table: LinkTable, turns: Turns = NO_TURNS) -> Palette:
    """Return the palette index of every operator of a trace's program in a scheme (uint8).

    The scheme must apply to the trace. If it does not classify operators (names, durations, links),
    each operator has its own color. Those that a profile records have the color of their name.
    """
    program = table.program
    operators = () if program is None else program.operators
    color = np.arange(len(operators)) % OPERATORS
    if program is not None and program.is_nested and scheme in (NAMES, DEFAULT):
        names = [operator.name for operator in operators]
        color = by_name(names).astype(np.int64)
        return _taken_turns(color, names, turns.get(NAMES, {}))
    if program is not None and scheme in ("type", "module"):
        classes = _operator_classes(scheme, program)
        color = np.array([c for _, c in classes], np.int64)
        return _taken_turns(color, [title for title, _ in classes], turns.get(scheme, {}))
    if scheme == "delegate":
        color[:] = PLAIN
        ran: dict[int, set[int]] = {}
        for key, link in enumerate(table.links):
            if table.trace.keys.kind[key] in _CALLS:
                for operator in link.operators:
                    ran.setdefault(operator, set()).add(_backend_class(table, key)[1])
        for operator, backends in ran.items():
            # An operator that is partly delegated and partly a kernel has no single color.
            color[operator] = backends.pop() if len(backends) == 1 else SLAB
    elif program is not None and (of_operators := turns.get(DEFAULT)):
        return _taken_turns(
            color, [t for t, _ in _operator_classes(DEFAULT, program)], of_operators
        )
    return color.astype(np.uint8)


def _taken_turns(color: Ints, titles: Sequence[str], turns: Mapping[str, int]) -> Palette:
    """Return the colors of some titles, of which some take another one."""
    pairs = zip(titles, color.tolist(), strict=True)
    return np.array([turns.get(title, usual) for title, usual in pairs], np.uint8)


def lengths_of(trace: Trace) -> LengthRange | None:
    """Return the shortest and longest slice of a trace for the ramp, in ticks; None if none.

    Runtime scopes are excluded because they contain everything else and would always be longest;
    slices of foreign clocks have no duration on this one.
    """
    slices, is_work = trace.slices, ~np.isin(trace.keys.kind, tuple(_CONTEXT))
    counted, lengths = is_work.take(slices.key), list[int]()
    counted[foreign(slices)] = False
    for part in parts_of(len(slices)):
        long = durations(slices.start[part], slices.end[part])
        long = long[counted[part] & (long > 0)]
        lengths += (int(long.min()), int(long.max())) if len(long) else ()
    return LengthRange(Fraction(min(lengths)), Fraction(max(lengths))) if lengths else None


def lengths_together(every: Iterable[LengthRange | None]) -> LengthRange:
    """Return a common range for several traces, in ns, so that a color means one duration."""
    length_ranges = [x for x in every if x is not None]
    if not length_ranges:
        return LengthRange(Fraction(1), Fraction(1))
    return LengthRange(min(x.least for x in length_ranges), max(x.most for x in length_ranges))


# Keys that are gray in every scheme, by their kind.
_CONTEXT = {
    int(KeyKind.FRAMEWORK): (SCOPES, FRAME),
    int(KeyKind.UNATTRIBUTED): (GAPS, UNATTRIBUTED),
}
_CALLS = (KeyKind.OPERATOR_CALL, KeyKind.DELEGATE_CALL)
_SEVERAL_OF = {
    "operator": "Shared by several operators",
    "type": "Shared by several types",
    "module": "Shared by several modules",
}


def _by_operator(scheme: str, table: LinkTable) -> Classes:
    program = table.program
    operator_classes = () if program is None else _operator_classes(scheme, program)
    linkable = table.states > 0
    turns = {} if program is None or scheme != "module" else _module_turns(program)
    of_set = [
        _class_of_set(scheme, table, operator_classes, turns, i)
        for i in range(len(table.node_sets))
    ]

    def of(key: int) -> tuple[str, int]:
        node_set = int(table.node_set_of_key[key])
        if node_set >= 0:
            return of_set[node_set]
        return (NOT_LINKED, UNLINKED) if linkable[key] else (NOTHING_TO_LINK, PLAIN)

    classes = classes_of_keys(table, [of(key) for key in range(len(table.links))])
    return replace(classes, by_operator=True)


def _class_of_set(
    scheme: str,
    table: LinkTable,
    operator_classes: Sequence[tuple[str, int]],
    turns: Mapping[str, int],
    number: int,
) -> tuple[str, int]:
    """Return the class of a node set: its operator's, or the type or module of its nodes."""
    classes = {operator_classes[i] for i in table.sets[table.set_of_node_set[number]]}
    parts = table.parts[number]
    if scheme == "type":
        classes = {(name, _type_color(name)) for name in map(type_of, parts)}
    elif scheme == "module":
        classes = {_module_class(part.module_path, turns) for part in parts}
    return classes.pop() if len(classes) == 1 else (_SEVERAL_OF[scheme], SLAB)


def _operator_classes(scheme: str, program: Program) -> tuple[tuple[str, int], ...]:
    """Return title and palette index of the class of every operator of a program."""
    operators = program.operators
    if scheme == "type":
        return tuple((op.op, _type_color(op.op)) for op in operators)
    if scheme == "module":
        turns = _module_turns(program)
        return tuple(_module_class(op.module_path, turns) for op in operators)
    labels = [op.label for op in operators]
    often = {label for label, n in Counter(labels).items() if n > 1}
    return tuple((_own_title(op, op.label in often), op.index % OPERATORS) for op in operators)


def _module_turns(program: Program) -> dict[str, int]:
    """Return the palette index of every module path, in order of the operators and their nodes."""
    modules = dict.fromkeys(op.module_path for op in program.operators)
    modules.update(dict.fromkeys(node.module_path for node in program.nodes))
    return {module: i % OPERATORS for i, module in enumerate(modules)}


def _module_class(path: str, turns: Mapping[str, int]) -> tuple[str, int]:
    return path or TOP_LEVEL, turns[path]


def _own_title(op: Operator, ambiguous: bool) -> str:
    """Return an operator's title; calls with the same label get their debug handle appended."""
    if not ambiguous:
        return op.label
    if op.debug_handle >= 0:
        return f"{op.label} · debug handle {op.debug_handle}"
    return f"{op.label} · number {op.index}"


def _type_color(op: str) -> int:
    """Return the color of an operator's family ("tosa.conv2d" is like "conv2d"), else a hash."""
    family = _TYPE_COLORS.get(op.rpartition(".")[2])
    return int(by_name([op])[0]) if family is None else family


def _backend_class(table: LinkTable, key: int) -> tuple[str, int]:
    kind, backend = table.trace.keys.kind[key], table.links[key].backend
    if kind in (KeyKind.DELEGATE_CALL, KeyKind.DELEGATE_EVENT):
        if not backend:
            return "Delegate without a name", SLAB
        is_listed = backend in _BACKENDS
        return backend, _BACKENDS.index(backend) if is_listed else int(by_name([backend])[0])
    if kind in (KeyKind.OPERATOR_CALL, KeyKind.KERNEL):
        return OWN_KERNELS, _KERNEL_COLOR
    return "No delegate or operator", PLAIN


def _link_class(table: LinkTable, key: int) -> tuple[str, int]:
    link, state = table.links[key], table.states[key]
    if link.operators:
        many = len(link.operators) > 1
        return ("Linked to several operators", _SEVERAL) if many else ("Linked to one", _ONE)
    if state == 0:
        return NOTHING_TO_LINK, PLAIN
    return ("Not linked, but its call is", _NEAR) if link.near else (NOT_LINKED, _NONE)


def _by_name(table: LinkTable) -> Classes:
    """Classify by label on screen, so that a call and the kernel in it have one class."""
    trace = table.trace
    keys = trace.keys
    labels = key_labels(table)
    color = by_name(labels)
    classes = [
        ("Instructions without an operator", PLAIN) if kind == KeyKind.CONTROL else (label, int(c))
        for label, c, kind in zip(labels, color.tolist(), keys.kind.tolist(), strict=True)
    ]
    # Slices of one identity may still have different names.
    has_own_names = np.isin(keys.kind, (KeyKind.PLAIN, KeyKind.LOCATION))
    return classes_of_keys(table, classes, named=has_own_names)


def _by_duration(table: LinkTable, lengths: LengthRange, ns_per_tick: Fraction) -> Classes:
    starts = lengths.steps()
    texts = [_short_time(length) for length in (*starts, lengths.most)]
    if len(starts) > 1:
        steps = [(f"{a} – {b}", RAMP + i) for i, (a, b) in enumerate(pairwise(texts))]
    else:
        steps = [(texts[0], RAMP + RAMP_STEPS - 1)]
    # The first integer tick that is at least as long as the step; shorter is the previous step.
    edges = [ceil(start / ns_per_tick) for start in starts[1:]]
    keys = [("", BY_LENGTH)] * len(table.links)
    return classes_of_keys(
        table, keys, first=[*steps, (NO_LENGTH, PLAIN), (OTHER_CLOCK, PLAIN)], edges=edges
    )


def _short_time(ns: Fraction) -> str:
    """Return "1.6 µs" for 1.600 µs."""
    number, space, unit = format_time(float(ns)).rpartition(NARROW_SPACE)
    return f"{number.rstrip('0').rstrip('.') if '.' in number else number}{space}{unit}"


def classes_of_keys(
    table: LinkTable,
    of_key: Sequence[tuple[str, int]],
    *,
    named: Bools | None = None,
    first: Sequence[tuple[str, int]] = (),
    edges: Sequence[int] = (),
) -> Classes:
    """Number the classes of keys, and add the classes that are gray in every scheme.

    of_key: title and palette index, or `BY_LENGTH`, of each key's class. named: the keys whose
    slices are classified by name. first: classes to number before all others.
    """
    trace = table.trace
    kind = trace.keys.kind
    numbers = {pair: i for i, pair in enumerate(first)}

    def number(pair: tuple[str, int]) -> int:
        return numbers.setdefault(pair, len(numbers))

    classes = np.array(
        [
            number(_CONTEXT[k]) if k in _CONTEXT else pair[1] if pair[1] < 0 else number(pair)
            for pair, k in zip(of_key, kind.tolist(), strict=True)
        ],
        np.int32,
    )
    of_name = np.empty(0, np.int32)
    if named is not None and named.any():
        classes[named] = BY_NAME
        # There may be millions of names: they are not looked up, and may repeat classes of keys.
        of_name = np.arange(len(numbers), len(numbers) + len(trace.strings), dtype=np.int32)
    color = np.array([c for _, c in numbers], np.uint8)
    faded = (kind == KeyKind.KERNEL) & (classes >= 0)
    faded[faded] = color[classes[faded]] < OPERATORS
    titles = tuple(title for title, _ in numbers)
    if len(of_name):
        titles += trace.strings
        color = np.concatenate([color, by_name(trace.strings)])
    measured = bool((classes == BY_LENGTH).any())
    return Classes(
        titles, color, classes, faded, of_name, np.array(edges, np.uint64), measured=measured
    )


def _linked(table: LinkTable) -> Collection[Operator]:
    program = table.program
    members = {i for operators in table.sets for i in operators}
    return [] if program is None else [program.operators[i] for i in members]

"""The groups of the key `kernel`: what computed something, by name, and the clock that timed it.

Kernels of the runtime (`native_call_add.out`) have the clock of the file. Operators of XNNPACK have
it too; their names lose the number that they have in their call. Dispatches of a Vulkan shader are
one kernel. Other events of delegates keep their identifiers, without the unit: a node of QNN, a
number of a generated map. Totals, host scopes of Vulkan, and values are no kernels. In other
formats, what has a clock of its own is a kernel, by its name.

A kernel with one name on two clocks is two groups, so that no figure mixes them.

By other keys, slices on other clocks have figures where the user stated a rate. By `kernel`, a
clock that counts a unit of time is in ns too, and one of unknown rate has rows in its own unit,
because "which shader is slow" has an answer without a rate. No row mixes such a unit with ns.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from viewer.analysis.links.delegate_clocks import (
    clock_name,
    clocks_of_slices,
    native_ns,
    own_clock_ns,
)
from viewer.analysis.links.link_table import LinkTable
from viewer.arrays import Bools, Codes, Ints
from viewer.model.names.executorch import xnnpack_operator
from viewer.model.native_units import TICKS, is_value, stated_unit, values, without_unit
from viewer.model.queries import NATIVE_DURATION, foreign
from viewer.model.trace import Column, KeyKind
from viewer.program.debug_handles import (
    Identifier,
    is_of_whole_call,
    shader_of,
    short_identifier,
)

_NUMBER = re.compile(r" #[0-9]+\Z")


def has_kernels(table: LinkTable) -> bool:
    """Return whether any slice of a trace is a kernel."""
    keys = table.trace.keys
    if (keys.kind == KeyKind.KERNEL).any() or len(_plain(table)):
        return True
    events = np.flatnonzero(keys.kind == KeyKind.DELEGATE_EVENT).tolist()
    return any(kernel_name(keys.identifier[key]) for key in events)


def _plain(table: LinkTable) -> Ints:
    """Return the keys of other formats whose slices are all on another clock."""
    slices, kind = table.trace.slices, table.trace.keys.kind
    index = clocks_of_slices(table)[0]
    counts = np.bincount(slices.key[index], minlength=len(kind))
    is_plain = (counts > 0) & ~np.isin(kind, (KeyKind.KERNEL, KeyKind.DELEGATE_EVENT))
    if not is_plain.any():
        return np.empty(0, np.int64)
    return np.flatnonzero(is_plain & (counts == np.bincount(slices.key, minlength=len(kind))))


def kernel_name(identifier: Identifier | None) -> str:
    """Return the kernel in the identifier of a delegate's event; "" if it is none."""
    if identifier is None or is_of_whole_call(identifier):
        return ""
    if shader := shader_of(identifier):
        return shader.kernel or short_identifier(identifier)
    text = str(identifier)
    if is_value(stated_unit(text) or TICKS):
        return ""
    return _NUMBER.sub("", text) if xnnpack_operator(text) else without_unit(text)


def kernel_groups(table: LinkTable) -> tuple[tuple[str, ...], Ints, tuple[str, ...]]:
    """Return the names of the kernels, per key of the trace its kernel, and the clock of each.

    A kernel is -1 for a key that is none. A clock is "" for that of the file, and otherwise named
    as for the rates that the user states. Where the file's clock timed the events of a delegate
    after all, their kernel has no time on that other clock.
    """
    trace, keys = table.trace, table.trace.keys
    numbers: dict[tuple[str, str, str], int] = {}
    of_key = np.full(len(keys), -1, np.int64)
    for key in np.flatnonzero(keys.kind == KeyKind.KERNEL).tolist():
        label = trace.strings[int(keys.name[key])]
        of_key[key] = numbers.setdefault((label, "", ""), len(numbers))
    for key in np.flatnonzero(keys.kind == KeyKind.DELEGATE_EVENT).tolist():
        identifier = keys.identifier[key]
        if label := kernel_name(identifier):
            unit = "ns" if shader_of(identifier) else stated_unit(str(identifier)) or TICKS
            clock = clock_name(table, key, unit)
            of_key[key] = numbers.setdefault((label, clock, unit), len(numbers))
    index, clock_of_slice, clocks_and_units = clocks_of_slices(table)
    of_slice = dict(zip(trace.slices.key[index].tolist(), clock_of_slice.tolist(), strict=True))
    for key in _plain(table).tolist():
        name, unit = trace.strings[int(keys.name[key])], clocks_and_units[of_slice[key]][1]
        if not is_of_whole_call(name):
            labels_of_key = without_unit(name), clock_name(table, key, unit), unit
            of_key[key] = numbers.setdefault(labels_of_key, len(numbers))
    labels, clocks = (tuple(number[field] for number in numbers) for field in (0, 1))
    return labels, of_key, clocks


@dataclass(frozen=True, slots=True, eq=False)
class OwnClocks:
    """The slices on other clocks.

    ns: their durations in ns, as far as known. unit: per slice, the number in `units` of the unit
    of a clock of unknown rate that has rows, else -1; `native` has their lengths in it. left_out:
    the slices with a time that are in no row. values: the slices that hold a value, in no row
    either.
    """

    ns: Column | None
    unit: Ints | None
    units: tuple[str, ...]
    native: Ints | None
    left_out: Ints
    values: Ints

    @property
    def is_none(self) -> bool:
        """Whether no row has anything of another clock."""
        return self.ns is None and self.unit is None

    def is_ns(self, index: Ints | Codes) -> Bools:
        """Return which of some slices have a duration in ns on another clock."""
        if self.ns is None or self.ns.valid is None:
            return np.zeros(len(index), np.bool_)
        is_in_ns: Bools = self.ns.valid[index]
        return is_in_ns


def rated_clocks(table: LinkTable) -> OwnClocks:
    """Return what all keys but `kernel` show: slices whose rate the user stated."""
    ns, held = native_ns(table), values(table.trace.slices)
    out = np.setdiff1d(foreign(table.trace.slices), held, assume_unique=True)
    if ns is not None and ns.valid is not None:
        out = out[~ns.valid[out]]
    return OwnClocks(ns, None, (), None, out, held)


def kernel_clocks(table: LinkTable, kernels: int, of_key: Ints) -> OwnClocks:
    """Return what the key `kernel` shows: times in ns, and others in their own unit.

    kernels, of_key: how many there are, and per key of the trace its kernel.
    """
    slices, ns = table.trace.slices, own_clock_ns(table)
    held = values(slices)
    index, clock, clocks = clocks_of_slices(table)
    unrated = np.ones(len(index), np.bool_) if ns is None or ns.valid is None else ~ns.valid[index]
    index, clock = index[unrated], clock[unrated]
    if not len(index):
        return OwnClocks(ns, None, (), None, index, held)
    group = of_key[slices.key]
    units = tuple(dict.fromkeys(unit for _, unit in clocks))
    unit = np.full(len(slices), -1)
    unit[index] = np.array([units.index(clock_unit) for _, clock_unit in clocks])[clock]
    # A group in which the file's clock, a known rate or another unit timed any slice has no rows.
    others = (unit < 0) & (group >= 0)
    others[held] = False
    is_mixed = np.bincount(group[others], minlength=kernels) > 0
    mine = index[group[index] >= 0]
    pairs = np.unique(np.stack([group[mine], unit[mine]]), axis=1)[0]
    is_mixed |= np.bincount(pairs, minlength=kernels) > 1
    out = mine[is_mixed[group[mine]]]
    unit[out] = -1
    return OwnClocks(ns, unit, units, slices.columns[NATIVE_DURATION].values, out, held)

"""Determines the kind of each event in an ETDump, and a name and key per identity.

An identity is a kind, a method's scope, an instruction, a name and a delegate debug identifier. An
ETDump may have as many identities as events, so everything but the distinct texts is array work.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from viewer.arrays import Bools, Codes, Ints, flags_at
from viewer.formats.executorch.etdump.events import Codes32, ProfileEvents, count_rows, filled
from viewer.formats.executorch.etdump.nesting import next_in_run
from viewer.model.building.builder import TraceBuilder
from viewer.model.names.executorch import (
    CONTROL,
    DELEGATE_CALL,
    KERNEL_PREFIX,
    OPERATOR_CALL,
    is_library_kernel,
)
from viewer.model.trace import KeyKind

_CALLS = {OPERATOR_CALL: KeyKind.OPERATOR_CALL, DELEGATE_CALL: KeyKind.DELEGATE_CALL}


def kinds(events: ProfileEvents) -> NDArray[np.uint8]:
    """The `KeyKind` of every event."""
    of_name = np.full(len(events.names) + 1, KeyKind.PLAIN, np.uint8)  # the last entry: no name
    for i, name in enumerate(events.names):
        if name.startswith(KERNEL_PREFIX):
            of_name[i] = KeyKind.KERNEL
        elif name in CONTROL:
            of_name[i] = KeyKind.CONTROL
        else:
            of_name[i] = _CALLS.get(name, KeyKind.PLAIN)
    kind = of_name[events.name]
    kind[events.chain < 0] = KeyKind.FRAMEWORK
    kind[(events.number != -1) | filled(events.text, events.texts)] = KeyKind.DELEGATE_EVENT
    kind[_library_kernels(events, kind)] = KeyKind.KERNEL
    return kind


def _library_kernels(events: ProfileEvents, kind: NDArray[np.uint8]) -> Bools:
    """The events that are kernels of their OPERATOR_CALL without the prefix in their name.

    The call around an event is the next one in its run, with the same instruction. If that call has
    a kernel with the prefix, the event is something else.
    """
    named = np.array([*map(is_library_kernel, events.names), False])
    if not named.any():
        return np.zeros(len(kind), np.bool_)
    call = next_in_run(kind == KeyKind.OPERATOR_CALL, events.run)
    has_kernel = flags_at(len(kind), call[(kind == KeyKind.KERNEL) & (call >= 0)])
    is_kernel: Bools = (
        (kind == KeyKind.PLAIN)
        & named[events.name]
        & (call >= 0)
        & (events.instruction == events.instruction[call])
        & (events.start >= events.start[call])
        & ~has_kernel[call]
    )
    return is_kernel


def identities(
    events: ProfileEvents, kind: NDArray[np.uint8], scope: Ints, builder: TraceBuilder
) -> tuple[Codes, Codes]:
    """The name and key of every slice, created once per identity, in order of appearance.

    scope: the number of each event's scope.
    """
    delegate = kind == KeyKind.DELEGATE_EVENT
    label, label_names, identifier = _labels(events, delegate)
    appears = np.full(len(label_names), len(events))
    appears[label[::-1]] = np.arange(len(events) - 1, -1, -1)  # the last assignment stays
    used = np.argsort(appears, kind="stable")[: int((appears < len(events)).sum())]
    name = np.zeros(len(label_names), np.uint32)
    name[used] = builder.intern_all([label_names[i] for i in used.tolist()])
    # Equal names are one name, but the identifiers 1 and "1" are different.
    is_integer = np.array([isinstance(i, int) for i in identifier], np.uint64)
    same = name.astype(np.uint64) * np.uint64(2) + is_integer
    instruction = np.where(events.chain < 0, -1, events.instruction)
    what = same[label] << np.uint64(8) | kind
    what = what * np.uint64(scope.max() + 1) + scope.astype(np.uint64)
    if int(what.max()) >= 1 << 32:
        what = np.unique(what, return_inverse=True)[1].astype(np.uint64)
    what = what << np.uint64(32) | instruction.view(np.uint32)
    _, first, inverse = np.unique(what, return_index=True, return_inverse=True)
    order = np.argsort(first)
    first_rows = first[order]
    key = np.empty(len(first), np.uint32)
    key[order] = builder.distinct_keys(
        kind[first_rows],
        name[label[first_rows]],
        scope[first_rows].astype(np.uint32),
        instruction[first_rows].astype(np.int64),
        identifier[label[first_rows]],
    )
    unnamed = ~delegate & ~filled(events.name, events.names)
    count_rows(
        builder, 'event without a name: called "event"', events.row[unnamed].astype(np.int64)
    )
    return name[label], key[inverse]


def _labels(
    events: ProfileEvents, delegate: Bools
) -> tuple[Ints | Codes32, list[str], NDArray[np.object_]]:
    """A label per event; per label, its name and its identifier (None if none).

    The labels are numbered [nothing | names | texts | integers].
    """
    names, texts = events.names, events.texts
    numbered = events.number != -1
    label = events.name + 1
    identifiers: list[str | int] = list(texts)
    if delegate.any():
        integers, number = np.unique(events.number[numbered], return_inverse=True)
        by_identifier = 1 + len(names) + events.text
        by_identifier[numbered] = 1 + len(names) + len(texts) + number
        label = np.where(delegate, by_identifier, label)
        identifiers += integers.tolist()
    label_names = ["event", *(name or "event" for name in names), *map(str, identifiers)]
    return label, label_names, np.array([*[None] * (len(names) + 1), *identifiers], object)

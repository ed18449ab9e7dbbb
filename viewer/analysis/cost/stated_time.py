"""Which slices and keys of a trace state time of their own, rather than that of other slices."""

from __future__ import annotations

from weakref import WeakKeyDictionary

import numpy as np

from viewer.arrays import Bools, Ints
from viewer.model.trace import Trace

_stated_keys: WeakKeyDictionary[Trace, Bools] = WeakKeyDictionary()


def stated_alone(trace: Trace, group_of_key: Ints) -> Ints:
    """Return the groups per key, with -1 for keys that only derived slices have.

    An NSS job covers the host's start and wait slices on another track. Charging both would double
    the cost of the operator.
    """
    if trace not in _stated_keys:
        is_stated = np.zeros(len(trace.keys), np.bool_)
        derived = made_of_others(trace)
        is_stated[trace.slices.key[~derived] if derived.any() else trace.slices.key] = True
        _stated_keys[trace] = is_stated
    return np.where(_stated_keys[trace], group_of_key, -1)


def made_of_others(trace: Trace) -> Bools:
    """Return per slice whether it is derived from slices that are already charged.

    All False if every slice is derived, as in a file of mean times.
    """
    derived = trace.slices.derived
    if derived is None or derived.all():
        return np.zeros(len(trace.slices), np.bool_)
    return derived

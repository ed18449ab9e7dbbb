"""The finding about work outside delegates: all of it, or a part, and why it was not delegated.

If nothing is delegated, everything runs on kernels of the CPU: the strongest finding of this rule.
If everything is, there is none. Why operators were not delegated: see
`viewer.analysis.delegates.why_outside`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from viewer.analysis.cost.work_time import WorkPart
from viewer.analysis.delegates.delegation import Delegation
from viewer.analysis.delegates.why_outside import NOT_KNOWN
from viewer.analysis.findings.finding import (
    NAMED,
    Family,
    FamilyAnswer,
    Finding,
    FindingContext,
    NotReported,
    SliceKeys,
    joined,
    percent,
    share_text,
)
from viewer.analysis.links.coverage import starts_within
from viewer.arrays import Ints
from viewer.model.times import counted
from viewer.model.trace import KeyKind

# Work outside delegates below 10% makes no noticeable difference.
OUTSIDE_SHARE = Fraction(1, 10)
_OUTSIDE_RULE = (
    f"Reported when a delegate ran, and at least {percent(OUTSIDE_SHARE)} of the time ran outside "
    "delegates; or when none ran. The bound is never reached, because a delegate takes time too."
)

_KERNEL_OF_CPU = "native_call_"
_TRY = (
    "Try a partitioner when you export: XNNPACK for CPUs, or that of the device's accelerator. "
    "Else link the optimized kernels instead of the portable ones."
)


def outside(context: FindingContext) -> FamilyAnswer:
    """Report what ran outside delegates."""
    groups, ticks, whole = context.work.groups, context.ticks, context.whole_ticks
    timed = np.flatnonzero(ticks).tolist()
    is_outside = np.array([group.part is WorkPart.OUTSIDE for group in groups], np.bool_)
    outside_ticks = np.where(is_outside, ticks, 0)
    total = int(outside_ticks.sum())
    is_delegated = any(groups[n].part is WorkPart.DELEGATED for n in timed)
    if not total and not is_delegated:
        why = f"neither a delegate nor a kernel ran in {context.scope}"
        return NotReported(Family.OUTSIDE, why, _OUTSIDE_RULE, False)
    if not whole or total < OUTSIDE_SHARE * whole:
        why = f"{share_text(total, whole)} of {context.whole} ran outside delegates"
        return NotReported(Family.OUTSIDE, why, _OUTSIDE_RULE, True)
    keys = tuple(key for i in np.flatnonzero(outside_ticks).tolist() for key in groups[i].keys)
    if is_delegated:
        action = f"Delegate {_outside_text(context, keys)} that ran outside"
        detail = f"{context.listed(context.work.by_thing(outside_ticks))}."
        advice = _why(context, keys) or NOT_KNOWN
    else:
        action = "Delegate the model: nothing runs in a delegate"
        detail = _nothing_delegated(context, keys, outside_ticks)
        advice = " ".join(filter(None, (_TRY, _why(context, keys))))
    return [
        Finding(
            Family.OUTSIDE,
            action,
            context.gain(total),
            detail,
            _OUTSIDE_RULE,
            SliceKeys(keys),
            advice=advice,
        )
    ]


def _outside_text(context: FindingContext, keys: Sequence[int]) -> str:
    """Return "3 operators", or "the work" if not all of it is linked to operators."""
    operators = [context.links.links[key].operators for key in keys]
    if not all(operators):
        return "the work"
    return counted(len({i for operator in operators for i in operator}), "operator")


def _nothing_delegated(context: FindingContext, keys: Sequence[int], ticks: Ints) -> str:
    """Return where everything ran instead, which types take most of it, and what to try."""
    trace = context.trace
    kernels = [key for key in keys if trace.keys.kind[key] == KeyKind.KERNEL]
    names = [trace.strings[int(trace.keys.name[key])] for key in kernels]
    is_cpu = bool(names) and all(name.startswith(_KERNEL_OF_CPU) for name in names)
    where = f"{_KERNEL_OF_CPU} kernels of the CPU library" if is_cpu else "kernels"
    types = Counter[str]()
    for group in np.flatnonzero(ticks).tolist():
        types[_type(context, group)] += int(ticks[group])
    shares = [f"{name} {share_text(own, context.whole_ticks)}" for name, own in types.most_common()]
    by_kernel = f" By kernel: {joined(_kernels(context, kernels))}." if kernels else ""
    return (
        f"0 of {context.time_per(context.whole_ticks)} runs in a delegate; all operators run as "
        f"{where}: {joined(shares)}.{by_kernel}"
    )


def _kernels(context: FindingContext, keys: Sequence[int]) -> list[str]:
    """Return the kernels with their shares of the time, the largest first."""
    trace = context.trace
    inside = starts_within(trace, context.within)
    long = (trace.slices.end - trace.slices.start)[inside]
    total = np.zeros(len(trace.keys), np.int64)
    np.add.at(total, trace.slices.key[inside], long)
    named = Counter[str]()
    for key in keys:
        named[trace.strings[int(trace.keys.name[key])]] += int(total[key])
    return [f"{name} {share_text(own, context.whole_ticks)}" for name, own in named.most_common()]


def _type(context: FindingContext, group: int) -> str:
    """Return the type of the operators of a group, else what it is called."""
    work_group, program = context.work.groups[group], context.links.program
    operators = context.links.links[work_group.keys[0]].operators
    types = {program.operators[i].op for i in operators} if program is not None else set()
    return types.pop() if len(types) == 1 else context.work.things[work_group.thing]


def _why(context: FindingContext, keys: Sequence[int]) -> str:
    """Return why the most expensive operators were not delegated, as far as the files show it."""
    program, ticks = context.links.program, Counter[int]()
    group_of_key, of_group = context.work.group_of_key, context.ticks
    for key in keys:
        operators = context.links.links[key].operators
        if len(operators) == 1:
            ticks[operators[0]] += int(of_group[group_of_key[key]])
    if program is None or program.is_mlir or not ticks:
        return ""
    why = Delegation(context.links).why_outside
    texts = [text for i, _ in ticks.most_common(NAMED) if why and (text := why.named(i))]
    return " ".join(f"{text}." for text in texts)

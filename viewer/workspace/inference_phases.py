"""Whether the input sizes of a method can vary, and the phases that the user chose. No Qt."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from itertools import count

from viewer.model.inferences.logged_methods import Series, series_of
from viewer.model.trace import Run, Trace
from viewer.program.executable.executable import Dynamism, ExecutableMethod
from viewer.program.program import Method
from viewer.workspace.inference_methods import check_inferences
from viewer.workspace.user_choices import UserChoices

FIRST = "phase 1"  # the inferences before a split that are of no phase yet


def sizes_vary(ran: Sequence[ExecutableMethod], recorded: Method | None) -> bool | None:
    """Return whether the sizes of a method's tensors can vary, None if no file shows it.

    ran: those of a program file that may have run; they decide. recorded: the one of an ETRecord.
    """
    if ran:
        return any(
            bool((executable_method.tensors.dynamism != Dynamism.STATIC).any())
            for executable_method in ran
        )
    shapes = [
        value.shape
        for operator in (recorded.operators if recorded is not None else ())
        for node in operator.nodes
        for value in (*node.inputs, *node.outputs)
        if value.shape is not None
    ]
    if not shapes:
        return None
    return any(isinstance(size, str) for shape in shapes for size in shape)


def chosen_phases(trace: Trace, choices: UserChoices) -> list[tuple[str, tuple[int, ...], str]]:
    """Return (scope, numbers, phase) of the inferences whose phase was chosen."""
    groups: dict[tuple[int, str], list[int]] = {}
    for (scope, number), phase in sorted(choices.phases.get(trace.path, {}).items()):
        if scope < len(trace.scopes):  # fewer than when chosen, if the file has changed
            groups.setdefault((scope, phase), []).append(number)
    return [
        (trace.scopes[scope].name, tuple(numbers), phase)
        for (scope, phase), numbers in groups.items()
    ]


def with_phase(
    choices: UserChoices, trace: Trace, scope: str, phase: str, numbers: Collection[int]
) -> UserChoices:
    """Return choices in which inferences of a scope (some, or all) are of a phase, "" for none.

    Raises ValueError for a trace without such inferences.
    """
    names = [instruction_scope.name for instruction_scope in trace.scopes]
    if scope not in names:
        known = ", ".join(dict.fromkeys(names))
        raise ValueError(f"{trace.path} has no {scope!r}; it has {known}")
    check_inferences(trace, scope, numbers, trace.path)
    wanted = names.index(scope)
    chosen = (
        i
        for i, run in enumerate(trace.runs)
        if run.number and run.scope == wanted and (not numbers or run.number in numbers)
    )
    return in_phases(choices, trace, dict.fromkeys(chosen, phase))


def in_phases(choices: UserChoices, trace: Trace, phases: Mapping[int, str]) -> UserChoices:
    """Return choices in which inferences, by their positions in `Trace.runs`, are of phases.

    The other inferences of their methods keep the phases that they have now.
    """
    methods = {_method(trace, trace.runs[i]) for i in phases}
    chosen = choices.phases.get(trace.path, {})  # the trace may not show the last of them yet
    phase_of = {
        (run.scope, run.number): phases.get(i, chosen.get((run.scope, run.number), run.phase))
        for i, run in enumerate(trace.runs)
        if run.number and _method(trace, run) in methods
    }
    return choices.with_phases(trace.path, phase_of)


def of_same_phase(trace: Trace, run: int) -> list[int]:
    """Return the inferences of the phase of one, in order of time."""
    series = series_of(trace, trace.runs[run])
    every = enumerate(trace.runs)
    members = [i for i, run in every if run.number and series_of(trace, run) == series]
    return sorted(members, key=lambda i: trace.runs[i].start)


def phases_beside(trace: Trace, run: int) -> list[str]:
    """Return the phases of the method of an inference, without its own, in order of time."""
    this = trace.runs[run]
    every = sorted(trace.inferences(), key=lambda run: run.start)
    names = (run.phase for run in every if _method(trace, run) == _method(trace, this))
    return [name for name in dict.fromkeys(names) if name and name != this.phase]


def split_before(trace: Trace, run: int, name: str) -> dict[int, str]:
    """Return phases in which the inferences of a phase from one on have a name of their own.

    Those before it keep theirs; without one they are "phase 1".
    """
    members = of_same_phase(trace, run)
    later = members[members.index(run) :]
    return dict.fromkeys(members, trace.runs[run].phase or FIRST) | dict.fromkeys(later, name)


def new_name(trace: Trace, run: int) -> str:
    """Return a name that no phase of the method of an inference has: "phase 2"."""
    taken = {*phases_beside(trace, run), trace.runs[run].phase or FIRST}
    return next(name for n in count(2) if (name := f"phase {n}") not in taken)


def _method(trace: Trace, run: Run) -> Series:
    return series_of(trace, replace(run, phase=""))

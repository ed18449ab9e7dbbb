"""Whether the input sizes of a method can vary, and the phases that the user chose. No Qt."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from viewer.model.trace import Trace
from viewer.program.executable.executable import Dynamism, ExecutableMethod
from viewer.program.program import Method
from viewer.workspace.inference_methods import check_inferences
from viewer.workspace.user_choices import UserChoices


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

    Its other inferences keep the phases that they have now. Raises ValueError for a trace without
    such inferences.
    """
    names = [instruction_scope.name for instruction_scope in trace.scopes]
    if scope not in names:
        known = ", ".join(dict.fromkeys(names))
        raise ValueError(f"{trace.path} has no {scope!r}; it has {known}")
    check_inferences(trace, scope, numbers, trace.path)
    at = names.index(scope)
    runs = [run for run in trace.inferences() if run.scope == at]
    for run in runs:
        wanted = phase if not numbers or run.number in numbers else run.phase
        choices = choices.with_phase(trace.path, at, (run.number,), wanted)
    return choices

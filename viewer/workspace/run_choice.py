"""Which inferences of its profiles an arm of a comparison has: by number, by method or by time.

No Qt. What several choices include is `all_of` them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass

from viewer.analysis.links.link_table import LinkTable
from viewer.model.text import listed
from viewer.model.trace import Run
from viewer.model.work_unit import WorkUnit, common_unit
from viewer.workspace.workspace import Workspace

# Ranges of numbers that are listed; more of them are only counted.
_MOST_RANGES = 3


@dataclass(frozen=True, slots=True)
class RunChoice:
    """Some inferences of profiles.

    words: what they are, such as "method prefill". includes: whether an inference of a profile is
    one of them. method: the method that all of them ran, "" if they were not chosen by it. warm_up:
    whether those that warm up count.
    """

    words: str
    includes: Callable[[LinkTable, Run], bool]
    method: str = ""
    warm_up: bool = False


def of_numbers(workspace: Workspace, numbers: Collection[int]) -> RunChoice:
    """Return the inferences with some numbers, also those that warm up."""
    chosen = frozenset(numbers)
    words = _words(sorted(chosen), common_unit(trace.unit for trace in workspace.traces))
    return RunChoice(words, lambda _, run: run.number in chosen, warm_up=True)


def of_scope(
    workspace: Workspace, paths: Collection[str], numbers: Collection[int], scope: str
) -> RunChoice:
    """Return the inferences with some numbers in one scope, which the files name so.

    paths: the profiles whose links name its method.
    """
    chosen = frozenset(numbers)
    unit = common_unit(trace.unit for trace in workspace.traces if trace.path in paths)
    tables = [workspace.links(trace) for trace in workspace.traces if trace.path in paths]
    runs = ((table, run) for table in tables for run in table.trace.inferences())
    methods = (_method_of(table, run) for table, run in runs if _scope_of(table, run) == scope)
    method = next(methods, scope)
    return RunChoice(
        f"{_words(sorted(chosen), unit)} of {method}",
        lambda table, run: run.number in chosen and _scope_of(table, run) == scope,
        method,
        warm_up=True,
    )


def _words(numbers: Sequence[int], unit: WorkUnit) -> str:
    """Ascending numbers in words: "inference 3", "inferences 1 to 4 and 6"."""
    if len(numbers) == 1:
        return f"{unit.noun} {numbers[0]}"
    first = [n for i, n in enumerate(numbers) if not i or n != numbers[i - 1] + 1]
    last = [n for i, n in enumerate(numbers) if i == len(numbers) - 1 or numbers[i + 1] != n + 1]
    if len(first) > _MOST_RANGES:
        return f"{len(numbers)} chosen {unit.plural}"
    parts = [f"{x} to {y}" if y > x else str(x) for x, y in zip(first, last, strict=True)]
    return f"{unit.plural} {listed(parts)}"


def of_method(workspace: Workspace, name: str) -> RunChoice:
    """Return the inferences of a method.

    name: of the method, or of its runs as the profile has it. Raises ValueError if no inference has
    it, or if the runs of that name are of several methods.
    """
    names = _names(workspace)
    methods = {method for method, runs in names if name in (method, runs)}
    if name in methods:
        methods = {name}
    every = ", ".join(sorted({method for method, _ in names})) or "none"
    if not methods:
        raise ValueError(f"no inference runs a method {name!r}; the methods are: {every}")
    if len(methods) > 1:
        raise ValueError(f"{name!r} is {' and '.join(sorted(methods))}; name one of them")
    method = methods.pop()
    return RunChoice(
        f"method {method}", lambda table, run: _method_of(table, run) == method, method
    )


def all_of(choices: Iterable[RunChoice]) -> RunChoice | None:
    """Return the inferences that all of some choices include; None without any choice."""
    run_choices = tuple(choices)
    if len(run_choices) < 2:
        return run_choices[0] if run_choices else None
    return RunChoice(
        ", ".join(run_choice.words for run_choice in run_choices),
        lambda table, run: all(run_choice.includes(table, run) for run_choice in run_choices),
        next((run_choice.method for run_choice in run_choices if run_choice.method), ""),
        any(run_choice.warm_up for run_choice in run_choices),
    )


def _names(workspace: Workspace) -> set[tuple[str, str]]:
    """The method of every inference, and the name of its runs."""
    names = set()
    for trace in workspace.traces:
        table = workspace.links(trace)
        for scope in {run.scope for run in trace.inferences()}:
            name = trace.scopes[scope].name
            names.add((table.method_of_scope(scope) or name, name))
    return names


def _method_of(table: LinkTable, run: Run) -> str:
    return table.method_of_scope(run.scope) or _scope_of(table, run)


def _scope_of(table: LinkTable, run: Run) -> str:
    return table.trace.scopes[run.scope].name

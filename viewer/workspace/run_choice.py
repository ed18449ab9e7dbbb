"""Which inferences of its profiles an arm of a comparison has: by number, by method or by time.

No Qt. What several choices include is `all_of` them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass

from viewer.analysis.links.link_table import LinkTable
from viewer.model.trace import Run
from viewer.workspace.workspace import Workspace


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


def of_numbers(numbers: Collection[int]) -> RunChoice:
    """Return the inferences with some numbers, also those that warm up."""
    own = frozenset(numbers)
    words = f"inference {min(own)}" if len(own) == 1 else f"{len(own)} chosen inferences"
    return RunChoice(words, lambda _, run: run.number in own, warm_up=True)


def of_method(workspace: Workspace, name: str) -> RunChoice:
    """Return the inferences of a method.

    name: of the method, or of its runs as the profile has it. Raises ValueError if no inference has
    it, or if the runs of that name are of several methods.
    """
    found = _names(workspace)
    methods = {method for method, runs in found if name in (method, runs)}
    if name in methods:
        methods = {name}
    every = ", ".join(sorted({method for method, _ in found})) or "none"
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
    own = tuple(choices)
    if len(own) < 2:
        return own[0] if own else None
    return RunChoice(
        ", ".join(one.words for one in own),
        lambda table, run: all(one.includes(table, run) for one in own),
        next((one.method for one in own if one.method), ""),
        any(one.warm_up for one in own),
    )


def _names(workspace: Workspace) -> set[tuple[str, str]]:
    """The method of every inference, and the name of its runs."""
    found = set()
    for trace in workspace.traces:
        table = workspace.links(trace)
        for scope in {run.scope for run in trace.inferences()}:
            name = trace.scopes[scope].name
            found.add((table.method_of_scope(scope) or name, name))
    return found


def _method_of(table: LinkTable, run: Run) -> str:
    return table.method_of_scope(run.scope) or table.trace.scopes[run.scope].name

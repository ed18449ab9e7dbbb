"""Reads Torq debug info from an MLIR text: actions, NSS jobs and tasks of dispatches.

`torq-compile --torq-debug-info=DIR` writes one `<dispatch>.mlirb` per dispatch: the module after
all lowering, read here in generic form with locations. Attributes of the operations that count:

    "torq-action-id"   on each step of the runtime: memref.alloc, torq_hl.host_copy,
                       torq_hl.start_program, torq_hl.wait_program; a profile's action_id
    "torq-job-id"      on the torq_hl.create_invocation of an NSS program; a profile's job_id
    "torq-task-id"     on torq_hw.nss_task inside the program; a compile profile's taskId
    "torq-start-time-cycles", "torq-end-time-cycles"   on tasks and on start and wait actions
    "torq-async-duration-cycles"                       on torq_hw.*_start

An action that starts a program names the invocation as its first operand, and so its job. In the
tasks of a job, `torq_hw.dma_in_start` starts work on its unit and `torq_hw.dma_in_wait` ends the
oldest open work of that unit, possibly in a later task or job; so do dma_out, cdma, css, and each
slice unit. Cycles exist only if the profiling pass ran (`--torq-enable-profiling`). Unexpected data
is counted, never raised.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Mapping, Sequence

from viewer.dataclasses import dataclass, field, replace
from viewer.model.recorded_names import START_PROGRAM, WAIT_PROGRAM
from viewer.model.trace import Problem, Unit
from viewer.program.mlir.locations import STRING_CONTENT, LocationAliases, unescape
from viewer.program.mlir.operations import OperationReader, OperationText
from viewer.program.program import Action, Dispatch, NssJob, NssTask, UnitWork

MARK = '"torq-'  # marks a text as debug info


def read_dispatches(
    path: str,
    operations: Sequence[OperationText],
    text: OperationReader,
    aliases: LocationAliases,
) -> tuple[tuple[Dispatch, ...], tuple[Problem, ...]]:
    """The dispatches of a text, and its problems. Empty for a text without debug info.

    operations: all operations of `text`, which must be read to its end. aliases: those of its
    locations.
    """
    parts = _Parts(operations, text, aliases)
    drafts = _drafts(parts)
    dispatches = tuple(_DispatchReader(path, parts, draft).dispatch() for draft in drafts)
    return dispatches, tuple(
        Problem(k, n, f"line {line}") for k, (n, line) in parts.problems.items()
    )


_NUMBER = r"-?[0-9]{1,18}(?![0-9])"
_TOKEN = re.compile(
    rf'(?P<key>"{STRING_CONTENT}"|(?<![\w$.])[A-Za-z_][\w$.]*)\s*=\s*'
    rf'(?:(?P<number>{_NUMBER})|(?P<text>"{STRING_CONTENT}")|)'
    rf'|"{STRING_CONTENT}"?|(?P<brace>[{{}}])'
)
_LOCATION_TOKEN = re.compile(rf'"{STRING_CONTENT}"?|(?P<loc>\bloc\()|[()]')
_OPERANDS = re.compile(rf'\s*"{STRING_CONTENT}"\s*\(([^()"]*)\)')
_VALUE = re.compile(r"%[\w$.-]+")
_ARGUMENT = re.compile(r"(%[\w$.-]+)\s*:")
_SEGMENTS = re.compile(r"\boperandSegmentSizes\s*=\s*array<i32:\s*([0-9,\s]*)>")
_WORK = re.compile(r"torq_hw\.(dma_in|dma_out|cdma|slice|css)_(start|wait)")
_UNITS = {
    "dma_in": Unit.DMA_IN, "dma_out": Unit.DMA_OUT, "cdma": Unit.CDMA, "slice": Unit.SLICE,
    "css": Unit.CSS,
}  # fmt: skip
_TASK, _PROGRAM, _INVOCATION = "torq_hw.nss_task", "torq_hl.program", "torq_hl.create_invocation"
# Values are defined in the region that uses them or in one around it; real texts nest less deep.
_MOST_REGIONS = 64


@dataclass(slots=True)
class _Invocation:
    """An invocation of a program. program: the number of its operation, -1 if missing."""

    program: int
    name: str
    job: int | None


@dataclass(slots=True)
class _Draft:
    """A dispatch while its operations are collected.

    jobs: job -> its invocation. given: job -> the arguments of its program. tasks: program -> its
    task operations. work: task -> its start and wait operations.
    """

    name: str
    actions: dict[int, Action] = field(default_factory=dict)
    jobs: dict[int, _Invocation] = field(default_factory=dict)
    given: dict[int, list[str]] = field(default_factory=dict)
    tasks: dict[int, list[int]] = field(default_factory=dict)
    work: dict[int, list[int]] = field(default_factory=dict)


class _Parts:
    """Reads the attributes of single operations and counts problems."""

    def __init__(
        self,
        operations: Sequence[OperationText],
        text: OperationReader,
        aliases: LocationAliases,
    ) -> None:
        self.operations = operations
        self.text = text
        self._aliases = aliases
        self.problems: dict[str, tuple[int, int]] = {}  # kind -> how often, first line
        self.invocations: dict[int, _Invocation] = {}
        self._values: dict[tuple[int, str], int] = {}

    def odd(self, kind: str, number: int) -> None:
        """Count a problem of an operation."""
        count, line = self.problems.get(kind, (0, self.operations[number].line))
        self.problems[kind] = count + 1, line

    def attributes(self, number: int) -> dict[str, str]:
        """The attributes with numbers or strings, as written. For repeated names, the first one."""
        attributes: dict[str, str] = {}
        for depth, text in ((0, self.operations[number].text), (1, self.text.tail(number))):
            for token in _TOKEN.finditer(_before_location(text)):
                if brace := token["brace"]:
                    depth += 1 if brace == "{" else -1
                elif depth == 1 and (value := token["number"] or token["text"]):
                    key = token["key"]
                    attributes.setdefault(key[1:-1] if key[0] == '"' else key, value)
        return attributes

    def cycles(self, number: int, attributes: Mapping[str, str]) -> tuple[int | None, int | None]:
        """Start and end of the operation in cycles; both None unless both are valid."""
        start = _number(attributes, "torq-start-time-cycles")
        end = _number(attributes, "torq-end-time-cycles")
        if start is None or end is None:
            return None, None
        if end < start:
            self.odd("cycles that end before they start: left out", number)
            return None, None
        return start, end

    def location(self, number: int) -> str:
        """The location at the end of the operation, "" if there is none."""
        tail = self.text.tail(number)
        return self._aliases.resolved(_trailing_location(tail or self.operations[number].text))

    def define(self, number: int) -> None:
        """Remember the values that an operation defines."""
        for value in _VALUE.findall(self.operations[number].result):
            self._values[self.text.parent(number), value] = number

    def maker(self, user: int, value: str) -> int:
        """The operation that defines a value used by `user`, -1 if not found."""
        region = self.text.parent(user)
        for _ in range(_MOST_REGIONS):
            number = self._values.get((region, value))
            if number is not None or region < 0:
                return -1 if number is None else number
            region = self.text.parent(region)
        return -1


def _drafts(parts: _Parts) -> list[_Draft]:
    drafts: dict[int, _Draft] = {}  # the line of a function -> its dispatch
    # the innermost task and program around each operation, or the operation itself
    task_of: list[int] = []
    program_of: list[int] = []
    for number, operation in enumerate(parts.operations):
        parent, name = parts.text.parent(number), operation.name
        task_of.append(number if name == _TASK else task_of[parent] if parent >= 0 else -1)
        inner = program_of[parent] if parent >= 0 else -1
        program_of.append(number if name == _PROGRAM else inner)
        is_torq = name.startswith("torq_h")
        if not is_torq and MARK not in operation.text:
            continue
        draft = drafts.setdefault(operation.function_line, _Draft(operation.func))
        if operation.result:
            parts.define(number)
        if name == _TASK:
            draft.tasks.setdefault(inner, []).append(number)
        elif _WORK.fullmatch(name):
            draft.work.setdefault(task_of[-1], []).append(number)
        elif name == _INVOCATION:
            _add_invocation(parts, draft, number)
        else:
            _add_action(parts, draft, number)
    return [draft for draft in drafts.values() if draft.actions or draft.jobs or draft.tasks]


def _add_invocation(parts: _Parts, draft: _Draft, number: int) -> None:
    attributes = parts.attributes(number)
    operands = _operands(parts.operations[number])
    program = parts.maker(number, operands[0]) if operands else -1
    job = _number(attributes, "torq-job-id")
    invocation = _Invocation(program, _text(attributes, "name"), job)
    parts.invocations[number] = invocation
    if job is None:
        return
    if job in draft.jobs:
        parts.odd("a job id twice in one dispatch: the first one counts", number)
    draft.jobs.setdefault(job, invocation)


def _add_action(parts: _Parts, draft: _Draft, number: int) -> None:
    operation, attributes = parts.operations[number], parts.attributes(number)
    action = _number(attributes, "torq-action-id")
    if action is None:
        return
    if action in draft.actions:
        parts.odd("an action id twice in one dispatch: the first one counts", number)
        return
    invocation = None
    if operation.name in (START_PROGRAM, WAIT_PROGRAM):
        operands = _operands(operation)
        if operands:
            invocation = parts.invocations.get(parts.maker(number, operands[0]))
        if invocation is None:
            parts.odd("a start or wait of which no invocation is found", number)
        elif operation.name == START_PROGRAM and invocation.job is not None:
            draft.given.setdefault(invocation.job, _arguments(operands, operation.text))
    start, end = parts.cycles(number, attributes)
    job, name = (invocation.job, invocation.name) if invocation else (None, "")
    draft.actions[action] = Action(
        action,
        operation.name,
        job,
        parts.location(number),
        start,
        end,
        name,
        operation.line,
        operation.col,
    )


@dataclass(slots=True)
class _Started:
    """Work that nothing has waited for yet: its task, the number of its start, and details."""

    task: int
    number: int
    details: str


class _DispatchReader:
    """Follows the work of one dispatch through its jobs, in the order they are started."""

    def __init__(self, path: str, parts: _Parts, draft: _Draft) -> None:
        self._path = path
        self._parts = parts
        self._draft = draft
        self._tasks: dict[int, NssTask] = {}
        # Task -> (number of the start, work) of the work that it starts.
        self._work: dict[int, list[tuple[int, UnitWork]]] = {}
        self._open: dict[tuple[Unit, int], deque[_Started]] = {}
        # Program -> its block arguments and their indexes.
        self._argument_at: dict[int, dict[str, int]] = {}

    def dispatch(self) -> Dispatch:
        """Build the dispatch."""
        draft = self._draft
        actions = sorted(draft.actions.values(), key=lambda action: -action.id)
        starts = {a.job: a.id for a in actions if a.op == START_PROGRAM}
        waits = {a.job: a.id for a in actions if a.op == WAIT_PROGRAM}
        order = sorted(draft.jobs, key=lambda job: (job not in starts, starts.get(job, job)))
        # A program that several jobs start has the same tasks in each; they belong to the first
        # job.
        tasks_of: dict[int, tuple[int, ...]] = {}
        for job in order:
            program = draft.jobs[job].program
            if program not in tasks_of:
                tasks_of[program] = self._follow(draft.tasks.get(program, []), job)
        for program, numbers in draft.tasks.items():
            if program not in tasks_of:
                self._follow(numbers, None)
        self._give_up()
        tasks = {
            task: replace(nss_task, work=tuple(w for _, w in sorted(self._work.get(task, ()))))
            for task, nss_task in self._tasks.items()
        }
        summed = {
            program: _summed(program_tasks, tasks) for program, program_tasks in tasks_of.items()
        }
        jobs = {}
        for job in sorted(order):
            program = draft.jobs[job].program
            units, start, end = summed[program]
            jobs[job] = NssJob(
                job,
                draft.jobs[job].name,
                starts.get(job),
                waits.get(job),
                tasks_of[program],
                units,
                start,
                end,
            )
        return Dispatch(self._path, draft.name, dict(sorted(draft.actions.items())), jobs, tasks)

    def _follow(self, numbers: Sequence[int], job: int | None) -> tuple[int, ...]:
        """Read the tasks of one program; returns their distinct ids."""
        task_ids: dict[int, None] = {}
        for number in numbers:
            operation, attributes = self._parts.operations[number], self._parts.attributes(number)
            task = _number(attributes, "torq-task-id")
            if task is None:
                self._parts.odd("a task without an id: left out", number)
                continue
            if task in self._tasks:
                self._parts.odd("a task id twice in one dispatch: the first one counts", number)
                continue
            task_ids[task] = None
            start, end = self._parts.cycles(number, attributes)
            place = self._parts.location(number)
            self._tasks[task] = NssTask(
                task, job, start, end, place, (), operation.line, operation.col
            )
            for work_number in self._draft.work.get(number, ()):
                self._take(work_number, task, job)
        return tuple(task_ids)

    def _take(self, number: int, task: int, job: int | None) -> None:
        """A start opens work; a wait closes the oldest open work of its unit."""
        operation = self._parts.operations[number]
        match = _WORK.fullmatch(operation.name)
        assert match is not None
        unit, which = _UNITS[match[1]], 0
        if unit is Unit.SLICE:
            slice_id = _number(self._parts.attributes(number), "id")
            if slice_id is None:
                self._parts.odd("a slice unit without an id: left out", number)
                return
            which = slice_id
        waiting = self._open.setdefault((unit, which), deque())
        if match[2] == "start":
            details = self._program_name(number, job) if unit is Unit.SLICE else ""
            waiting.append(_Started(task, number, details))
        elif waiting:
            self._close(unit, which, waiting.popleft(), self._tasks[task].end)
        else:
            self._parts.odd("a wait for work that was not started", number)

    def _close(self, unit: Unit, which: int, started: _Started, end: int | None) -> None:
        start = self._tasks[started.task].start
        duration = _number(self._parts.attributes(started.number), "torq-async-duration-cycles")
        ready = None if start is None or duration is None else start + duration
        place = self._parts.location(started.number)
        work = UnitWork(unit, which, start, ready, end, place, started.details)
        self._work.setdefault(started.task, []).append((started.number, work))

    def _give_up(self) -> None:
        for (unit, which), waiting in self._open.items():
            for started in waiting:
                self._parts.odd("work that nothing waits for: without an end", started.number)
                self._close(unit, which, started, None)

    def _program_name(self, number: int, job: int | None) -> str:
        """The name of the program that a slice unit runs, from the invocation operand of its start.

        The invocation is created next to the start, or is an argument of the NSS program's block.
        """
        operands = _operands(self._parts.operations[number])
        if not operands:
            return ""
        source = self._parts.maker(number, operands[0])
        if source < 0 and job is not None:
            program = self._draft.jobs[job].program
            arguments = self._draft.given.get(job, [])
            if program not in self._argument_at:
                names = _ARGUMENT.findall(self._parts.text.entry(program)) if program >= 0 else []
                self._argument_at[program] = {name: i for i, name in enumerate(names)}
            position = self._argument_at[program].get(operands[0], len(arguments))
            source = (
                self._parts.maker(program, arguments[position]) if position < len(arguments) else -1
            )
        invocation = self._parts.invocations.get(source)
        return (
            invocation.name.removeprefix("slice_program_").removeprefix("torq_hl.")
            if invocation
            else ""
        )


def _summed(
    task_ids: Sequence[int], tasks: Mapping[int, NssTask]
) -> tuple[tuple[tuple[Unit, int], ...], int | None, int | None]:
    """The units that work in some tasks, the earliest start and the latest end."""
    units = {(work.unit, work.number) for task in task_ids for work in tasks[task].work}
    starts = [start for task in task_ids if (start := tasks[task].start) is not None]
    ends = [end for task in task_ids if (end := tasks[task].end) is not None]
    is_timed = len(starts) == len(task_ids) > 0
    return tuple(sorted(units)), min(starts) if is_timed else None, max(ends) if is_timed else None


def _number(attributes: Mapping[str, str], name: str) -> int | None:
    value = attributes.get(name, '"')
    return None if value[0] == '"' else int(value)


def _text(attributes: Mapping[str, str], name: str) -> str:
    value = attributes.get(name, "")
    return unescape(value[1:-1]) if value[:1] == '"' else ""


def _operands(operation: OperationText) -> list[str]:
    """The operands of an operation in generic form, without the "#1" of multiple results."""
    text = operation.text
    match = _OPERANDS.match(text, text.index("=") + 1 if operation.result else 0)
    return _VALUE.findall(match[1]) if match else []


def _arguments(operands: Sequence[str], text: str) -> list[str]:
    """The arguments of a program: the operands after its invocation and the values of its code."""
    match = _SEGMENTS.search(text)
    sizes = [int(n) for n in re.findall(r"[0-9]{1,9}", match[1])] if match else []
    return list(operands[sum(sizes[:2]) :]) if len(sizes) == 3 else []


def _before_location(text: str) -> str:
    """A statement without its location, if that is easy to find; else the whole statement."""
    position = text.find(" loc(")
    return (
        text[:position]
        if position >= 0 and text.count('"', 0, position) % 2 == 0 and "\\" not in text
        else text
    )


def _trailing_location(text: str) -> str:
    """The "loc(...)" at the end of a statement, ignoring the contents of strings."""
    position = text.find("loc(")
    if position < 0 or not text.endswith(")"):
        return ""
    if (
        text.find("loc(", position + 1) < 0
        and text.count('"', 0, position) % 2 == 0
        and "\\" not in text
    ):
        return text[position:]
    depth, start = 0, -1
    for token in _LOCATION_TOKEN.finditer(text):
        if token["loc"] is not None or token[0] == "(":
            if depth == 0 and token["loc"] is not None:
                start = token.start()
            depth += 1
        elif token[0] == ")":
            # The text after regions starts inside their brackets.
            depth = max(depth - 1, 0)
    return text[start:] if start >= 0 and depth == 0 else ""

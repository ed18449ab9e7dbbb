"""`opscope record`: runs programs session by session, and compares what was recorded."""

from __future__ import annotations

import argparse
import os
import shlex
from collections.abc import Callable, Sequence
from threading import Event, Thread
from typing import TypeVar

from viewer.cli.arguments import Parser, complain
from viewer.cli.output import ProgressLine
from viewer.codecs.ending import raised_at_signals
from viewer.recording.plan import (
    MOST_INFERENCES,
    MOST_SESSIONS,
    Plan,
    Program,
    WrongPlan,
    parse_celsius,
    parse_environment,
    parse_seconds,
    parse_words,
    sha256_of,
)
from viewer.recording.recorder import (
    Outcome,
    Progress,
    check,
    commands_of,
    notes_of,
    record,
    summary,
    target_of,
)
from viewer.recording.target import Finding

T = TypeVar("T")
_NOTHING = 5
_WAIT_S = 0.2


def run(arguments: list[str]) -> int:
    """Run the command with the arguments after its name. Returns the exit code."""
    parser = _parser()
    chosen = parser.parse_args(arguments)
    try:
        plan = _plan(chosen)
        folder = chosen.output or _folder_of(plan)
        target = target_of(plan, folder)
    except (WrongPlan, OSError) as error:
        is_file = isinstance(error, OSError) and error.filename
        parser.error(f"{error.filename}: {error.strerror}" if is_file else str(error))  # type: ignore[union-attr]
    if chosen.dry_run:
        for command in commands_of(plan, target):
            print(command.text)
        return 0
    if chosen.check:
        return _checked(lambda stop: check(target, stop))
    for note in notes_of(plan):
        complain(f"note: {note}")
    return _ended(_recorded(plan, folder, resume=chosen.resume), plan, folder)


def _parser() -> Parser:
    parser = Parser(
        prog="opscope record",
        usage="opscope record MODEL.pte --on TARGET [--with OTHER.pte] [-o FOLDER] [options]\n"
        "       opscope record MODEL.vmfb --on TARGET [--with OTHER.vmfb] [-o FOLDER] [options]\n"
        "       opscope record --check --on TARGET [MODEL.pte]",
        description="Run a program on a target, in several sessions, and keep an ETDump of each "
        "with the conditions under which it ran. A session is a process of its own. With --with, "
        "the sessions of two programs run in turn and are compared at the end.",
        epilog="exit code: 0 all sessions are there, 1 some are missing, 2 usage, 5 nothing was "
        "recorded. If it is interrupted, all whole sessions stay; --resume records the rest",
    )
    parser.add_argument("program", nargs="?", metavar="MODEL.pte",
                        help="the program to run: A; .vmfb for a Torq NPU, with torq-run-module, "
                        "or with --runner iree-run-module for releases before 2.0")  # fmt: skip
    parser.add_argument(
        "--on",
        required=True,
        metavar="TARGET",
        help="where it runs: local or local:PYTHON (ExecuTorch's wheel in that Python), adb or "
        'adb:SERIAL, ssh:USER@HOST or ssh:USER@HOST:PORT, or run:"CMD {pte} {etdump}" (any '
        "command that writes an ETDump; also {inferences}, {method} and {threads})",
    )
    parser.add_argument("--with", dest="other", metavar="OTHER.pte", help="the program to run as B")
    parser.add_argument(
        "-o",
        "--output",
        metavar="FOLDER",
        help="a new folder for the sessions; by default MODEL-recording in the current folder",
    )
    parser.add_argument(
        "--sessions", type=_count(MOST_SESSIONS), default=7, metavar="N",
        help="sessions of each program, by default 7; a verdict needs 3",
    )  # fmt: skip
    parser.add_argument(
        "--inferences", type=_count(MOST_INFERENCES), default=30, metavar="N",
        help="inferences in a session, by default 30",
    )  # fmt: skip
    parser.add_argument("--method", default="", metavar="NAME",
                        help="the method to run; by default forward")  # fmt: skip
    parser.add_argument(
        "--inputs",
        default="",
        metavar="INPUTS",
        help="files with the bytes of each input, separated by commas; with local also "
        "random:SEED. By default, all inputs are ones",
    )
    parser.add_argument("--threads", type=_count(1024), default=0, metavar="N",
                        help="threads of the runtime; by default it chooses")  # fmt: skip
    parser.add_argument(
        "--runner",
        default="",
        metavar="RUNNER",
        help="adb, ssh: an executor_runner with the event tracer, or another runner: a file here, "
        "which is copied, or a program there; of a .vmfb, torq-run-module or iree-run-module",
    )
    parser.add_argument("--runner-arguments", default="", metavar="WORDS",
                        help="adb, ssh: more arguments of the runner")  # fmt: skip
    parser.add_argument("--push", action="append", default=[], metavar="FILE",
                        help="adb, ssh: also copy a file, as a library; repeatable")  # fmt: skip
    parser.add_argument("--env", action="append", default=[], metavar="NAME=VALUE",
                        help="a variable of the runner's environment; repeatable")  # fmt: skip
    cool = parser.add_mutually_exclusive_group()
    cool.add_argument("--cool", default="0s", metavar="TIME",
                      help="wait before each session, such as 20s")  # fmt: skip
    cool.add_argument("--cool-to", metavar="TEMPERATURE",
                      help="wait before each session for a temperature, as 35C")  # fmt: skip
    parser.add_argument("--alongside", choices=("", "perfetto"), default="", metavar="perfetto",
                        help="adb: also trace the whole device with Perfetto, on the same time "
                        "axis")  # fmt: skip
    parser.add_argument("--timeout", default="120s", metavar="TIME",
                        help="the longest that a session may take, by default 120s")  # fmt: skip
    parser.add_argument("--keep", action="store_true",
                        help="adb, ssh: leave what was copied on the device")  # fmt: skip
    parser.add_argument("--check", action="store_true",
                        help="print what is missing and the command that cures it; record "
                        "nothing")  # fmt: skip
    parser.add_argument("--dry-run", action="store_true",
                        help="print every command, quoted, and run none")  # fmt: skip
    parser.add_argument("--resume", action="store_true",
                        help="go on with a recording that was stopped, with the same "
                        "options")  # fmt: skip
    return parser


def _count(most: int) -> Callable[[str], int]:
    def parse(text: str) -> int:
        if not text.isdecimal() or not 1 <= int(text) <= most:
            raise argparse.ArgumentTypeError(f"{text!r} is no number from 1 to {most}")
        return int(text)

    return parse


def _plan(chosen: argparse.Namespace) -> Plan:
    """Return the plan of the options. Raises WrongPlan, and OSError for a missing program."""
    paths = [path for path in (chosen.program, chosen.other) if path is not None]
    if chosen.program is None and not chosen.check:
        raise WrongPlan("name a program: opscope record MODEL.pte --on TARGET")
    return Plan(
        chosen.on,
        tuple(Program(os.path.abspath(path), sha256_of(path)) for path in paths),
        chosen.sessions,
        chosen.inferences,
        chosen.method,
        _absolute_inputs(chosen.inputs),
        chosen.threads,
        chosen.runner,
        parse_words(chosen.runner_arguments),
        tuple(_files(chosen.push)),
        parse_environment(chosen.env),
        parse_seconds(chosen.cool),
        None if chosen.cool_to is None else parse_celsius(chosen.cool_to),
        parse_seconds(chosen.timeout),
        chosen.keep,
        chosen.alongside,
    )


def _absolute_inputs(text: str) -> str:
    """The inputs with absolute paths. Raises OSError for a missing file."""
    if not text or text.startswith("random:"):
        if not text.removeprefix("random:").isdecimal() and text:
            raise WrongPlan(f"{text!r} has no seed: write --inputs random:1")
        return text
    return ",".join(_files(text.split(",")))


def _files(paths: Sequence[str]) -> list[str]:
    for path in paths:
        os.stat(path)
    return [os.path.abspath(path) for path in paths]


def _folder_of(plan: Plan) -> str:
    if not plan.programs:
        return "recording"
    stem = os.path.splitext(os.path.basename(plan.programs[0].path))[0]
    return f"{stem}-recording"


def _stoppable(work: Callable[[Callable[[], bool]], T]) -> T:
    """Call something in a thread and stop it in order at Ctrl+C: only the main one is interrupted.

    work: takes what says whether to stop.
    """
    is_stopped, has_ended = Event(), Event()
    answers: list[T] = []
    errors: list[BaseException] = []

    def call() -> None:
        try:
            answers.append(work(is_stopped.is_set))
        except BaseException as error:
            errors.append(error)
        finally:
            has_ended.set()

    thread = Thread(target=call)
    with raised_at_signals():
        thread.start()
        while not has_ended.is_set():
            try:
                has_ended.wait(_WAIT_S)  # not `join`: interrupted, it takes the thread for ended
            except KeyboardInterrupt:
                is_stopped.set()
                complain("stopping; whole sessions stay")
    if errors:
        raise errors[0]
    return answers[0]


def _checked(look: Callable[[Callable[[], bool]], list[Finding]]) -> int:
    findings = _stoppable(look)
    for finding in findings:
        print(f"{'ok     ' if finding.is_good else 'missing'} {finding.text}")
        if not finding.is_good:
            print(f"        {finding.cure}")
    return 0 if all(finding.is_good for finding in findings) else _NOTHING


def _recorded(plan: Plan, folder: str, *, resume: bool) -> Outcome:
    line = ProgressLine()

    def report(progress: Progress) -> None:
        left = "" if progress.left_s is None else f", {_duration(progress.left_s)} left"
        text = f"{progress.text} ({progress.done} of {progress.total}{left})"
        if line.is_terminal:
            line.show(f"{text[:78]:<78}")
        else:  # a line per session: each may take minutes
            complain(text, "record")

    outcome = _stoppable(lambda stop: record(plan, folder, report, stop, resume=resume))
    line.end(f"{summary(outcome):<78}" if outcome.whole else "")
    return outcome


def _duration(seconds: float) -> str:
    return f"{seconds / 60:.0f} min" if seconds >= 90 else f"{seconds:.0f} s"


def _ended(outcome: Outcome, plan: Plan, folder: str) -> int:
    """Print what was recorded, and the comparison of two programs. Returns the exit code."""
    for fault in outcome.faults:
        complain(fault)
    for path in outcome.large:
        complain(f"note: {path} is too large to copy; open it with the sessions")
    if not outcome.whole:
        return outcome.code
    print(f"{summary(outcome)}: {os.path.abspath(folder)}")
    if outcome.missing and sum(outcome.whole.values()):
        complain("the same command with --resume records the rest")
    if together := outcome.together:
        print(f"one axis for a session and the device: opscope {shlex.join(together)}")
    if len(plan.programs) > 1 and all(outcome.whole.values()):
        from viewer.cli.commands.compare import run as compare

        a, b = (os.path.join(folder, arm) for arm in plan.arms)
        compare([a, "--with", b])
    return outcome.code

"""Checks one input under limits of time and memory, and names what is wrong with it.

The same defect has the same key, whatever the numbers in its message: the kind of the error and the
innermost place in `viewer`, or the oracle that failed.
"""

from __future__ import annotations

import resource
import signal
import traceback
import warnings
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

import viewer
from tests.reliability.fuzz import oracles
from tests.reliability.fuzz.broken import Broken
from tests.reliability.fuzz.engine import Engine
from tests.reliability.fuzz.kinds import Kind
from tests.reliability.fuzz.novelty import reason_of
from viewer.codecs.reading import UnreadableFile
from viewer.model.trace import Trace

# Of processor time, for one file and all that follows from it.
MOST_SECONDS = 5.0
# Beside what the process has: 4 x the largest input, and this.
MOST_MEMORY = 300 << 20
_PACKAGE = str(Path(viewer.__file__).parent)
ENGINE = "trace_processor"  # the key of what it finds
_NO_MEMORY = "not enough memory to read it as"


class TooSlow(BaseException):
    """An input took too much processor time. Not an Exception: no reader must catch it."""


@contextmanager
def unlimited_memory() -> Iterator[None]:
    """Lift the limit, also for child processes: trace_processor reserves gigabytes of addresses."""
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (before[1], before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


@dataclass(frozen=True, slots=True)
class Defect:
    """What is wrong with an input. key: the same for the same defect; text: for a person."""

    key: str
    text: str


@dataclass(frozen=True, slots=True)
class Result:
    """What an input showed: its signature for novelty, what it became if it was read, a defect."""

    signature: Hashable
    item: oracles.Item = None
    is_read: bool = False
    defect: Defect | None = None


def limit_memory(more: int = MOST_MEMORY) -> None:
    """Let this process take so many bytes more than it has; beyond, MemoryError."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    limit = pages * resource.getpagesize() + more
    resource.setrlimit(resource.RLIMIT_AS, (limit, resource.getrlimit(resource.RLIMIT_AS)[1]))


def read(path: Path, kind: Kind) -> Result:
    """Read an input and check its columns."""

    def work() -> Result:
        try:
            item, shown = oracles.read(path, kind)
        except UnreadableFile as error:
            str(error).encode("utf-8", "surrogateescape")
            if error.reason.startswith(_NO_MEMORY):
                raise MemoryError(error.reason) from error
            return Result((type(error), error.where[:4], reason_of(error)))
        return Result(shown, item, is_read=True)

    return _guarded(work)


def use(path: Path, kind: Kind, item: oracles.Item) -> Defect | None:
    """Run the expensive oracles on what was read."""

    def work() -> Result:
        oracles.use(item, kind, path)
        return Result(None)

    return _guarded(work).defect


def both(path: Path, kind: Kind) -> Defect | None:
    """Run all oracles on a file, except trace_processor."""
    result = read(path, kind)
    if result.defect is not None or not result.is_read:
        return result.defect
    return use(path, kind, result.item)


def by_engine(path: Path, kind: Kind) -> Defect | None:
    """Compare an export of a file with trace_processor, which takes half a second to start."""
    item = read(path, kind).item
    if not isinstance(item, Trace):
        return None
    engine = Engine(path.with_name("engine.pftrace"))
    engine.add(item, b"")
    return asked(engine)[0]


def asked(engine: Engine) -> tuple[Defect | None, bytes]:
    """Ask trace_processor about the traces taken; returns a defect and the input that shows it."""
    with unlimited_memory():
        difference, data = engine.ask()
    return (Defect(ENGINE, f"{ENGINE}: {difference}") if difference else None), data


def _guarded(work: Callable[[], Result]) -> Result:
    before = signal.signal(signal.SIGVTALRM, _too_slow)
    signal.setitimer(signal.ITIMER_VIRTUAL, MOST_SECONDS)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            return work()
    except (Exception, TooSlow) as error:
        return Result("defect", defect=_defect(error))
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def _too_slow(number: int, frame: FrameType | None) -> None:
    raise TooSlow(f"more than {MOST_SECONDS:.0f} s of processor time")


def _defect(error: BaseException) -> Defect:
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if frame.filename.startswith(_PACKAGE)]
    place = ""
    if ours:
        # A slow loop stops anywhere in it: the function is the place, not the line.
        last = ours[-1]
        name = Path(last.filename).relative_to(_PACKAGE)
        at = last.name if isinstance(error, (TooSlow, MemoryError)) else last.lineno
        place = f"{name}:{at}"
    kind = type(error).__name__
    key = f"{kind} {error.what}" if isinstance(error, Broken) else f"{kind} {place}"
    stack = "".join(traceback.format_list(ours[-4:]))
    return Defect(key, f"{kind}: {str(error)[:300]} at {place or 'an oracle'}\n{stack}".rstrip())

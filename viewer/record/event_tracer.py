"""Logs the activity of a delegate, simulator or runtime in Python and writes it as an ETDump.

The methods are those of ExecuTorch's EventTracer (runtime/core/event_tracer.h), in Python:

    with EventTracer("run.etdp") as tracer, tracer.create_event_block("Execute"):
        with tracer.start_profiling("DELEGATE_CALL", chain_index=0, instruction_id=0):
            with tracer.start_profiling_delegate("Fancy Fusion"):
                ...

The file format has these limits:

* An event that was never ended, or that ended before it started because the clock went backwards,
  is left out, because its duration is unknown. `write` warns about them.
* Events are in the order in which they ended, whatever their thread, and readers put an event into
  the next call that ends. So concurrent inferences need one tracer each.
* A delegate's event belongs to the call that is open in its thread. A worker thread has none and
  must pass `instruction_id`; otherwise the event is outside any call.
* Times are integers without a unit, and readers interpret them as ns. Times in `us`, `ms` and `s`
  are converted exactly. Cycles are written unchanged: open such an ETDump with
  `opscope --clock run.etdp=800MHz`, or in the Inspector with both its time scales set to CYCLES.
"""

from __future__ import annotations

import operator
import os
import threading
import time
import warnings
from collections.abc import Callable
from types import TracebackType

from viewer.program.debug_handles import Identifier
from viewer.record.debug_handle_map import checked_identifier
from viewer.record.event_batches import MOST_BYTES, EventBatches, EventKind, Spill

_OPERATOR, _NUMBER, _TEXT, _ALLOCATION = map(int, EventKind)  # enum members are 40 ns slower

Clock = Callable[[], int]

UNITS = {"ns": 1, "us": 1_000, "ms": 1_000_000, "s": 1_000_000_000, "cycles": 1}
"""Units of a clock, and the factor that converts a tick to ns when written."""

_MEMORY = 512 << 20
_LARGEST = (1 << 63) - 1  # of a time: the format has one more bit, but readers do not
MOST_OPEN = 100_000  # about 20 MB; far more than any program nests
_BLOCK_BYTES = 64
_IMPLICIT_BLOCK = "Default"  # readers know this name from programs that create no block
INT32 = 1 << 31  # the first number that does not fit a signed 32-bit integer
_NO_NUMBER = -1  # an ETDump's value for "no integer identifier"


class EventTracerEntry:
    """A started event, created by the tracer. In a `with` statement it ends with the block.

    Attributes:
        start_time: In ticks of the tracer's clock.
        metadata: May be set until the event ends; only for delegate events.
        chain_index: 0 for instructions, -1 for scopes of the runtime.
        instruction_id: As in the ETRecord's debug handle map.
    """

    __slots__ = (
        "_block", "_calls", "_kind", "_tracer", "_what", "chain_index", "instruction_id",
        "metadata", "start_time",
    )  # fmt: skip

    def __init__(
        self,
        tracer: EventTracer,
        block: int,
        calls: list[EventTracerEntry] | None,
        kind: int,
        what: Identifier,
        chain_index: int,
        instruction_id: int,
    ) -> None:
        self._tracer = tracer
        self._block = block
        self._calls = calls  # the thread's open calls, if this is one of them
        self._kind = kind
        self._what = what
        self.chain_index = chain_index
        self.instruction_id = instruction_id
        self.metadata: bytes | str | None = None
        self.start_time = 0

    @property
    def name(self) -> str | None:
        """The name of an operator's event; None for a delegate's."""
        return str(self._what) if self._kind == _OPERATOR else None

    @property
    def delegate_debug_id(self) -> Identifier | None:
        """The identifier of a delegate's event; None for an operator's."""
        return None if self._kind == _OPERATOR else self._what

    def __enter__(self) -> EventTracerEntry:
        return self

    def __exit__(self, *exception: object) -> None:
        """End the event, unless the block ended it. An exception is logged like a normal return."""
        self._tracer._leave(self)


class EventBlock:
    """One run: the events from its creation until the next block's, or until its `with` ends."""

    def __init__(self, tracer: EventTracer, number: int) -> None:
        self._tracer = tracer
        self._number = number

    def __enter__(self) -> EventBlock:
        return self

    def __exit__(self, *exception: object) -> None:
        self._tracer._leave_block(self._number)


class _OpenCalls(threading.local):
    """The open operator events of a thread, innermost last."""

    def __init__(self) -> None:
        self.entries: list[EventTracerEntry] = []


class EventTracer:
    """Collects events of all threads and writes them as one ETDump.

    In a `with` statement, the ETDump is written to `path` at the end, even after an exception. A
    tracer can write any number of times and continues to accept events.

    Source:
        The methods are those of ExecuTorch's runtime/core/event_tracer.h; the file is that of
        devtools/etdump/etdump_schema_flatcc.fbs.
    """

    def __init__(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        clock: Clock = time.perf_counter_ns,
        unit: str = "ns",
        max_bytes: int | None = None,
        spill_folder: str | os.PathLike[str] | None = None,
    ) -> None:
        """Create a tracer.

        Args:
            path: Where a `with` statement writes the ETDump.
            clock: Returns integers >= 0 that never decrease.
            unit: Their unit, one of `UNITS`: ns, us, ms, s or cycles.
            max_bytes: The maximum size of the ETDump (52 bytes per event, plus its texts); later
                events are dropped. By default 512 MiB if events stay in memory, else 2 GiB, the
                limit of the format.
            spill_folder: Where events are buffered on disk instead of in memory.

        Raises:
            ValueError: For an unknown unit or too large a limit.
            OSError: If a folder is missing.
        """
        if unit not in UNITS:
            raise ValueError(f"unknown unit {unit!r}: a clock counts in one of {', '.join(UNITS)}")
        if max_bytes is None:
            max_bytes = _MEMORY if spill_folder is None else MOST_BYTES
        if max_bytes > MOST_BYTES:
            raise ValueError(f"an ETDump ends at 2 GiB: max_bytes is at most {MOST_BYTES}")
        if path is not None:
            # fail now, not after everything is logged
            os.stat(os.path.dirname(os.path.abspath(path)))
        self._path = path
        self._clock = clock
        self._ns_per_tick = UNITS[unit]
        self._last_tick = _LARGEST // UNITS[unit]
        self._events = EventBatches(
            max_bytes, None if spill_folder is None else Spill(spill_folder)
        )
        self._calls = _OpenCalls()
        self._open: dict[EventTracerEntry, bool] = {}
        self._lock = threading.RLock()  # see EventBatches
        self._blocks: list[str] = []
        self._block: int | None = None
        self._allocators: list[str] = []
        self._backwards = 0

    def __enter__(self) -> EventTracer:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._path is not None:
            self.write(self._path)

    # -- event blocks and allocators ---------------------------------------------------------------

    def create_event_block(self, name: str) -> EventBlock:
        """Start a run: it contains all events that any thread starts from now on.

        Readers treat runs named "Execute" as inferences and runs named "Default" as loads. Events
        outside any block go to one named "Default".

        Args:
            name: The name of the run.

        Returns:
            The run, which a `with` statement ends.

        Raises:
            TypeError: For a name that is no text.
            ValueError: For a name that is empty or cannot be encoded.
        """
        name = checked_text(name, "the name of an event block")
        with self._lock:
            return EventBlock(self, self._new_block(name))

    def track_allocator(self, name: str) -> int:
        """Register an allocator.

        Args:
            name: Its name.

        Returns:
            Its number for `track_allocation`, from 1.

        Raises:
            TypeError: For a name that is no text.
            ValueError: For a name that is empty or cannot be encoded.
        """
        name = checked_text(name, "the name of an allocator")
        with self._lock:
            self._allocators.append(name)
            return len(self._allocators)

    def track_allocation(self, allocator_id: int, size: int) -> None:
        """Log an allocation. An ETDump does not store its time.

        The official Inspector rejects ETDumps with allocations; Opscope lists them.

        Args:
            allocator_id: What `track_allocator` returned.
            size: In bytes.

        Raises:
            ValueError: For an unknown allocator, or a size that does not fit 64 bits.
        """
        allocator_id, size = operator.index(allocator_id), operator.index(size)
        if not 1 <= allocator_id <= len(self._allocators):
            raise ValueError(
                f"there is no allocator {allocator_id!r}: pass what track_allocator returned"
            )
        if not 0 <= size < 1 << 64:
            raise ValueError(f"an allocation cannot have {size!r} bytes")
        block = self._block
        if block is None:
            block = self._implicit_block()
        self._events.add(_ALLOCATION, block, allocator_id, 0, 0, size, 0)

    # -- events of operators -----------------------------------------------------------------------

    def start_profiling(
        self, name: str, chain_index: int = -1, instruction_id: int = 0
    ) -> EventTracerEntry:
        """Start a runtime event: "DELEGATE_CALL", "OPERATOR_CALL", "native_call_add.out".

        Args:
            name: The name of the event.
            chain_index: 0 for instructions; -1 for scopes of the runtime such as "Method::execute".
            instruction_id: As in the ETRecord's debug handle map.

        Returns:
            The started event.

        Raises:
            TypeError: For a name that is no text.
            ValueError: For a name that is empty, or an instruction that does not fit the format.
            RuntimeError: If too many events are open.
        """
        if not (type(name) is str and name and name.isascii()):
            name = checked_text(name, "the name of an event")
        if not (-1 <= chain_index < INT32 and 0 <= instruction_id < INT32):
            raise bad_instruction(chain_index, instruction_id)
        block = self._block
        if block is None:
            block = self._implicit_block()
        calls = None if chain_index < 0 else self._calls.entries
        entry = EventTracerEntry(self, block, calls, _OPERATOR, name, chain_index, instruction_id)
        opened = self._open
        if len(opened) >= MOST_OPEN:
            raise _too_many_open()
        opened[entry] = True
        if calls is not None:
            calls.append(entry)
        entry.start_time = self._clock()  # last, so that the work above is not part of the event
        return entry

    def end_profiling(self, entry: EventTracerEntry) -> None:
        """End an event from `start_profiling`, on any thread.

        Args:
            entry: The started event.

        Raises:
            TypeError: For anything else.
            ValueError: If it has ended, is of another tracer, or has metadata.
        """
        end = self._clock()
        if type(entry) is not EventTracerEntry or entry._kind != _OPERATOR:
            raise TypeError(f"end_profiling takes what start_profiling returned, not {entry!r}")
        if entry.metadata is not None:
            raise ValueError("only events of delegates have metadata: set none here")
        self._end(entry, end, None)

    # -- events of delegates -----------------------------------------------------------------------

    def start_profiling_delegate(
        self,
        name: str | None = None,
        delegate_debug_id: Identifier | None = None,
        *,
        chain_index: int = 0,
        instruction_id: int | None = None,
    ) -> EventTracerEntry:
        """Start an event of a delegate, by its delegate debug identifier.

        Pass exactly one of `name` and `delegate_debug_id`, as in the delegate's debug handle map.

        Args:
            name: An identifier that is a str.
            delegate_debug_id: An identifier that is an int or a str.
            chain_index: That of the delegate call.
            instruction_id: That of the delegate call, if it is not open in this thread.

        Returns:
            The started event.

        Raises:
            ValueError: For both or neither of the identifiers, or an instruction that does not fit.
            TypeError: For an identifier of another type.
            RuntimeError: If too many events are open.
        """
        entry = self._of_delegate(name, delegate_debug_id, chain_index, instruction_id)
        opened = self._open
        if len(opened) >= MOST_OPEN:
            raise _too_many_open()
        opened[entry] = True
        entry.start_time = self._clock()  # last, so that the work above is not part of the event
        return entry

    def end_profiling_delegate(
        self, entry: EventTracerEntry, metadata: bytes | str | None = None
    ) -> None:
        """End an event from `start_profiling_delegate`, on any thread.

        Args:
            entry: The started event.
            metadata: Bytes of the delegate's own; a str is stored as UTF-8.

        Raises:
            TypeError: For anything else than a delegate's event, or other metadata.
            ValueError: If it has ended, or is of another tracer.
        """
        end = self._clock()
        if type(entry) is not EventTracerEntry or entry._kind == _OPERATOR:
            raise TypeError(
                "end_profiling_delegate takes what start_profiling_delegate returned, "
                f"not {entry!r}"
            )
        self._end(entry, end, entry.metadata if metadata is None else metadata)

    def log_profiling_delegate(
        self,
        name: str | None,
        delegate_debug_id: Identifier | None,
        start_time: int,
        end_time: int,
        metadata: bytes | str | None = None,
        *,
        chain_index: int = 0,
        instruction_id: int | None = None,
    ) -> None:
        """Log a completed event of a delegate, such as a simulator reports afterwards.

        Readers assume a delegate clock if the event is outside its call, and show it inside by its
        duration alone.

        Args:
            name: An identifier that is a str.
            delegate_debug_id: An identifier that is an int or a str.
            start_time: From the tracer's clock or the delegate's own, in ticks.
            end_time: From the same clock, in ticks.
            metadata: Bytes of the delegate's own; a str is stored as UTF-8.
            chain_index: That of the delegate call.
            instruction_id: That of the delegate call, if it is not open in this thread.

        Raises:
            ValueError: If the end is before the start, times do not fit 63 bits, or as for
                `start_profiling_delegate`.
            TypeError: If times are not integers, or for an identifier of another type.
        """
        if start_time > end_time:
            raise ValueError(
                f"the end, {end_time!r}, is before the start, {start_time!r}: swap them, or add "
                "2**32 to the end if it is of a 32-bit counter that wrapped"
            )
        entry = self._of_delegate(name, delegate_debug_id, chain_index, instruction_id)
        entry.start_time = start_time
        self._keep(entry, end_time, b"" if metadata is None else metadata_bytes(metadata))

    # -- writing -----------------------------------------------------------------------------------

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write all events so far as an ETDump, atomically. Warns about everything left out
        (`problems`).

        Args:
            path: The file to write.

        Raises:
            OSError: If the file cannot be written.
        """
        from viewer.record.etdump_writer import write_etdump

        batches = self._events.snapshot()
        with self._lock:
            blocks, allocators = list(self._blocks), list(self._allocators)
        write_etdump(path, blocks, allocators, batches, self._ns_per_tick)
        for problem in self.problems:
            warnings.warn(problem, RuntimeWarning, stacklevel=2)

    @property
    def problems(self) -> tuple[str, ...]:
        """What an ETDump written now would leave out, one sentence each; empty if nothing."""
        sentences = []
        unended = list(self._open)
        if unended:
            sentences.append(
                f"{_events(len(unended))} left out, since not ended, first "
                f"{unended[0]._what!r}: end every entry, or begin it in a `with` statement"
            )
        if self._backwards:
            sentences.append(
                f"{_events(self._backwards)} left out, since the clock went backwards while it ran"
            )
        if self._events.dropped:
            sentences.append(
                f"{_events(self._events.dropped)} left out for want of room: raise max_bytes, or "
                "give a spill_folder"
            )
        if self._events.spill_failure is not None:
            sentences.append(
                f"events stay in memory, since the spill file failed: {self._events.spill_failure}"
            )
        return tuple(sentences)

    # -- called by entries -------------------------------------------------------------------------

    def _end(self, entry: EventTracerEntry, end: int, metadata: bytes | str | None) -> None:
        encoded = b"" if metadata is None else metadata_bytes(metadata)
        if self._open.pop(entry, None) is None:  # atomic: of two threads, one gets it
            raise ValueError(
                "this event has already ended: end every entry once"
                if entry._tracer is self
                else "this event is of another tracer: end it with the one that began it"
            )
        calls = entry._calls
        if calls is not None:
            if calls is self._calls.entries and calls[-1] is entry:
                calls.pop()
            else:  # in one step: their thread may add calls meanwhile
                calls.remove(entry)
        self._keep(entry, end, encoded)

    def _of_delegate(
        self,
        name: str | None,
        delegate_debug_id: Identifier | None,
        chain_index: int,
        instruction_id: int | None,
    ) -> EventTracerEntry:
        """An entry of the given instruction, else of the thread's open call; not opened yet."""
        what: Identifier
        if delegate_debug_id is None and type(name) is str and name and name.isascii():
            kind, what = _TEXT, name
        else:
            kind, what = event_identifier(name, delegate_debug_id)
        if instruction_id is None:
            chain_index, instruction_id = -1, 0
            for call in self._calls.entries[-1:]:  # in one step: another thread may end it
                chain_index, instruction_id = call.chain_index, call.instruction_id
        elif not (0 <= chain_index < INT32 and 0 <= instruction_id < INT32):
            raise bad_instruction(chain_index, instruction_id)
        block = self._block
        if block is None:
            block = self._implicit_block()
        return EventTracerEntry(self, block, None, kind, what, chain_index, instruction_id)

    def _keep(self, entry: EventTracerEntry, end: int, metadata: bytes) -> None:
        start = entry.start_time
        if not 0 <= start <= end <= self._last_tick:
            if start < 0 or end > self._last_tick:
                raise ValueError(
                    f"times from {start!r} to {end!r} do not fit: an ETDump keeps 0 to 2**63 - 1 "
                    "ns; count from a later zero"
                )
            if not end < start:
                raise TypeError(f"times are whole numbers, not {start!r} and {end!r}")
            with self._lock:
                self._backwards += 1
            return
        self._events.add(
            entry._kind, entry._block, entry._what, entry.chain_index, entry.instruction_id,
            start, end, metadata,
        )  # fmt: skip

    def _leave(self, entry: EventTracerEntry) -> None:
        if entry not in self._open:
            return
        if entry._kind == _OPERATOR:
            self.end_profiling(entry)
        else:
            self.end_profiling_delegate(entry)

    def _leave_block(self, number: int) -> None:
        with self._lock:
            if self._block == number:
                self._block = None

    def _implicit_block(self) -> int:
        with self._lock:
            return self._new_block(_IMPLICIT_BLOCK) if self._block is None else self._block

    def _new_block(self, name: str) -> int:
        if self._events.reserve(_BLOCK_BYTES + len(name.encode())) or not self._blocks:
            self._blocks.append(name)
        self._block = len(self._blocks) - 1
        return self._block


def _events(count: int) -> str:
    return "1 event was" if count == 1 else f"{count} events were"


def _too_many_open() -> RuntimeError:
    return RuntimeError(
        f"{MOST_OPEN} events are open at once: end every entry, or begin it in a `with` statement"
    )


# Checks the values passed to `EventTracer` for what an ETDump can store.


def event_identifier(
    name: str | None, delegate_debug_id: Identifier | None
) -> tuple[int, Identifier]:
    """The event kind and the checked name or identifier; exactly one must be given.

    Raises TypeError or ValueError.
    """
    if (name is None) is (delegate_debug_id is None):
        raise ValueError(
            "an event of a delegate has either a name or a delegate_debug_id: pass exactly one"
        )
    if name is not None:
        return _TEXT, checked_text(name, "a name", "; pass a number as delegate_debug_id")
    identifier = checked_identifier(delegate_debug_id)
    if isinstance(identifier, str):
        return _TEXT, checked_text(identifier, "a delegate_debug_id")
    if identifier == _NO_NUMBER or not -INT32 <= identifier < INT32:
        raise ValueError(
            f"the delegate_debug_id {identifier} cannot be kept: an ETDump has room for 32 "
            "bits, and takes -1 as none; number from 0 up"
        )
    return _NUMBER, identifier


def checked_text(text: str, what: str, remedy: str = "") -> str:
    """The text as a plain str. Raises TypeError or ValueError if it cannot be stored unchanged."""
    if not isinstance(text, str):
        raise TypeError(f"{what} is a text, not {text!r}{remedy}")
    if not text:
        raise ValueError(f"{what} has at least one character")
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            raise ValueError(
                f"{what} must be encodable as UTF-8, which {text!r} is not: it has half of a "
                'surrogate pair; decode file names with errors="replace"'
            ) from None
    return str.__str__(text)  # an enum member becomes its value


def metadata_bytes(metadata: bytes | str) -> bytes:
    """Metadata as bytes; a str is encoded as UTF-8. Raises TypeError or ValueError."""
    if isinstance(metadata, str):
        try:
            return metadata.encode()
        except UnicodeEncodeError:
            raise ValueError(
                "metadata must be bytes, or a text that can be encoded as UTF-8: it has half of a "
                "surrogate pair"
            ) from None
    if not isinstance(metadata, (bytes, bytearray, memoryview)):
        raise TypeError(f"metadata is bytes or a text, not {metadata!r}")
    return bytes(metadata)


def bad_instruction(chain_index: int, instruction_id: int) -> ValueError:
    """The error for a chain index or instruction id out of range."""
    return ValueError(
        f"there is no instruction {instruction_id!r} of chain {chain_index!r}: both count from 0 "
        "up to 2**31 - 1; a scope of the runtime has the chain -1"
    )

"""Names and display order of the processes and threads in Chrome trace events.

A process is named by its `process_name` and `process_labels`, a thread by its `thread_name`, or by
its number if it has none. A process of a distributed job is also named with its rank, unless it
is already. The number is appended to repeated names. The order is by `process_sort_index` and
`thread_sort_index`. Of those that state one index, the names decide, as the Trace Event Format
says; otherwise, and for equal names, the numbers.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping

from viewer.dataclasses import dataclass, field
from viewer.formats.chrome.event_fields import Name
from viewer.model.trace import Rank

_WHOLE = re.compile(r"-?[0-9]{1,18}")
_SORTING = re.compile(r"-?[0-9]{1,18}(\.[0-9]+)?")
_LARGEST_JOB = 1 << 31
_MOST_NAMES = 5
_RENAMED_PROCESS = "process with several names: its slices are under the last one"
_RENAMED_THREAD = "thread with several names: its slices are under the last one"
NO_PROCESS, NO_THREAD = "(no process)", "(no thread)"
Metadata = Iterable[tuple[str, Name, Name, dict[str, str]]]


@dataclass(slots=True)
class _Stated:
    """The metadata of one process or thread. names: all names that it had; "" is none."""

    name: str = ""
    labels: str = ""
    sort_index: float | None = None
    names: dict[str, None] = field(default_factory=dict)

    def call(self, name: str) -> None:
        """Replace the name."""
        self.name = name
        if name:
            self.names[name] = None

    def several(self) -> str:
        """Its names if there are several, else ""."""
        names = [repr(name) for name in self.names][:_MOST_NAMES]
        return " and ".join(names) if len(names) > 1 else ""

    def order(self) -> tuple[float, str, str]:
        """What its place is by, before its number."""
        if self.sort_index is None:
            return 0.0, "", ""
        return self.sort_index, self.name.casefold(), self.name


@dataclass(slots=True)
class TrackNames:
    """The names of processes (by pid) and threads (by pid and tid), and their sort order."""

    _processes: dict[str, _Stated] = field(default_factory=dict)
    _threads: dict[tuple[str, str], _Stated] = field(default_factory=dict)
    _rank: Rank | None = None

    @staticmethod
    def of(metadata: Metadata, rank: Rank | None = None) -> TrackNames:
        """Collect the metadata events; repeated events replace earlier ones. rank: of the file."""
        names = TrackNames(_rank=rank)
        for kind, pid, tid, arguments in metadata:
            process = names._processes.setdefault(text_of_id(pid), _Stated())
            if kind == "process_name":
                process.call(arguments.get("name", ""))
            elif kind == "process_labels":
                process.labels = arguments.get("labels", "")
            elif kind == "process_sort_index":
                process.sort_index = _sort_index(arguments.get("sort_index", ""))
            elif kind in ("thread_name", "thread_sort_index"):
                pair = text_of_id(pid), text_of_id(tid)
                thread = names._threads.setdefault(pair, _Stated())
                if kind == "thread_name":
                    thread.call(arguments.get("name", ""))
                else:
                    thread.sort_index = _sort_index(arguments.get("sort_index", ""))
        return names

    def renamed(self) -> Iterable[tuple[str, str]]:
        """The kind and the place of a problem for each process and thread with several names.

        A number that is used again may be of another process: the file does not say from when on.
        """
        for pid, process in self._processes.items():
            if names := process.several():
                yield _RENAMED_PROCESS, f"process {pid}: {names}"
        for (pid, tid), thread in self._threads.items():
            if names := thread.several():
                yield _RENAMED_THREAD, f"thread {tid} of process {pid}: {names}"

    def processes(self, pids: Iterable[str]) -> dict[str, str]:
        """The distinct name of each process, in display order."""
        stated = {pid: self._processes.get(pid, _Stated()) for pid in pids}
        order = sorted(stated, key=lambda pid: (stated[pid].order(), _by_number(pid)))
        plain = {}
        for pid in order:
            name = stated[pid].name or (f"process {pid}" if _WHOLE.fullmatch(pid) else pid)
            labels = stated[pid].labels
            name = f"{name or NO_PROCESS} · {labels}" if labels else name or NO_PROCESS
            plain[pid] = with_rank(name, self._rank)
        return _distinct(plain)

    def threads(self, pid: str, tids: Iterable[str]) -> dict[str, str]:
        """The distinct name of each thread of a process, in display order."""
        stated = {tid: self._threads.get((pid, tid), _Stated()) for tid in tids}
        order = sorted(stated, key=lambda tid: (stated[tid].order(), _by_number(tid)))
        plain = {}
        for tid in order:
            name = stated[tid].name or (f"thread {tid}" if _WHOLE.fullmatch(tid) else tid)
            plain[tid] = name or NO_THREAD
        return _distinct(plain)


def stated_rank(integers: Mapping[tuple[str, ...], int]) -> Rank | None:
    """Return the rank that PyTorch states in `distributedInfo`, None without one.

    integers: those next to the events, by their keys.
    """
    number = integers.get(("distributedInfo", "rank"), -1)
    size = integers.get(("distributedInfo", "world_size"), 0)
    if not 0 <= number < _LARGEST_JOB:
        return None
    return Rank(number, size if number < size < _LARGEST_JOB else 0)


def with_rank(name: str, rank: Rank | None) -> str:
    """Return the name of a process of a file with its rank, unless it is in the name already."""
    if rank is None or re.search(rf"\brank\W*{rank.number}\b", name, re.IGNORECASE):
        return name
    return f"{name} · rank {rank.number}"


def text_of_id(number: Name) -> str:
    """A pid or tid as text, so that 7 and "7" are the same."""
    return "" if number is None else str(number)


def _distinct(names: Mapping[str, str]) -> dict[str, str]:
    count = Counter(names.values())
    labels: dict[str, str] = {}
    taken: set[str] = set()
    for number, name in names.items():
        label = f"{name} ({number})" if count[name] > 1 else name
        while label in taken:
            label = f"{label} ({number})"
        taken.add(label)
        labels[number] = label
    return labels


def _sort_index(text: str) -> float:
    return float(text) if _SORTING.fullmatch(text) else 0.0


def _by_number(number: str) -> tuple[bool, int, str]:
    is_number = bool(_WHOLE.fullmatch(number))
    return not is_number, int(number) if is_number else 0, number

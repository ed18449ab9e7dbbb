"""The processes and threads of a Perfetto file. A number that is used again is another one.

A descriptor names a process or thread by its uuid. Of two descriptors with one pid and different
uuids, the second is of a new process; so is one whose parent differs in a process tree. Threads
are like this within their process. What states a number only, such as a process tree, an event of
ftrace or a legacy descriptor, means the last process or thread with it: in file order, or at the
time of the event.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from viewer.arrays import Ints, flags_at
from viewer.dataclasses import dataclass

_EARLIEST = -(2**63)
# What processes of Android are called before they become an app.
_BEFORE_APPS = frozenset(
    ("zygote", "zygote64", "<pre-initialized>", "usap32", "usap64", "app_process64", "app_process")
)


@dataclass(slots=True, eq=False)
class Process:
    """One process. since: the time of the packet that stated it first. The first name stays.

    packet: the number of that packet in the file. number: its place among all. uuid: of its
    descriptor. parent, started: of a process tree.
    """

    number: int
    pid: int
    since: int
    packet: int
    uuid: int | None = None
    name: str = ""
    user: int = 0
    parent: Process | None = None
    started: int = 0


@dataclass(slots=True, eq=False)
class Thread:
    """One thread of a process; see `Process`."""

    process: Process
    tid: int
    uuid: int | None = None
    name: str = ""


@dataclass(frozen=True, slots=True)
class Life:
    """A thread as events of ftrace state it: its number, and the thread or process, if known."""

    tid: int
    thread: Thread | None
    process: Process | None


class Processes:
    """All processes and threads of a file.

    packet: the number of the packet that is read. packages: the names of Android's packages by
    user. names_of_threads: names at switches of the scheduler, by tid.
    """

    def __init__(self) -> None:
        self.all: list[Process] = []
        self.packages: dict[int, str] = {}
        self.names_of_threads: dict[int, str] = {}
        self._of_pid: dict[int, list[Process]] = {}
        self._of_tid: dict[int, list[tuple[int, Thread]]] = {}
        self.packet, self._time = 0, _EARLIEST
        self._labels: dict[Process, str] = {}
        self._used_labels: set[str] = set()

    # -- statements, in file order ---------------------------------------------------------------

    def reach(self, time: int, packet: int) -> None:
        """Note the time and the number of the packet that the next statements are from."""
        self._time, self.packet = time, packet

    def process(self, pid: int) -> Process:
        """The last process with a pid."""
        processes = self._of_pid.get(pid)
        return processes[-1] if processes else self._new_process(pid)

    def described_process(self, uuid: int, pid: int) -> Process:
        """The process of a descriptor that was not known before."""
        process = self.process(pid)
        if process.uuid not in (None, uuid):
            process = self._new_process(pid)
        process.uuid = uuid
        return process

    def process_in_tree(self, pid: int, parent: int, started: int, name: str) -> Process:
        """The process in a process tree.

        If it started at another time than before, or has another parent, it is another one. The
        first process (1) adopts those whose parent has ended.
        """
        process = self.process(pid)
        above = self.process(parent) if parent else None
        is_adopted = parent == 1 and name == process.name
        if started and process.started:
            is_other = started != process.started
        else:
            is_other = None not in (above, process.parent) and above is not process.parent
            is_other &= not is_adopted
        if is_other:
            process = self._new_process(pid)
        process.parent = above or process.parent
        process.started = started or process.started
        process.name = process.name or name
        return process

    def thread(self, process: Process, tid: int) -> Thread:
        """The last thread of a process with a tid."""
        for _, thread in reversed(self._of_tid.get(tid, ())):
            if thread.process is process:
                return thread
        return self._new_thread(process, tid)

    def thread_in_tree(self, process: Process, tid: int) -> Thread:
        """The thread in a process tree, which a tid means from then on."""
        thread = self.thread(process, tid)
        lives = self._of_tid[tid]
        if lives[-1][1] is not thread:
            lives.append((self._time, thread))
        return thread

    def described_thread(self, uuid: int, process: Process, tid: int) -> Thread:
        """The thread of a descriptor that was not known before."""
        thread = self.thread(process, tid)
        if thread.uuid not in (None, uuid):
            thread = self._new_thread(process, tid)
        thread.uuid = uuid
        return thread

    def _new_process(self, pid: int) -> Process:
        process = Process(len(self.all), pid, self._time, self.packet)
        self.all.append(process)
        self._of_pid.setdefault(pid, []).append(process)
        return process

    def _new_thread(self, process: Process, tid: int) -> Thread:
        thread = Thread(process, tid)
        self._of_tid.setdefault(tid, []).append((self._time, thread))
        return thread

    def stated_before(self, pids: Ints, packets: Ints) -> Ints:
        """The number of the last process with each pid that was stated before a packet."""
        return self._numbers(pids, packets, lambda process: process.packet)

    def _numbers(self, pids: Ints, places: Ints, since: Callable[[Process], int]) -> Ints:
        """The number of the process with each pid that a place belongs to."""
        distinct, which = np.unique(pids, return_inverse=True)
        first = [self.process(pid).number for pid in distinct.tolist()]
        numbers = np.array(first, np.int64)[which.reshape(-1)]
        for i, pid in enumerate(distinct.tolist()):
            processes = self._of_pid[pid]
            if len(processes) > 1:
                rows = np.flatnonzero(which == i)
                last = _last_since([since(process) for process in processes], places[rows])
                numbers[rows] = np.array([process.number for process in processes])[last]
        return numbers

    # -- numbers at a time, once all is stated ---------------------------------------------------

    def processes_at(self, pids: Ints, times: Ints) -> Ints:
        """The number of the process with each pid at a time."""
        return self._numbers(pids, times, lambda process: process.since)

    def lives(self, tids: Ints, times: Ints, pids: Ints | None = None) -> tuple[Ints, list[Life]]:
        """The life of a thread to which each event belongs, and these lives in order.

        pids: what the events state, -1 for none. They count where no process tree knows the tid.
        """
        distinct, of = np.unique(tids, return_inverse=True)
        of = of.reshape(-1)
        first = np.zeros(len(distinct), np.int64)
        step = np.zeros(len(tids), np.int64)  # from the first life of a tid on
        lives = list[Life]()
        for i, tid in enumerate(distinct.tolist()):
            first[i] = len(lives)
            since_threads = self._of_tid.get(tid, [])
            if len(since_threads) == 1:
                lives.append(Life(tid, since_threads[0][1], since_threads[0][1].process))
            elif since_threads:
                rows = np.flatnonzero(of == i)
                threads = list(dict.fromkeys(thread for _, thread in since_threads))
                last = _last_since([since for since, _ in since_threads], times[rows])
                step[rows] = np.array([threads.index(thread) for _, thread in since_threads])[last]
                lives += [Life(tid, thread, thread.process) for thread in threads]
            elif pids is None:
                lives.append(Life(tid, None, None))
            else:
                rows = np.flatnonzero(of == i)
                stated = self._stated(pids[rows], times[rows])
                numbers, step[rows] = np.unique(stated, return_inverse=True)
                lives += [
                    Life(tid, None, None if number < 0 else self.all[number])
                    for number in numbers.tolist()
                ]
        which = first[of] + step
        is_used = flags_at(len(lives), which)
        if not is_used.all():
            which = (np.cumsum(is_used) - 1)[which]
        return which, [life for life, used in zip(lives, is_used.tolist(), strict=True) if used]

    def _stated(self, pids: Ints, times: Ints) -> Ints:
        """The processes of the events of one thread, of which some state it; -1 if none does."""
        if not (pids >= 0).any():
            return pids
        return self.processes_at(_filled(pids, times), times)

    # -- names -----------------------------------------------------------------------------------

    def label(self, process: Process) -> str:
        """The name of a process, with its pid appended if another process has that name.

        An app that Android has just started has the name of the process that it came from: then it
        is that of its package.
        """
        cached_label = self._labels.get(process)
        if cached_label is not None:
            return cached_label
        name = process.name
        if not name or name in _BEFORE_APPS:
            name = self.packages.get(process.user) or name or f"process {process.pid}"
        label, number = name, 1
        while label in self._used_labels:
            label = f"{name} {process.pid}" if number == 1 else f"{name} {process.pid} #{number}"
            number += 1
        self._used_labels.add(label)
        self._labels[process] = label
        return label

    def place(self, life: Life) -> tuple[str, str]:
        """The names of the process and the thread of a life."""
        process = "Threads without a process" if life.process is None else self.label(life.process)
        return process, self.label_of_thread(life)

    def label_of_thread(self, life: Life) -> str:
        """The name and the number of a thread."""
        name = life.thread.name if life.thread else ""
        name = name or self.names_of_threads.get(life.tid, "")
        if not name and life.process is not None and life.process.pid == life.tid:
            name = life.process.name
        return f"{name} {life.tid}" if name else f"thread {life.tid}"


def _last_since(since: list[int], times: Ints) -> Ints:
    """The last of some that began at or before each time; the first one for earlier times."""
    starts = np.maximum.accumulate(since)  # packets may come late
    last: Ints = np.maximum(np.searchsorted(starts, times, side="right") - 1, 0)
    return last


def _filled(pids: Ints, times: Ints) -> Ints:
    """Pids with each -1 replaced by the last one stated before it in time, or the first one."""
    order = np.argsort(times, kind="stable")
    stated = pids[order] >= 0
    if not stated.any():
        return pids
    last = np.maximum.accumulate(np.where(stated, np.arange(len(order)), -1))
    filled = pids.copy()
    filled[order] = pids[order][np.where(last < 0, np.argmax(stated), last)]
    return filled

"""Slices of the scheduler: which thread runs on each CPU, and what each thread waits for; clocks.

From a switch on, a CPU runs a thread until its next switch. The idle thread (0) is a gap. A thread
is in the state that the switch states from the moment it stops until it runs again; a wakeup makes
it runnable. What is not known at the edges of the trace is left out: threads before their first
switch, and whatever has no end.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from viewer.arrays import Ints, groups_of
from viewer.formats.perfetto.ftrace import FtraceEvents, SystemSlices
from viewer.formats.perfetto.recording import Recording
from viewer.model.trace_attributes import Counter, stated_counter

CPUS = "CPUs"
# The states of `prev_state` that are one bit, by that bit; 0 is runnable.
_RUNNING, _RUNNABLE, _PREEMPTED = "Running", "Runnable", "Runnable (preempted)"
_BITS = ("Sleeping", "Uninterruptible sleep", "Stopped", "Traced", "Dead", "Zombie")
_STATES = (_RUNNING, _RUNNABLE, _PREEMPTED, *_BITS, "Other state")
_FIRST_BIT, _OTHER = 3, len(_STATES) - 1
_RUNS, _STOPS, _WAKES = range(3)
_NO_END = "last thread on each CPU, whose end is not in the trace: left out"


def sched_slices(recording: Recording, events: FtraceEvents) -> list[SystemSlices]:
    """The slices of CPUs, and the states of threads."""
    if not events.switches.count:
        return []
    names = ("time", "cpu", "tid", "name", "prev_tid", "prev_state")
    time, cpu, tid, name, prev_tid, state = (events.switches[column] for column in names)
    order = np.lexsort((time, cpu))
    time, cpu, tid, name, prev_tid, state = (
        column[order] for column in (time, cpu, tid, name, prev_tid, state)
    )
    is_last = np.append(cpu[1:] != cpu[:-1], True)
    before = np.where(np.append(True, is_last[:-1]), -1, np.append(-1, tid[:-1]))
    prev_tid = np.where(prev_tid < 0, before, prev_tid)
    end = np.append(time[1:], 0)
    recording.problem(_NO_END, int((is_last & (tid != 0)).sum()), "")
    processes = recording.tracks.processes
    texts = recording.texts.all()
    for thread, first in _first_names(tid, name):
        processes.names_of_threads.setdefault(thread, texts[first])
    running = np.flatnonzero(~is_last & (tid != 0))
    cpus, track = np.unique(cpu[running], return_inverse=True)
    which, lives = processes.lives(tid[running], time[running])
    code = np.array([recording.texts.code(processes.label_of_thread(life)) for life in lives])
    parts = [
        SystemSlices(
            [(CPUS, f"CPU {number}") for number in cpus.tolist()],
            track.astype(np.uint32),
            time[running],
            end[running],
            code[which] if len(code) else np.empty(0, np.int64),
            flat=True,
        ),
        _states(recording, events, time, tid, prev_tid, state),
    ]
    return [part for part in parts if len(part)]


def cpu_clocks(events: FtraceEvents) -> list[Counter]:
    """The clock of each CPU, in MHz, from its first change on."""
    rows = events.frequencies
    return [
        replace(
            stated_counter(
                CPUS, f"CPU {cpu} clock", rows["time"][which], rows["khz"][which] / 1000
            ),
            unit="MHz",
        )
        for cpu, which in groups_of(rows["cpu"])
    ]


def _first_names(tid: Ints, name: Ints) -> list[tuple[int, int]]:
    """The first name that switches state for each thread."""
    rows = np.flatnonzero((name >= 0) & (tid != 0))
    tids, first = np.unique(tid[rows], return_index=True)
    return list(zip(tids.tolist(), name[rows][first].tolist(), strict=True))


def _states(
    recording: Recording, events: FtraceEvents, time: Ints, tid: Ints, prev_tid: Ints, state: Ints
) -> SystemSlices:
    """What each thread does from one of its events to the next."""
    runs, stops = np.flatnonzero(tid > 0), np.flatnonzero(prev_tid > 0)
    processes, waking = recording.tracks.processes, events.wakeups
    when = np.concatenate([time[runs], time[stops], waking["time"]])
    who = np.concatenate([tid[runs], prev_tid[stops], waking["tid"]])
    sort = np.repeat([_RUNS, _STOPS, _WAKES], [len(runs), len(stops), waking.count])
    what = np.concatenate(
        [np.zeros(len(runs), np.int64), _state_codes(state[stops]), np.ones(waking.count, np.int64)]
    )
    of_threads = np.flatnonzero(who > 0)
    who, when, sort, what = who[of_threads], when[of_threads], sort[of_threads], what[of_threads]
    who, lives = processes.lives(who, when)
    # A thread stops, is woken and runs, in this order, if all is at one time.
    rank = np.array([2, 0, 1])[sort]
    order = np.lexsort((rank, when, who))
    when, who, sort, what = when[order], who[order], sort[order], what[order]
    for _ in range(2):  # a wakeup counts once, and only while the thread sleeps
        same = np.append(False, who[1:] == who[:-1])
        is_asleep = same & (np.append(_RUNS, sort[:-1]) == _STOPS)
        is_asleep &= np.append(0, what[:-1]) > 2
        keep = (sort != _WAKES) | is_asleep | ~same
        when, who, sort, what = when[keep], who[keep], sort[keep], what[keep]
    has_next = np.append(who[1:] == who[:-1], False)
    rows = np.flatnonzero(has_next)
    numbers, track = np.unique(who[rows], return_inverse=True)
    places = []
    for number in numbers.tolist():
        process, thread = processes.place(lives[number])
        places.append((process, f"{thread} · state"))
    codes = np.array([recording.texts.code(text) for text in _STATES])
    return SystemSlices(
        places, track.astype(np.uint32), when[rows], when[rows + 1], codes[what[rows]], flat=True
    )


def _state_codes(state: Ints) -> Ints:
    """The place in `_STATES` of values of `prev_state`."""
    codes = np.full(len(state), _OTHER)
    low = state & 0x3F
    for bit in range(len(_BITS)):
        codes[low == 1 << bit] = _FIRST_BIT + bit
    is_runnable = (state & 0xFF) == 0
    codes[is_runnable] = 1
    codes[is_runnable & ((state & 0x700) != 0)] = 2
    return codes

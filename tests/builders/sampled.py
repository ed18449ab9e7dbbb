"""Sampled profiles in every form, made from one list of stacks, with what is right about them."""

from __future__ import annotations

import json
import random
from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Any

from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb

Stacks = Sequence[tuple[str, ...]]


def random_stacks(seed: int, count: int = 60) -> list[tuple[str, ...]]:
    """Return stacks of a thread, outermost frame first; many neighbors share frames."""
    dice = random.Random(seed)
    names = ["main", "load", "read", "compute", "loop", "f", "g", "h"]
    found: list[tuple[str, ...]] = []
    now: list[str] = []
    for _ in range(count):
        if dice.random() < 0.6:
            del now[dice.randint(0, len(now)) :]
            now += [dice.choice(names) for _ in range(dice.randint(0, 4))]
        found.append(tuple(now))
    return found


def sums(stacks: Stacks, weights: Sequence[int]) -> dict[tuple[str, ...], tuple[int, int, int]]:
    """Return total, self and number of samples of each path."""
    total, own, count = Counter(), Counter(), Counter()
    for stack, weight in zip(stacks, weights, strict=True):
        for depth in range(1, len(stack) + 1):
            total[stack[:depth]] += weight
            count[stack[:depth]] += 1
        if stack:
            own[stack] += weight
    return {path: (total[path], own[path], count[path]) for path in total}


def slices(stacks: Stacks, times: Sequence[int]) -> list[tuple[tuple[str, ...], int, int]]:
    """Return path, start and end of what neighbors make, one sample after another.

    times: where each begins, and where the last one ends.
    """
    found: list[tuple[tuple[str, ...], int, int]] = []
    open_: list[int] = []
    before: tuple[str, ...] = ()
    for i, stack in enumerate([*stacks, ()]):
        same = 0
        while same < min(len(before), len(stack)) and before[same] == stack[same]:
            same += 1
        for depth in range(len(before), same, -1):
            found.append((before[:depth], times[open_.pop()], times[i]))
        open_ += [i] * (len(stack) - same)
        before = stack
    return sorted(found)


def tree_of(stacks: Stacks) -> tuple[list[tuple[int, str]], list[int]]:
    """Return the nodes of a tree (parent, name), and the node of each stack, -1 for none."""
    nodes: dict[tuple[int, str], int] = {}
    of = []
    for stack in stacks:
        node = -1
        for name in stack:
            node = nodes.setdefault((node, name), len(nodes))
        of.append(node)
    return list(nodes), of


def speedscope(stacks: Stacks, weights: Sequence[float], unit: str, **more: object) -> bytes:
    """Return a sampled profile of speedscope."""
    names = list(dict.fromkeys(name for stack in stacks for name in stack))
    profile = {
        "type": "sampled", "name": "thread", "unit": unit, "startValue": 0,
        "endValue": sum(weights), "samples": [[names.index(n) for n in s] for s in stacks],
        "weights": list(weights), **more,
    }  # fmt: skip
    return json.dumps(
        {
            "$schema": "https://www.speedscope.app/file-format-schema.json",
            "shared": {"frames": [{"name": name} for name in names]},
            "profiles": [profile],
        }
    ).encode()


def evented(stacks: Stacks, times: Sequence[int], unit: str) -> bytes:
    """Return an evented profile of speedscope with the same slices."""
    names = list(dict.fromkeys(name for stack in stacks for name in stack))
    events: list[dict[str, object]] = []
    before: tuple[str, ...] = ()
    for i, stack in enumerate([*stacks, ()]):
        same = 0
        while same < min(len(before), len(stack)) and before[same] == stack[same]:
            same += 1
        for kind, some in (("C", before[same:][::-1]), ("O", stack[same:])):
            events += [{"type": kind, "frame": names.index(n), "at": times[i]} for n in some]
        before = stack
    profile = {
        "type": "evented", "name": "thread", "unit": unit, "startValue": times[0],
        "endValue": times[-1], "events": events,
    }  # fmt: skip
    return json.dumps(
        {"shared": {"frames": [{"name": name} for name in names]}, "profiles": [profile]}
    ).encode()


def collapsed(stacks: Stacks, weights: Sequence[int]) -> bytes:
    """Return collapsed stacks, a line for each stack that has frames."""
    return b"".join(
        f"{';'.join(stack)} {weight}\n".encode()
        for stack, weight in zip(stacks, weights, strict=True)
        if stack
    )


def cpu_profile(stacks: Stacks, deltas: Sequence[int], *, with_parents: bool = False) -> bytes:
    """Return a CPU profile of V8 that starts at 1000 µs."""
    nodes, of = tree_of([("(root)", *stack) for stack in stacks])
    children = defaultdict(list)
    for number, (parent, _) in enumerate(nodes):
        children[parent].append(number + 1)
    made = [
        {
            "id": number + 1,
            "callFrame": {"functionName": name, "url": "a.js", "lineNumber": 4},
            **({"parent": parent + 1} if with_parents and parent >= 0 else {}),
            **({} if with_parents else {"children": children[number]}),
        }
        for number, (parent, name) in enumerate(nodes)
    ]
    return json.dumps(
        {"nodes": made, "startTime": 1000, "samples": [n + 1 for n in of],
         "timeDeltas": list(deltas)}
    ).encode()  # fmt: skip


def firefox(
    stacks: Stacks, times: Sequence[float], *, is_shared: bool = False, with_deltas: bool = False
) -> bytes:
    """Return a processed profile of Firefox with one thread; times are in ms."""
    nodes, of = tree_of(stacks)
    names = list(dict.fromkeys(name for _, name in nodes))
    deltas = [b - a for a, b in zip([0.0, *times], times, strict=False)]
    tables = {
        "stackTable": {
            "frame": [names.index(name) for _, name in nodes],
            "prefix": [None if parent < 0 else parent for parent, _ in nodes],
        },
        "frameTable": {
            "func": list(range(len(names))), "line": [i + 1 for i in range(len(names))],
        },
        "funcTable": {
            "name": list(range(1, len(names) + 1)), "fileName": [0] * len(names),
        },
        "stringArray": ["a.cpp", *names],
    }  # fmt: skip
    thread = {
        "name": "main", "processName": "app", "pid": 1, "tid": 2,
        "samples": {
            "stack": [None if node < 0 else node for node in of],
            **({"timeDeltas": deltas} if with_deltas else {"time": list(times)}),
        },
    }  # fmt: skip
    meta = {"interval": 1, "processType": 0, "preprocessedProfileVersion": 57}
    if is_shared:
        return json.dumps({"meta": meta, "shared": tables, "threads": [thread]}).encode()
    return json.dumps({"meta": meta, "threads": [{**thread, **tables}]}).encode()


def perf_samples(
    stacks: Stacks, times: Sequence[int], *, threads: int = 1, lines: bool = False
) -> Any:
    """Return a Perfetto trace of samples of process 100, its threads 100, 101 and so on in turn.

    Frames and callstacks are defined in the packet of the first sample that has them.
    """
    trace: Any = pb.Trace()
    tree = trace.packet.add(trusted_packet_sequence_id=1).process_tree
    tree.processes.add(pid=100, cmdline=["app"])
    for number in range(1, threads):
        tree.threads.add(tgid=100, tid=100 + number, name=f"worker{number}")
    names: dict[str, int] = {}
    known: dict[tuple[str, ...], int] = {}
    for i, (stack, time) in enumerate(zip(stacks, times, strict=True)):
        packet = trace.packet.add(
            timestamp=time, trusted_packet_sequence_id=2, sequence_flags=2 if i else 3
        )
        if not i:
            packet.interned_data.mapping_paths.add(iid=1, str=b"lib")
            packet.interned_data.mapping_paths.add(iid=2, str=b"libapp.so")
            packet.interned_data.mappings.add(iid=1, path_string_ids=[1, 2])
        for name in stack:
            if name not in names:
                iid = names[name] = len(names) + 1
                packet.interned_data.function_names.add(iid=iid, str=name.encode())
                frame = packet.interned_data.frames.add(iid=iid, function_name_id=iid)
                frame.mapping_id, frame.rel_pc = 1, 16 * iid
                if lines:
                    frame.line_number = iid
        if stack not in known:
            known[stack] = len(known) + 1
            frames = [names[name] for name in stack]
            packet.interned_data.callstacks.add(iid=known[stack], frame_ids=frames)
        sample = packet.perf_sample
        sample.cpu, sample.pid, sample.tid = i % 2, 100, 100 + i % threads
        sample.timebase_count, sample.callstack_iid = i, known[stack]
    return trace

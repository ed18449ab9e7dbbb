"""Allocations of PyTorch as counters: one curve for each device of each process."""

import random

import numpy as np
import pytest

from tests.builders.chrome_cases import DATA, event, problems, read
from viewer.formats import open_file

_NAMES = {0: "CPU", 1: "CUDA", 13: "MPS", 99: "device type 99"}


def allocation(ts, size, device=(0, -1), pid=1, **more):
    args = {"Bytes": size, "Addr": 4096, "Device Type": device[0], "Device Id": device[1], **more}
    return event("i", "[memory]", ts, s="t", cat="cpu_instant_event", pid=pid, args=args)


def curves(trace):
    return {
        (c.process, c.name): list(zip((c.tick // 1000).tolist(), c.value.tolist(), strict=True))
        for c in trace.counters
    }


def test_the_allocations_of_a_profile_are_a_counter_of_its_device():
    trace = open_file(str(DATA / "kineto_cpu.json"))
    (counter,) = trace.counters
    assert (counter.process, counter.name, counter.unit) == (
        "python · CPU", "Memory allocated · CPU", "B"
    )  # fmt: skip
    assert counter.value.tolist() == [128, 256, 128, 160, 32, 0]
    assert trace.strings.count("[memory]") == 1, "the instants stay, with their addresses"


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("has_totals", [True, False])
def test_each_device_of_each_process_has_its_own_curve(tmp_path, seed, has_totals):
    dice = random.Random(seed)
    places = [
        (pid, (kind, number))
        for pid in (1, 2)
        for kind, number in ((0, -1), (1, 0), (1, 1), (13, 0), (99, 3))
    ]
    live, meant, events = {}, {}, []
    for ts in range(200):
        pid, device = place = dice.choice(places)
        size = dice.choice((1, 512, 4096)) * dice.choice((1, 1, -1))
        live[place] = live.get(place, 0) + size
        more = {"Total Allocated": live[place], "Total Reserved": 1 << 20} if has_totals else {}
        events.append(allocation(ts, size, device, pid, **more))
        name = _NAMES[device[0]] + (f":{device[1]}" if device[1] >= 0 else "")
        meant.setdefault((f"process {pid}", name), []).append((ts, live[place]))
    dice.shuffle(events)
    trace = read(tmp_path, *events)
    title = "Memory allocated" if has_totals else "Memory change"
    found = {key: curve for key, curve in curves(trace).items() if title in key[1]}
    assert found == {(of, f"{title} · {name}"): curve for (of, name), curve in meant.items()}
    reserved = [curve for key, curve in curves(trace).items() if "reserved" in key[1]]
    first = [[(curve[0][0], 1 << 20)] for curve in meant.values()]
    assert sorted(reserved) == (sorted(first) if has_totals else [])
    assert {c.unit for c in trace.counters} == {"B"}
    assert bool(trace.counters[0].note) != has_totals


def test_at_one_time_the_last_event_of_the_file_counts(tmp_path):
    events = [allocation(5, 10 * i, **{"Total Allocated": 10 * i}) for i in range(1, 9)]
    assert list(curves(read(tmp_path, *events)).values()) == [[(5, 80)]]


def test_events_without_usable_numbers_have_no_counter(tmp_path):
    for args in ({}, {"Bytes": "x", "Device Type": 0}, {"Bytes": 1.5, "Device Type": 0}):
        trace = read(tmp_path, event("i", "[memory]", 1, args=args), allocation(2, 1))
        assert trace.counters == () or not args
        assert len(trace.slices) == 2


def test_hundreds_of_devices_are_one_problem(tmp_path):
    trace = read(tmp_path, *(allocation(i, 1, (1, i)) for i in range(300)))
    assert len(trace.counters) <= 200
    assert sum(problems(trace).values()) == 200
    assert all(np.diff(c.tick).min(initial=1) > 0 for c in trace.counters)

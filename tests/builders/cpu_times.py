"""The CPU time of calls that are compared with one another."""

import time
from collections.abc import Callable, Hashable, Mapping
from typing import TypeVar

ROUNDS = 3

Name = TypeVar("Name", bound=Hashable)


def in_turns(calls: Mapping[Name, Callable[[], object]], rounds: int = ROUNDS) -> dict[Name, float]:
    """The least CPU seconds of each call. They run in turns, not one after the other, so that a
    change of the processor's clock rate affects all of them alike."""
    least = dict.fromkeys(calls, float("inf"))
    for _ in range(rounds):
        for name, call in calls.items():
            began = time.process_time()
            call()
            least[name] = min(least[name], time.process_time() - began)
    return least

"""Findings from the order of inferences: what they say of levels that rise, fall and return."""

import numpy as np
import pytest

from tests.builders.inference_trace import inference_trace
from viewer.reports.summary import findings_facts
from viewer.workspace.workspace import Workspace


def title(*factors: float, each: int = 30) -> str:
    random = np.random.default_rng(1)
    runs, at = [], 0
    for factor in np.repeat(factors, each):
        noise = random.normal(1, 0.01)
        operators = [("conv", int(800_000 * factor * noise)), ("linear", int(2e5 * factor * noise))]
        runs.append((at, operators))
        at += sum(ns for _, ns in operators) + 1000
    workspace = Workspace()
    workspace.add(inference_trace("levels", runs))
    (facts,) = findings_facts(workspace)["files"]
    (found,) = (one for one in facts["findings"] if one["kind"] == "changes")
    return str(found["title"]).partition(": up to")[0]


@pytest.mark.parametrize(
    ("factors", "text"),
    [
        (
            (1, 1.5),
            "Prevent the slowdown, from inference 31 on 1.5 times slower",
        ),
        (
            (1, 1.25, 1.9),
            "Prevent the slowdown, from inference 31 on 1.25 times, from inference 61 on 1.9 times "
            "slower",
        ),
        ((1, 0.5), "Look into the speedup, from inference 31 on 0.5 times as long"),
        (
            (1, 1.5, 1),
            "Look into the change, from inference 31 on 1.5 times as long, from inference 61 on as "
            "at first",
        ),
        (
            (1, 0.5, 1.5),
            "Look into the change, from inference 31 on 0.5 times as long, from inference 61 on "
            "1.5 times as long",
        ),
    ],
)
def test_levels_are_told_by_their_factor_to_the_first(
    factors: tuple[float, ...], text: str
) -> None:
    assert title(*factors) == text

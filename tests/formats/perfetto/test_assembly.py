"""Levels that were found by matching begins and ends pass the check that they are spared."""

from __future__ import annotations

import numpy as np
import pytest

from tests.formats.perfetto.test_reader import BEGIN, END, INSTANT, Writer
from viewer.formats import open_file
from viewer.model.building import layout
from viewer.model.building.builder import TraceBuilder
from viewer.model.queries import ranks


def some_events(seed: int) -> Writer:
    """Events of three tracks, many at the same time; ends without begins; not in order."""
    random, writer = np.random.default_rng(seed), Writer()
    for track in (1, 2, 3):
        writer.thread(track, 1, track, f"thread {track}")
    events = []
    for track in (1, 2, 3):
        opened, time = 0, 0
        for _ in range(60):
            time += int(random.integers(0, 3))
            kind = [BEGIN, END, INSTANT][random.choice(3, p=[0.45, 0.45, 0.1])]
            opened = max(opened + {BEGIN: 1, END: -1, INSTANT: 0}[kind], 0)
            events.append((time, kind, track))
        events += [(time + 1, END, track)] * opened
    if seed % 2:
        events.sort(key=lambda event: event[0])
    for time, kind, track in events:
        writer.event(time, kind, track, "" if kind == END else "a")
    return writer


@pytest.mark.parametrize("seed", range(8))
def test_slices_are_laid_out_as_if_their_levels_were_checked(tmp_path, monkeypatch, seed):
    path = tmp_path / "some.pftrace"
    path.write_bytes(some_events(seed).trace.SerializeToString())
    checks: list[int] = []
    real_fault, real_add = layout.level_fault, TraceBuilder.add

    def counted(*given):
        checks.append(1)
        return real_fault(*given)

    monkeypatch.setattr(layout, "level_fault", counted)
    spared = open_file(str(path)).slices
    assert not checks
    monkeypatch.setattr(
        TraceBuilder, "add", lambda self, **given: real_add(self, **{**given, "nested": False})
    )
    checked = open_file(str(path)).slices
    assert checks
    for column in ("start", "end", "name", "source_row", "row_ptr", "row_depth"):
        assert getattr(spared, column).tolist() == getattr(checked, column).tolist()
    assert ranks(spared).tolist() == ranks(checked).tolist()

"""Small host profiles of Torq as traces, with the columns and keys that their reader gives them."""

import re
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

import numpy as np

from viewer.model.building.builder import TraceBuilder
from viewer.model.trace import Clock, Column, KeyKind, Trace, Unit

DISPATCH = "main_dispatch_0_conv_56x56x32_i8"

# What one execution of the dispatch of tiny_cnn logs: (action, event, begin, end) in µs.
EXECUTION = (
    (0, "ALLOC", 0, 1), (1, "ALLOC", 2, 2), (2, "HOST_COPY", 3, 145),
    (3, "NSS_START", 146, 159), (4, "NSS_WAIT", 159, 269),
    (5, "NSS_START", 270, 278), (6, "NSS_WAIT", 279, 405),
    (7, "NSS_START", 406, 420), (8, "NSS_WAIT", 421, 466),
    (9, "NSS_START", 467, 482), (10, "NSS_WAIT", 482, 552),
    (11, "HOST_START", 553, 651), (12, "HOST_WAIT", 652, 652), (13, "HOST_COPY", 653, 832),
    (14, "DEALLOC", 833, 833), (15, "DEALLOC", 833, 833),
)  # fmt: skip


def host_trace(
    executions: Sequence[Sequence[tuple[int, str, int, int]]] = (EXECUTION,),
    dispatches: Sequence[str] = (DISPATCH,),
    path: str = "host.csv",
) -> Trace:
    """One trace; each execution is one invocation of its dispatch (the last name for the rest)."""
    builder = TraceBuilder(path, "Torq host profile", "H4", Clock("us", Fraction(1000)))
    builder.scope("host")
    host = builder.track(path, "Host", unit=Unit.HOST)
    nss = builder.track(path, "NSS jobs", flat=True, unit=Unit.NSS)
    row = 0
    for invocation, events in enumerate(executions):
        dispatch = dispatches[min(invocation, len(dispatches) - 1)]
        scope = builder.scope(dispatch)
        shift = invocation * 10_000
        jobs, begun = 0, (0, 0)
        for action, event, begin, end in events:
            key = builder.key(KeyKind.ACTION, event, scope=scope, instruction=action)
            _add(builder, host, (shift + begin, shift + end), event, key, row,
                 dispatch, invocation, action_id=action)  # fmt: skip
            if event == "NSS_START":
                begun = begin, row
            if event == "NSS_WAIT":
                name = f"job {jobs}"
                key = builder.key(KeyKind.JOB, name, scope=scope, instruction=jobs)
                _add(builder, nss, (shift + begun[0], shift + end), name, key, begun[1],
                     dispatch, invocation, job_id=jobs)  # fmt: skip
                jobs += 1
            row += 2
    return builder.build()


def _add(
    builder: TraceBuilder,
    track: int,
    span: tuple[int, int],
    name: str,
    key: int,
    row: int,
    dispatch: str,
    invocation: int,
    **numbers: int,
) -> None:
    builder.add(
        track=track,
        start=np.array(span[:1]),
        end=np.array(span[1:]),
        name=builder.intern_all([name]),
        key=np.array([key], np.uint32),
        source_row=np.array([row], np.uint32),
        derived=np.array(["job_id" in numbers]),
        columns={
            "dispatch": Column.of_texts([dispatch]),
            "invocation_id": Column(np.array([invocation])),
            **{column: Column(np.array([value])) for column, value in numbers.items()},
        },
    )


def renamed(text: Path, folder: Path, dispatch: str) -> Path:
    """A copy of a lowered text whose function has another name."""
    path = folder / f"{dispatch}.mlir"
    path.write_text(text.read_text().replace(DISPATCH, dispatch))
    return path


def recompiled(text: Path, folder: Path) -> Path:
    """A copy of a lowered text as of another compilation: with one action more at the begin."""
    path = folder / "recompiled.mlir"
    path.write_text(
        re.sub(
            r'(?<="torq-action-id" = )\d+',
            lambda number: str(int(number[0]) + 1),
            text.read_text(),
        )
    )
    return path

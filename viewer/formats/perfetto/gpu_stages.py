"""Slices of a GPU: `gpu_render_stage_event`, which drivers of Android write for each stage of work.

The time of the packet is the start, and the event states the duration. Names of hardware queues and
stages are interned (`gpu_specifications`), or in older traces listed once in an event
(`specifications`) and referred to by their place. A queue is a track of the process "GPU".

Layout: protos/perfetto/trace/gpu/gpu_render_stage_event.proto.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb

from viewer.arrays import Ints, flags_at
from viewer.codecs.protobuf.fields import LENGTH_DELIMITED, VARINT, Field
from viewer.codecs.protobuf.reader import PaddedBytes
from viewer.formats.perfetto.annotations import codes_of, interned
from viewer.formats.perfetto.ftrace import SystemSlices
from viewer.formats.perfetto.packets import last
from viewer.formats.perfetto.recording import Recording
from viewer.formats.perfetto.sequences import GPU_NAMES, as_text, parsed
from viewer.model.trace import Column

GPU = "GPU"
_ID, _DURATION, _QUEUE_ID, _STAGE_ID, _SPECIFICATIONS = 1, 2, 3, 4, 7
_SUBMISSION, _GPU_ID, _QUEUE_IID, _STAGE_IID, _NAME = 10, 11, 13, 14, 17
_TAGS = range(8, 1 << 8)
_MOST_NAMES = 10_000
_NONE = (1 << 64) - 1


class GpuStages:
    """The events so far."""

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self._parts: list[tuple[Ints, ...]] = []
        self._queues: list[str] = []
        self._stages: list[str] = []
        self.count = 0
        self.bytes = 0

    def add(self, block: PaddedBytes, spans: Field, times: Ints, clock: Ints, state: Ints) -> None:
        """Add events; times, clock and state are those of their packets."""
        n = len(spans)
        self.bytes += int((spans.end - spans.at).sum())
        fields = block.fields(spans.at, spans.end, _TAGS)
        specified = fields.get(_SPECIFICATIONS, LENGTH_DELIMITED)
        for begin, end in zip(specified.at.tolist(), specified.end.tolist(), strict=True):
            self._specify(bytes(block.data.data[begin:end]))
        states = self._recording.sequences.states
        queue, stage, name = (np.full(n, -1) for _ in range(3))
        for field, into in ((_QUEUE_IID, queue), (_STAGE_IID, stage)):
            iids = fields.get(field, VARINT)
            into[iids.owner] = interned(GPU_NAMES, iids.value, state[iids.owner], states)
        texts = fields.get(_NAME, LENGTH_DELIMITED)
        name[texts.owner] = codes_of(block, texts, self._recording.texts)
        has = flags_at(n, fields.get(_ID, VARINT).owner)
        number, place = (
            last(fields, field, n, default=_NONE).view(np.int64) for field in (_STAGE_ID, _QUEUE_ID)
        )
        iid = last(fields, _QUEUE_IID, n).view(np.int64)
        has_specification = flags_at(n, specified.owner)
        keep = np.flatnonzero(has | ~has_specification)
        columns = (
            times, clock, last(fields, _DURATION, n).view(np.int64), queue, stage, name, place,
            number, iid, last(fields, _GPU_ID, n).view(np.int64),
            last(fields, _SUBMISSION, n).view(np.int64),
        )  # fmt: skip
        self._parts.append(tuple(np.asarray(column)[keep] for column in columns))
        self.count += len(keep)

    def _specify(self, data: bytes) -> None:
        """Take the names that an older trace lists once."""
        specifications: Any = parsed(
            pb.GpuRenderStageEvent.Specifications, data, self._recording.problem
        )
        if specifications is not None:
            self._queues = [as_text(queue.name) for queue in specifications.hw_queue][:_MOST_NAMES]
            self._stages = [as_text(stage.name) for stage in specifications.stage][:_MOST_NAMES]

    def slices(self) -> list[SystemSlices]:
        """The slices of all queues."""
        if not self.count:
            return []
        (start, clock, length, queue, stage, name, place, number, iid, gpu, submission) = (
            np.concatenate(columns) for columns in zip(*self._parts, strict=True)
        )
        code = self._recording.texts.code
        lost = self._recording.to_trace_clock(start, clock)
        self._recording.problem(
            "GPU stages on a clock that no snapshot relates: times are not converted", len(lost)
        )
        is_long = (length < 0) | (length > (1 << 62) - 1)
        self._recording.problem(
            "GPU stage with an unusable duration: drawn as an instant", int(is_long.sum()), ""
        )
        length = np.where(is_long, 0, length)
        label = np.where(name >= 0, name, stage)
        missing = np.flatnonzero(label < 0)
        label[missing] = [
            code(self._name(n, self._stages, "stage")) for n in number[missing].tolist()
        ]
        identity = np.stack([queue, np.where(queue < 0, np.where(place < 0, iid, place), 0), gpu])
        tracks, track = np.unique(identity, axis=1, return_inverse=True)
        texts = self._recording.texts.all()
        places = []
        for of_text, queue_number, of_gpu in tracks.T.tolist():
            thread = (
                texts[of_text] if of_text >= 0 else self._name(queue_number, self._queues, "queue")
            )
            places.append((GPU if not of_gpu else f"{GPU} {of_gpu}", thread))
        return [
            SystemSlices(
                places,
                track.reshape(-1).astype(np.uint32),
                start,
                start + length,
                label,
                columns={"submission_id": Column(submission, submission != 0)},
            )
        ]

    @staticmethod
    def _name(number: int, names: list[str], what: str) -> str:
        return names[number] if 0 <= number < len(names) and names[number] else f"{what} {number}"

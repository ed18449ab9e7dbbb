"""Writes fleets of small ETDumps: variants of recorded ones, by model, device and build.

Times of a recorded dump are replaced in place, so a variant has its instructions and identifiers,
and matches its ETRecord. Writing one takes a tenth of a millisecond.
"""

from __future__ import annotations

import shutil
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tests.paths import DATA
from viewer.formats import open_file
from viewer.model.trace import Trace

# ETDumps with the ETRecords that they match.
RECORDED = (
    ("demo_portable_x3", "demo_portable"),
    ("cnn_xnnpack_x10", "cnn_teal_xnnpack"),
    ("cond_portable_x5", "cond_toedge_portable"),
    ("multi_forward_decode_portable_x3", "multi_forward_decode_toedge_portable"),
    ("cnn_portable_x2_debug", "cnn_toedge_portable"),
)
PATTERN = "{build}/{device}/{model}/{name}.etdp"


@dataclass(frozen=True)
class Template:
    """A recorded dump: its bytes, and where its times are.

    places: byte offsets of all times. ticks: the time at each place.
    """

    name: str
    data: bytes
    places: np.ndarray
    ticks: np.ndarray

    @classmethod
    def of(cls, name: str) -> Template:
        """Find the times of a dump in tests/data/etdump."""
        path = DATA / "etdump" / f"{name}.etdp"
        data = path.read_bytes()
        trace = open_file(str(path))
        assert isinstance(trace, Trace)
        places: dict[int, int] = {}
        for time in {*trace.slices.start.tolist(), *trace.slices.end.tolist()} - {0}:
            coded = struct.pack("<q", time)
            at = data.find(coded)
            while at >= 0:
                places[at] = time
                at = data.find(coded, at + 1)
        found = sorted(places)
        return cls(name, data, np.array(found), np.array([places[i] for i in found]))

    def variant(self, factor: float, shift: int) -> bytes:
        """The dump with all times stretched from the first one on, and shifted by some ticks."""
        first = int(self.ticks.min())
        ticks = np.rint((self.ticks - first) * factor).astype("<i8") + first + shift
        data = np.frombuffer(self.data, np.uint8).copy()
        data[self.places[:, None] + np.arange(8)] = ticks.view(np.uint8).reshape(-1, 8)
        return data.tobytes()


def write_fleet(
    folder: Path, count: int, models: int = 20, devices: int = 10, builds: int = 4
) -> list[Path]:
    """Write `count` dumps to folder/BUILD/DEVICE/MODEL/NAME.etdp, and ETRecords to folder/records.

    A model is a recorded dump under a name of its own; devices and builds differ in speed. All
    ETRecords of a model are in its folders, as links. Returns the paths of the dumps.
    """
    templates = [Template.of(name) for name, _ in RECORDED]
    written: list[Path] = []
    for number, (build, device, model) in zip(
        range(count), _places(models, devices, builds), strict=False
    ):
        of = int(model.removeprefix("model")) % len(templates)
        place = folder / build / device / model
        if number < models * devices * builds:
            place.mkdir(parents=True, exist_ok=True)
            record = DATA / "etrecord" / f"{RECORDED[of][1]}.etrecord"
            shutil.copy(record, place / "model.etrecord")
        factor = 1 + int(device.removeprefix("device")) / 10 + 0.02 * int(build[5:])
        path = place / f"run{number:06}.etdp"
        path.write_bytes(templates[of].variant(factor, number + 1))
        written.append(path)
    return written


def _places(models: int, devices: int, builds: int) -> Iterator[tuple[str, str, str]]:
    number = 0
    while True:
        yield (
            f"build{number // (models * devices) % builds}",
            f"device{number // models % devices}",
            f"model{number % models}",
        )
        number += 1

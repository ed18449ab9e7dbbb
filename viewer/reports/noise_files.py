"""Files with the noise of a device, written by `opscope compare --null`."""

from __future__ import annotations

import os
from collections.abc import Iterable
from datetime import UTC, datetime

import msgspec

from viewer.analysis.comparison.noise import Noise
from viewer.codecs.reading import UnreadableFile
from viewer.reports.info import Facts

NOISE_SCHEMA = "opscope-noise/1"
_LARGEST = 10_000_000  # bytes
_MOST = 10.0  # a deviation of log medians; times differ by 22,000 times then


class _Stored(msgspec.Struct):
    schema: str
    sessions: int
    inference_sd: float
    types: dict[str, float]


def noise_facts(noise: Noise, paths: Iterable[str]) -> Facts:
    """Return the noise as it is stored; paths: of the profiles, for their dates."""
    dates = sorted({_day(path) for path in paths})
    return {
        "schema": NOISE_SCHEMA,
        "sessions": noise.sessions,
        "dates": dates,
        "inference_sd": noise.inference,
        "types": dict(noise.types),
    }


def _day(path: str) -> str:
    return datetime.fromtimestamp(os.stat(path).st_mtime, UTC).strftime("%Y-%m-%d")


def read_noise(path: str) -> Noise:
    """Read a file with the noise of a device. Raises UnreadableFile."""
    try:
        with open(path, "rb") as file:
            data = file.read(_LARGEST + 1)
        stored = msgspec.json.decode(data, type=_Stored)
    except OSError as error:
        raise UnreadableFile(path, error.strerror or str(error)) from error
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise _no_noise(path) from error
    deviations = (stored.inference_sd, *stored.types.values())
    is_usable = stored.sessions >= 2 and all(0 <= one <= _MOST for one in deviations)
    if stored.schema != NOISE_SCHEMA or not is_usable:
        raise _no_noise(path)
    return Noise(stored.sessions, stored.inference_sd, stored.types)


def _no_noise(path: str) -> UnreadableFile:
    return UnreadableFile(
        path,
        "not the noise of a device",
        remedy="Write one with opscope compare --null FILES -o FILE",
    )

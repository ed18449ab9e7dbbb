"""Copies of a PyTorch profile in which calls take longer, as another process would record them."""

from __future__ import annotations

import gzip
import json
import re
from bisect import bisect_left, bisect_right
from collections.abc import Mapping
from pathlib import Path

from tests.paths import DATA

TRAINING = DATA / "chrome_json/torch_training.json.gz"


def write_stretched(
    path: Path,
    name: str = "",
    factor: float = 1.0,
    whole: float = 1.0,
    renamed: Mapping[str, str] | None = None,
) -> Path:
    """Write a copy of the sample. Calls with a name take `factor` times as long, and what is around
    them grows by that; everything takes `whole` times as long. Addresses of objects are others.
    renamed: texts to replace in all names.
    """
    text = gzip.decompress(TRAINING.read_bytes()).decode()
    text = re.sub(r"at 0x([0-9a-f]+)", lambda m: f"at {int(m[1], 16) + 4096:#x}", text)
    for old, new in (renamed or {}).items():
        text = text.replace(old, new)
    content = json.loads(text)
    events = [event for event in content["traceEvents"] if "ts" in event]
    own = sorted((e["ts"] + e["dur"], e["dur"]) for e in events if e.get("name") == name)
    ends = [end for end, _ in own]
    longer = [0.0]
    for _, length in own:
        longer.append(longer[-1] + (factor - 1) * length)
    for event in events:
        start = event["ts"] + longer[bisect_left(ends, event["ts"])]
        if "dur" in event:
            end = event["ts"] + event["dur"]
            event["dur"] = (end + longer[bisect_right(ends, end)] - start) * whole
        event["ts"] = start * whole
    path.write_bytes(gzip.compress(json.dumps(content).encode(), 1))
    return path

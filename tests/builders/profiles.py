"""Profiles of test files for the tests of the Python API."""

from functools import cache

import viewer
from tests.paths import DATA, SAMPLES

ATTENTION = tuple(
    str(SAMPLES / "attention_xnnpack" / name)
    for name in ("attn_xnnpack_x5.etdp", "attn_teal_xnnpack.etrecord")
)
TORQ = tuple(
    str(SAMPLES / "torq_npu" / name)
    for name in (
        "compile.csv",
        "host.csv",
        "tiny_cnn.mlir",
        "main_dispatch_0_conv_56x56x32_i8.mlir",
    )
)
PROGRAM = tuple(str(DATA / "pte" / f"mobile_x.{suffix}") for suffix in ("pte", "etrecord", "etdp"))
CHROME = (str(DATA / "chrome_json" / "kineto_cpu.json"),)


@cache
def profile(files: tuple[str, ...] = ATTENTION) -> viewer.Profile:
    """The open files; tables are kept, so tests do not change them."""
    return viewer.open(*files)

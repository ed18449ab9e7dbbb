"""How large a bench is: as it is measured, or just large enough to show that it works.

With --benchmark-enable a bench has its full size and number of rounds, else a small size and one
round; an OPSCOPE_BENCH_* variable sets a size in both.
"""

import os

MEASURED = "OPSCOPE_BENCH_MEASURED"  # tests/conftest.py sets it for --benchmark-enable


def is_measured() -> bool:
    """Whether benches run at full size; read late, since conftest imports this module first."""
    return MEASURED in os.environ


def size(full: int, small: int, variable: str = "") -> int:
    """The size of a bench; `variable`: what may set it."""
    given = os.environ.get(variable)
    return int(given) if given else full if is_measured() else small


def rounds(full: int) -> int:
    """How often something is measured."""
    return full if is_measured() else 1

"""Opscope: a desktop trace viewer for on-device ML profiles and the models behind them.

From Python, `viewer.open` and `viewer.compare` return profiles as DataFrames (`viewer.api`), and
`viewer.lake` queries many of them (`viewer.fleet`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from viewer.api import ComparedProfiles, Profile, UnreadableFile, compare, open
    from viewer.fleet.profile_lake import lake

__all__ = [
    "ComparedProfiles", "Profile", "UnreadableFile", "__version__", "compare", "lake", "open"
]  # fmt: skip

__version__ = "0.1.0"

# The version of the keys of `--json` and of the columns of tables. Raised when a meaning changes; a
# new key or column leaves it.
SCHEMA = 3

APPLICATION_ID = "org.opscope.Opscope"


def __getattr__(name: str) -> Any:
    # Late, because every command imports this package.
    if name == "lake":
        import viewer.fleet.profile_lake

        return viewer.fleet.profile_lake.lake
    if name in __all__:
        import viewer.api

        return getattr(viewer.api, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})

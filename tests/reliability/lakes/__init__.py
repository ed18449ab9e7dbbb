"""Area lakes of the campaign: what Opscope wrote is input too.

Lakes are changed: lines of the manifest, files and folders, bytes and values of Parquet files,
links to what lies beside them. Then commands run on them. A finding is a file that was touched
outside of the lake, an unexpected exception, a command that does not end, or rows that are missing
while nothing says so.
"""

from __future__ import annotations

from tests.reliability.campaign import Job, Options

_SHORT = 12
_LONG, _PARTS = 2_000, 2


def jobs(options: Options) -> list[Job]:
    """One job in a short run, two in a night."""
    from tests.reliability.lakes import check

    if not options.is_long and options.fuzz_seconds <= 1:
        return [Job("lakes", "changed", check.run, (0, _SHORT), is_forked=True)]
    return [
        Job("lakes", "changed", check.run, (part, _LONG // _PARTS), 4 * 3600.0, is_forked=True)
        for part in range(_PARTS)
    ]

"""Area losses of the campaign: one byte of a sound file is wrong, and what is lost is counted.

A byte is changed, removed or inserted. Where Opscope shows less than of the sound file, either it
counts a further problem, or a reader of its own (`peers`) agrees that the file has less now. Else
the changed file is silent, which is a finding.
"""

from __future__ import annotations

from tests.reliability.campaign import Job, Options

_SHORT = 150  # of each format: about half a second
_LONG = 1_340  # 20,000 of all formats


def jobs(options: Options) -> list[Job]:
    """One job for each format."""
    from tests.reliability.losses import check
    from tests.reliability.losses.sound import SOUND

    is_night = options.is_long or options.fuzz_seconds > 1
    count = _LONG if is_night else _SHORT
    return [Job("losses", name, check.run, (name, count), is_forked=True) for name in SOUND]

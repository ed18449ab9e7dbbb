"""Soak: random use of the real window, with nothing left behind."""

from tests.reliability.campaign import Job, Options
from tests.reliability.soak import cycles
from tests.reliability.soak.window import LONG_SECONDS, soak


def jobs(options: Options) -> list[Job]:
    """Return the jobs of this area."""
    limit = LONG_SECONDS * 1.5 if options.is_long else 300.0
    return [Job("soak", "window", soak, (), limit), *cycles.jobs(options)]

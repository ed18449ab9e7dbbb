"""Soak: random use of the real window, with nothing left behind."""

from tests.reliability.campaign import Job, Options
from tests.reliability.soak.window import LONG_SECONDS, soak


def jobs(options: Options) -> list[Job]:
    """Return the job of this area."""
    return [Job("soak", "window", soak, (), LONG_SECONDS * 1.5 if options.is_long else 300.0)]

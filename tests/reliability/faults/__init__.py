"""Faults: full disks, killed processes, signals, changing files, odd places, a lost display."""

from tests.reliability.campaign import Job, Options
from tests.reliability.faults import (
    changed_files,
    environments,
    full_disk,
    kills,
    lost_display,
    signals,
)


def jobs(options: Options) -> list[Job]:
    """Return the jobs of this area."""
    return [
        *environments.jobs(options),
        *kills.jobs(options),
        *full_disk.jobs(options),
        *lost_display.jobs(options),
        *signals.jobs(options),
        *changed_files.jobs(options),
    ]

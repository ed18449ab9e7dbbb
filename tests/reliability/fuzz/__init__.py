"""Area fuzz of the campaign: inputs of every format, made from scratch or by changing real ones."""

from __future__ import annotations

from tests.reliability.campaign import Job, Options

# Inputs of one job of a long run: so that two processors end at nearly the same time.
_PER_JOB = 50_000


def jobs(options: Options) -> list[Job]:
    """Return the jobs: one for each kind of file, several for a long run of many inputs."""
    from tests.reliability.fuzz import worker
    from tests.reliability.fuzz.kinds import KINDS

    if not options.is_long:
        seconds = options.fuzz_seconds
        limit = 120 + 10 * seconds  # of wall time
        return [
            Job("fuzz", name, worker.run, (name, 0, 1 << 40, seconds), limit, is_forked=True)
            for name in KINDS
        ]
    found = []
    for name, kind in KINDS.items():
        parts = -(-kind.runs // _PER_JOB)
        for part in range(parts):
            # 1 % more than the goal, as every part is rounded down.
            count = -(-kind.runs // parts)
            arguments = (name, part, count, 1e9)
            found.append(Job("fuzz", name, worker.run, arguments, 4 * 3600.0, is_forked=True))
    return found

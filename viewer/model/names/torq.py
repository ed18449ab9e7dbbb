"""Names that the Torq compiler and runtime use in profiles and in debug info.

The readers name columns and tracks this way, and code that looks for actions, jobs and tasks uses
the same names.
"""

from __future__ import annotations

# Columns of slices: the numbers of a dispatch, its actions, jobs and tasks; what an action does;
# and the bytes that a transfer moves.
DISPATCH, ACTION_ID, JOB_ID, TASK_ID = "dispatch", "action_id", "job_id", "task_id"
OPERATIONS = "operations"  # only in annotated profiles
BYTES = "bytes"

# Tracks.
HOST, HAL, NSS_JOBS = "Host", "HAL", "NSS jobs"

# One action starts an NSS job and another waits for it: events of a host profile, and operations of
# the compiler.
NSS_START, NSS_WAIT = "NSS_START", "NSS_WAIT"
START_PROGRAM, WAIT_PROGRAM = "torq_hl.start_program", "torq_hl.wait_program"


def job_name(number: int) -> str:
    """The display name of an NSS job, because no file names it."""
    return f"job {number}"


# What a compiler and its runtime name alike.
LOCATION, ACTION, JOB, TASK = "location", "action", "job", "task"

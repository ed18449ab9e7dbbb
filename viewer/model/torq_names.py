"""What Torq's compiler and runtime call their own things, in every profile and in debug info.

The readers name columns and tracks so; whatever looks for actions, jobs and tasks asks for these.
"""

from __future__ import annotations

# Columns of slices: the numbers by which a dispatch knows its own, what an action does, and what a
# transfer moves.
DISPATCH, ACTION_ID, JOB_ID, TASK_ID = "dispatch", "action_id", "job_id", "task_id"
OPERATIONS = "operations"  # of annotated profiles alone
BYTES = "bytes"

# Tracks.
HOST, HAL, NSS_JOBS = "Host", "HAL", "NSS jobs"

# An NSS job is started by one action and waited for by another: events of a host profile, and
# operations of the compiler.
NSS_START, NSS_WAIT = "NSS_START", "NSS_WAIT"
START_PROGRAM, WAIT_PROGRAM = "torq_hl.start_program", "torq_hl.wait_program"


def job_name(number: int) -> str:
    """What an NSS job is called, since no file names it."""
    return f"job {number}"

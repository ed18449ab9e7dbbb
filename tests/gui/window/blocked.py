"""Stands in for a reader or an export job, and blocks until a test lets it finish."""

import threading

from viewer.codecs.atomic_file import WriteCancelled
from viewer.codecs.reading import ReadCancelled


class Blocked:
    """Blocks until `end` is set, then returns `result`; raises if it is canceled before.

    `begun` is set when it is called.
    """

    def __init__(self, result=None):
        self.begun, self.end = threading.Event(), threading.Event()
        self.result = result

    def __call__(self, *given):
        cancelled = given[-1]
        self.begun.set()
        while not self.end.wait(0.002):
            if cancelled():
                raise ReadCancelled if len(given) == 3 else WriteCancelled
        return self.result


def blocked_export(controller, monkeypatch):
    """Make the next export block, and return its job."""
    job = Blocked()
    monkeypatch.setattr("viewer.workspace.exports.prepare", lambda workspace, path: job)
    return job

"""A reader, or an export job, that waits until it is asked to end or to stop."""

import threading

from viewer.codecs.atomic_file import WriteCancelled
from viewer.codecs.reading import ReadCancelled


class Blocked:
    """A reader, or an export job, that waits until it is told to end or to stop."""

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
    job = Blocked()
    monkeypatch.setattr(
        "viewer.gui.window.files.export_actions.prepare", lambda workspace, path: job
    )
    return job

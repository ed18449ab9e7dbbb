"""Security: calls that run code, hostile names, the two servers, source paths, dependencies."""

from tests.reliability.campaign import Job, Options
from tests.reliability.security import (
    dependencies,
    disk_changes,
    handover,
    loopback,
    outputs,
    rich_text,
    source_paths,
    syntax_trees,
)


def jobs(options: Options) -> list[Job]:
    """Return the jobs of this area."""
    return [
        Job("security", "window texts", rich_text.check),
        Job("security", "outputs", outputs.check),
        Job("security", "instance socket", handover.check),
        Job("security", "loopback server", loopback.check),
        Job("security", "source paths", source_paths.check),
        Job("security", "syntax trees", syntax_trees.check),
        Job("security", "disk changes", disk_changes.check),
        Job("security", "dependencies", dependencies.check, (), 1200.0),
    ]

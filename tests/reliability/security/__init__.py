"""Area security of the campaign."""

from tests.reliability.campaign import Job, Options


def jobs(options: Options) -> list[Job]:
    """Return the jobs of this area."""
    return []

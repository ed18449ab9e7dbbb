"""The table of a campaign, as Markdown: `tests/reliability.md` keeps those of long runs."""

from __future__ import annotations

from tests.reliability.campaign import Row

_COLUMNS = ("job", "count", "findings", "seconds", "figures")
_WIDTHS = (26, 9, 8, 7, 0)


def title() -> str:
    """Return the two head lines of the table."""
    return f"{_line(_COLUMNS)}\n{_line(tuple('-' * max(width, 3) for width in _WIDTHS))}"


def line(row: Row) -> str:
    """Return the line of one job."""
    job, outcome = row.job, row.outcome
    return _line(
        (
            f"{job.area}/{job.name}",
            f"{outcome.count:,}",
            str(len(outcome.findings)),
            f"{row.seconds:.0f}",
            outcome.figures,
        )
    )


def _line(cells: tuple[str, ...]) -> str:
    padded = (cell.ljust(width) for cell, width in zip(cells, _WIDTHS, strict=True))
    return f"| {' | '.join(padded)} |"

"""The timeline alone, with something open."""

import pytest

from tests.gui.board import Board


@pytest.fixture
def tall(board: Board, tmp_path) -> Board:
    """A trace with more rows than the canvas can show."""
    path = tmp_path / "tall.csv"
    rows = [f"p,t{n},s{n},{n * 10},{1000 + n}" for n in range(80)]
    path.write_text("\n".join(["process,thread,name,start_ns,dur_ns", *rows]) + "\n")
    board.open(path)
    return board

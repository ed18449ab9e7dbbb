import numpy as np

from viewer.render.frame import stamp_diamonds


def drawn(x: list[int], middle: int, reach: int, shape: tuple[int, int]) -> list[str]:
    image = np.zeros(shape, np.uint32)
    stamp_diamonds(image, np.array(x, np.int64), middle, reach, 0xFF0000FF)
    return ["".join("#" if pixel == 0xFF0000FF else "." for pixel in line) for line in image]


def test_a_diamond_lies_around_its_column_and_line() -> None:
    assert drawn([3], 2, 2, (5, 7)) == ["...#...", "..###..", ".#####.", "..###..", "...#..."]


def test_what_is_beyond_the_image_is_cut() -> None:
    assert drawn([0, 5], 0, 2, (3, 6)) == ["######", "##..##", "#....#"]

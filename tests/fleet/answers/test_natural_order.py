"""The order of builds and devices."""

from viewer.fleet.answers.natural_order import natural


def test_numbers_in_names_count():
    for names in (
        ["build 9", "build 10", "build 100"],
        ["1.2", "1.9", "1.10", "1.10.1", "2.0"],
        ["", "a", "a1", "b"],
        ["1", "9" * 18],
    ):
        assert sorted([*names[1:], names[0]], key=natural) == names


def test_any_name_has_a_place():
    names = ["9" * 40, "a" * 5, "²", "-1", "1a", "a1b", " "]
    assert len(sorted(names, key=natural)) == len(names)

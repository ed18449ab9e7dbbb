"""Short paths: as many folders as tell files apart, and no more."""

from viewer.html_report.contents import short_paths


def test_a_name_alone_is_enough_if_it_is_the_only_one():
    assert short_paths(["/home/me/run.etdp", "C:\\x\\model.etrecord"]) == {
        "/home/me/run.etdp": "run.etdp",
        "C:\\x\\model.etrecord": "model.etrecord",
    }


def test_folders_tell_equal_names_apart():
    names = short_paths(["/home/me/a/run.etdp", "/home/me/b/run.etdp", "/home/me/b/x.etdp"])
    assert list(names.values()) == ["a/run.etdp", "b/run.etdp", "x.etdp"]


def test_paths_that_differ_in_nothing_but_their_root():
    assert sorted(short_paths(["/a", "a", ""]).values()) == ["", "a", "a"]

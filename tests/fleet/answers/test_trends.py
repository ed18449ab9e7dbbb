"""Trends by build, and the noise of devices."""

import math
import re
from itertools import pairwise
from xml.etree import ElementTree

import pytest

from viewer.fleet.answers.arms import lake_profiles
from viewer.fleet.answers.report import (
    MOST_LINES,
    Trend,
    TrendPoint,
    chart,
    device_noise,
    last_builds,
    trends_of,
)
from viewer.fleet.lake import Lake
from viewer.fleet.query import with_connection


def test_a_trend_has_the_sessions_of_every_build_in_order(lake_of_builds):
    trends = with_connection(Lake(str(lake_of_builds)), trends_of)
    assert [(t.model, t.device) for t in trends] == [("net", "phone1"), ("net", "phone2")]
    for trend in trends:
        assert [point.build for point in trend.points] == ["9", "10"]
        assert [len(point.sessions) for point in trend.points] == [3, 3]
    before, last = trends[0].points
    assert before.ns == sorted(before.sessions)[1] < last.ns


def test_the_last_build_is_compared_with_the_one_before(lake_of_builds):
    groups = last_builds(with_connection(Lake(str(lake_of_builds)), lake_profiles))
    assert [g.label for g in groups] == [
        "model=net, device=phone1, build=9 → 10", "model=net, device=phone2, build=9 → 10",
    ]  # fmt: skip
    assert [tuple(map(len, g.keys)) for g in groups] == [(3, 3), (3, 3)]


def test_noise_is_that_within_builds_whatever_their_speed():
    def point(build, *sessions):
        return TrendPoint(build, sessions)

    fast = point("1", 100.0, 110.0, 121.0)
    slow = point("2", 1000.0, 1100.0, 1210.0)
    alone = point("3", 5.0)
    (one,) = device_noise([Trend("net", "forward", "phone", (fast, slow, alone))])
    assert one.deviation == pytest.approx(math.log(1.1))
    assert (one.device, one.sessions) == ("phone", 6)
    assert device_noise([Trend("net", "forward", "phone", (alone,))]) == []


def trend(device, *medians):
    points = (TrendPoint(str(n), (ns * 0.9, ns, ns * 1.1)) for n, ns in enumerate(medians))
    return Trend("net", "forward", device, tuple(points))


def drawn(*trends):
    return ElementTree.fromstring(chart("Title", trends, "(not known)"))


def test_slower_is_higher_and_builds_go_from_left_to_right():
    root = drawn(trend("phone", 100_000.0, 200_000.0, 150_000.0))
    circles = [(float(c.get("cx")), float(c.get("cy"))) for c in root.iter("circle")]
    (x0, y0), (x1, y1), (x2, y2) = circles
    assert x0 < x1 < x2
    assert x1 - x0 == pytest.approx(x2 - x1)
    assert y1 < y2 < y0
    assert (y0 - y1) == pytest.approx(2 * (y2 - y1), abs=0.2)
    assert "phone, build 1: 200.000 µs, 3 sessions" in [
        t.text.replace("\u202f", " ") for t in root.iter("title")
    ]


def test_labels_of_lines_do_not_overlap_and_stay_inside():
    root = drawn(*(trend(f"phone {n}", 100.0, 100.0 + n / 100) for n in range(14)))
    labels = [t for t in root.iter("text") if (t.text or "").startswith("●")]
    assert len(labels) == MOST_LINES
    at = sorted(float(label.get("y")) for label in labels)
    assert min(b - a for a, b in pairwise(at)) >= 14
    assert at[0] > 0
    assert at[-1] <= 260


def test_names_are_escaped_and_shortened():
    made = chart("T", [trend("<script>" + "x" * 100, 1.0, 2.0)], "?")
    assert "<script" not in made
    assert max(map(len, re.findall("x+", made.split("●")[1]))) <= 18
    assert ElementTree.fromstring(made).tag == "svg"


def test_without_two_builds_there_is_no_chart():
    assert chart("T", [trend("phone", 100.0)], "?") == ""
    assert chart("T", [], "?") == ""


@pytest.mark.parametrize("ns", [0.0, 1.0, 1e18])
def test_times_that_are_all_equal_or_extreme_have_a_chart(ns):
    points = tuple(TrendPoint(str(n), (ns,)) for n in range(2))
    ElementTree.fromstring(chart("T", [Trend("m", "f", "d", points)], "?"))

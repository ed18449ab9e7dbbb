"""Trends by build, and the noise of devices."""

import math

import pytest

from viewer.fleet.answers.arms import lake_profiles
from viewer.fleet.answers.trends import Trend, TrendPoint, device_noise, last_builds, trends_of
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

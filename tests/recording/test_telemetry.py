"""What texts of devices state; what they do not is None and never 0."""

import pytest

from tests.builders.fake_devices import STATE
from viewer.recording.telemetry import UNKNOWN, State, mean_khz, state_here, state_of

ZONE = "/sys/class/thermal/thermal_zone0"
POLICY = "/sys/devices/system/cpu/cpufreq/policy4"


def zone(value, kind="cpu-0-0"):
    return state_of(f"{ZONE}/type:{kind}\n{ZONE}/temp:{value}").temperature


def test_a_phone():
    state = state_of(STATE)
    assert state.device == "Pixel 9"
    assert state.temperature == (41.2, "cpu")
    assert state.load == 0.52
    assert (state.battery_c, state.battery_percent, state.thermal_status) == (31.0, 85, 0)
    assert state.clusters["policy0"].max_khz == 2_050_000
    assert mean_khz(state, state) == (1_800_000, "after")


@pytest.mark.parametrize("text", ["", "sh: grep: not found", "\0\xff", "/sys/x:\n/proc/loadavg:?"])
def test_a_device_that_states_nothing(text):
    state = state_of(text)
    assert {name: value for name, value in state.facts().items() if value is not None} == {}
    assert mean_khz(state, state) is None


@pytest.mark.parametrize(
    ("value", "degrees"),
    [
        ("41200", 41.2), ("41", 41.0), ("-5000", -5.0),
        ("0", None), ("-274000", None), ("150000", None), ("412", None), ("", None), ("x", None),
    ],
)  # fmt: skip
def test_a_sensor(value, degrees):
    assert zone(value) == (None if degrees is None else (degrees, "cpu"))


def test_sensors_of_batteries_are_not_those_of_the_processor():
    assert zone("30000", "battery") is None
    assert zone("30000", "acpitz") == (30.0, "other")
    assert State(battery_c=30.0).temperature == (30.0, "battery")


def test_the_mean_clock_is_of_the_time_between():
    """1 GHz for 30 ticks and 2 GHz for 10: 1.25 GHz."""
    before = state_of(f"{POLICY}/stats/time_in_state:1000000 100\n"
                      f"{POLICY}/stats/time_in_state:2000000 7")  # fmt: skip
    after = state_of(f"{POLICY}/stats/time_in_state:1000000 130\n"
                     f"{POLICY}/stats/time_in_state:2000000 17")  # fmt: skip
    assert mean_khz(before, after) == (1_250_000, "mean")
    assert mean_khz(after, before) is None  # the counters began anew
    assert mean_khz(UNKNOWN, after) is None


def test_this_machine_is_named():
    assert state_here().device

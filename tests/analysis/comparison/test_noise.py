"""The noise of a device: what is measured, and the intervals that it gives."""

import numpy as np
import pytest

from tests.analysis.comparison.test_comparison import BASE, by_label, sessions
from tests.builders.compare_sessions import arm, write_sessions
from tests.paths import DATA
from viewer.analysis.comparison.arms import Noise, noise_of, type_of_parts
from viewer.analysis.comparison.comparison import Comparison, Doubt, Verdict


def test_noise_is_the_deviation_of_log_medians_by_type(tmp_path):
    times = [1000, 2000, 4000]
    found = noise_of(
        arm(*write_sessions(tmp_path, "s", *({"a.out": ns, "b.out": 500} for ns in times)))
    )
    assert found.sessions == 3
    assert found.types == {"a.out": pytest.approx(np.log(2)), "b.out": pytest.approx(0)}
    assert found.typical == pytest.approx(np.log(2) / 2)
    assert (found.of("a.out"), found.of("new.out")) == (found.types["a.out"], found.typical)


def test_one_session_has_no_noise(tmp_path):
    with pytest.raises(ValueError, match="at least 2 sessions"):
        noise_of(arm(*write_sessions(tmp_path, "s", {"a.out": 1000})))


def test_parts_that_a_session_lacks_or_that_are_below_the_clock_are_left_out(tmp_path):
    paths = write_sessions(
        tmp_path, "s", {"a.out": 1000, "tiny.out": 1, "b.out": 50}, {"a.out": 1100, "tiny.out": 2}
    )
    assert set(noise_of(arm(*paths)).types) == {"a.out"}


def test_types_are_those_of_operators_else_names_without_numbers():
    found = arm(*(DATA / f"compare/06_portable_vs_xnnpack/b.{end}" for end in ("etrecord", "etdp")))
    of_parts = {type_of_parts(found, [i]) for i in range(len(found.parts))}
    assert {"layer_norm", "Fully Connected (NC, F32) GEMM"} <= of_parts
    assert not [name for name in of_parts if "#" in name]


def test_known_noise_gives_single_sessions_an_interval_and_no_verdict(tmp_path):
    a = sessions(tmp_path, "a", BASE, [0.0])
    b = sessions(tmp_path, "b", {**BASE, "conv.out": 300_000}, [0.0])
    noise = Noise(7, 0.02, {"conv.out": 0.05, "add.out": 0.0})
    found = by_label(Comparison(a, b, noise=noise))
    low, high = found["conv.out"].interval
    assert 1 + low == pytest.approx(3 * np.exp(-2.447 * 0.05 * 2**0.5), rel=1e-3)
    assert 1 + high == pytest.approx(3 * np.exp(2.447 * 0.05 * 2**0.5), rel=1e-3)
    assert found["add.out"].interval == pytest.approx((0, 0))
    assert (found["conv.out"].verdict, found["conv.out"].doubt) == (
        Verdict.CANNOT_TELL, Doubt.ONE_SESSION
    )  # fmt: skip


def test_enough_sessions_speak_for_themselves(tmp_path):
    a, b = (sessions(tmp_path, name, BASE) for name in "ab")
    loud = Noise(7, 1.0, {"conv.out": 1.0})
    with_noise, without = Comparison(a, b, noise=loud), Comparison(a, b)
    assert with_noise.compared == without.compared

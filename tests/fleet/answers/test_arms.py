"""Which profiles are in which arm, and which of them are comparable."""

import pytest

from viewer.fleet.answers.arms import ArmChoice, LakeProfile, WrongArms, groups_of, parse_arm


def profile(key, **values):
    return LakeProfile(key, {name.replace("tag_", "tag."): v for name, v in values.items()})


PROFILES = [
    profile("a", model="net", device="d2", build="1"),
    profile("b", model="net", device="d10", build="1"),
    profile("c", model="net", device="d2", build="2"),
    profile("d", model="net", device="d10", build="2", tag_quant="int8"),
    profile("e", model="other", device="d2", build="2"),
]


def test_an_arm_is_written_as_conditions():
    arm = parse_arm("build=1, device=big, old phone,tag.quant=int8")
    assert arm.conditions == (("build", "1"), ("device", "big, old phone"), ("tag.quant", "int8"))
    assert arm.text == "build=1, device=big, old phone, tag.quant=int8"
    assert arm.includes({"build": "1", "device": "big, old phone", "tag.quant": "int8"})
    assert not arm.includes({"build": "1", "device": "big, old phone"})


@pytest.mark.parametrize("text", ["", "1", "build", "build=", "color=red", "tag.=1",
                                  "build=1,build=2"])  # fmt: skip
def test_anything_else_is_an_error_that_names_the_form(text):
    with pytest.raises(ValueError, match="is not an arm"):
        parse_arm(text)


def test_what_the_arms_do_not_name_makes_groups():
    groups, notes = groups_of(PROFILES, parse_arm("build=1"), parse_arm("build=2"))
    assert [(g.label, g.keys) for g in groups] == [
        ("model=net, device=d2", (("a",), ("c",))),
        ("model=net, device=d10", (("b",), ("d",))),
    ]
    assert notes == ["Only in B, so left out: model=other, device=d2."]


def test_arms_may_be_devices_or_tags():
    groups, _ = groups_of(PROFILES, parse_arm("device=d2"), parse_arm("device=d10"))
    assert [g.label for g in groups] == ["model=net, build=1", "model=net, build=2"]
    groups, _ = groups_of(
        PROFILES, ArmChoice((("build", "1"),)), parse_arm("build=2,tag.quant=int8")
    )
    assert [g.keys for g in groups] == [(("b",), ("d",))]


def test_arms_that_cannot_be_compared_say_why():
    for a, b, why in (
        ("build=1", "build=3", r"no profile of the lake is in B \(build=3\)"),
        ("build=1", "device=d2", "share profiles"),
        ("model=net,build=1", "model=other,device=d3", "no profile"),
        ("device=d10", "model=other", "no build has profiles in both arms"),
    ):
        profiles = [*PROFILES[:4], profile("f", model="other", device="d9", build="7")]
        with pytest.raises(WrongArms, match=why):
            groups_of(profiles, parse_arm(a), parse_arm(b))

"""Ticks and nanoseconds against exact fractions, and times as people write them."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from viewer.model.times import (
    ClockRate,
    RateOrigin,
    format_briefly,
    format_from_to,
    format_in,
    format_position,
    format_rate,
    format_ratio,
    format_share,
    format_span,
    format_time,
    group_digits,
    is_fraction_of_ns,
    ns_to_tick,
    parse_range,
    parse_rate,
    parse_ratio,
    parse_time,
    percent_digits,
    plain_spaces,
    split_time,
    tick_to_ns,
    ticks_to_ns,
)

rates = st.builds(Fraction, st.integers(1, 10**6), st.integers(1, 10**6))
RATES = [Fraction(1), Fraction(5, 4), Fraction(1000), Fraction(250, 199), Fraction(1, 3)]
FAR = 2**62


@given(st.lists(st.integers(-(2**40), 2**40), min_size=1, max_size=5), rates)
def test_conversion_is_the_floor_of_the_exact_product(ticks, rate):
    expected = [math.floor(t * rate) for t in ticks]
    assert ticks_to_ns(np.array(ticks, np.int64), rate).tolist() == expected
    assert [tick_to_ns(t, rate) for t in ticks] == expected


@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize("tick", [FAR, FAR - 1, -FAR, 1 - FAR, 2**53 + 1, -(2**53) - 1])
def test_large_and_negative_ticks_are_exact(tick, rate):
    tick = math.trunc(tick / max(rate, 1))  # the result must fit into int64, as every time does
    assert ticks_to_ns(np.array([tick]), rate).tolist() == [math.floor(tick * rate)]


@given(st.integers(-(2**62), 2**62), st.sampled_from([Fraction(1), Fraction(5, 4), Fraction(10)]))
def test_a_tick_is_found_by_its_floored_time(tick, rate):
    assert ns_to_tick(tick_to_ns(tick, rate), rate) == tick
    assert tick_to_ns(ns_to_tick(7, rate) - 1, rate) < 7


@pytest.mark.parametrize(
    ("text", "ns"),
    [("1500", 1500), ("1500ns", 1500), ("20us", 20_000), ("20 µs", 20_000), ("1.5ms", 1_500_000),
     ("2s", 2_000_000_000), (".5us", 500), ("-3ms", -3_000_000), ("0", 0), (" 7 ", 7),
     ("0.000000001s", 1), ("9223372036.854775807s", 2**63 - 1)],
)  # fmt: skip
def test_times_with_units(text, ns):
    assert parse_time(text) == ns


@pytest.mark.parametrize("text", ["", "ms", "1h", "1e3", "1,5ms", "0x10", "nan", "--1", "1 2"])
def test_what_is_no_time_is_refused_with_what_is_accepted(text):
    with pytest.raises(ValueError, match=r"is not a time: write 1500, 1500ns, 20us, 1\.5ms or 2s"):
        parse_time(text)


@pytest.mark.parametrize(
    ("text", "ns"),
    [("800 MHz", Fraction(5, 4)), ("100MHz", Fraction(10)), ("1.2 GHz", Fraction(5, 6)),
     ("32.768 kHz", Fraction(10**9, 32768)), ("33.333333 mhz", Fraction(10**9, 33_333_333)),
     ("1 Hz", Fraction(10**9)), ("9 GHz", Fraction(1, 9)), (".5GHz", Fraction(2)),
     (" 800\u202fMHz ", Fraction(5, 4))],
)  # fmt: skip
def test_clock_rates(text, ns):
    assert parse_rate(text) == ns


@pytest.mark.parametrize(
    "text",
    ["", "800", "MHz", "-1 MHz", "1e3 MHz", "nan MHz", "1,2 GHz", "0x8MHz", "1 THz", "1 MHz 2",
     "٣ MHz", "9" * 10_000 + " MHz", "1." + "3" * 10_000 + " MHz", "\0", "800 MHz\n800 MHz"],
)  # fmt: skip
def test_what_is_no_clock_rate_is_refused_with_what_is_accepted(text):
    with pytest.raises(ValueError, match="is not a clock rate: write 800 MHz") as told:
        parse_rate(text)
    assert len(str(told.value)) < 200


@pytest.mark.parametrize(
    "text", ["0 MHz", "0.5 Hz", "10 GHz", "1.0000000005 GHz", "999999999999 GHz"]
)
def test_a_clock_rate_is_a_whole_number_of_hz_that_clocks_have(text):
    with pytest.raises(ValueError, match="whole number of Hz between 1 Hz and 9 GHz"):
        parse_rate(text)


@given(st.integers(1, 9 * 10**9), st.integers(0, 10**8))
def test_every_accepted_rate_converts_exactly_in_int64(hz, tick):
    rate = parse_rate(f"{hz} Hz")
    assert rate * hz == 10**9
    ticks = min(tick, math.floor((2**63 - 1) / rate))
    assert ticks_to_ns(np.array([ticks]), rate).tolist() == [math.floor(ticks * rate)]


@pytest.mark.parametrize(
    ("text", "told"), [("800 MHz", "800 MHz"), ("0.0012 GHz", "1.2 MHz"), ("9 GHz", "9 GHz"),
                       ("32.768kHz", "32.768 kHz"), ("7 Hz", "7 Hz"), ("1000 MHz", "1 GHz")]
)  # fmt: skip
def test_a_rate_is_told_as_people_write_it(text, told):
    assert format_rate(parse_rate(text)).replace("\u202f", " ") == told


def test_a_rate_that_no_decimal_has_is_rounded():
    assert format_rate(Fraction(3)).replace("\u202f", " ") == "333.333 MHz"


@pytest.mark.parametrize(
    ("rate", "tick", "text"),
    [(ClockRate("cycle", Fraction(5, 4), RateOrigin.ASSUMED), "1 cycle = 1.25 ns",
      "800 MHz assumed"),
     (ClockRate("cycle", Fraction(10), RateOrigin.CHOSEN), "1 cycle = 10 ns", "100 MHz chosen"),
     (ClockRate("ns", Fraction(1), RateOrigin.ASSUMED), "1 tick = 1 ns", "1 tick = 1 ns assumed"),
     (ClockRate("us", Fraction(1000)), "1 tick = 1000 ns", "1 tick = 1000 ns")],
)  # fmt: skip
def test_what_is_said_of_a_clock(rate, tick, text):
    assert rate.tick_text.replace("\u202f", " ") == tick
    assert rate.text.replace("\u202f", " ") == text


def test_ranges():
    assert parse_range("1.5ms:2ms") == (1_500_000, 2_000_000)
    for wrong, why in (("5", "is not a range"), ("2:1", "ends before"), ("1:1", "ends before")):
        with pytest.raises(ValueError, match=why):
            parse_range(wrong)


@pytest.mark.parametrize(
    ("ns", "text"),
    [(0, "0"), (1, "1 ns"), (999, "999 ns"), (1643, "1.643 µs"), (55_212, "55.212 µs"),
     (1_500_000, "1.500 ms"), (60_000_000_000, "60.000 s"), (-1643, "\u22121.643 µs"),
     (0.5, "0.500 ns")],
)  # fmt: skip
def test_a_time_alone_has_a_unit_and_three_decimals(ns, text):
    assert format_time(ns).replace("\u202f", " ") == text


@given(st.integers(1, 10**12))
def test_a_formatted_time_reads_back_to_its_last_digit(ns):
    text = format_time(ns).replace("\u2009", "")
    unit = {"ns": 0, "µs": 1, "ms": 1_000, " s": 1_000_000, "\u202fs": 1_000_000}[text[-2:]]
    assert abs(parse_time(text) - ns) <= unit


def test_rounding_up_to_the_next_unit_takes_that_unit():
    assert format_time(999_999_999).replace("\u202f", " ") == "1.000 s"


def test_the_greek_letter_mu_is_micro_too():
    assert parse_time("20μs") == 20_000


def test_our_own_texts_read_back():
    assert parse_time(format_time(-1_234_568_000_000)) == -1_234_568_000_000


@pytest.mark.parametrize(
    ("ns", "factor", "text"),
    [
        (50, 1_000_000, "0.00005"), (499, 1_000_000, "0.000499"), (500, 1_000_000, "0.001"),
        (1, 1_000_000_000, "0.000000001"), (-50, 1_000_000, "\u22120.00005"),
        (1_643, 1_000, "1.643"), (0, 1_000_000, "0"), (0.4, 1, "0.400"),
    ],
)  # fmt: skip
def test_a_time_that_is_not_0_never_reads_as_0(ns, factor, text):
    assert format_in(ns, factor) == text


def test_digits_are_grouped():
    assert group_digits(-1234567) == "\u22121\u2009234\u2009567"
    assert format_in(2_500_000, 1_000) == "2\u2009500.000"


@pytest.mark.parametrize(
    ("ns", "resolution", "text"),
    [
        (3_876_412_385, 1, "3.876 412 385 s"), (3_876_412_385, 999, "3.876 412 4 s"),
        (3_876_412_385, 1000, "3.876 412 s"), (3_876_412_385, 4_000_000, "3.876 s"),
        (24_100, 1, "24.100 µs"), (24_100, 5_000_000, "24.100 µs"), (385, 1, "385 ns"),
        (999_999_999, 1, "999.999 999 ms"), (999_999_999, 100_000, "1.000 0 s"),
        (999_999_499, 10**6, "1.000 s"), (0, 1, "0"), (-1_643, 0.25, "\u22121.643 µs"),
        (1_700_000_000_000_000_001, 1, "1 700 000 000.000 000 001 s"),
    ],
)  # fmt: skip
def test_a_position_has_the_digits_that_the_view_resolves(ns, resolution, text):
    shown = format_position(ns, resolution).replace("\u202f", " ").replace("\u2009", " ")
    assert shown == text


@given(st.integers(1, 10**13), st.integers(1, 10**9))
def test_neighbors_at_a_resolution_have_different_texts(ns, resolution):
    assert format_position(ns, resolution) != format_position(ns + resolution, resolution)


@given(st.integers(-(10**18), 10**18))
def test_a_position_in_whole_ns_reads_back(ns):
    assert parse_time(format_position(ns)) == ns


def test_a_time_is_split_into_number_and_unit():
    assert split_time(format_time(24_100)) == ("24.100", "µs")
    assert split_time(format_time(0)) == ("0", "")
    assert split_time("5\u2009000\u202fcycles") == ("5\u2009000\u202fcycles", "")


def test_only_ns_with_decimals_are_fractions_of_a_ns():
    texts = map(format_time, (385.5, 385, 0, 1_643))
    assert list(map(is_fraction_of_ns, texts)) == [True, False, False, False]


def test_the_ends_of_a_range_far_from_zero_are_exact():
    first = 1_700_000_000_000_000_001
    assert format_span(first, first + 1).replace("\u2009", "").replace("\u202f", " ") == (
        "1700000000.000000001 – 1700000000.000000002 s"
    )


@pytest.mark.parametrize(
    ("first", "last", "text"),
    [
        (0, 200_000, "0 to 200 µs"),
        (1_200_000, 1_400_000, "1.2 to 1.4 ms"),
        (0, 1_349_000, "0 to 1.349 ms"),
        (-400_000, 2_000_000, "−0.4 to 2 ms"),
        (1_000_000_000, 1_000_000_500, "1 to 1.0000005 s"),
        (100, 200, "100 to 200 ns"),
        (1_200_000, 1_200_000, "1.2 ms"),
        (0, 0, "0 ns"),
    ],
)
def test_a_range_as_words_has_no_zeros_at_the_end(first, last, text):
    assert plain_spaces(format_from_to(first, last).replace("\u2009", "")) == text


def test_a_share_that_is_not_zero_is_never_written_as_zero():
    assert [plain_spaces(format_share(part, 10_000)) for part in (0, 1, 4, 5, 1234)] == [
        "0.0 %", "< 0.1 %", "< 0.1 %", "0.1 %", "12.3 %"
    ]  # fmt: skip
    assert percent_digits(0.155) == "15.5"


@pytest.mark.parametrize(
    ("ns", "text"),
    [
        (68_752.5, "68.8 µs"),
        (123_000, "123 µs"),
        (1_234, "1.23 µs"),
        (99_960, "100 µs"),
        (9_700, "9.70 µs"),
        (999_600, "1.00 ms"),
        (1_118_000, "1.12 ms"),
        (385, "385 ns"),
        (0.5, "0.50 ns"),
        (0, "0 ns"),
        (12_345_000_000, "12.3 s"),
    ],
)
def test_a_brief_time_has_three_digits(ns, text):
    assert plain_spaces(format_briefly(ns)) == text


def test_a_ratio_of_times_has_two_decimals_below_100():
    assert [format_ratio(ratio) for ratio in (1.789, 0.5, 99.99)] == ["1.79×", "0.50×", "99.99×"]
    assert format_ratio(1234.5).replace("\u2009", " ") == "1 234×"


def test_a_ratio_of_a_file_is_read_as_it_was_written():
    for ratio in (Fraction(5, 4), Fraction(1000), Fraction(10**19, 3)):
        assert parse_ratio(str(ratio)) == ratio


@pytest.mark.parametrize(
    "text",
    ["", "0", "1/0", "0/7", "-1", "1.25", "1e999999999", "1/", "/1", "1/2/3", " 1", "٣", "9" * 21],
)
def test_anything_else_is_no_ratio_and_costs_no_time(text):
    with pytest.raises(ValueError, match="is not a positive ratio"):
        parse_ratio(text)

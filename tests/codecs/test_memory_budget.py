"""What files may take: alone, together, in proportion to what was read, and with a limit."""

from fractions import Fraction

import pytest

from viewer.codecs.memory_budget import (
    ALWAYS,
    RESERVE,
    UNKNOWN,
    UNUSUAL,
    UNUSUAL_RATIO,
    MemoryBudget,
    NotEnoughMemory,
    allowance,
    parse_limit,
    parse_part,
)
from viewer.codecs.system_memory import SystemMemory

GB, MB = 10**9, 10**6


class Machine:
    """A machine with 8 GB, of which `used` are taken by this process."""

    def __init__(self, used: int = 0) -> None:
        self.used = used

    def memory(self) -> SystemMemory:
        return SystemMemory(8 * GB, 6 * GB - self.used + RESERVE, self.used)


def budget_of(machine: Machine) -> MemoryBudget:
    return MemoryBudget(machine.memory, lambda: machine.used)


def test_what_fits_is_reserved_and_what_does_not_is_refused_with_figures():
    budget = budget_of(Machine())
    with budget.reading() as own:
        own.take(5 * GB)
        with pytest.raises(NotEnoughMemory) as refused:
            own.take(7 * GB)
    assert (refused.value.needed, refused.value.available) == (7 * GB, 6 * GB)
    assert not refused.value.in_proportion


def test_files_that_are_read_at_the_same_time_share_the_memory():
    budget = budget_of(Machine())
    with budget.reading() as first:
        first.take(4 * GB)
        with budget.reading() as second:
            second.take(2 * GB)
            with pytest.raises(NotEnoughMemory):
                second.take(3 * GB)


def test_a_file_that_was_read_keeps_what_it_took_while_another_is_read():
    machine = Machine()
    budget = budget_of(machine)
    with budget.reading() as first:
        with budget.reading() as second:
            second.take(4 * GB)
            machine.used = 3 * GB
        first.take(3 * GB)
        with pytest.raises(NotEnoughMemory) as refused:
            first.take(4 * GB)
    assert refused.value.available == 3 * GB


def test_what_a_file_took_before_it_asks_is_not_counted_twice():
    machine = Machine()
    budget = budget_of(machine)
    with budget.reading() as own:
        machine.used = 2 * GB
        own.take(6 * GB)


def test_what_a_file_took_does_not_raise_a_limit_that_is_exceeded():
    machine = Machine(used=300 * MB)
    budget = budget_of(machine)
    budget.limit(1)
    with budget.reading() as own:
        machine.used += 100 * MB
        with pytest.raises(NotEnoughMemory) as refused:
            own.take(ALWAYS + 1)
    assert refused.value.available == ALWAYS


def test_the_memory_of_the_machine_is_not_looked_up_for_a_small_file():
    looked = []
    budget = MemoryBudget(lambda: looked.append(1))
    with budget.reading() as own:
        own.take(ALWAYS)
    assert not looked


def test_small_files_are_never_refused():
    budget = budget_of(Machine())
    budget.limit(1)
    with budget.reading() as own:
        own.take(ALWAYS)
        with pytest.raises(NotEnoughMemory):
            own.take(ALWAYS + 1)


def test_a_limit_is_for_the_whole_process():
    budget = budget_of(Machine(used=300 * MB))
    budget.limit(1 * GB)
    assert budget.available() == 700 * MB


def test_a_system_that_reports_nothing_has_a_fallback():
    assert MemoryBudget(lambda: None).available() == UNKNOWN


def test_the_rest_of_a_plain_file_is_judged_after_a_sample():
    with budget_of(Machine()).reading() as own:
        own.expect(1 * MB, 0.00001, 1 * MB)  # 100 GB, but only 1 MB was read
        own.expect(100 * MB, 0.01, 50 * MB)  # 10 GB, at least 5 GB
        with pytest.raises(NotEnoughMemory) as refused:
            own.expect(100 * MB, 0.005, 50 * MB)
    assert refused.value.needed == 20 * GB
    assert refused.value.in_proportion


def test_the_rest_of_a_packed_file_is_judged_later_unless_it_is_packed_absurdly():
    with budget_of(Machine()).reading() as own:
        own.expect(100 * MB, 0.005, 50 * MB, ratio=20)
        with pytest.raises(NotEnoughMemory):
            own.expect(100 * MB, 0.005, 50 * MB, ratio=1000)


def test_distinct_texts_are_not_extrapolated():
    with budget_of(Machine()).reading() as own:
        own.expect(100 * MB, 0.1, 50 * MB, fixed=4 * GB)


def test_a_file_that_needs_hundreds_of_times_its_size_is_refused_though_it_fits():
    budget = budget_of(Machine())
    with budget.reading(size=1 * MB) as own:
        own.take(UNUSUAL)
        with pytest.raises(NotEnoughMemory) as refused:
            own.take(2 * GB)
    assert refused.value.times == 2000
    with budget.reading(size=100 * MB) as own:
        own.take(2 * GB)
    budget.limit(4 * GB)
    with budget.reading(size=1 * MB) as own:
        own.take(2 * GB)
    assert UNUSUAL_RATIO * 1 * MB < UNUSUAL


def test_a_thread_that_reads_no_file_has_no_limit():
    budget = budget_of(Machine())
    with budget.reading(Fraction(1, 5)) as own:
        assert allowance() is own
        assert allowance().part == Fraction(1, 5)
    allowance().take(10**15)
    assert allowance().part == 1


@pytest.mark.parametrize(
    ("text", "size"),
    [("512M", 512 * MB), ("2G", 2 * GB), ("1.5 GB", 1_500 * MB), ("700kib", 700_000), ("9", 9)],
)
def test_sizes(text, size):
    assert parse_limit(text) == size


@pytest.mark.parametrize("text", ["", "0", "-1G", "many", "0%", "101%", "1e9"])
def test_texts_that_are_no_size(text):
    with pytest.raises(ValueError, match="is not a size: write it as"):
        parse_limit(text)


def test_a_share_of_the_memory():
    assert 2 * parse_limit("25%") == pytest.approx(parse_limit("50%"), abs=2)


def test_parts():
    assert parse_part("20%") == Fraction(1, 5)
    assert parse_part("0.5 %") == Fraction(1, 200)
    for text in ("0%", "20", "101%", "x%"):
        with pytest.raises(ValueError, match="is not a part"):
            parse_part(text)

"""Under which conditions sessions ran, and whether these explain a change as well as the program.

Heat and the clock of the CPUs change every time. If they differ between the arms, and hardly within
each, the sessions cannot tell them from a change of the program: the two are confounded. What was
set before a session counts, not what the program did to it: so the temperature is that before.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import fmean

# Smaller differences say nothing: sensors are that coarse, and clocks that restless.
LEAST_C, LEAST_CLOCK = 3.0, 0.05
# The share of the variance of a condition that is between the arms, from which on they are one.
INSEPARABLE = 0.75
_LEAST_SESSIONS = 2


@dataclass(frozen=True, slots=True)
class Conditions:
    """How a session ran, as its `run.json` states it; None where it is not known.

    recording, order: which recording it is of, and its place in it. started: seconds since 1970.
    temperature_c: before it; temperature_of: "cpu", "battery" or "other". frequency_khz: of the
    fastest CPUs, while it ran. program: the SHA-256 of its program.
    """

    recording: str = ""
    order: int | None = None
    started: float | None = None
    temperature_c: float | None = None
    temperature_of: str = ""
    frequency_khz: float | None = None
    program: str = ""


UNKNOWN = Conditions()


def celsius_text(celsius: float | None) -> str:
    """Return a temperature as "41.2 °C", "" if it is not known."""
    return "" if celsius is None else f"{celsius:.1f} °C"


def clock_text(khz: float | None) -> str:
    """Return a clock as "1.80 GHz", "" if it is not known."""
    return "" if khz is None else f"{khz / 1e6:.2f} GHz"


@dataclass(frozen=True, slots=True)
class Difference:
    """A condition that differs between the arms. text: "B ran 6.1 °C warmer than A (…)".

    is_inseparable: whether the sessions cannot tell it from a change of the program.
    """

    text: str
    is_inseparable: bool

    @property
    def sentence(self) -> str:
        """What the user should know of it."""
        text = f"{self.text[:1].upper()}{self.text[1:]}"
        if not self.is_inseparable:
            return f"{text}."
        return (
            f"{text}: these sessions cannot separate that from a change of the program. Record A "
            "and B again, in turn and under equal conditions."
        )


def differences(a: Sequence[Conditions], b: Sequence[Conditions]) -> tuple[Difference, ...]:
    """Return the conditions that differ between the sessions of two arms."""
    differing = []
    of = {x.temperature_of for x in (*a, *b) if x.temperature_of}
    heat = _means(a, b, lambda session: session.temperature_c) if len(of) == 1 else None
    if heat is not None and abs(heat[1] - heat[0]) >= LEAST_C:
        word = "warmer" if heat[1] > heat[0] else "cooler"
        differing.append(
            Difference(
                f"B ran {celsius_text(abs(heat[1] - heat[0]))} {word} than A ({heat[1]:.1f} "
                f"instead of {celsius_text(heat[0])} before a session)",
                heat[2] >= INSEPARABLE,
            )
        )
    clock = _means(a, b, lambda session: session.frequency_khz)
    if clock is not None and abs(clock[1] / clock[0] - 1) >= LEAST_CLOCK:
        word = "higher" if clock[1] > clock[0] else "lower"
        differing.append(
            Difference(
                f"the clock was {100 * abs(clock[1] / clock[0] - 1):.0f} % {word} in B than in A "
                f"({clock[1] / 1e6:.2f} instead of {clock_text(clock[0])})",
                clock[2] >= INSEPARABLE,
            )
        )
    return tuple(differing)


def _means(
    a: Sequence[Conditions],
    b: Sequence[Conditions],
    value: Callable[[Conditions], float | None],
) -> tuple[float, float, float] | None:
    """The means of A and of B, and the share of the variance between them; None if not known."""
    of_a, of_b = ([x for session in arm if (x := value(session)) is not None] for arm in (a, b))
    if min(len(of_a), len(of_b)) < _LEAST_SESSIONS:
        return None
    mean_a, mean_b, mean = fmean(of_a), fmean(of_b), fmean((*of_a, *of_b))
    between = len(of_a) * (mean_a - mean) ** 2 + len(of_b) * (mean_b - mean) ** 2
    total = sum((x - mean) ** 2 for x in (*of_a, *of_b))
    return mean_a, mean_b, between / total if total > 0 else 0.0

"""What a file calls one pass of its work: an inference, a step of a training, an iteration.

Texts are written for inferences; `WorkUnit.worded` says them with the noun of a file. No other
module decides which noun that is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from viewer.model.names.profilers import PROFILER_STEP
from viewer.model.times import counted

# What files call the runs whose series has this name; others are inferences.
_NOUNS = {
    PROFILER_STEP.lower(): "step",
    **{noun: noun for noun in ("step", "iteration", "frame", "request")},
    "iter": "iteration",
}
_DECODE = "decode"
_WORD = re.compile(r"\b(?:([Aa])n )?([Ii])nference(?=s?\b)")


@dataclass(frozen=True, slots=True)
class WorkUnit:
    """One pass of the work of a file, by its noun in singular."""

    noun: str = "inference"

    @property
    def plural(self) -> str:
        """Several of them: "steps"."""
        return f"{self.noun}s"

    @property
    def label(self) -> str:
        """The noun in names of tracks and rows, which files and scripts have: "run 2 of 5"."""
        return "run" if self == INFERENCE else self.noun

    @property
    def title(self) -> str:
        """The noun with a capital letter."""
        return self.noun.capitalize()

    @property
    def with_article(self) -> str:
        """One of them: "an inference", "a step"."""
        return f"{'an' if self.noun[0] in 'aeiou' else 'a'} {self.noun}"

    def counted(self, count: int) -> str:
        """Return a count with the noun: "5 steps"."""
        return counted(count, self.noun)

    def worded(self, text: str) -> str:
        """Return a text about inferences with this noun: "All steps" of "All inferences".

        Only for texts of Opscope: the names in a file may contain the word too.
        """
        return text if self == INFERENCE else _WORD.sub(self._word, text)

    def _word(self, match: re.Match[str]) -> str:
        noun = self.title if match[2] == "I" else self.noun
        if not match[1]:
            return noun
        article = f"{match[1]}n" if noun[0].lower() in "aeiou" else match[1]
        return f"{article} {noun}"

    def in_phase(self, phase: str) -> WorkUnit:
        """Return the unit of one phase: a decode step of a language model is one token."""
        is_decode = phase == _DECODE or phase.endswith(f", {_DECODE}")
        return STEP if is_decode else self


INFERENCE, STEP = WorkUnit(), WorkUnit("step")


def unit_of_series(series: str) -> WorkUnit:
    """Return the unit of the runs of a series, by the name that the file has for them."""
    noun = _NOUNS.get(series.lower())
    return INFERENCE if noun is None else WorkUnit(noun)


def common_unit(units: Iterable[WorkUnit]) -> WorkUnit:
    """Return the unit of several files: theirs if it is the same in all, else inferences."""
    different = set(units)
    return different.pop() if len(different) == 1 else INFERENCE

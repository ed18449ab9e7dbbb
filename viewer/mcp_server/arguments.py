"""The arguments of tools: their bounds, their JSON schema, and the check of what a client sends."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

LONGEST_TEXT = 4096  # characters: the longest path of most systems
MOST_TEXTS = 200  # of a list


class WrongArgument(ValueError):
    """An argument that a tool does not take; the message says what it takes."""


class Kind(Enum):
    """The type of an argument, by its name in JSON schemas."""

    TEXT = "string"
    NUMBER = "integer"
    TEXTS = "array"


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument of a tool.

    default: its value if it is left out; None for one without a value. least, most: the bounds of a
    number, or of the length of a text. choices: the only texts that are accepted, if any.
    """

    name: str
    kind: Kind
    description: str
    is_required: bool = False
    default: int | str | None = None
    least: int = 0
    most: int = LONGEST_TEXT
    choices: tuple[str, ...] = ()

    @property
    def schema(self) -> dict[str, Any]:
        """Its JSON schema."""
        found: dict[str, Any] = {"type": self.kind.value, "description": self.description}
        if self.kind is Kind.NUMBER:
            found |= {"minimum": self.least, "maximum": self.most}
        elif self.choices:
            found["enum"] = list(self.choices)
        elif self.kind is Kind.TEXT:
            found |= {"minLength": 1, "maxLength": self.most}
        else:
            found["items"] = {"type": "string", "minLength": 1, "maxLength": self.most}
            found |= {"minItems": 1, "maxItems": MOST_TEXTS}
        return found if self.default is None else {**found, "default": self.default}

    def checked(self, value: object) -> Any:
        """Return a value of this argument. Raises `WrongArgument`."""
        if self.kind is Kind.NUMBER:
            return self._number(value)
        if self.kind is Kind.TEXT:
            return self._text(value)
        if not isinstance(value, list) or not value:
            raise WrongArgument(f"{self.name} must be a list of texts")
        if len(value) > MOST_TEXTS:
            raise WrongArgument(f"{self.name} can have at most {MOST_TEXTS} texts")
        return [self._text(one) for one in value]

    def _number(self, value: object) -> int:
        if isinstance(value, float) and value.is_integer():
            value = int(value)  # JSON does not distinguish 5 from 5.0
        if not isinstance(value, int) or isinstance(value, bool):
            raise WrongArgument(f"{self.name} must be a whole number")
        if not self.least <= value <= self.most:
            raise WrongArgument(f"{self.name} must be from {self.least} to {self.most}")
        return value

    def _text(self, value: object) -> str:
        if not isinstance(value, str) or not value:
            raise WrongArgument(f"{self.name} must be a text")
        if len(value) > self.most:
            raise WrongArgument(f"{self.name} can have at most {self.most} characters")
        if self.choices and value not in self.choices:
            raise WrongArgument(f"{self.name} must be one of {', '.join(self.choices)}")
        return value


def schema_of(arguments: Sequence[Argument]) -> dict[str, Any]:
    """Return the JSON schema of the arguments of a tool."""
    return {
        "type": "object",
        "properties": {argument.name: argument.schema for argument in arguments},
        "required": [argument.name for argument in arguments if argument.is_required],
        "additionalProperties": False,
    }


def checked(arguments: Sequence[Argument], given: Mapping[str, object]) -> dict[str, Any]:
    """Return the values of all arguments, defaults for what is left out or null.

    Raises `WrongArgument`, also for an argument that the tool does not have.
    """
    known = {one.name: one for one in arguments}
    for name in given:
        if name not in known:
            takes = f"it takes {', '.join(known)}" if known else "it takes none"
            raise WrongArgument(f"the tool has no argument {name[:40]!r}; {takes}")
    found: dict[str, Any] = {}
    for name, argument in known.items():
        value = given.get(name)
        if value is None and argument.is_required:
            raise WrongArgument(f"{name} is missing: {argument.description}")
        found[name] = argument.default if value is None else argument.checked(value)
    return found

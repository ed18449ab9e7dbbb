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
        schema: dict[str, Any] = {"type": self.kind.value, "description": self.description}
        if self.kind is Kind.NUMBER:
            schema |= {"minimum": self.least, "maximum": self.most}
        elif self.choices:
            schema["enum"] = list(self.choices)
        elif self.kind is Kind.TEXT:
            schema |= {"minLength": 1, "maxLength": self.most}
        else:
            schema["items"] = {"type": "string", "minLength": 1, "maxLength": self.most}
            schema |= {"minItems": 1, "maxItems": MOST_TEXTS}
        return schema if self.default is None else {**schema, "default": self.default}

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
        return [self._text(text) for text in value]

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


def checked(arguments: Sequence[Argument], values: Mapping[str, object]) -> dict[str, Any]:
    """Return the values of all arguments, defaults for what is left out or null.

    Raises `WrongArgument`, also for an argument that the tool does not have.
    """
    by_name = {argument.name: argument for argument in arguments}
    for name in values:
        if name not in by_name:
            takes = f"it takes {', '.join(by_name)}" if by_name else "it takes none"
            raise WrongArgument(f"the tool has no argument {name[:40]!r}; {takes}")
    checked_values: dict[str, Any] = {}
    for name, argument in by_name.items():
        value = values.get(name)
        if value is None and argument.is_required:
            raise WrongArgument(f"{name} is missing: {argument.description}")
        checked_values[name] = argument.default if value is None else argument.checked(value)
    return checked_values

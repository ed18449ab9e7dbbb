"""What the tests of the sources look for, from one parse of each module.

Syntax trees of the whole package take hundreds of megabytes, so none is kept.
"""

import ast
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

# In place of an expression in an f-string.
PLACE = "…"


@dataclass(frozen=True, slots=True)
class Literal:
    """A string literal.

    Attributes:
        is_docstring: whether it is the first statement of a module, class or function.
        is_statement: whether it is any statement of its own.
        is_formatted: whether it is an f-string, as a whole.
        is_part: whether it is the constant part of an f-string, which is listed, too.
    """

    line: int
    text: str
    is_docstring: bool = False
    is_statement: bool = False
    is_formatted: bool = False
    is_part: bool = False


@dataclass(frozen=True, slots=True)
class Source:
    """A module, as far as the tests ask.

    Attributes:
        docstring: of the module, "" without one.
        line_count: lines of the file.
        imports: what it imports anywhere, late or for types alone: each name, and its full name.
        attributes: what it reads as `name.attribute`.
        functions: its public functions that have a parameter, with the type of the first.
        literals: all strings.
        names: what it calls its variables, parameters, attributes, functions and classes, each as
            often as it is set.
    """

    docstring: str
    line_count: int
    imports: tuple[tuple[str, str], ...]
    attributes: frozenset[tuple[str, str]]
    functions: tuple[tuple[str, str], ...]
    literals: tuple[Literal, ...]
    names: tuple[str, ...]


@cache
def source_of(path: Path) -> Source:
    """Parse a module, once in a test run."""
    text = path.read_text(encoding="utf-8")
    tree = ast.parse(text)
    nodes = tuple(ast.walk(tree))
    return Source(
        ast.get_docstring(tree) or "",
        len(text.splitlines()),
        tuple(_imports(nodes)),
        frozenset(
            (node.value.id, node.attr)
            for node in nodes
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)
        ),
        tuple(_functions(tree)),
        tuple(_literals(nodes)),
        tuple(_names(nodes)),
    )


def _imports(nodes: tuple[ast.AST, ...]) -> Iterator[tuple[str, str]]:
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from ((alias.name, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            module = "." * node.level + (node.module or "")
            for alias in node.names:
                yield alias.asname or alias.name, f"{module}.{alias.name}"


def _functions(tree: ast.Module) -> Iterator[tuple[str, str]]:
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.args.args and not node.name.startswith("_"):
            annotation = node.args.args[0].annotation
            yield node.name, ast.unparse(annotation).strip("'") if annotation is not None else ""


def _names(nodes: tuple[ast.AST, ...]) -> Iterator[str]:
    for node in nodes:
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield sys.intern(node.id)
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield sys.intern(node.attr)
        elif isinstance(node, ast.arg):
            yield sys.intern(node.arg)
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield sys.intern(node.name)


def _literals(nodes: tuple[ast.AST, ...]) -> Iterator[Literal]:
    docstrings, statements, parts = set(), set(), set()
    for node in nodes:
        body = getattr(node, "body", None)
        if body and isinstance(body, list) and isinstance(body[0], ast.Expr):
            docstrings.add(id(body[0].value))
        if isinstance(node, ast.Expr):
            statements.add(id(node.value))
        elif isinstance(node, ast.JoinedStr):
            parts |= {id(part) for part in node.values}
    for node in nodes:
        key = id(node)
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield Literal(
                node.lineno,
                node.value,
                is_docstring=key in docstrings,
                is_statement=key in statements,
                is_part=key in parts,
            )
        elif isinstance(node, ast.JoinedStr):
            yield Literal(
                node.lineno,
                _formatted(node),
                is_docstring=key in docstrings,
                is_statement=key in statements,
                is_formatted=True,
                is_part=key in parts,
            )


def _formatted(node: ast.JoinedStr) -> str:
    return "".join(
        str(part.value) if isinstance(part, ast.Constant) else PLACE for part in node.values
    )

"""What documents claim about the source: commands, suffixes, packages, names, places and limits."""

import re
import tomllib
from collections.abc import Iterator
from functools import cache
from itertools import chain
from pathlib import Path

import pytest

from tests.paths import ROOT
from viewer.cli import COMMANDS
from viewer.formats import formats
from viewer.html_report.contents import MOST_BYTES

PACKAGE = ROOT / "viewer"
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
GUIDE = (PACKAGE / "README.md").read_text(encoding="utf-8")
DOCUMENTS = sorted(
    [
        *(ROOT / name for name in ("README.md", "viewer/README.md", "packaging/README.md")),
        *(ROOT / "resources/help").glob("*.md"),
    ]
)
READMES_OF_PACKAGES = sorted(
    path for path in PACKAGE.rglob("README.md") if (path.parent / "__init__.py").exists()
)
# The bench is named by its files alone.
TESTS_BY_NAME = (ROOT / "tests/bench",)
LIBRARIES = {
    re.split(r"[\[>=<;]", line)[0]
    for line in (
        *PYPROJECT["project"]["dependencies"],
        *chain.from_iterable(PYPROJECT["project"]["optional-dependencies"].values()),
    )
} | {"opscope"}
DECISIONS = sorted((PACKAGE / "decisions").glob("[0-9]*.md"))
# What READMEs of packages name that is not in the source, with what it is.
NOT_IN_THE_SOURCE = {
    "_tmp/<build>/": "a folder of a lake",
    "viewer/formats/step_log.py": "the format of the example",
}
# Rows of the help that explain one format's file apart.
EXPLAINED_APART = {"Torq debug info"}
_CODE = re.compile(r"`([^`\n]+)`")
_FENCE = re.compile(r"^ *```.*?^ *```", re.MULTILINE | re.DOTALL)
_NAME = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*(\([\w, ]*\))?")
_PATH = re.compile(r"[\w.<>-]+(/[\w.<>-]+)+/?( [\w/ =-]+)?|\w+\.(py|md|toml)")
_DEFINED = re.compile(
    r"^\s*(?:async )?(?:class|def) (\w+)|^\s*(?:self\.)?(\w+)(?=\s*[:=,])|(\w+)(?=: [A-Z\w])"
    r"|[\"'](\w+)[\"']",
    re.MULTILINE,
)


def text_of(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def rows_of(text: str) -> list[list[str]]:
    """The cells of all rows of tables in a Markdown text."""
    return [
        [cell.strip() for cell in line.strip("|").split(" | ")]
        for line in text.splitlines()
        if line.startswith("| ") and not line.startswith("|---")
    ]


def section(text: str, heading: str) -> str:
    return text.split(f"\n## {heading}\n")[1].split("\n## ")[0]


# -- commands and suffixes -------------------------------------------------------------------------


@pytest.mark.parametrize("path", DOCUMENTS, ids=name_of)
def test_every_command_that_a_document_names_exists(path):
    text = text_of(path)
    named = set(re.findall(r"`opscope ([a-z]+)(?=[ `])", text))
    named |= {
        name
        for block in re.findall(r"```sh\n(.*?)```", text, re.DOTALL)
        for name in re.findall(r"^(?:\$ )?opscope ([a-z]+) ", block, re.MULTILINE)
    }
    assert named <= set(COMMANDS)


@pytest.mark.parametrize("document", ["README.md", "resources/help/formats.md"])
def test_the_table_of_formats_lists_every_suffix_that_is_read(document):
    text = text_of(ROOT / document)
    table = next(part for part in text.split("\n\n") if part.startswith("| format | suffix |"))
    # A row may be about several formats of one maker.
    listed = {tuple(row[0].split(", ")): set(_CODE.findall(row[1])) for row in rows_of(table)[1:]}
    known = {each.name: each.suffixes for each in formats()}
    apart = {names: listed.pop(names) for names in list(listed) if EXPLAINED_APART & set(names)}
    assert sorted(chain.from_iterable(listed)) == sorted(known)
    for names, suffixes in listed.items():
        assert suffixes == {suffix for name in names for suffix in known[name]}
    assert len(listed) + len(apart) < 30
    assert all(
        set(suffixes) <= set(chain.from_iterable(known.values())) for suffixes in apart.values()
    )


# -- packages --------------------------------------------------------------------------------------


def layers_of(contract: str) -> list[set[str]]:
    """The packages of an import contract, from top to bottom."""
    contracts = PYPROJECT["tool"]["importlinter"]["contracts"]
    (layers,) = (each["layers"] for each in contracts if each["id"] == contract)
    return [set(re.findall(r"\w+", layer)) for layer in layers]


def test_the_table_of_packages_is_the_order_of_imports():
    layers = layers_of("packages")
    table = next(part for part in GUIDE.split("\n\n") if part.startswith("| package | purpose |"))
    assert [set(_CODE.findall(row[0])) for row in rows_of(table)[1:]] == layers[1:]
    assert layers[0] == {"__main__"}


def test_the_order_inside_the_window_is_that_of_imports():
    layers = layers_of("gui")
    for text in (GUIDE, text_of(PACKAGE / "gui/README.md")):
        order = re.search(r"`app` > .*?`qt`", text, re.DOTALL)[0]
        assert [set(_CODE.findall(step)) for step in order.split(">")] == layers


def may_import(package: Path) -> set[str]:
    """The packages that the README of a package says it may import, with its own.

    Every package may import `arrays` and `dataclasses`. `x` and below: x, and all packages of the
    layers below the last one that is named. A sentence that refers to those of other packages may
    import everything.
    """
    layers = layers_of("packages")
    position = {name: number for number, layer in enumerate(layers) for name in layer}
    text = text_of(package / "README.md").partition("May import:")[2]
    named = {name.split("/")[0] for name in re.findall(r"`([\w/]+)`", text)} & set(position)
    if re.search(r"\b(everything|what|other)\b", text):
        return set(position)
    if "below" in text:
        named |= set().union(*layers[max(position[name] for name in named) :])
    return named | {package.relative_to(PACKAGE).parts[0], "arrays", "dataclasses"}


def imported_by(package: Path) -> set[str]:
    """The packages that modules of a package import, also late."""
    statement = re.compile(r"^\s*from viewer\.(\w+)[\w.]* import", re.MULTILINE)
    return {name for path in package.rglob("*.py") for name in statement.findall(text_of(path))}


def test_a_package_imports_what_its_readme_says():
    wrong = {}
    for readme in READMES_OF_PACKAGES:
        package = readme.parent
        if package != PACKAGE and not imported_by(package) <= may_import(package):
            wrong[name_of(package)] = imported_by(package) - may_import(package)
    assert wrong == {}


# -- names -----------------------------------------------------------------------------------------


@cache
def defined_in(path: Path) -> frozenset[str]:
    """The names that a module defines, with its fields, arguments, and keys in quotes.

    Found as text: to parse all of the source takes seconds.
    """
    return frozenset(filter(None, chain.from_iterable(_DEFINED.findall(text_of(path)))))


@cache
def modules_in(folder: Path) -> dict[str, list[Path]]:
    """The modules and packages in and below a folder, by name."""
    found = dict[str, list[Path]]()
    for path in folder.rglob("*.py"):
        name = path.parent.name if path.name == "__init__.py" else path.stem
        found.setdefault(name, []).append(path)
    return found


@cache
def all_defined_in(folder: Path) -> frozenset[str]:
    return frozenset().union(*map(defined_in, folder.rglob("*.py")))


def has_member(folder: Path, owner: str, member: str) -> bool:
    """Whether a module, a package or a class in or below a folder defines a name."""
    for path in modules_in(folder).get(owner, ()):
        if path.name == "__init__.py":
            inner = path.parent
            if member in modules_in(inner) or member in all_defined_in(inner):
                return True
        elif member in defined_in(path):
            return True
    is_class = re.compile(rf"^class {owner}\b", re.MULTILINE)
    return any(
        member in defined_in(path)
        for path in folder.rglob("*.py")
        if owner in defined_in(path) and is_class.search(text_of(path))
    )


def exists(folder: Path, name: str) -> bool:
    """Whether a name in the README of a package is one of the source, or a library.

    A name with a dot must be defined where it says, in the package or in one around it.
    """
    *owners, last = name.partition("(")[0].removeprefix("viewer.").split(".")
    if owners:
        around = [folder, *(up for up in folder.parents if up.is_relative_to(PACKAGE))]
        nearest = next((up for up in around if owners[-1] in modules_in(up)), PACKAGE)
        return has_member(nearest, owners[-1], last)
    return (
        last in modules_in(PACKAGE) or last in all_defined_in(folder) or last in LIBRARIES
        or last in all_defined_in(PACKAGE) or (PACKAGE.parent / last).is_dir()
    )  # fmt: skip


def is_file(folder: Path, name: str) -> bool:
    """Whether a path in the README of a package is there, from the package or one around it.

    The last part may be a module, or a name in the module before it. A file name alone may be one
    further down. `<name>` is any name.
    """
    if "/" not in name:
        below = (each for base in (folder, *TESTS_BY_NAME) for each in base.rglob(name))
        return (ROOT / name).exists() or next(below, None) is not None
    name, _, member = name.split()[0].partition("<")[0].partition(".")
    around = [folder, *(up for up in folder.parents if up.is_relative_to(ROOT))]
    for path in (base / name for base in around):
        module = path.with_suffix(".py")
        if path.with_suffix(f".{member}").exists() if member else path.exists():
            return True
        if module.exists() and (not member or member in defined_in(module)):
            return True
    return False


def names_in(text: str) -> Iterator[str]:
    """The names and paths in backticks of a Markdown text; options, code and patterns are not."""
    for name in _CODE.findall(_FENCE.sub("", text)):
        if _NAME.fullmatch(name) or _PATH.fullmatch(name):
            yield name


@pytest.mark.slow
@pytest.mark.parametrize("path", READMES_OF_PACKAGES, ids=name_of)
def test_every_name_in_the_readme_of_a_package_exists(path):
    folder = path.parent
    assert [
        name
        for name in names_in(text_of(path))
        if name not in NOT_IN_THE_SOURCE
        and not (is_file(folder, name) if _PATH.fullmatch(name) else exists(folder, name))
    ] == []


def test_names_that_are_gone_are_found():
    links, protobuf = PACKAGE / "analysis/links", PACKAGE / "codecs/protobuf"
    for name in ("link_table.LinkTable", "linker", "LinkTable.nodes", "links.linker"):
        assert exists(links, name), name
    for name in ("nodes.nothing_of", "link_table.NoTable", "no_such_module", "LinkTable.no_member"):
        assert not exists(links, name), name
    assert exists(protobuf, "fields.Fields")
    assert not exists(protobuf, "reader.NoFields")
    assert is_file(PACKAGE, "tests/formats/<name>/")
    for path in ("tests/no_folder/<name>/", "no_module.py", "cli/no_module.COMMANDS"):
        assert not is_file(PACKAGE, path), path


# -- places ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "paragraph",
    [part for part in section(GUIDE, "How to add features").split("\n\n") if part.startswith("**")],
    ids=lambda text: text.split("**")[1],
)
def test_every_place_to_touch_exists(paragraph):
    """The files are there, and a name is in one of the files of its paragraph."""
    places = [name for name in _CODE.findall(paragraph) if _PATH.fullmatch(name)]
    assert places
    assert [name for name in places if not is_file(PACKAGE, name)] == []
    folders = [name for name in _CODE.findall(paragraph) if (PACKAGE / name).is_dir()]
    sources = [
        path
        for name in (*places, *folders)
        for base in (PACKAGE, ROOT)
        for path in ((base / name).rglob("*.py") if (base / name).is_dir() else [base / name])
        if path.is_file()
    ]
    text = "\n".join(map(text_of, sources))
    named = [name for name in _CODE.findall(paragraph) if re.fullmatch(r"-*\w+(\(.*\))?", name)]
    words = {name.partition("(")[0] for name in named} - {"opscope", *folders}
    assert [word for word in words if not re.search(rf"(?<!\w){word}\b", text)] == []


def test_the_example_of_a_format_lists_the_places_of_the_guide():
    """Both texts name the same documents and folders to touch."""
    guide = next(part for part in GUIDE.split("\n\n") if part.startswith("**A format.**"))
    example = section(text_of(PACKAGE / "formats/README.md"), "How to add a format")
    places = {
        name
        for name in _CODE.findall(guide)
        if name.endswith(".md") or name.startswith("tests/") or name == "_FORMATS"
    }
    assert len(places) == 5
    assert [each for each in places if f"`{each.partition('/<')[0]}`" not in example] == []


# -- decisions -------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", DECISIONS, ids=lambda path: path.stem)
def test_a_decision_is_one_page_with_its_parts(path):
    text = text_of(path)
    assert re.match(
        rf"# {path.stem[:4]}: \S.*\n\nStatus: (accepted|replaced by .+), 20\d\d-\d\d-\d\d\n", text
    )
    assert re.findall(r"^## (.+)$", text, re.MULTILINE) == [
        "Context", "Decision", "Consequences", "Alternatives",
    ]  # fmt: skip
    assert len(text.splitlines()) <= 50
    assert re.search(r"\d", section(text, "Alternatives")), "no figure"
    names = [name for name in names_in(text) if name.startswith("viewer.")]
    assert [
        name
        for name in names
        if not is_file(ROOT, name.replace(".", "/")) and not exists(PACKAGE, name)
    ] == []


def test_the_index_of_decisions_lists_all_of_them_in_order():
    assert [path.stem[:4] for path in DECISIONS] == [f"{n + 1:04}" for n in range(len(DECISIONS))]
    rows = rows_of(text_of(PACKAGE / "decisions/README.md"))
    assert [row[0] for row in rows[1:]] == [f"[{p.stem[:4]}]({p.name})" for p in DECISIONS]


# -- times and limits ------------------------------------------------------------------------------


def test_no_document_promises_how_long_the_checks_take():
    """It depends on the machine, and grows: only limits that a test holds may be named."""
    names = "README.md", "viewer/README.md", "packaging/README.md", ".github/CONTRIBUTING.md"
    paragraphs = [part for name in names for part in text_of(ROOT / name).split("\n\n")]
    promise = re.compile(
        r"(?<!(?:less|more) than )\b([0-9]+|an?|one|two|five|ten)\s+"
        r"(minutes?|seconds?|hours?|min|h)\b"
    )
    assert promise.search("everything, with types: about 5 minutes on two cores")
    checks = [part for part in paragraphs if "packaging/test" in part or ".ci/run" in part]
    assert checks
    assert [found[0] for part in checks if (found := promise.search(part))] == []


def test_the_limits_in_documents_are_those_that_are_checked():
    packages = text_of(ROOT / "packaging/README.md")
    megabytes, seconds = re.search(r"more than (\d+) MB or (\d+) s is an error", packages).groups()
    measure = text_of(ROOT / "packaging/measure")
    assert f"\nSECONDS, BYTES = {seconds}.0, {megabytes}_000_000\n" in measure
    report = f"at most {MOST_BYTES // 10**6} MB"
    for document in ("README.md", "viewer/html_report/README.md", "resources/help/report.md"):
        assert report in text_of(ROOT / document).replace("\n", " "), document


def test_the_version_of_python_in_documents_is_the_one_that_is_required():
    required = PYPROJECT["project"]["requires-python"].removeprefix(">=")
    for document in ("README.md", "packaging/README.md"):
        assert set(re.findall(r"Python (\d\.\d+)", text_of(ROOT / document))) == {required}

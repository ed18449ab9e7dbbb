"""The scripts of packaging/ and the wheel, tried without a network.

The scripts run in a small project of their own whose .venv is already there: its `opscope` prints
how it was called and writes the file that it was asked for.
"""

import os
import re
import runpy
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.paths import ROOT
from viewer.resources import SAMPLES

SCRIPTS = (
    "packaging/run", "packaging/test", ".ci/run", "packaging/build-wheel", "packaging/build-bundle",
    "packaging/build-deb", "packaging/check-wheel", "packaging/check-bundle", "packaging/check-deb",
    "packaging/check-desktop", "packaging/measure", "packaging/pictures",
    "packaging/windows/build-installer", "packaging/macos/build-image",
)  # fmt: skip
SHELL_SCRIPTS = (
    "packaging/run", "packaging/test", "packaging/setup.sh", "packaging/build-deb",
    "packaging/chroot.sh", "packaging/check-bundle", "packaging/check-deb",
    "packaging/check-desktop", "packaging/linux/desktop_session.sh", "packaging/macos/build-image",
)  # fmt: skip
SHELLS = [s for s in ("sh", "dash", "busybox", "bash") if shutil.which(s)]

pytestmark = pytest.mark.skipif(os.name == "nt", reason="the scripts are for POSIX shells")

FAKE_OPSCOPE = """\
#!/bin/sh
printf 'opscope'; printf ' <%s>' "$@"; echo
[ "$1" != "${FAILS-}" ] || exit 3
while [ $# -gt 1 ]; do
    [ "$1" != -o ] || : > "$2"
    shift
done
"""


def shell(name: str) -> list[str]:
    return ["busybox", "sh"] if name == "busybox" else [name]


def executable(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    path.chmod(0o755)


class Project:
    """A copy of the scripts in a folder with spaces, set up as `level`."""

    def __init__(self, folder: Path, level: str) -> None:
        self.root = (folder / "a project").resolve()
        self.temporary = folder / "temporary"
        self.temporary.mkdir()
        shutil.copytree(ROOT / "packaging", self.root / "packaging")
        shutil.copy(ROOT / "pyproject.toml", self.root)
        executable(self.root / ".venv/bin/python", f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
        executable(self.root / ".venv/bin/opscope", FAKE_OPSCOPE)
        # As if nothing of the system were missing, whatever this machine has.
        executable(folder / "bin/uname", "#!/bin/sh\necho Elsewhere\n")
        self.path = f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}"
        self.stamp = self.root / ".venv/opscope-setup"
        self.stamp.write_text(self.shell(f"set -eu; {self.sourced()}; wanted_stamp {level}"))

    def sourced(self) -> str:
        return f'root="{self.root}"; . "$root/packaging/setup.sh"'

    def shell(self, code: str) -> str:
        done = subprocess.run(
            ["sh", "-c", code], capture_output=True, text=True, check=True, timeout=60
        )
        return done.stdout

    def run(self, *command: str | Path, cwd: Path | None = None, **environment: str):
        kept = {k: v for k, v in os.environ.items() if k not in ("DISPLAY", "WAYLAND_DISPLAY")}
        return subprocess.run(
            command,
            cwd=cwd,
            env=kept | {"PATH": self.path, "TMPDIR": str(self.temporary)} | environment,
            capture_output=True,
            text=True,
            timeout=60,
        )


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path, "run")


@pytest.mark.parametrize("script", SCRIPTS)
def test_the_scripts_can_be_called(script):
    assert os.access(ROOT / script, os.X_OK)


@pytest.mark.parametrize("name", SHELLS)
@pytest.mark.parametrize("script", SHELL_SCRIPTS)
def test_every_shell_reads_the_scripts(name, script):
    done = subprocess.run(
        [*shell(name), "-n", ROOT / script], capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("name", SHELLS)
def test_without_a_display_run_writes_a_picture_and_a_trace(project, name):
    done = project.run(*shell(name), project.root / "packaging/run", "my profile.csv", cwd=ROOT)
    assert (done.returncode, done.stderr) == (0, "")
    drawn, exported, said, picture, trace, more = done.stdout.splitlines()
    assert ".venv/bin/opscope" in more
    assert (
        drawn == f"opscope <screenshot> <my profile.csv> <--select-most-expensive> <-o> <{picture}>"
    )
    assert exported == f"opscope <export> <my profile.csv> <-o> <{trace}>"
    assert "no display" in said
    for path, suffix in ((picture, ".png"), (trace, ".pftrace")):
        assert Path(path).is_absolute()
        assert Path(path).is_file()
        assert Path(path).suffix == suffix
        assert project.temporary in Path(path).parents


@pytest.mark.parametrize("failing", ["screenshot", "export"])
def test_what_failed_is_not_printed_as_a_file_and_fails_run(project, failing):
    done = project.run(project.root / "packaging/run", "x.etdp", FAILS=failing)
    assert done.returncode == 3
    written = [line for line in done.stdout.splitlines() if line.startswith("/")]
    assert [Path(p).suffix for p in written] == [".pftrace" if failing == "screenshot" else ".png"]


@pytest.mark.parametrize("display", ["DISPLAY", "WAYLAND_DISPLAY"])
def test_with_a_display_run_opens_the_window(project, display):
    done = project.run(project.root / "packaging/run", "a b.etdp", "c", **{display: ":7"})
    assert (done.returncode, done.stdout) == (0, "opscope <a b.etdp> <c>\n")


def test_without_files_run_opens_the_first_sample(project):
    done = project.run(project.root / "packaging/run", DISPLAY=":7")
    folder = project.root / "resources/samples" / SAMPLES[0].key
    sample = next(s for s in SAMPLES if s.key == folder.name)
    assert done.stdout == "opscope" + "".join(f" <{folder / f}>" for f in sample.files) + "\n"


def test_run_passes_commands_on(project):
    done = project.run(project.root / "packaging/run", "info", "--json", "x.etdp")
    assert done.stdout == "opscope <info> <--json> <x.etdp>\n"


def test_run_works_through_symbolic_links(project, tmp_path):
    (tmp_path / "first").symlink_to("a project/packaging/run")
    (tmp_path / "second").mkdir()
    (tmp_path / "second" / "opscope").symlink_to("../first")
    done = project.run("second/opscope", "--version", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "opscope <--version>\n")


def test_the_environment_is_ready_until_something_changes(project):
    def ready(level: str) -> bool:
        code = f"{project.sourced()}; level={level}; is_ready && echo yes || echo no"
        return project.shell(code) == "yes\n"

    assert ready("run")
    assert not ready("test")
    pyproject = project.root / "pyproject.toml"
    before = pyproject.read_bytes()
    pyproject.write_bytes(before + b"\n# changed\n")
    assert not ready("run")
    pyproject.write_bytes(before)
    assert ready("run")
    project.stamp.unlink()
    assert not ready("run")


def test_what_the_tests_need_is_enough_to_run(tmp_path):
    project = Project(tmp_path, "test")
    done = project.run(project.root / "packaging/run", "--version")
    assert (done.returncode, done.stdout) == (0, "opscope <--version>\n")


def test_a_moved_project_is_set_up_again(project, tmp_path):
    moved = tmp_path / "moved"
    shutil.copytree(project.root, moved)
    code = f'root="{moved}"; . "$root/packaging/setup.sh"; level=run; is_ready || echo anew'
    assert project.shell(code) == "anew\n"


def test_an_old_python_is_refused_in_one_line(project, tmp_path):
    project.stamp.unlink()
    for name in ("python3", "python3.11", "python3.12", "python3.13", "python3.14"):
        executable(
            tmp_path / "bin" / name, '#!/bin/sh\n[ "$1" = --version ] && echo Python 3.9.2\n'
        )
    done = project.run(project.root / "packaging/run")
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1
    assert "needs Python 3.11 or newer, and found only Python 3.9.2" in done.stderr


def test_test_with_arguments_runs_only_pytest_in_the_project(tmp_path):
    project = Project(tmp_path, "test")
    executable(project.root / ".venv/bin/python", '#!/bin/sh\n[ "$1" = -c ] || echo "$PWD $*"\n')
    done = project.run(project.root / "packaging/test", "-k", "lod or ticks", cwd=tmp_path)
    assert done.stdout == f"{project.root} -m pytest -k lod or ticks\n"


MEASURED = "-m pytest -p tests.cpu_times"
WORKERS = f"-n {(os.cpu_count() or 1) + 1}"
QUICK = f"{MEASURED} -m not window and not slow and not nightly"
STYLE = ["-m ruff check", "-m ruff format --check", "lint-imports"]


def tools_of(project, python: str) -> None:
    """Put tools into the environment of a project that print how they are called."""
    head = '#!/bin/sh\n[ "$1" = -c ] || echo "$*"\n'
    executable(project.root / ".venv/bin/python", head + python)
    executable(project.root / ".venv/bin/lint-imports", "#!/bin/sh\necho lint-imports\n")


@pytest.mark.parametrize(
    ("failures", "code"), [("mypy) exit 4 ;; pytest) exit 5", 5), ("mypy) exit 4", 4)]
)
def test_test_goes_on_after_a_failure_and_returns_the_first(failures, code, tmp_path):
    project = Project(tmp_path, "test")
    tools_of(project, f"case $2 in {failures} ;; esac\n")
    done = project.run(project.root / "packaging/test")
    assert done.stdout.splitlines() == [
        *STYLE,
        QUICK,
        "-m mypy",
        f"{MEASURED} {WORKERS} --dist loadfile --no-loadscope-reorder "
        "-m (window or slow) and not nightly",
        "-m tests.reliability --short --fuzz-seconds 0.5 --only fuzz --only lakes --only losses",
    ]
    assert re.search(r"^opscope: \d+ s of processor time after set-up$", done.stderr, re.MULTILINE)
    assert done.returncode == code


def test_test_quick_leaves_out_types_and_what_takes_long(tmp_path):
    project = Project(tmp_path, "test")
    tools_of(project, '[ "$2" != ruff ] || exit 3\n')
    done = project.run(project.root / "packaging/test", "--quick")
    assert done.stdout.splitlines() == [*STYLE, QUICK]
    assert done.returncode == 3


def test_test_nightly_runs_what_is_marked_so_and_the_campaign(tmp_path):
    project = Project(tmp_path, "test")
    tools_of(project, "")
    done = project.run(project.root / "packaging/test", "--nightly")
    assert done.stdout.splitlines() == [
        f"{MEASURED} {WORKERS} -m nightly",
        f"-m pytest {WORKERS} -m hypothesis --hypothesis-profile nightly",
        "-m tests.reliability --short --fuzz-seconds 20",
    ]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    folder = tmp_path_factory.mktemp("wheel")
    done = subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    (path,) = folder.glob("*.whl")
    return zipfile.ZipFile(path)


@pytest.mark.slow
@pytest.mark.nightly
def test_a_wheel_carries_the_samples(wheel):
    names = set(wheel.namelist())
    for sample in SAMPLES:
        for path in (ROOT / "resources/samples" / sample.key).iterdir():
            inside = f"viewer/_resources/samples/{sample.key}/{path.name}"
            assert wheel.read(inside) == path.read_bytes()
    assert "viewer/_resources/samples/README.md" in names


@pytest.mark.nightly
def test_a_wheel_carries_the_help_with_its_pictures(wheel):
    for path in (ROOT / "resources/help").rglob("*.*"):
        inside = Path("viewer/_resources") / path.relative_to(ROOT / "resources")
        assert wheel.read(inside.as_posix()) == path.read_bytes()


@pytest.mark.nightly
def test_a_wheel_carries_the_fonts_with_their_licenses(wheel):
    folder = ROOT / "resources/fonts"
    assert {p.suffix for p in folder.iterdir()} == {".ttf", ".txt", ".md"}
    for path in folder.iterdir():
        assert wheel.read(f"viewer/_resources/fonts/{path.name}") == path.read_bytes()


@pytest.mark.nightly
def test_a_wheel_carries_the_license_and_the_commands(wheel):
    (license,) = [n for n in wheel.namelist() if n.endswith("/LICENSE")]
    assert wheel.read(license) == (ROOT / "packaging/LICENSE").read_bytes()
    assert b"Apache License" in wheel.read(license)
    (entries,) = [n for n in wheel.namelist() if n.endswith("entry_points.txt")]
    assert "opscope = viewer.cli:main" in wheel.read(entries).decode()


@pytest.mark.nightly
def test_a_wheel_holds_the_package_and_nothing_else(wheel):
    top = {name.split("/")[0] for name in wheel.namelist()}
    assert {name for name in top if not name.endswith(".dist-info")} == {"viewer"}
    assert [n for n in wheel.namelist() if "__pycache__" in n] == []
    documents = [n for n in wheel.namelist() if n.endswith(".md") and "/_resources/" not in n]
    assert documents == []


def test_every_picture_of_the_documents_is_drawn_by_a_script():
    """A picture that no script draws again would show an old window."""
    told = runpy.run_path(str(ROOT / "packaging/pictures"))
    drawn = {f"{name}.png" for name in told["PICTURES"]} - {"ten_million.png", "help.png"}
    names = "README.md", "packaging/README.md"
    documents = "".join((ROOT / name).read_text("utf-8") for name in names)
    shown = set(re.findall(r"\((?:packaging/)?(\w+\.png)\)", documents))
    of_many = {f"ten_million_{view}_{theme}.png" for view in ("all", "mid", "close")
               for theme in ("dark", "light")}  # fmt: skip
    assert shown - of_many == drawn
    assert {path.name for path in (ROOT / "packaging").glob("*.png")} >= shown | drawn
    of_help = {"timeline", "clocks", "summary", "details", *told["HELP_PANELS"]}
    assert {path.stem for path in (ROOT / told["HELP_PICTURES"]).iterdir()} == of_help


def test_a_picture_that_is_not_known_is_told(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c",
         "import runpy, sys; sys.argv = ['pictures', 'nothing'];"
         f"sys.prefix = {str(ROOT / '.venv')!r};"
         f"runpy.run_path({str(ROOT / 'packaging/pictures')!r}, run_name='__main__')"],
        capture_output=True, text=True, timeout=60
    )  # fmt: skip
    assert done.returncode == 1
    assert done.stderr.startswith("nothing: known are screenshot, graph_and_source")

# Shared by run and test: makes .venv in the project once and installs what Qt needs from the system.
#
# Sourced with `root` set to the project folder. `set_up run` or `set_up test` returns when
# "$root/.venv" holds Opscope with that extra, or ends the script with one clear message. Without
# changes of pyproject.toml the second call needs no network. POSIX sh.
# shellcheck shell=sh

# shellcheck disable=SC2154 # run and test set it
venv=$root/.venv
# Written last, so a .venv without it is incomplete and is created again.
stamp=$venv/opscope-setup

say() {
    printf 'opscope: %s\n' "$*" >&2
}

fail() {
    say "$@"
    exit 1
}

# Runs a command silently; shows all that it printed if it fails, and returns its exit code.
quietly() {
    log=$(mktemp) || return 1
    if "$@" >"$log" 2>&1; then
        rm -f "$log"
    else
        code=$?
        cat "$log" >&2
        rm -f "$log"
        return "$code"
    fi
}

set_up() {
    level=$1
    groups=qt
    if is_ready; then
        python=$venv/bin/python
    else
        groups='qt venv'
        python=$(find_python) || fail "Opscope needs Python 3.11 or newer, and found" \
            "$(found_pythons). Install one from your system or from https://www.python.org"
    fi
    install_system_packages
    [ "$groups" = "${groups#*venv}" ] || make_venv
}

# --- Python ---------------------------------------------------------------------------------------

pythons='python3 python3.13 python3.12 python3.11 python3.14'

# Prints the path of a Python that is new enough. Not of one inside an activated environment, which
# may be the very .venv that is going to be removed, but of the one behind it.
find_python() {
    for candidate in $pythons; do
        "$candidate" -I -c '
import sys
if sys.version_info < (3, 11):
    sys.exit(1)
print(getattr(sys, "_base_executable", "") or sys.executable)' 2>/dev/null && return 0
    done
    return 1
}

found_pythons() {
    if version=$(python3 --version 2>&1); then
        printf 'only %s' "$version"
    else
        printf 'none'
    fi
}

# What .venv was made for. Scripts in it hold absolute paths: a moved or copied folder is not ready.
wanted_stamp() {
    printf '%s\n%s\n%s\n' "$1" "$(cksum <"$root/pyproject.toml")" "$root"
}

has_stamp() {
    [ -f "$stamp" ] && "$venv/bin/python" -c '' 2>/dev/null
}

is_ready() {
    has_stamp || return 1
    have=$(cat "$stamp")
    [ "$have" = "$(wanted_stamp "$level")" ] || [ "$have" = "$(wanted_stamp test)" ]
}

make_venv() {
    if has_stamp && [ "$(sed -n 3p "$stamp")" = "$root" ]; then
        # What `test` needed stays up to date for the next `test`.
        [ "$(sed -n 1p "$stamp")" = run ] || level='test'
        say "bringing .venv up to date"
        mv "$stamp" "$stamp.before"
    else
        say "setting up .venv with $("$python" --version), once; this takes a minute"
        rm -rf "$venv"
        quietly "$python" -m venv "$venv" || fail "$python -m venv failed, see above"
    fi
    extra=
    [ "$level" = run ] || extra="[$level]"
    # A module is compiled when it is first imported. Compiling all of them here takes 10 to 16 s.
    if ! PIP_USER=0 quietly "$venv/bin/python" -m pip --disable-pip-version-check install \
        --no-compile --editable "$root$extra"; then
        # pip takes back a failed installation, so what was there before still works.
        [ ! -f "$stamp.before" ] || mv "$stamp.before" "$stamp"
        fail "pip could not install Opscope into .venv, see above"
    fi
    wanted_stamp "$level" >"$stamp.new"
    mv "$stamp.new" "$stamp"
    rm -f "$stamp.before"
}

# --- system packages ------------------------------------------------------------------------------

# Prints "package library" for all that is missing. Asks the dynamic loader, not the package
# manager, since libraries may come from anywhere. $1: the groups to look for.
missing_packages() {
    "$python" -I - "$1" <<'END'
import ctypes, os, pathlib, sys

LIBRARIES = """
qt  libgl1             libGL.so.1
qt  libegl1            libEGL.so.1
qt  libx11-6           libX11.so.6
qt  libxkbcommon0      libxkbcommon.so.0
qt  libdbus-1-3        libdbus-1.so.3
qt  libfontconfig1     libfontconfig.so.1
qt  libglib2.0-0       libglib-2.0.so.0
qt  libglib2.0-0       libgthread-2.0.so.0
x11 libxcb-cursor0     libxcb-cursor.so.0
x11 libxcb-icccm4      libxcb-icccm.so.4
x11 libxcb-image0      libxcb-image.so.0
x11 libxcb-keysyms1    libxcb-keysyms.so.1
x11 libxcb-randr0      libxcb-randr.so.0
x11 libxcb-render-util0 libxcb-render-util.so.0
x11 libxcb-shape0      libxcb-shape.so.0
x11 libxcb-sync1       libxcb-sync.so.1
x11 libxcb-util1       libxcb-util.so.1
x11 libxcb-xfixes0     libxcb-xfixes.so.0
x11 libxcb-xkb1        libxcb-xkb.so.1
x11 libxkbcommon-x11-0 libxkbcommon-x11.so.0
x11 libx11-xcb1        libX11-xcb.so.1
"""
groups = sys.argv[1].split()
if "venv" in groups:
    try:
        import ensurepip, venv
        ensurepip.version()
    except (ImportError, AttributeError):
        # Debian keeps them in a package of their own; an empty folder may stay behind.
        debian = pathlib.Path("/usr/bin/python3")
        own = debian.exists() and debian.resolve() == pathlib.Path(sys.executable).resolve()
        print("python3-venv" if own else "python%d.%d-venv" % sys.version_info[:2], "ensurepip")
for line in LIBRARIES.split("\n")[1:-1]:
    group, package, library = line.split()
    if group in groups:
        try:
            ctypes.CDLL(library)
        except OSError:
            print(package, library)
home = os.path.expanduser("~")
folders = "/usr/share/fonts", "/usr/local/share/fonts", home + "/.local/share/fonts", home + "/.fonts"
fonts = (name for top in folders for _, _, names in os.walk(top, followlinks=True) for name in names)
if not any(name.lower().endswith((".ttf", ".otf", ".ttc", ".pfb")) for name in fonts):
    print("fonts-dejavu-core", "fonts")
END
}

install_system_packages() {
    [ "$(uname -s)" = Linux ] || return 0
    root_with_apt=
    if [ "$(id -u)" -eq 0 ] && command -v apt-get >/dev/null; then
        root_with_apt=yes
    fi
    # Only a window on X11 needs these; who may install them gets them at once.
    [ -z "$root_with_apt${DISPLAY:-}" ] || groups="$groups x11"
    missing=$(missing_packages "$groups") || fail "$python could not look for the libraries of Qt"
    [ -n "$missing" ] || return 0
    packages=$(printf '%s\n' "$missing" | cut -d' ' -f1 | sort -u | tr '\n' ' ')
    packages=${packages% }
    if [ -n "$root_with_apt" ]; then
        say "installing $packages"
        apt_install
    elif command -v apt-get >/dev/null; then
        say "some system packages are missing. Install them and start again:"
        debian_names
        printf '    sudo apt-get install -y --no-install-recommends %s\n' "$packages" >&2
        exit 1
    else
        say "missing on this system:" "$(printf '%s\n' "$missing" | cut -d' ' -f2 | tr '\n' ' ')"
    fi
}

apt_install() {
    # A fresh container has no package lists, and old ones name packages that are gone.
    if ! ls /var/lib/apt/lists/*_Packages* >/dev/null 2>&1; then
        quietly apt-get update || say "apt-get update failed, trying without"
    fi
    try_apt_install >/dev/null 2>&1 && return 0
    quietly apt-get update && quietly try_apt_install && return 0
    fail "apt-get could not install $packages, see above"
}

try_apt_install() {
    debian_names
    # shellcheck disable=SC2086 # a list of words
    DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends $packages
}

# Debian 13 and Ubuntu 24.04 renamed GLib's package.
debian_names() {
    case " $packages " in
    *" libglib2.0-0 "*)
        if apt-cache show libglib2.0-0t64 >/dev/null 2>&1; then
            packages=$(printf '%s' "$packages" | sed 's/libglib2\.0-0/&t64/')
        fi
        ;;
    esac
}

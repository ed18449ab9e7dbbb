# Shared by check-bundle, check-deb and check-desktop: a bare Debian of its own to install in.
#
# Sourced with `root` set to the project folder. Needs root, debootstrap and a network. The bare
# system is fetched once, into build/debian; each check works on a copy of it. What runs in a copy has
# mounts and processes of its own, which end with it, however it ends. POSIX sh.
# shellcheck shell=sh

# shellcheck disable=SC2154 # the checks set it
base=$root/build/debian

say() {
    printf '%s: %s\n' "${0##*/}" "$*" >&2
}

fail() {
    say "$@"
    exit 1
}

# Prints the newest package in dist/, or the one that is named.
package_of() {
    found=${1:-$(ls -t "$root"/dist/opscope_*.deb 2>/dev/null | head -n 1)}
    [ -f "$found" ] || fail "there is no package; packaging/build-deb makes it"
    printf '%s' "$found"
}

# Makes the folder $copy with a bare Debian in it, which goes away when the script ends.
make_copy() {
    [ "$(id -u)" -eq 0 ] || fail "only root can make a system of its own"
    command -v debootstrap >/dev/null || fail "debootstrap is needed: apt-get install debootstrap"
    if ! [ -f "$base/complete" ]; then
        say "fetching a bare Debian 12, once"
        rm -rf "$base"
        mkdir -p "$base"
        debootstrap --variant=minbase bookworm "$base/system" http://deb.debian.org/debian \
            >"$base/log" 2>&1 || fail "debootstrap failed, see $base/log"
        : >"$base/complete"
    fi
    copy=$(mktemp -d "$root/build/check.XXXXXX")
    trap 'rm -rf "$copy"' EXIT
    trap 'exit 1' INT TERM
    cp -a "$base/system/." "$copy"
    chmod 755 "$copy"
    cp /etc/resolv.conf "$copy/etc/resolv.conf"
    # No service starts, and nothing is asked.
    printf '#!/bin/sh\nexit 101\n' >"$copy/usr/sbin/policy-rc.d"
    chmod 755 "$copy/usr/sbin/policy-rc.d"
}

# Runs a command in the copy, without what the caller's environment has.
inside() {
    unshare --mount --pid --fork --kill-child sh -eu -c '
        mount -t proc proc "$0/proc"
        mount -t tmpfs tmpfs "$0/dev/shm" 2>/dev/null || :
        exec chroot "$0" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 \
            DEBIAN_FRONTEND=noninteractive "$@"' "$copy" "$@"
}

install_inside() {
    log=$copy/install.log
    inside sh -c 'apt-get update && apt-get install -y --no-install-recommends "$@"' - "$@" \
        >"$log" 2>&1 || {
        cat "$log" >&2
        fail "apt-get could not install $*"
    }
    rm "$log"
}

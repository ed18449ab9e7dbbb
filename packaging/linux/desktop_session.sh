# What check-desktop does in its Debian, as a user: an X server, a window manager, and files opened.
# Pictures of the screen are left in the home folder. POSIX sh.
# shellcheck shell=sh
set -eu

export DISPLAY=:7 XDG_RUNTIME_DIR="$HOME/run"
mkdir -m 700 "$XDG_RUNTIME_DIR"
cd
files=/tmp/files

Xvfb :7 -screen 0 1920x1080x24 -nolisten tcp -noreset >xvfb.log 2>&1 &

fail() {
    printf 'check-desktop: %s\n' "$*" >&2
    import -window root failure.png || :
    wmctrl -l >&2 || :
    exit 1
}

# Runs a command until it succeeds, for 60 seconds at most.
until_true() {
    tries=0
    until "$@" >/dev/null 2>&1; do
        tries=$((tries + 1))
        [ "$tries" -lt 600 ] || return 1
        sleep 0.1
    done
}

until_true xdpyinfo || fail "the X server did not start"
openbox >openbox.log 2>&1 &
until_true wmctrl -m || fail "the window manager did not start"

is_titled() {
    wmctrl -l | grep -q "$1"
}
no_window() {
    ! wmctrl -lx | grep -q 'opscope\.Opscope'
}

# Waits for a window of Opscope whose title has a text, takes its picture, and says what was done.
shows() {
    until_true is_titled "$1.*Opscope" || fail "$2: no window has $1 in its title"
    sleep 1
    import -window root "$(printf '%s' "$2" | tr -c 'a-z0-9\n' '-').png"
    printf 'check-desktop: %s: ok\n' "$2" >&2
}
close_all() {
    wmctrl -lx | grep 'opscope\.Opscope' | cut -d' ' -f1 | while read -r window; do
        wmctrl -i -c "$window"
    done
    until_true no_window || fail "a window does not close"
}

# --- which program opens what ---------------------------------------------------------------------

is_of() {
    told=$(gio info -a standard::content-type "$1" | sed -n 's/.*content-type: //p')
    [ "$told" = "$2" ] || fail "$1 is taken for $told, not for $2"
    [ "$(xdg-mime query default "$2")" = org.opscope.Opscope.desktop ] \
        || fail "$2 is opened with $(xdg-mime query default "$2")"
}
is_of "$files/demo_str_x4.etdp" application/x-executorch-etdump
is_of "$files/demo_str.etrecord" application/x-executorch-etrecord
is_of "$files/etrecord.bin" application/x-executorch-etrecord
is_of "$files/tiny_cnn.mlir" text/x-mlir
# A dump by its content alone.
cp "$files/demo_str_x4.etdp" nameless
is_of nameless application/x-executorch-etdump
# Refused when it is opened, but a session by its name.
printf '{}\n' >named.opscope
is_of named.opscope application/x-opscope-session+json
# What belongs to others stays theirs.
[ -z "$(xdg-mime query default text/x-python)" ] || fail "Opscope claims Python"
printf 'check-desktop: types: ok\n' >&2

# --- double click -----------------------------------------------------------------------------------

gio open "$files/demo_str_x4.etdp"
shows demo_str_x4.etdp "gio open"
window=$(wmctrl -lx | grep 'opscope\.Opscope' | cut -d' ' -f1)
xprop -id "$window" _GTK_APPLICATION_ID WM_CLASS >properties
grep -q '"org.opscope.Opscope"' properties || fail "the window does not name its desktop entry"
grep -q '"opscope", ' properties || fail "the window is not of the class that its desktop entry names"
close_all

# What is opened while a window is there comes in a window of its own, of the program that runs.
gio open "$files/demo_str_x4.etdp"
shows demo_str_x4.etdp "gio open again"
xdg-open "$files/etrecord.bin" &
shows etrecord.bin "xdg-open"
[ "$(wmctrl -lx | grep -c 'opscope\.Opscope')" -eq 2 ] || fail "two files are not in two windows"
[ "$(wmctrl -lpx | grep 'opscope\.Opscope' | tr -s ' ' | cut -d' ' -f3 | sort -u | wc -l)" -eq 1 ] \
    || fail "a second program runs"
close_all

# Two files that are selected and opened: a file manager starts the desktop entry once, with both.
both='demo_str_x4.etdp.*demo_str.etrecord\|demo_str.etrecord.*demo_str_x4.etdp'
entry=/usr/share/applications/org.opscope.Opscope.desktop
gio launch "$entry" "$files/demo_str_x4.etdp" "$files/demo_str.etrecord"
shows "$both" "two files opened"
[ "$(wmctrl -lx | grep -c 'opscope\.Opscope')" -eq 1 ] || fail "two files are not in one window"
close_all

# What was open is a session now, and a double click on it opens both files again: when its window
# closes they are written as before.
last=$(ls "$HOME"/.config/*/last.opscope)
mv "$last" kept.opscope
gio open kept.opscope
shows kept.opscope "gio open of a session"
close_all
for file in demo_str_x4.etdp demo_str.etrecord; do
    grep -q "/$file\"" "$last" || fail "the session was opened without $file"
done

# --- drag and drop ----------------------------------------------------------------------------------

opscope >opscope.log 2>&1 &
until_true is_titled '^[^ ]* *[^ ]* *[^ ]* Opscope$' || fail "opscope shows no window"
window=$(wmctrl -lx | grep 'opscope\.Opscope' | cut -d' ' -f1)
wmctrl -i -r "$window" -e 0,0,0,1400,1000
python3 /tmp/drag_source.py "$files/demo_str_x4.etdp" "$files/demo_str.etrecord" >drag.log 2>&1 &
until_true is_titled 'Drag from here' || fail "the other program shows no window"
wmctrl -r 'Drag from here' -e 0,1500,400,300,200
wmctrl -a 'Drag from here'
sleep 1
xdotool mousemove 1650 520 mousedown 1
# In steps, as a hand does: a drag begins after some pixels, and its target is asked on the way.
for step in $(seq 1 20); do
    xdotool mousemove $((1650 - step * 50)) 520
    sleep 0.05
done
sleep 0.5
xdotool mouseup 1
shows "$both" "two files dropped"
close_all

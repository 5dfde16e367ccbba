# shellcheck shell=bash
# What every script here begins with: words, failures, and the lock against a second run. To be sourced.

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
# All that the scripts write lies here.
# shellcheck disable=SC2034  # used by those that source this
PUSHLINE_DIR="$ROOT/.pushline"

say() { printf '%s\n' "$*"; }

# Ends the script with one line that says what is wrong.
die() {
    printf '%s: %s\n' "$(basename "$0")" "$*" >&2
    exit 1
}

# Ends the script where it was called wrongly: says what is wrong, and shows the caller's `usage`.
misused() {
    printf '%s: %s\n' "$(basename "$0")" "$*" >&2
    usage >&2
    exit 2
}

# Ends the script for an argument that it does not know.
unknown_argument() {
    case $1 in
    -*) misused "unknown option $1" ;;
    *) misused "unknown argument $1" ;;
    esac
}

# Takes the lock of a folder for as long as this script lives, or ends it, saying who has it.
#   only_one DIR WHAT
# The lock's descriptor is LOCK_FD: what is started in the background must close it.
only_one() {
    mkdir -p "$1"
    exec {LOCK_FD}>>"$1/lock"
    if ! flock -n "$LOCK_FD"; then
        die "$2 is running already (process $(cat "$1/lock.pid" 2>/dev/null || echo unknown))."
    fi
    printf '%s\n' "$$" >"$1/lock.pid"
}

# Prints seconds as 1 min 23 s.
duration_text() {
    if [ "$1" -ge 60 ]; then printf '%s min %s s' "$(($1 / 60))" "$(($1 % 60))"; else printf '%s s' "$1"; fi
}

# Succeeds once a URL answers 200; fails after so many seconds, or when the process has ended.
#   wait_for_url URL SECONDS PID
wait_for_url() {
    local end=$((SECONDS + $2))
    until curl -fsS --max-time 2 -o /dev/null "$1" 2>/dev/null; do
        if ! kill -0 "$3" 2>/dev/null || [ "$SECONDS" -ge "$end" ]; then return 1; fi
        sleep 0.1
    done
}

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
#   only_one DIR WHAT [ADVICE]
# The lock's descriptor is LOCK_FD: what is started in the background must close it.
only_one() {
    local attempt
    for attempt in {1..100}; do
        mkdir -p "$1"
        # It may be removed again in between.
        if ! { exec {LOCK_FD}>>"$1/lock"; } 2>/dev/null; then
            if [ "$attempt" -eq 100 ]; then die "$1/lock cannot be written."; fi
            continue
        fi
        if ! flock -n "$LOCK_FD"; then
            die "$2 is running already (process $(cat "$1/lock.pid" 2>/dev/null || echo unknown)).${3:+ $3}"
        fi
        # Whoever had it may have removed the file since it was opened: then the lock is none that others see.
        if [ "$1/lock" -ef "/proc/$BASHPID/fd/$LOCK_FD" ]; then break; fi
        exec {LOCK_FD}>&-
    done
    printf '%s\n' "$BASHPID" >"$1/lock.pid"
}

# Removes the lock of a folder that this script has, and the folder where nothing else is in it: the last thing to be done there.
remove_lock() {
    rm -f "$1/lock.pid" "$1/lock"
    rmdir "$1" 2>/dev/null || true
}

# Removes all that lies in a folder but its lock and the names given.
#   empty_folder DIR [NAME...]
empty_folder() {
    local dir=$1 name kept=(! -name lock ! -name lock.pid)
    shift
    for name in "$@"; do kept+=(! -name "$name"); done
    find "$dir" -mindepth 1 -maxdepth 1 "${kept[@]}" -exec rm -rf {} +
}

# Says whose a process is that was started for a folder: which checkout's, wherever it is mounted, and which folder's. The same in each
# run, for the compiler reads its packages anew where its environment has changed.
run_mark() { printf 'DEPLOY_RUN=%s:%s\n' "$(stat -c %d:%i "$ROOT")" "${1#"$ROOT"/}"; }

# Marks all that this script starts from now on as started for a folder, in its environment; what it starts in turn has the mark too.
# So it is found when this script was killed, and nothing else is taken for it, whatever process ids have become whose.
mark_run() {
    local mark
    mark=$(run_mark "$1")
    export "${mark?}"
}

# Prints the ids of the processes that bear the mark of a folder. This script does not: its environment is that of its start.
marked_processes() {
    local mark environs
    mark=$(run_mark "$1")
    # Listed before anything is started for the search.
    environs=(/proc/[0-9]*/environ)
    # Many may be looked at by their owner alone, or end meanwhile.
    printf '%s\n' "$(grep -lszFx -- "$mark" "${environs[@]}")" | sed -n 's|^/proc/\([0-9]*\)/.*|\1|p'
}

# Ends what was started for a folder and still runs: asks it to end, and kills what has not after 10 seconds.
end_marked() {
    local pids=() ticks=0
    while :; do
        mapfile -t pids < <(marked_processes "$1")
        if [ "${#pids[@]}" -eq 0 ]; then return 0; fi
        if [ "$ticks" -eq 0 ]; then
            say "Ending what an earlier run has left (processes ${pids[*]}) ..."
            kill -TERM "${pids[@]}" 2>/dev/null || true
        elif [ "$ticks" -ge 300 ]; then
            die "a process does not end: ${pids[*]}"
        elif [ "$ticks" -ge 100 ]; then
            kill -KILL "${pids[@]}" 2>/dev/null || true
        fi
        ticks=$((ticks + 1))
        sleep 0.1
    done
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

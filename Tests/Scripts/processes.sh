#!/usr/bin/env bash
# What the scripts under deploy/ leave and end: after an interrupt at the wrong moment, after kill -9, and of others nothing.
# Needs a few seconds, and no broker.
set -euo pipefail

LIBRARY="$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)/deploy/lib"
WORK=$(mktemp -d)
FAILED=0

# shellcheck disable=SC2317  # called by the trap
cleanup() {
    # shellcheck disable=SC2046  # a word each
    kill -KILL $(cat "$WORK"/*.pids "$WORK"/*/*.pids 2>/dev/null) 2>/dev/null || true
    rm -rf "$WORK"
}
trap cleanup EXIT

check() {
    if [ "$2" = "$3" ]; then return; fi
    printf '%s: %s, and not %s\n' "$1" "$2" "$3" >&2
    FAILED=1
}

# One that has ended and that nobody has asked for does not.
lives() { case $(cat "/proc/$1/stat" 2>/dev/null) in "" | *") Z "*) echo no ;; *) echo yes ;; esac; }

# Waits until a file is there, up to a minute.
await() {
    for _ in {1..600}; do
        if [ -s "$1" ]; then return; fi
        sleep 0.1
    done
    printf '%s never came\n' "${1##*/}" >&2
    exit 1
}

# A run as the quickstart's: takes the folder, ends what is left in it, and starts a program that has a child.
#   run FOLDER [WORDS] (in a process of its own; the words come before the program is started)
run() {
    cat >"$WORK/run.sh" <<END
set -euo pipefail
. "$LIBRARY/common.sh"
. "$LIBRARY/processes.sh"
finish() {
    local status=\$?
    trap - EXIT
    trap '' INT TERM
    STOPPING=yes
    set +eu
    process_stop_all
    end_marked "$1"
    exit "\$status"
}
only_one "$1" "The run"
end_marked "$1"
LOGS="$1" RUN="$1"
mark_run "$1"
trap finish EXIT
trap 'process_interrupted 143' TERM
${2-}
process_start program bash -c 'sleep 60 & echo "\$\$ \$!" >"$1/begun.pids"; wait'
wait
END
    exec bash "$WORK/run.sh" >"$WORK/run.out" 2>&1
}

killed_runs_leave_what_the_next_one_ends() {
    local dir="$WORK/killed" script program child stranger
    (run "$dir") &
    script=$!
    disown "$script"
    await "$dir/begun.pids"
    read -r program child <"$dir/begun.pids"
    kill -KILL "$script"
    check "after kill -9 the program runs" "$(lives "$program")" yes
    # Its id stands in the folder, and it is not of the folder.
    sleep 60 &
    stranger=$!
    disown "$stranger"
    echo "$stranger" >"$WORK/stranger.pids"
    echo "$stranger" >"$dir/program.pid"
    (
        # shellcheck source=deploy/lib/common.sh
        . "$LIBRARY/common.sh"
        only_one "$dir" "The next run"
        end_marked "$dir"
    ) >/dev/null
    check "after the next run the program runs" "$(lives "$program")" no
    check "after the next run its child runs" "$(lives "$child")" no
    check "a process of nobody's runs" "$(lives "$stranger")" yes
}

# The signal comes between the start of a process and the note of its id, and before any of that.
interrupts_leave_nothing() {
    local moment dir status
    # shellcheck disable=SC2016  # as bash names the command
    for moment in 'PROCESS_PIDS[$name]=$!' 'PROCESS_COMMANDS[$name]='; do
        dir="$WORK/interrupted"
        rm -rf "$dir"
        status=0
        (run "$dir" "set -o functrace; trap '[[ \$BASH_COMMAND != \"${moment//\$/\\\$}\"* ]] || kill -TERM \$\$' DEBUG") || status=$?
        check "the status after $moment" "$status" 143
        check "its last words" "$(grep -c unbound "$WORK/run.out")" 0
        check "what is left after $moment" "$(left_in "$dir")" ""
    done
}

left_in() (
    # shellcheck source=deploy/lib/common.sh
    . "$LIBRARY/common.sh"
    marked_processes "$1"
)

a_broker_is_known_by_its_settings() {
    local dir="$WORK/broker" node stranger
    mkdir "$dir"
    printf 'NODE_PORT=1\nNODE_EPMD_PORT=2\n' >"$dir/node.env"
    RABBITMQ_NODENAME=pushline-1@localhost setsid sleep 60 &
    node=$!
    RABBITMQ_NODENAME=pushline-10@localhost setsid sleep 60 &
    stranger=$!
    disown -a
    echo "$node $stranger" >"$WORK/broker.pids"
    # In another shell, of which they are no children.
    echo "$stranger" >"$dir/node.pid"
    echo "$stranger" >"$dir/epmd.pid"
    bash -c '. "$1"; broker_stop "$2" 0' sh "$LIBRARY/broker.sh" "$dir"
    check "a process with the node's old id runs" "$(lives "$stranger")" yes
    echo "$node" >"$dir/node.pid"
    bash -c '. "$1"; broker_stop "$2" 5' sh "$LIBRARY/broker.sh" "$dir"
    check "the node runs" "$(lives "$node")" no
}

# Whoever comes while the lock is removed has another, or none.
a_lock_that_is_removed_lets_one_in() {
    local dir="$WORK/locked" _
    for _ in {1..8}; do
        (
            # shellcheck source=deploy/lib/common.sh
            . "$LIBRARY/common.sh"
            for _ in {1..40}; do
                (
                    only_one "$dir" "It" 2>/dev/null
                    # Fails where somebody else is in.
                    mkdir "$WORK/inside" && rmdir "$WORK/inside" || echo two >>"$WORK/clash"
                    echo one >>"$WORK/entered"
                    remove_lock "$dir"
                ) || true
            done
        ) &
    done
    wait
    check "two had the lock" "$(cat "$WORK/clash" 2>/dev/null)" ""
    check "somebody had it" "$(head -n 1 "$WORK/entered")" one
    check "the folder is left" "$([ ! -e "$WORK/locked" ] || echo yes)" ""
}

killed_runs_leave_what_the_next_one_ends
interrupts_leave_nothing
a_broker_is_known_by_its_settings
a_lock_that_is_removed_lets_one_in
exit "$FAILED"

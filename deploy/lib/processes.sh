# shellcheck shell=bash
# Starts, watches and ends the processes of a run. To be sourced after common.sh.
#
#   process_start NAME COMMAND...   starts it in a session of its own; output goes to LOGS/NAME.log, its id to RUN/NAME.pid
#   process_watch                   starts again what ends unexpectedly, until STOPPING is set
#   process_stop_all                ends everything that was started, the last started first
#   process_interrupted STATUS      for traps: ends the script, once a process that is being started is known
#
# The caller sets LOGS and RUN.

PROCESS_NAMES=()
declare -A PROCESS_PIDS=() PROCESS_COMMANDS=() PROCESS_STARTED=() PROCESS_FAILS=()

process_start() {
    local name=$1
    shift
    # Who ends everything looks for each name's id.
    PROCESS_PIDS[$name]=
    PROCESS_NAMES+=("$name")
    PROCESS_COMMANDS[$name]=$(printf '%q ' "$@")
    PROCESS_FAILS[$name]=0
    process_launch "$name"
}

process_launch() {
    local name=$1 command=()
    # The words were quoted by process_start.
    eval "command=(${PROCESS_COMMANDS[$name]})"
    PROCESS_LAUNCHING=yes
    # A session of its own: an interrupt at the terminal reaches this script alone, which then ends them in order.
    setsid "${command[@]}" </dev/null >>"$LOGS/$name.log" 2>&1 {LOCK_FD}>&- &
    PROCESS_PIDS[$name]=$!
    PROCESS_STARTED[$name]=$SECONDS
    printf '%s\n' "$!" >"$RUN/$name.pid"
    PROCESS_LAUNCHING=
    if [ -n "${PROCESS_INTERRUPTED-}" ]; then exit "$PROCESS_INTERRUPTED"; fi
}

process_interrupted() {
    STOPPING=yes
    # Between its start and the note of its id nobody could end the process.
    if [ -n "${PROCESS_LAUNCHING-}" ]; then
        PROCESS_INTERRUPTED=$1
    else
        exit "$1"
    fi
}

process_running() { [ -n "${PROCESS_PIDS[$1]}" ] && kill -0 "${PROCESS_PIDS[$1]}" 2>/dev/null; }

# Ends the script where a process has not come to serve.
#   process_ready NAME URL
process_ready() {
    if ! wait_for_url "$2" 30 "${PROCESS_PIDS[$1]}"; then
        local last
        last=$(tail -n 1 "$LOGS/$1.log" 2>/dev/null || true)
        die "$1 did not start: ${last:-no word of it}. Its log is ${LOGS#"$ROOT"/}/$1.log"
    fi
}

# Waits for the end of any process and starts it again, until STOPPING is set; fails, naming the process in FAILED, where one
# has ended five times in a row as soon as it was started.
process_watch() {
    local name status
    while [ -z "${STOPPING-}" ]; do
        status=0
        # The shell would report each killed child in words of its own.
        { wait -n "${PROCESS_PIDS[@]}" || status=$?; } 2>/dev/null
        for name in "${PROCESS_NAMES[@]}"; do
            if [ -n "${STOPPING-}" ]; then return; fi
            if process_running "$name"; then continue; fi
            if [ $((SECONDS - PROCESS_STARTED[$name])) -lt 2 ]; then
                PROCESS_FAILS[$name]=$((PROCESS_FAILS[$name] + 1))
            else
                PROCESS_FAILS[$name]=0
            fi
            if [ "${PROCESS_FAILS[$name]}" -ge 5 ]; then
                # shellcheck disable=SC2034  # for the caller
                FAILED=$name
                return 1
            fi
            say "$(date +%H:%M:%S) $name ended ($status) and is started again."
            process_launch "$name"
        done
    done
}

process_stop_all() {
    local index name
    for ((index = ${#PROCESS_NAMES[@]} - 1; index >= 0; index--)); do
        name=${PROCESS_NAMES[index]}
        if process_running "$name"; then kill -TERM "${PROCESS_PIDS[$name]}" 2>/dev/null || true; fi
    done
    # They drain side by side; what has not ended after its drain limit is killed.
    local end=$((SECONDS + 40))
    for name in "${PROCESS_NAMES[@]}"; do
        while process_running "$name"; do
            if [ "$SECONDS" -ge "$end" ]; then kill -KILL "${PROCESS_PIDS[$name]}" 2>/dev/null || true; fi
            sleep 0.1
        done
        rm -f "$RUN/$name.pid"
    done
    PROCESS_NAMES=()
}

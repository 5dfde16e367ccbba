# shellcheck shell=bash
# Runs the compiler with its progress shown. To be sourced after common.sh.

# Runs a command that prints [n/m] lines as swift build does; its output goes to a file, its progress to the screen.
#   with_progress TITLE LOGFILE COMMAND...
with_progress() {
    local title=$1 log=$2 start=$SECONDS shown=$SECONDS status=0 step pid
    shift 2
    mkdir -p "$(dirname "$log")"
    # A session of its own, so that the compiler's processes can be ended together and nothing else is.
    setsid "$@" >"$log" 2>&1 </dev/null {LOCK_FD}>&- &
    pid=$!
    PROGRESS_PID=$pid
    say "$title ... (log: ${log#"$ROOT"/})"
    while kill -0 "$pid" 2>/dev/null; do
        step=$(tail -c 2000 "$log" | tr '\r' '\n' | grep -o '^\[[0-9]*/[0-9]*\]' | tail -n 1 || true)
        if [ -t 1 ]; then
            printf '\r  %-14s %s   ' "$step" "$(duration_text $((SECONDS - start)))"
        elif [ $((SECONDS - shown)) -ge 30 ]; then
            printf '  %-14s %s\n' "$step" "$(duration_text $((SECONDS - start)))"
            shown=$SECONDS
        fi
        sleep 1
    done
    wait "$pid" || status=$?
    PROGRESS_PID=
    if [ -t 1 ]; then printf '\r%60s\r' ''; fi
    if [ "$status" -ne 0 ]; then
        grep -E 'error:|fatal' "$log" | sort -u | head -n 20 >&2 || tail -n 20 "$log" >&2
        say "  ended with status $status after $(duration_text $((SECONDS - start)))."
        return "$status"
    fi
    say "  done in $(duration_text $((SECONDS - start)))."
}

# Ends a build that is still going on: for the end of a script.
stop_progress() {
    if [ -n "${PROGRESS_PID-}" ]; then
        kill -TERM -- "-$PROGRESS_PID" 2>/dev/null || true
        wait "$PROGRESS_PID" 2>/dev/null || true
    fi
}

# Builds for debugging: strictly, and without the index that editors read, which costs a sixth of the compiler's time. All scripts build
# so: with other options everything would be compiled anew.
#   build_debug TITLE LOGFILE ARGUMENTS...
DEBUG_BUILD=(--package-path "$ROOT" --disable-index-store)
build_debug() {
    local title=$1 log=$2
    shift 2
    with_progress "$title" "$log" env PUSHLINE_STRICT=1 swift build "${DEBUG_BUILD[@]}" "$@" ||
        die "the build failed. Its log is ${log#"$ROOT"/}"
}

# shellcheck shell=bash
# A demonstration (deploy/quickstart --stay) for as long as a test runs, beside any other. To be sourced, with ROOT, BIN, LOG and
# FOLDER set, where it is to be; sets ENV_FILE.
#
#   fail TEXT...          ends the test
#   demonstration_start   returns when it is ready; it ends with the test

QUICKSTART=
ENV_FILE="$FOLDER.env"

fail() {
    printf '%s: %s\n' "$(basename "$0")" "$*" >&2
    exit 1
}

finish() {
    local status=$?
    trap - EXIT
    if [ -n "$QUICKSTART" ]; then
        kill -TERM "$QUICKSTART" 2>/dev/null || true
        wait "$QUICKSTART" || true
    fi
    exit "$status"
}
trap finish EXIT
trap 'exit 143' TERM HUP
trap 'exit 130' INT

demonstration_start() {
    rm -f "$ENV_FILE"
    PUSHLINE_BIN=$BIN "$ROOT/deploy/quickstart" --stay --folder "$FOLDER" >>"$LOG" 2>&1 </dev/null &
    QUICKSTART=$!
    for _ in $(seq 1 1500); do
        if [ -s "$ENV_FILE" ]; then break; fi
        kill -0 "$QUICKSTART" 2>/dev/null || fail "the quickstart ended: see $LOG"
        sleep 0.2
    done
    [ -s "$ENV_FILE" ] || fail "the quickstart is not ready after five minutes: see $LOG"
}

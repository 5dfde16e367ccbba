#!/usr/bin/env bash
# Runs Examples/backend.sh against a demonstration, and looks that docs/moving-in.md prints it as it is.
#   Tests/Scripts/backend.sh BIN LOG
set -euo pipefail

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
BIN=${1:?the folder of the programs}
LOG=${2:?the file for what is printed}
ENV_FILE="$ROOT/.pushline/quickstart.env"
QUICKSTART=

fail() {
    printf 'backend.sh: %s\n' "$*" >&2
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

# Backquotes that are text.
# shellcheck disable=SC2016
sed -n '/^```bash$/,/^```$/p' "$ROOT/docs/moving-in.md" | sed '1d;$d' | diff -u "$ROOT/Examples/backend.sh" - >"$LOG" ||
    fail "docs/moving-in.md prints another script than Examples/backend.sh: see $LOG"

PUSHLINE_BIN=$BIN "$ROOT/deploy/quickstart" --stay >>"$LOG" 2>&1 </dev/null &
QUICKSTART=$!
for _ in $(seq 1 600); do
    if [ -s "$ENV_FILE" ]; then break; fi
    kill -0 "$QUICKSTART" 2>/dev/null || fail "the quickstart ended: see $LOG"
    sleep 0.2
done
[ -s "$ENV_FILE" ] || fail "the quickstart is not ready after two minutes: see $LOG"

# shellcheck source=/dev/null
(set -a && . "$ENV_FILE" && "$ROOT/Examples/backend.sh") >>"$LOG" 2>&1 || fail "the example failed: see $LOG"
for line in '{"state":"completed","totals":{"targets":1000,"accepted":1000' '"targets":0' \
    '{"kind":"register","state":"completed","result":{"status":"done"}}'; do
    grep -qF "$line" "$LOG" || fail "what the example prints lacks $line: see $LOG"
done
# To the one whose device is gone, and to the one who is.
[ "$(grep -cF '"targets":0' "$LOG")" -ge 2 ] || fail "the send to the removed user finds a target: see $LOG"

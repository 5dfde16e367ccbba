#!/usr/bin/env bash
# Does against a demonstration what the documents say: Examples/backend.sh, the curl of docs/hub.md, an SDK of Azure Notification Hubs,
# and the dashboard's queries.
#   Tests/Scripts/quickstart.sh BIN LOG VENV FOLDER TOOLS
set -euo pipefail

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
BIN=${1:?the folder of the programs}
LOG=${2:?the file for what is printed}
VENV=${3:?the environment of Python with azure-notification-hub-unofficial}
FOLDER=${4:?the folder of the demonstration}
TOOLS=${5:?the folder of Prometheus}
# shellcheck source=Tests/Scripts/demonstration.sh
. "$ROOT/Tests/Scripts/demonstration.sh"

: >"$LOG"
demonstration_start

# Backquotes that are text.
# shellcheck disable=SC2016
sed -n '/^```sh$/,/^```$/p' "$ROOT/docs/hub.md" | sed "1d;\$d;s|^\. \.pushline/quickstart\.env\$|. '$ENV_FILE'|" >"$LOG.hub"
grep -qF "$ENV_FILE" "$LOG.hub" || fail "the curl of docs/hub.md does not read .pushline/quickstart.env"
(cd "$ROOT" && bash -euo pipefail "$LOG.hub") >"$LOG.answer" 2>&1 || fail "the curl of docs/hub.md failed: see $LOG.answer"
grep -q '^HTTP/[0-9.]* 201' "$LOG.answer" || fail "the hub does not take what docs/hub.md sends: see $LOG.answer"

# Nothing of the SDK is changed: it trusts what the variable names. It reads one page of registrations, so it comes before there are many.
# shellcheck source=/dev/null
(set -a && . "$ENV_FILE" && SSL_CERT_FILE=$PUSHLINE_CA "$VENV/bin/python3" "$ROOT/Tests/Scripts/hub-sdk.py") >>"$LOG" 2>&1 ||
    fail "the SDK of Azure Notification Hubs does not work with pushline-hub: see $LOG"
grep -q '^done: ' "$LOG" || fail "the SDK's calls did not come to their end: see $LOG"

# shellcheck source=/dev/null
(set -a && . "$ENV_FILE" && "$ROOT/Examples/backend.sh") >>"$LOG" 2>&1 || fail "the example failed: see $LOG"
for line in '{"state":"completed","totals":{"targets":1000,"accepted":1000' '"targets":0' \
    '{"kind":"register","state":"completed","result":{"status":"done"}}'; do
    grep -qF "$line" "$LOG" || fail "what the example prints lacks $line: see $LOG"
done
# To the one whose device is gone, and to the one who is.
[ "$(grep -cF '"targets":0' "$LOG")" -ge 2 ] || fail "the send to the removed user finds a target: see $LOG"

# Last: there are series of all that was done.
"$ROOT/Tests/Scripts/scrape.sh" "$TOOLS" "$ENV_FILE" "$LOG.prometheus" >"$LOG.dashboard" ||
    fail "the dashboard or the alerts do not fit what is running"

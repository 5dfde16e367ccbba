#!/usr/bin/env bash
# Runs a page in Firefox and Chromium against a demonstration.
#   Tests/Scripts/browser.sh BIN LOG VENV WORK FOLDER SCRIPT [OPTION...]
set -euo pipefail

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
BIN=${1:?the folder of the programs}
LOG=${2:?the file for what the demonstration prints}
VENV=${3:?the environment of Python with axe-playwright-python}
WORK=${4:?the folder for profiles, logs and screenshots}
FOLDER=${5:?the folder of the demonstration}
SCRIPT=${6:?what is done with the page: run.py for the one of the app, console.py for the console}
# shellcheck source=Tests/Scripts/demonstration.sh
. "$ROOT/Tests/Scripts/demonstration.sh"

# shellcheck source=deploy/lib/chaos.sh
. "$ROOT/deploy/lib/chaos.sh"

PYTHON=$(chaos_python)
: >"$LOG"
demonstration_start
rm -rf "$WORK"
mkdir -p "$WORK/images"
# The package is only the wrapping of axe.min.js: nothing of Playwright is used.
AXE=$(find "$VENV" -name axe.min.js | head -n 1)
[ -n "$AXE" ] || fail "axe.min.js is not in $VENV"
"$PYTHON" "$ROOT/Tests/Browser/$SCRIPT" "$BIN" "$ENV_FILE" "$AXE" "$WORK/run" "$WORK/images" "${@:7}"

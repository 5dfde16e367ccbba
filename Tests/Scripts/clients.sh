#!/usr/bin/env bash
# Makes the clients of docs/clients.md as it says, from what a demonstration serves; compiles them, and runs its examples and those in
# Tests/Scripts/clients against the demonstration.
#   Tests/Scripts/clients.sh BIN VENV FOLDER
set -euo pipefail

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
BIN=${1:?the folder of the programs}
VENV=${2:?the environment of Python with openapi-generator-cli and openapi-spec-validator}
WORK=${3:?the folder for what it writes}
LOG="$WORK/clients.log"
FOLDER="$WORK/quickstart"
MADE="$WORK/made"
# shellcheck source=Tests/Scripts/demonstration.sh
. "$ROOT/Tests/Scripts/demonstration.sh"

# Prints the document's only example in a language.
#   example LANGUAGE
example() { sed -n "/^\`\`\`$1\$/,/^\`\`\`\$/p" "$ROOT/docs/clients.md" | sed '1d;$d'; }

# Runs a command in a folder, or ends the test.
#   step FOLDER WHAT COMMAND...
step() {
    printf '%s\n' "== $2" >>"$LOG"
    (cd "$1" && "${@:3}") >>"$LOG" 2>&1 || fail "$2 does not work: see $LOG"
}

# Runs a command that must print a line.
#   step_printing LINE FOLDER WHAT COMMAND...
step_printing() {
    step "${@:2}"
    [ "$(tail -n 1 "$LOG")" = "$1" ] || fail "$3 prints \"$(tail -n 1 "$LOG")\" in place of \"$1\": see $LOG"
}

# A program of Go, which has nothing but the made client and the standard library.
#   go_program NAME SOURCE
go_program() {
    mkdir -p "$MADE/$1"
    cp "$2" "$MADE/$1/main.go"
    printf 'module example.com/%s\n\ngo 1.19\n\nrequire example.com/team/pushline v0.0.0\n\nreplace example.com/team/pushline => ../go\n' "$1" >"$MADE/$1/go.mod"
    step "$MADE/$1" "the Go of $1" go build -o program .
}

rm -rf "$MADE"
mkdir -p "$MADE"
: >"$LOG"
export GOPROXY=off GOFLAGS=-mod=mod GOCACHE="$WORK/go-cache" PATH="$VENV/bin:$PATH"
demonstration_start
set -a
# shellcheck source=/dev/null
. "$ENV_FILE"
set +a

example sh >"$MADE/make.sh"
step "$MADE" "making the clients" bash -euo pipefail make.sh
step "$MADE" "the description for generators" openapi-spec-validator openapi-clients.yaml
step "$MADE" "the API's description" curl -fsSO "$PUSHLINE_URL/openapi.yaml"
step "$MADE" "the API's description" openapi-spec-validator openapi.yaml

# Of alice's devices in the demonstration one is at APNs and one at FCM.
example python >"$MADE/first.py"
step_printing "completed 2" "$MADE" "the first send in Python" env PYTHONPATH=python python3 first.py
step_printing "done: Python" "$MADE" "check.py" env PYTHONPATH=python python3 "$ROOT/Tests/Scripts/clients/check.py"

step "$MADE/go" "the client in Go" go vet .
example go >"$MADE/first.go"
go_program first-go "$MADE/first.go"
step_printing "completed 2" "$MADE" "the first send in Go" first-go/program
go_program check-go "$ROOT/Tests/Scripts/clients/check.go"
step_printing "done: Go" "$MADE" "check.go" check-go/program

step "$MADE/typescript" "the client in TypeScript" tsc --project .
mkdir -p "$MADE/node_modules"
ln -s ../typescript "$MADE/node_modules/pushline-client"
{
    # What Node's own types would say.
    printf 'declare const process: { env: Record<string, string> };\n'
    example ts
} >"$MADE/first.ts"
step "$MADE" "the example in TypeScript" tsc --strict --target es2022 --module commonjs --moduleResolution node --skipLibCheck first.ts
step_printing "completed 2" "$MADE" "the first send in TypeScript" node first.js

printf '%s operations: Python, Go and TypeScript send; Python and Go wait, list and read refusals.\n' "$(grep -c '^ *operationId:' "$MADE/openapi-clients.yaml")"

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
# Android's own, of Debian's libandroid-json-java.
JSON=/usr/share/java/com.android.json.jar
MADE="$WORK/made"
# shellcheck source=Tests/Scripts/demonstration.sh
. "$ROOT/Tests/Scripts/demonstration.sh"

# Prints the document's example in a language, where there are several the one that has a word.
#   example LANGUAGE [WORD]
example() {
    awk -v fence="\`\`\`$1" -v word="${2-}" '
        $0 == fence { inside = 1; text = ""; next }
        inside && $0 == "```" { inside = 0; if (word == "" || index(text, word)) printf "%s", text }
        inside { text = text $0 "\n" }' "$ROOT/docs/clients.md"
}

# The same of an app's or a page's, which has an address of its own in it.
example_here() { example "$@" | sed "s|https://push.example.com|$PUSHLINE_URL|"; }

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
export GOPROXY=off GOFLAGS=-mod=mod GOCACHE="$WORK/go-cache" GOMODCACHE="$WORK/go-modules" PATH="$VENV/bin:$PATH"
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

mkdir -p "$MADE/node_modules"
ln -s ../typescript "$MADE/node_modules/pushline-client"
{
    # What Node's own types would say.
    printf 'declare const process: { env: Record<string, string> };\n'
    example ts
} >"$MADE/first.ts"
step "$MADE" "the example in TypeScript" tsc --strict --target es2022 --module commonjs --moduleResolution node --skipLibCheck first.ts
step_printing "completed 2" "$MADE" "the first send in TypeScript" node first.js

example java "class FirstSend" >"$MADE/FirstSend.java"
step_printing "completed 2" "$MADE" "the first send in Java" \
    bash -euo pipefail -c 'java FirstSend.java | jq -er "\"\(.state) \(.totals.accepted)\""'

# What apps and pages do at their start, as carol.
carol=$(tr ',' '\n' <<<"$PUSHLINE_USERS" | sed -n 's/^carol://p')
{
    cat "$ROOT/Tests/Scripts/clients/page.js"
    example_here js "async function register"
    printf 'register("carol", process.env.PASSWORD).then(() => console.log(localStorage.pushline));\n'
} >"$MADE/register.js"
subscription=$(curl -fsS --cacert "$FOLDER/simulator/ca.pem" -X POST "$(jq -r .urls.web "$FOLDER/run/simulator.json")/subscriptions/carol" | jq -r .handle)
step "$MADE" "registering a browser" env HANDLE="$subscription" PASSWORD="$carol" node register.js
browser=$(tail -n 1 "$LOG")
curl -fsS -u "carol:$carol" "$PUSHLINE_URL/api/registrations/$browser" | jq -e '.service == "web"' >>"$LOG" ||
    fail "the page's browser is not registered: see $LOG"

{
    printf 'import %s\n' java.net.HttpURLConnection java.net.URL java.util.Base64 org.json.JSONObject
    example_here kotlin
    printf 'fun main(words: Array<String>) = println(register(words[0], words[1], words[2], words[3]))\n'
} >"$MADE/register.kt"
step "$MADE" "the Kotlin of an app" kotlinc register.kt -cp "$JSON" -include-runtime -d register.jar
step_printing 200 "$MADE" "registering a device in Kotlin" java -cp "register.jar:$JSON" RegisterKt \
    "fcm-$(openssl rand -hex 32):APA91b$(openssl rand -hex 32)" "$(cat /proc/sys/kernel/random/uuid)" carol "$carol"

printf '%s operations: Python, Go, TypeScript and Java send; Python and Go wait, list and read refusals; Kotlin and a page register.\n' "$(grep -c '^ *operationId:' "$MADE/openapi-clients.yaml")"

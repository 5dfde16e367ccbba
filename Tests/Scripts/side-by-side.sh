#!/usr/bin/env bash
# A demonstration (deploy/quickstart --stay) that runs is left alone by whatever is started beside it: a second one, deploy/test's, --clean.
# In a copy of the scripts, with `sleep` in place of the programs: needs a few seconds, no build and no broker.
set -euo pipefail

SOURCE=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
WORK=$(mktemp -d)
ROOT="$WORK/checkout"
FAILED=0

# shellcheck disable=SC2317  # called by the trap
cleanup() {
    # shellcheck disable=SC2046  # a word each
    kill -TERM $(jobs -p) 2>/dev/null || true
    wait
    rm -rf "$WORK"
}
trap cleanup EXIT

check() {
    if [ "$2" = "$3" ]; then return; fi
    printf '%s: %s, and not %s\n' "$1" "$2" "$3" >&2
    FAILED=1
}

# Succeeds once a command does, within 20 s.
await() {
    for _ in {1..200}; do
        if "$@"; then return; fi
        sleep 0.1
    done
    printf 'in vain was awaited: %s\n' "$*" >&2
    exit 1
}

mkdir -p "$ROOT/Tests" "$ROOT/.pushline/build/release"
cp -r "$SOURCE/deploy" "$ROOT/deploy"
cp -r "$SOURCE/Tests/Scripts" "$ROOT/Tests/Scripts"
cp "$(command -v sleep)" "$ROOT/.pushline/build/release/pushline-api"
cat >"$WORK/stubs.sh" <<'STUBS'
prepare() { :; }
build() { :; }
start_broker() { BROKER_URL=amqp://nowhere; }
start_simulator() { SIMULATOR_URL=http://nowhere WNS_CHANNEL=https://nowhere; }
trust_browsers() { :; }
declare_app() { declare -gA PASSWORDS=([alice]=1 [bob]=2 [carol]=3) && USERS=alice:1 OPERATOR_KEY=o SENDER_KEY=s; }
start_hub() { HUB_CONNECTION=Endpoint=sb://nowhere; }
start_pushline() { process_start api "$SCRATCH/release/pushline-api" 600; }
demo_run() { :; }
STUBS
# What needs no more than the shell is as it is: arguments, folders, the lock, the end.
sed -i "/^check_folder\$/i . '$WORK/stubs.sh'" "$ROOT/deploy/quickstart"
grep -qF "$WORK/stubs.sh" "$ROOT/deploy/quickstart" || {
    echo "the quickstart has no line check_folder any more, before which its steps can be replaced" >&2
    exit 1
}

# All that one has, but its logs: what is in its files, and when they were written.
state_of() { (cd "$ROOT/.pushline" && find "$1" "$1.env" ! -path '*/logs' ! -path '*/logs/*' -printf '%p %i %T@\n' 2>/dev/null | sort); }

# Becomes one.
quickstart() { exec "$ROOT/deploy/quickstart" "$@" </dev/null; }

a_second_in_the_same_folder_says_so_and_touches_nothing() {
    local status=0 before argument
    for argument in "" --stay --clean; do
        before=$(state_of quickstart)
        status=0
        # shellcheck disable=SC2086  # none is none
        (quickstart $argument) >"$WORK/second.out" 2>&1 || status=$?
        check "the status of a second quickstart $argument" "$status" 1
        check "its words" "$(grep -cE "running already|runs a program" "$WORK/second.out")" 1
        check "what is left after it" "$(state_of quickstart)" "$before"
    done
    (quickstart --stay) >"$WORK/second.out" 2>&1 || true
    check "the way out that it names" "$(grep -c -- "process $FIRST).*--folder" "$WORK/second.out")" 1
}

a_second_in_its_own_folder_runs_beside_it() {
    local before second
    before=$(state_of quickstart)
    quickstart --stay --folder "$ROOT/.pushline/another" >"$WORK/beside.out" 2>&1 &
    second=$!
    await grep -q 'Metrics:' "$WORK/beside.out"
    check "what it says of its addresses" "$(grep -c 'are in .pushline/another.env' "$WORK/beside.out")" 1
    kill -TERM "$second"
    wait "$second" || true
    check "its addresses after its end" "$([ ! -e "$ROOT/.pushline/another.env" ] || echo there)" ""
    (quickstart --clean --folder "$ROOT/.pushline/another") >/dev/null
    check "its folder after --clean" "$([ ! -e "$ROOT/.pushline/another" ] || echo there)" ""
    check "what the first one has" "$(state_of quickstart)" "$before"
    check "the first one runs" "$(kill -0 "$FIRST" && echo yes)" yes
}

# As deploy/test starts it.
the_tests_have_a_demonstration_of_their_own() {
    local before
    before=$(state_of quickstart)
    # shellcheck disable=SC2016  # for the shell that is started
    bash -euo pipefail -c '. "$1/Tests/Scripts/demonstration.sh" && demonstration_start && grep -qx "PUSHLINE_LOGS=$FOLDER/logs" "$ENV_FILE"' \
        sh "$ROOT" >"$WORK/test.out" 2>&1 || check "the status of the test's demonstration" "$?" 0
    check "what the first one has" "$(state_of quickstart)" "$before"
    check "who is named by a test" "$(grep -lF '.pushline/quickstart"' "$ROOT"/Tests/Scripts/*.sh "$ROOT/deploy/test" "$ROOT/deploy/fuzz" |
        grep -v side-by-side)" ""
}

a_folder_of_somebody_else_is_refused() {
    local status=0
    mkdir "$WORK/mine"
    echo precious >"$WORK/mine/file"
    (quickstart --folder "$WORK/mine") >"$WORK/mine.out" 2>&1 || status=$?
    check "the status" "$status" 1
    check "the file" "$(cat "$WORK/mine/file")" precious
}

export ROOT BIN="$ROOT/.pushline/build/release" LOG="$WORK/demonstration.log" FOLDER="$ROOT/.pushline/test/quickstart"
unset PUSHLINE_BIN
quickstart --stay >"$WORK/first.out" 2>&1 &
FIRST=$!
await grep -q 'Metrics:' "$WORK/first.out"
a_second_in_the_same_folder_says_so_and_touches_nothing
a_second_in_its_own_folder_runs_beside_it
the_tests_have_a_demonstration_of_their_own
a_folder_of_somebody_else_is_refused
kill -TERM "$FIRST"
wait "$FIRST" || true
(quickstart --clean) >/dev/null
check "what is left in the end" "$(find "$ROOT/.pushline" -mindepth 1 -maxdepth 1 ! -name test)" ""
exit "$FAILED"

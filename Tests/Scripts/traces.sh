#!/usr/bin/env bash
# Follows one send, one campaign and two sends that share a message, of a demonstration: a small collector keeps what the programs export,
# and OpenTelemetry's own messages read it back. Prints the traces as text.
#   Tests/Scripts/traces.sh BIN VENV FOLDER
set -euo pipefail

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
BIN=${1:?the folder of the programs}
VENV=${2:?the environment of Python with opentelemetry-proto}
WORK=${3:?the folder for what it writes}
LOG="$WORK/traces.log"
FOLDER="$WORK/quickstart"
SPANS="$WORK/spans"
# shellcheck source=Tests/Scripts/demonstration.sh
. "$ROOT/Tests/Scripts/demonstration.sh"

CALLER=00f067aa0ba902b7

# Asks the API as the sender.
#   api METHOD PATH CURL-ARGUMENTS...
api() {
    curl -sS --fail-with-body --max-time 60 -X "$1" -H "Authorization: Bearer ${KEY:-$PUSHLINE_SENDER_KEY}" "${@:3}" "$PUSHLINE_URL$2" ||
        fail "$1 $2 failed: see $LOG"
}

# Sends under a caller's span, and waits until all devices have their outcome.
#   traced TRACE BODY
traced() {
    local job state
    job=$(api POST /api/sends -H 'Content-Type: application/json' -H "traceparent: 00-$1-$CALLER-01" -d "$2" | jq -r .id)
    for _ in $(seq 1 600); do
        state=$(api GET "/api/jobs/$job" | jq -r .state)
        if [ "$state" = completed ]; then return; fi
        sleep 0.1
    done
    fail "job $job is $state"
}

# Sends at the same time, each in a trace of its own: while one is written the others gather, and share a message.
#   burst TRACE...
burst() {
    local trace number=0 between=()
    rm -f "$WORK"/burst*
    for trace in "$@"; do
        number=$((number + 1))
        printf '%s\n' "${between[@]}" "url = $PUSHLINE_URL/api/sends" "header = \"Authorization: Bearer $PUSHLINE_SENDER_KEY\"" \
            'header = "Content-Type: application/json"' 'header = "Prefer: wait=30"' "header = \"traceparent: 00-$trace-$CALLER-01\"" \
            'data = "{\"to\":{\"user\":\"alice\"},\"body\":\"one of many\"}"' "output = $WORK/burst.$number" silent show-error fail 'max-time = 60'
        between=(next)
    done >"$WORK/burst"
    curl --parallel --parallel-immediate --config "$WORK/burst" 2>>"$LOG" || fail "sends at the same time failed: see $LOG"
    jq -es 'all(.state == "completed")' "$WORK"/burst.* >>"$LOG" || fail "sends at the same time are not done: see $WORK/burst.*"
}

# Draws the first of some traces that is as it must be, once all of it is there.
#   draw SECONDS TRACES WHAT SPANS...
draw() {
    local status
    for _ in $(seq 1 $((2 * $1))); do
        status=0
        "$VENV/bin/python3" "$ROOT/Tests/Scripts/traces/draw.py" "$SPANS" "$2" "$CALLER" "${@:3}" >"$WORK/drawn" 2>>"$LOG" || status=$?
        case $status in
        0)
            cat "$WORK/drawn"
            return
            ;;
        1) sleep 0.5 ;;
        *) fail "a span is not as it must be: see $LOG and $SPANS" ;;
        esac
    done
    return 1
}

# The same, or ends the test.
#   drawn TRACE WHAT SPANS...
drawn() { draw 30 "$@" || fail "the trace of $2 is not whole: see $LOG and $SPANS"; }

rm -rf "$SPANS" "$WORK/port"
mkdir -p "$SPANS"
: >"$LOG"
# It ends with this.
python3 "$ROOT/Tests/Scripts/traces/collector.py" "$SPANS" "$WORK/port" >>"$LOG" 2>&1 &
for _ in $(seq 1 100); do
    if [ -s "$WORK/port" ]; then break; fi
    sleep 0.1
done
[ -s "$WORK/port" ] || fail "the collector does not start: see $LOG"
# What the demonstration sends by itself has no caller, and is not recorded.
OTEL_EXPORTER_OTLP_ENDPOINT="http://127.0.0.1:$(cat "$WORK/port")"
export OTEL_EXPORTER_OTLP_ENDPOINT OTEL_TRACES_SAMPLER=parentbased_always_off
demonstration_start
set -a
# shellcheck source=/dev/null
. "$ENV_FILE"
set +a

for number in $(seq 1 2500); do
    printf '{"service":"fcm","handle":"traces:%s","user":"dora","tags":["traces"]}\n' "$number"
done >"$WORK/devices"
KEY=$PUSHLINE_OPERATOR_KEY api POST /api/registrations/import -H 'Content-Type: application/x-ndjson' --data-binary @"$WORK/devices" >>"$LOG"

ONE=4bf92f3577b34da6a3ce929d0e0e4736
MANY=0af7651916cd43dd8448eb211c80319c
traced "$ONE" '{"to":{"user":"alice"},"body":"one send"}'
traced "$MANY" '{"to":{"tag":"traces"},"body":"a campaign"}'
# Of alice's devices one is at APNs and one at FCM.
drawn "$ONE" "One send to a user with two devices" 'POST /api/sends' 'push apns' 'push fcm' 'process pushline.send' '2*process pushline.deliver'
printf '\n'
drawn "$MANY" "A campaign to 2,500 devices" 'POST /api/sends' '3*push fcm' '3*process pushline.deliver' 'process pushline.send'

printf '\n'
# Nothing but the time decides which of them share a message: one burst nearly always has some.
for round in 1 2 3 4 5; do
    traces=()
    for number in $(seq 1 16); do traces+=("$(printf '%032x' $((round * 100 + number)))"); done
    burst "${traces[@]}"
    if draw 15 "$(IFS=,; printf '%s' "${traces[*]}")" "Sends of several requests that share a message" \
        'POST /api/sends' '~process pushline.send' '2*~process pushline.deliver' 'push apns' 'push fcm'; then
        exit
    fi
done
fail "no two of many sends at the same time shared a message: see $LOG and $SPANS"

#!/usr/bin/env bash
# Follows one send and one campaign of a demonstration: a small collector keeps what the programs export, and OpenTelemetry's own messages
# read it back. Prints both traces as text.
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

# Draws a trace, once all of it is there.
#   drawn TRACE WHAT SPANS...
drawn() {
    local status
    for _ in $(seq 1 60); do
        status=0
        "$VENV/bin/python3" "$ROOT/Tests/Scripts/traces/draw.py" "$SPANS" "$1" "$CALLER" "${@:2}" >"$WORK/drawn" 2>>"$LOG" || status=$?
        case $status in
        0)
            cat "$WORK/drawn"
            return
            ;;
        1) sleep 0.5 ;;
        *) break ;;
        esac
    done
    fail "the trace of $2 is not whole: see $LOG and $SPANS"
}

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

#!/usr/bin/env bash
# The disaster, with a real installation under load: a backup, more work, everything stopped, the backup restored, an empty broker. What was
# accepted before the backup is there and completes, a device gets a push at most once more, with the same apns-id; and nothing of it
# goes out with --stop-unfinished. Its last line has the figures.
#   Tests/Scripts/restore.sh BIN FOLDER
set -euo pipefail

# shellcheck source=deploy/lib/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/../../deploy/lib/common.sh"
# shellcheck source=deploy/lib/broker.sh
. "$ROOT/deploy/lib/broker.sh"
# shellcheck source=deploy/lib/processes.sh
. "$ROOT/deploy/lib/processes.sh"

BIN=${1:?the folder of the programs}
FOLDER=${2:?the folder for what it writes}
LOGS="$FOLDER/logs"
RUN="$FOLDER/run"
STORE="$FOLDER/store.sqlite"
BACKUP="$FOLDER/backup.sqlite"
PROGRAMS=(api register-worker send-worker delivery-worker)
DRILL=(python3 "$ROOT/Tests/Scripts/restore.py" "$FOLDER")
LOAD=

finish() {
    local status=$?
    trap - EXIT
    trap '' INT TERM HUP
    set +eu
    if [ -n "$LOAD" ]; then kill -TERM "$LOAD" 2>/dev/null; fi
    process_stop_all
    if [ -n "${BROKER_STARTED-}" ]; then broker_stop "$FOLDER/broker" 2>/dev/null; fi
    end_marked "$FOLDER"
    exit "$status"
}

# A node with nothing in it, at another address each time.
start_broker() {
    rm -rf "$FOLDER/broker"
    BROKER_STARTED=yes
    broker_start "$FOLDER/broker" {LOCK_FD}>&- || die "RabbitMQ did not start. Its log is under $FOLDER/broker/log"
}

start_simulator() {
    process_start simulator "$BIN/pushline-simulator" --folder "$FOLDER/simulator" --state "$RUN/simulator.json"
    until [ -s "$RUN/simulator.json" ]; do
        process_running simulator || die "the simulator ended. Its log is $LOGS/simulator.log"
        sleep 0.05
    done
    SIMULATOR_URL=$(jq -r .urls.control "$RUN/simulator.json")
}

settings() {
    SETTINGS=(
        "PUSHLINE_STORE_PATH=$STORE" "PUSHLINE_BROKER_URL=$BROKER_URL" "PUSHLINE_API_PORT=$PORT" PUSHLINE_WORKERS_REGISTER_PORT=0
        PUSHLINE_WORKERS_SEND_PORT=0 PUSHLINE_WORKERS_DELIVERY_PORT=0
    )
}

cli() { env "${SETTINGS[@]}" "$BIN/pushline" "$@" --config "$ROOT/Config/pushline.yaml" 2>>"$LOGS/cli.log"; }

run_cli() { cli "$@" || die "pushline $1 $2 failed: $(tail -n 1 "$LOGS/cli.log")"; }

# Limits of single keys are not what is tried here.
declare_app() {
    sed 's/^  default:$/&\n    requests_per_second: 100000/' "$FOLDER/simulator/apps.yaml" >"$FOLDER/apps.yaml"
    run_cli apps apply "$FOLDER/apps.yaml" >/dev/null
    KEY=$(run_cli keys create drill --role operator)
    export PUSHLINE_KEY="$KEY" PUSHLINE_URL="http://127.0.0.1:$PORT" SIMULATOR_URL
}

start_pushline() {
    local name
    settings
    for name in "${PROGRAMS[@]}"; do
        process_start "$name" env "${SETTINGS[@]}" "$BIN/pushline-$name" --config "$ROOT/Config/pushline.yaml"
    done
    process_ready api "$PUSHLINE_URL/readyz"
}

# Everything but the simulator, which knows what has arrived.
stop_pushline() {
    local name
    for name in "${PROGRAMS[@]}"; do kill -TERM "${PROCESS_PIDS[$name]}"; done
    for name in "${PROGRAMS[@]}"; do
        wait "${PROCESS_PIDS[$name]}" || die "$name did not end in order. Its log is $LOGS/$name.log"
    done
    PROCESS_NAMES=(simulator)
    broker_stop "$FOLDER/broker"
    mkdir -p "$FOLDER/old"
    mv -f "$STORE"* "$FOLDER/old/"
}

check_store() { cli store check >"$LOGS/check.log" || die "pushline store check: $(tail -n 3 "$LOGS/check.log")"; }

# Puts the backup back as docs/operations.md says; what it says of unfinished sends is in the file.
#   restore FILE [OPTION]
restore() {
    local file=$1
    shift
    start_broker
    settings
    run_cli store restore "$@" --format json "$BACKUP" >"$file"
    check_store
    start_pushline
}

only_one "$FOLDER" "the drill of restoring in $FOLDER"
end_marked "$FOLDER"
trap finish EXIT
trap 'process_interrupted 130' INT
trap 'process_interrupted 143' TERM HUP
empty_folder "$FOLDER"
mkdir -p "$LOGS" "$RUN"
chmod 700 "$FOLDER"
mark_run "$FOLDER"
START=$SECONDS
PORT=$(broker_free_port)

start_broker
start_simulator
settings
declare_app
start_pushline
"${DRILL[@]}" prepare
"${DRILL[@]}" load {LOCK_FD}>&- &
LOAD=$!
"${DRILL[@]}" await-load
date +%s.%N >"$RUN/backup-begins"
run_cli store backup "$BACKUP" >"$LOGS/backup.log"
date +%s.%N >"$RUN/backup-ends"
sleep 4
kill -TERM "$LOAD"
wait "$LOAD" || die "the load found something wrong: see the lines above"
LOAD=
stop_pushline

restore "$RUN/restored.json"
"${DRILL[@]}" judge
check_store
stop_pushline

restore "$RUN/stopped.json" --stop-unfinished
"${DRILL[@]}" judge-stopped
check_store
stop_pushline
say "$(cat "$RUN/figures"); $((SECONDS - START)) s"

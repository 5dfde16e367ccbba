# shellcheck shell=bash
# Runs Tests/Chaos with a broker and a disk of its own. To be sourced after common.sh, broker.sh, prepare.sh and postgres.sh.
#
#   chaos_packages                     adds what it needs to the packages of `prepare`
#   chaos_run DIR BIN ARGUMENTS...     runs it in DIR with the programs of BIN; fails where something did not hold
#   chaos_stop                         ends what is left of it

CHAOS_PID=
CHAOS_BROKER=
CHAOS_SERVER=
# Where the store is: file or postgresql.
CHAOS_STORE="file"
# What is run, but for three hosts.
CHAOS_SCRIPT="$ROOT/Tests/Chaos"
# What all programs read.
CHAOS_CONFIG="$ROOT/Config/pushline.yaml"
# Where the programs are that begin, if those of BIN come later: they make the tables, which are then of their version.
CHAOS_OLDER=

chaos_packages() { PREPARE_PACKAGES+=(python3 python3-pika util-linux); }

# Prints a Python that has what the package brought: another may come first on the PATH.
chaos_python() {
    local python
    for python in /usr/bin/python3 python3; do
        if "$python" -c 'import pika' 2>/dev/null; then
            printf '%s\n' "$python"
            return 0
        fi
    done
    die "Python's pika is missing: apt-get install python3-pika"
}

# Becomes a shell that may mount; fails where this machine lets nobody.
#   chaos_unshare COMMAND...
chaos_unshare() {
    if [ "$(id -u)" -eq 0 ]; then exec unshare -m "$@"; else exec unshare -rm "$@"; fi
}

# A program that was told to die at its first commit, and goes on, would pass each crash point by.
chaos_check_points() {
    local dir=$1/points bin=$2 status=0
    rm -rf "$dir"
    mkdir -p "$dir"
    printf 'apps:\n  default: {}\n' >"$dir/apps.yaml"
    (
        PUSHLINE_STORE_PATH="$dir/store.sqlite" PUSHLINE_CRASH_AT=store.committing \
            "$bin/pushline" apps apply "$dir/apps.yaml" --config "$ROOT/Config/pushline.yaml"
        # A command of its own, so that this shell outlives the other and says here, and not on the terminal, how it ended.
        exit $?
    ) >"$dir/log" 2>&1 || status=$?
    case $status in
    137) ;;
    0) die "--every-point needs crash points, and the programs in $bin have none: they are built for release. Without PUSHLINE_BIN this \
builds others, or name the folder of a debug build (.build/debug)" ;;
    *) die "$bin/pushline fails: $(tail -n 1 "$dir/log")" ;;
    esac
    rm -rf "$dir"
}

chaos_run() {
    local dir=$1 bin=$2 status=0 disk=() server=() python
    python=$(chaos_python)
    shift 2
    rm -rf "$dir/broker" "$dir/run"
    mkdir -p "$dir/run/data"
    chmod 700 "$dir"
    case " $* " in *" --every-point "*) chaos_check_points "$dir" "$bin" ;; esac
    CHAOS_BROKER="$dir/broker"
    broker_certificates "$dir/run/hub" || die "the hub's certificates could not be made"
    broker_start "$CHAOS_BROKER" {LOCK_FD}>&- || die "RabbitMQ did not start. Its log is under ${CHAOS_BROKER#"$ROOT"/}/log"
    # shellcheck disable=SC2016  # for the shell that is started
    if [ "$CHAOS_STORE" = postgresql ]; then
        CHAOS_SERVER="$dir/postgres"
        postgres_admit "$dir"
        postgres_start_one "$CHAOS_SERVER" "$dir/run" {LOCK_FD}>&- || die "PostgreSQL did not start. Its log is ${CHAOS_SERVER#"$ROOT"/}/server.log"
        postgres_make_tables "$CHAOS_SERVER" "${CHAOS_OLDER:-$bin}/pushline" "$CHAOS_CONFIG" >"$dir/run/migrate.log" 2>&1 ||
            die "the tables could not be made: $(tail -n 1 "$dir/run/migrate.log")"
        server=(--server "$CHAOS_SERVER")
    # A small disk of the store's own, to be filled and made read-only.
    elif (chaos_unshare sh -c 'mount -t tmpfs -o size=192m tmpfs "$1"' sh "$dir/run/data") 2>/dev/null; then
        disk=(--own-disk)
    else
        say "Nobody may mount here: a full disk and a read-only file system are not tried."
    fi
    # A session of its own: an interrupt at the terminal reaches this script alone, which then ends it in order.
    (
        exec {LOCK_FD}>&-
        export PYTHONDONTWRITEBYTECODE=1 PYTHONPATH="$ROOT/deploy/lib"
        command=("$python" "$CHAOS_SCRIPT" --folder "$dir/run" --bin "$bin" --config "$CHAOS_CONFIG"
            --root "$ROOT" --broker "$CHAOS_BROKER" "${disk[@]}" "${server[@]}" "$@")
        if [ "${#disk[@]}" -eq 0 ]; then exec setsid "${command[@]}"; fi
        # shellcheck disable=SC2016
        chaos_unshare setsid sh -c 'mount -t tmpfs -o size=192m tmpfs "$1" && shift && exec "$@"' sh "$dir/run/data" "${command[@]}"
    ) </dev/null &
    CHAOS_PID=$!
    wait "$CHAOS_PID" || status=$?
    CHAOS_PID=
    broker_stop "$CHAOS_BROKER" 2>/dev/null || true
    CHAOS_BROKER=
    if [ -n "$CHAOS_SERVER" ]; then postgres_stop "$CHAOS_SERVER" 2>/dev/null || true; fi
    CHAOS_SERVER=
    return "$status"
}

chaos_stop() {
    if [ -n "$CHAOS_PID" ]; then
        kill -TERM "$CHAOS_PID" 2>/dev/null
        wait "$CHAOS_PID"
    fi
    if [ -n "$CHAOS_BROKER" ]; then broker_stop "$CHAOS_BROKER" 2>/dev/null; fi
    if [ -n "$CHAOS_SERVER" ]; then postgres_stop "$CHAOS_SERVER" 2>/dev/null; fi
}

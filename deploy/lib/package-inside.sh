#!/usr/bin/env bash
# What deploy/package --check does inside the fresh Debian, as root, under its systemd: installs the older package, sends through it,
# updates it under load, gives it a step that contracts, purges it. /check has the packages; results go to the standard output.
set -euo pipefail

# shellcheck source=deploy/lib/common.sh
. /check/common.sh
# shellcheck source=deploy/lib/inside.sh
. /check/inside.sh

CONFIG=/etc/pushline/pushline.yaml
UNITS=(pushline-api@1 pushline-api@2 pushline-hub@1 pushline-register-worker@1 pushline-send-worker@1 pushline-delivery-worker@1)
WORK=/run/check

as_pushline() { (cd / && runuser -u pushline -- "$@"); }

# As an update by a machine: a configuration that was changed stays.
install_packages() {
    DEBIAN_FRONTEND=noninteractive apt-get -q install -y -o Dpkg::Options::=--force-confold "$@" </dev/null >>"$WORK/apt.log" 2>&1
}

install_older() {
    install_packages /check/older/*.deb || die "the package cannot be installed: $(tail -n 5 "$WORK/apt.log")"
    id pushline >/dev/null || die "there is no user pushline"
    if systemctl -q is-active 'pushline-*@*'; then die "something was started that nobody asked for"; fi
    say "Installed $(dpkg-query -W -f='${Version}' pushline)."
}

configure() {
    local password
    password=$(openssl rand -hex 16)
    wait_for "RabbitMQ answers" rabbitmqctl -q await_startup
    rabbitmqctl -q add_vhost pushline
    rabbitmqctl -q add_user pushline "$password"
    rabbitmqctl -q set_permissions -p pushline pushline '.*' '.*' '.*'
    sed -i "s|guest:guest@127.0.0.1:5672/|pushline:$password@127.0.0.1:5672/pushline|" "$CONFIG"
    systemctl -q enable --now pushline-simulator
    wait_for "the simulator serves" test -s /run/pushline-simulator/state.json
    as_pushline pushline apps apply /var/lib/pushline-simulator/apps.yaml --config "$CONFIG" >/dev/null
    PUSHLINE_KEY=$(as_pushline pushline keys create check --role sender --config "$CONFIG" 2>/dev/null)
    export PUSHLINE_KEY PUSHLINE_URL=$URL
    echo secret-of-alice | as_pushline pushline accounts add alice --role user --password-stdin --config "$CONFIG" >/dev/null 2>&1
    [ -s /usr/share/doc/pushline/docs/operations.md ] || die "the package has no documents"
    grep -q '^pushline send --user alice ' /usr/share/doc/pushline/README.Debian || die "the package has no first steps"
}

start() {
    local port
    systemctl -q enable --now pushline.target pushline-api@2 pushline-hub@1
    for port in 8080 8081 8082 8083; do wait_for "port $port is ready" curl -fsS "http://127.0.0.1:$port/readyz"; done
    wait_for "all units run" systemctl -q is-active "${UNITS[@]}"
    # A worker serves a moment before it consumes.
    wait_for "pushline doctor finds nothing wrong" as_pushline pushline doctor --config "$CONFIG"
    say "Services ready: ${UNITS[*]}."
}

send() { check_send "Sent" pushline send --user alice "From the package" --watch --format json; }

back_up() {
    systemctl start pushline-backup || die "the backup failed: $(journalctl -u pushline-backup -n 5 --no-pager -o cat)"
    compgen -G '/var/lib/pushline/backups/pushline-*.sqlite' >/dev/null || die "there is no backup"
    systemctl -q enable --now pushline-backup.timer
    wait_for "the backup's time is a metric" eval "curl -fsS http://127.0.0.1:8080/metrics | grep -q '^pushline_backup_timestamp_seconds '"
    say "Backed up by its unit."
}

# Sends until /run/check/stop is there; a line for each answer.
load() {
    while [ ! -e "$WORK/stop" ]; do
        curl -s -o "$WORK/answer.$1" -w '%{http_code} ' -H "Authorization: Bearer $PUSHLINE_KEY" -H 'Content-Type: application/json' \
            -d '{"to": {"user": "alice"}, "body": "Under load"}' "$URL/api/sends" || true
        jq -r '.id // .detail // "no answer"' "$WORK/answer.$1" 2>/dev/null || echo
    done >"$WORK/load.$1"
}

main_pids() { systemctl show -P MainPID "${UNITS[@]}" | grep .; }

update() {
    local before after sent job loads=()
    before=$(main_pids)
    load 1 &
    loads+=($!)
    load 2 &
    loads+=($!)
    sleep 2
    install_packages /check/newer/*.deb || die "the update failed: $(tail -n 12 "$WORK/apt.log"; journalctl -u 'pushline-*' -n 5 --no-pager -o cat)"
    sleep 2
    touch "$WORK/stop"
    wait "${loads[@]}"
    after=$(main_pids)
    if [ -n "$(comm -12 <(sort <<<"$before") <(sort <<<"$after"))" ]; then die "a unit was not restarted: $before, then $after"; fi
    systemctl -q is-active "${UNITS[@]}" || die "a unit does not run after the update"
    grep -q "pushline:" "$CONFIG" || die "the update has changed the configuration"
    cat "$WORK"/load.* >"$WORK/answers"
    if grep -qv '^20[0-9] ' "$WORK/answers"; then
        die "requests failed during the update: $(cut -c 1-60 "$WORK/answers" | grep -v '^20[0-9] ' | sort | uniq -c | head -n 5)"
    fi
    sent=$(wc -l <"$WORK/answers")
    while read -r _ job; do
        wait_for "job $job is completed" job_is_completed "$job"
    done <"$WORK/answers"
    say "Updated to $(dpkg-query -W -f='${Version}' pushline) under load: $sent sends, none refused, each job completed."
}

# The next update needs a step of the store that expands, and one that contracts. No version has one yet that contracts: the command line tool is replaced
# by that of a debug build, which is given them, and all else, scripts, store and running programs, is as it is installed.
contract() {
    local before stop migrate said
    before=$(main_pids)
    dpkg-divert --quiet --local --rename --add /usr/bin/pushline
    cp /check/pushline-with-a-step /usr/bin/pushline
    export PUSHLINE_TRIAL_STEPS=expand,contract
    : >"$WORK/apt.log"
    install_packages --reinstall /check/newer/*.deb || die "that update failed: $(tail -n 12 "$WORK/apt.log")"
    [ "$(main_pids)" = "$before" ] || die "units were restarted before a step that contracts: $before, then $(main_pids)"
    # apt gives dpkg a terminal, which ends lines with two characters.
    stop=$(tr -d '\r' <"$WORK/apt.log" | sed -n 's/^  \(systemctl stop .*\)/\1/p')
    migrate=$(tr -d '\r' <"$WORK/apt.log" | sed -n 's/^  \(runuser .* store migrate .*\)/\1/p')
    [ -n "$migrate" ] || die "that update does not say how to go on: $(tail -n 12 "$WORK/apt.log")"
    grep -Eq "version [0-9]+ now" "$WORK/apt.log" || die "the step that expands was not taken: $(tail -n 12 "$WORK/apt.log")"
    if said=$(cd / && $migrate 2>&1); then die "the step was taken while programs run: $said"; fi
    grep -q "stop the programs of the older Pushline" <<<"$said" || die "it was not said why the step is refused: $said"
    wait_for "a job is completed beside it" job_is_completed \
        "$(ask -d '{"to": {"user": "alice"}, "body": "Still here"}' "$URL/api/sends" | jq -r .id)"
    $stop
    said=$(cd / && $migrate 2>&1) || die "the step was not taken though the programs were stopped: $said"
    unset PUSHLINE_TRIAL_STEPS
    rm /usr/bin/pushline
    dpkg-divert --quiet --local --rename --remove /usr/bin/pushline
    say "Steps of the store: the update took one that expands, and stopped before one that contracts; that was refused while programs ran, and" \
        "taken by the commands that were given."
}

job_is_completed() { ask "$URL/api/jobs/$1" | jq -e "$ONE_REACHED"; }

purge() {
    local left
    DEBIAN_FRONTEND=noninteractive apt-get -q purge -y pushline pushline-simulator </dev/null >>"$WORK/apt.log" 2>&1 ||
        die "purging failed: $(tail -n 12 "$WORK/apt.log")"
    left=$(find /etc /usr /lib /var -xdev -iname '*pushline*' ! -path '/var/log/*' ! -path '/var/lib/rabbitmq/*' ! -path '/var/cache/*')
    if [ -n "$left" ]; then die "purging left: $left"; fi
    left=$(find /proc -maxdepth 1 -user pushline -name '[0-9]*')
    if [ -n "$left" ]; then die "purging left processes: $left"; fi
    say "Purged: no file and no process is left."
}

mkdir -p "$WORK"
install_older
configure
start
send
back_up
update
contract
purge
say "Everything holds."

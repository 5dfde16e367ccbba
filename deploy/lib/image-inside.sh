#!/usr/bin/env bash
# What deploy/package --check does with the image, in namespaces of mounts, networks and processes: builds it, runs compose.yaml without an
# internet, and sends. Lines that begin with IMAGE: are for who runs the check.
#   image-inside.sh FOLDER DEBIAN-TAR PACKAGES PODMAN-COMPOSE
set -euo pipefail

# shellcheck source=deploy/lib/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

FOLDER=${1:?a folder}
DEBIAN=${2:?an archive of a Debian}
PACKAGES=${3:?the folder of the packages}
COMPOSE=${4:?podman-compose}
URL=http://127.0.0.1:8080
SIMULATOR=http://127.0.0.1:9440
SERVERS=(api register-worker send-worker delivery-worker)
# What compose.yaml says of each program.
CONFINED=(--network host --read-only --user 65532:65532 --cap-drop all --security-opt no-new-privileges --tmpfs /tmp --volume pushline_store:/var/lib/pushline)

# Podman with its storage here, on a machine without systemd, whose limits cannot be raised.
settle() {
    mount -t proc proc /proc
    mount -t tmpfs -o size=4G tmpfs "$FOLDER"
    mount -t tmpfs tmpfs /run
    mount -t cgroup2 cgroup2 /sys/fs/cgroup
    ip link set lo up
    printf '[storage]\ndriver = "overlay"\ngraphroot = "%s/storage"\nrunroot = "/run/storage"\n' "$FOLDER" >"$FOLDER/storage.conf"
    printf '%s\n' '[containers]' 'cgroups = "disabled"' "default_ulimits = [\"nofile=$(ulimit -Hn):$(ulimit -Hn)\", \"nproc=4096:4096\"]" \
        'log_driver = "k8s-file"' '[engine]' 'cgroup_manager = "cgroupfs"' 'events_logger = "file"' >"$FOLDER/containers.conf"
    export CONTAINERS_STORAGE_CONF="$FOLDER/storage.conf" CONTAINERS_CONF="$FOLDER/containers.conf"
    mkdir "$FOLDER/secrets"
    RABBITMQ_PASSWORD=$(openssl rand -hex 16)
    export RABBITMQ_PASSWORD PUSHLINE_SECRETS="$FOLDER/secrets"
}

compose() {
    "$COMPOSE" --in-pod=0 -f "$ROOT/deploy/container/compose.yaml" -f "$ROOT/deploy/container/compose.check.yaml" "$@"
}

# A command in the container of a service.
inside() { podman exec "pushline_$1_1" "${@:2}"; }

# Succeeds once a command does; fails after 60 seconds.
#   wait_for WHAT COMMAND...
wait_for() {
    local end=$((SECONDS + 60))
    until "${@:2}" >/dev/null 2>&1; do
        if [ "$SECONDS" -ge "$end" ]; then die "$1 within 60 s: no"; fi
        sleep 0.2
    done
}

build() {
    podman import "$DEBIAN" localhost/debian
    podman build --isolation chroot --pull=never --build-arg BASE=localhost/debian -t localhost/pushline \
        -f "$ROOT/deploy/container/Containerfile" "$PACKAGES" || die "the image cannot be built"
    podman run --rm "${CONFINED[@]}" localhost/pushline sh -c '[ "$(id -u)" = 65532 ] && ! touch /usr/bin/here 2>/dev/null' ||
        die "a program of the image could write to it, or is another user"
    say "IMAGE: Built: $(podman run --rm "${CONFINED[@]}" localhost/pushline pushline --version), no root, its root read-only."
}

# podman looks at healthchecks by systemd's timers, so services are started here in the order that compose.yaml says.
start() {
    compose up -d rabbitmq
    wait_for "RabbitMQ is healthy" inside rabbitmq rabbitmq-diagnostics -q check_port_connectivity
    compose up -d --no-deps migrate
    [ "$(podman wait pushline_migrate_1)" = 0 ] || die "compose's migrate failed: $(podman logs pushline_migrate_1 2>&1 | tail -n 1)"
    podman run -d --name simulator "${CONFINED[@]}" localhost/pushline pushline-simulator --folder /var/lib/pushline/simulator \
        --state /var/lib/pushline/simulator.json --control-port 9440
    compose up -d --no-deps "${SERVERS[@]}"
    wait_for "the API is healthy" inside api pushline doctor --url "$URL"
    wait_for "the simulator serves" inside api test -s simulator.json
    inside api pushline apps apply simulator/apps.yaml
}

send() {
    local key state token
    key=$(inside api pushline keys create check --role sender 2>/dev/null)
    token=$(openssl rand -hex 32)
    wait_for "a device is registered" curl -fsS -X PUT -H "Authorization: Bearer $key" -H 'Content-Type: application/json' \
        -d "{\"service\": \"apns\", \"handle\": \"$token\", \"user\": \"alice\"}" "$URL/api/registrations/phone"
    state=$(curl -fsS -H "Authorization: Bearer $key" -H 'Content-Type: application/json' -H 'Prefer: wait=30' \
        -d '{"to": {"user": "alice"}, "body": "From a container"}' "$URL/api/sends")
    jq -e '.state == "completed" and .totals.targets == 1 and .totals.accepted == 1' <<<"$state" || die "the send's outcome is $state"
    curl -fsS "$SIMULATOR/received?token=$token" | jq -e 'length == 1 and .[0].status == 200' || die "the simulator did not receive the push"
    say "IMAGE: Sent from containers: 1 target, 1 accepted, and the simulator received it."
}

# All programs end by themselves; what is left then would be killed.
stop() {
    local server
    for server in "${SERVERS[@]}"; do
        podman stop --time 45 "pushline_${server}_1"
        [ "$(podman inspect -f '{{.State.ExitCode}}' "pushline_${server}_1")" = 0 ] || die "$server did not end cleanly"
    done
    compose up -d --no-deps --force-recreate migrate
    [ "$(podman wait pushline_migrate_1)" = 0 ] || die "compose's migrate fails with a store: $(podman logs pushline_migrate_1 2>&1 | tail -n 1)"
    podman stop --time 10 simulator
    compose down --volumes
    say "IMAGE: Stopped: each program ended by itself, and the store of the volume needs no step."
}

settle
build
start
send
stop

#!/usr/bin/env bash
# What deploy/package --check does with the image, in namespaces of mounts, networks and processes: builds it, runs compose.yaml without an
# internet, and sends. Lines that begin with IMAGE: are for who runs the check.
#   image-inside.sh FOLDER DEBIAN-TAR PACKAGES PODMAN-COMPOSE
set -euo pipefail

# shellcheck source=deploy/lib/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
# shellcheck source=deploy/lib/inside.sh
. "$ROOT/deploy/lib/inside.sh"

FOLDER=${1:?a folder}
DEBIAN=${2:?an archive of a Debian}
PACKAGES=${3:?the folder of the packages}
COMPOSE=${4:?podman-compose}
SERVERS=(api register-worker send-worker delivery-worker hub)
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
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 1 -subj /CN=localhost -addext subjectAltName=DNS:localhost \
        -keyout "$FOLDER/secrets/hub.key" -out "$FOLDER/secrets/hub.pem"
    chown -R 65532:65532 "$FOLDER/secrets"
    RABBITMQ_PASSWORD=$(openssl rand -hex 16)
    export RABBITMQ_PASSWORD PUSHLINE_SECRETS="$FOLDER/secrets"
}

compose() {
    "$COMPOSE" --in-pod=0 --profile hub -f "$ROOT/deploy/container/compose.yaml" -f "$ROOT/deploy/container/compose.check.yaml" "$@"
}

# A command in the container of a service.
inside() { podman exec "pushline_$1_1" "${@:2}"; }

build() {
    podman import "$DEBIAN" localhost/debian
    podman build --isolation chroot --pull=never --build-arg BASE=localhost/debian -t localhost/pushline \
        -f "$ROOT/deploy/container/Containerfile" "$PACKAGES" || die "the image cannot be built"
    # Without a word of ours about a user.
    [ "$(podman run --rm --network none localhost/pushline id -u)" = 65532 ] || die "the image's own user is another than 65532"
    check_archive
    say "IMAGE: Built: $(podman run --rm "${CONFINED[@]}" localhost/pushline pushline --version), its own user is 65532."
}

# What a registry would be given: an archive of the open format, read by another tool.
check_archive() {
    local archive="$FOLDER/pushline.tar" said
    podman push localhost/pushline "oci-archive:$archive"
    said=$(skopeo inspect --config "oci-archive:$archive" | jq -r '[.os, .config.User, .config.Cmd[0]] | join(" ")')
    [ "$said" = "linux 65532:65532 pushline-api" ] || die "skopeo finds another system, user or command in the image's archive: $said"
    skopeo inspect "oci-archive:$archive" | jq -e '.Labels["org.opencontainers.image.title"] == "Pushline"' >/dev/null ||
        die "skopeo does not find the image's title in its archive"
    say "IMAGE: Its archive has $(($(stat -c %s "$archive") / 1000000)) MB, and skopeo reads it."
    rm "$archive"
}

# How the program of a service runs, as compose.yaml says: as the kernel has it, not as podman was asked.
check_confined() {
    # shellcheck disable=SC2016  # words of the inner shell
    inside "$1" sh -ec 'grep -Eq "^Uid:(\s65532){4}$" /proc/1/status && grep -Eq "^CapBnd:\s0+$" /proc/1/status &&
        grep -Eq "^NoNewPrivs:\s1$" /proc/1/status && grep -Eq "^[^ ]+ / [^ ]+ ro[, ]" /proc/1/mounts' ||
        die "$1 is another user than 65532, has capabilities, may get some, or its root is not read-only"
}

# podman looks at healthchecks by systemd's timers, so services are started here in the order that compose.yaml says.
start() {
    local server
    compose up -d rabbitmq
    wait_for "RabbitMQ is healthy" inside rabbitmq rabbitmq-diagnostics -q check_port_connectivity
    compose up -d --no-deps migrate
    [ "$(podman wait pushline_migrate_1)" = 0 ] || die "compose's migrate failed: $(podman logs pushline_migrate_1 2>&1 | tail -n 1)"
    podman run -d --name simulator "${CONFINED[@]}" localhost/pushline pushline-simulator --folder /var/lib/pushline/simulator \
        --state /var/lib/pushline/simulator.json --control-port 9440
    compose up -d --no-deps "${SERVERS[@]}"
    wait_for "the API is healthy" inside api pushline doctor --url "$URL"
    for server in "${SERVERS[@]}"; do check_confined "$server"; done
    say "IMAGE: compose.yaml runs each program as 65532, without capabilities, its root read-only."
    wait_for "the simulator serves" inside api test -s simulator.json
    inside api pushline apps apply simulator/apps.yaml
}

send() {
    PUSHLINE_KEY=$(inside api pushline keys create check --role sender 2>/dev/null)
    check_send "IMAGE: Sent from containers" \
        ask -H 'Prefer: wait=30' -d '{"to": {"user": "alice"}, "body": "From a container"}' "$URL/api/sends"
}

# Clients of the hub insist on TLS; without a token they are refused.
ask_hub() {
    local status
    status=$(curl -sS --retry 20 --retry-delay 1 --retry-connrefused --cacert "$FOLDER/secrets/hub.pem" -o /dev/null -w '%{http_code}' \
        "https://localhost:8443/default/registrations?api-version=2020-06")
    [ "$status" = 401 ] || die "the hub answers $status to who has no token"
    say "IMAGE: The hub answers over TLS."
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
ask_hub
stop

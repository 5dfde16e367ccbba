# shellcheck shell=bash
# A private RabbitMQ node in a folder of its own, beside whatever broker the system runs. To be sourced.
#
#   broker_install                     installs RabbitMQ, without starting the system's service
#   broker_start DIR [--tls CERTDIR]   starts the node of DIR and waits until it accepts connections
#   broker_env DIR                     exports the node's BROKER_URL (and BROKER_TLS_URL)
#   broker_ctl DIR ARGUMENT...         runs rabbitmqctl against it
#   broker_kill DIR                    ends the node at once, as a crash would
#   broker_stop DIR [SECONDS]          ends the node in order, and its port mapper; kills them after so many seconds (20)
#   broker_cluster_start DIR           starts three nodes, in DIR/1 to DIR/3, as one cluster set up as deploy/rabbitmq says; each of them
#                                      can be killed, started and stopped by itself, and BROKER_URL has the addresses of all
#   broker_cluster_stop DIR [SECONDS]  ends the three nodes, and their port mapper
#   broker_certificates DIR            makes a CA, and certificates for localhost and for a client
#
# DIR keeps ports, password and data: a node that is started again there is the same node. DIR/conf.d/*.conf are more settings of it.

BROKER_SERVER=/usr/lib/rabbitmq/bin/rabbitmq-server
BROKER_CONTROL=/usr/lib/rabbitmq/bin/rabbitmqctl
# Seconds that a node may take to answer, beside much else; one that ends before is not waited for.
BROKER_PATIENCE=600
BROKER_SHIPPED=$(cd "$(dirname "${BASH_SOURCE[0]}")/../rabbitmq" && pwd)

broker_say() { printf '%s\n' "$*" >&2; }

broker_is_installed() { [ -x "$BROKER_SERVER" ] && command -v epmd >/dev/null; }

broker_install() {
    broker_is_installed && return 0
    if [ "$(id -u)" -ne 0 ] && ! command -v sudo >/dev/null; then
        broker_say "RabbitMQ is missing. As root: apt-get install rabbitmq-server"
        return 1
    fi
    broker_say "Installing RabbitMQ ..."
    install_without_services rabbitmq-server
}

# Installs packages; needs root or sudo. Such packages start services of the system: they are kept from it by a
# policy-rc.d for as long as the installation lasts, as Debian's policy provides.
install_without_services() {
    local sudo=() policy=/usr/sbin/policy-rc.d placed=no status=0
    if [ "$(id -u)" -ne 0 ]; then sudo=(sudo); fi
    if [ ! -e "$policy" ]; then
        # shellcheck disable=SC2016  # the script is written as it stands
        "${sudo[@]}" sh -c 'printf "#!/bin/sh\nexit 101\n" >"$1" && chmod 755 "$1"' sh "$policy" || return 1
        placed=yes
    fi
    "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive \
        apt-get install -y --no-install-recommends "$@" >&2 || status=$?
    if [ "$placed" = yes ]; then "${sudo[@]}" rm -f "$policy"; fi
    return "$status"
}

# Prints so many ports of 127.0.0.1 that nobody listens on, outside the range of outgoing connections.
broker_free_ports() {
    local port left=$1 found=" "
    for _ in {1..400}; do
        if [ "$left" -eq 0 ]; then return 0; fi
        port=$((20000 + (RANDOM * 32768 + RANDOM) % 12000))
        case $found in *" $port "*) continue ;; esac
        if (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; then continue; fi
        printf '%s\n' "$port"
        found="$found$port "
        left=$((left - 1))
    done
    broker_say "No free port was found."
    return 1
}

broker_free_port() { broker_free_ports 1; }

# Succeeds when the process of a pid file runs and is the node of DIR, or its port mapper: it has the node's name, or the port, in
# its environment. Since the file was written its id may have become another's.
#   broker_alive DIR node|epmd
broker_alive() {
    local pid stat setting
    pid=$(cat "$1/$2.pid" 2>/dev/null) || return 1
    stat=$(cat "/proc/${pid:-none}/stat" 2>/dev/null) || return 1
    # "pid (name) state parent …": one that has ended stays listed, as Z, until its parent asks for it.
    case ${stat##*) } in
    "Z "* | "X "*) return 1 ;;
    # Between fork and exec it has our own environment still.
    "? $$ "*) return 0 ;;
    esac
    if [ "$2" = node ]; then
        setting=$(sed -n 's/^NODE_PORT=\(.*\)/RABBITMQ_NODENAME=pushline-\1@localhost/p' "$1/node.env" 2>/dev/null)
    else
        setting=$(sed -n 's/^NODE_EPMD_PORT=/ERL_EPMD_PORT=/p' "$1/node.env" 2>/dev/null)
    fi
    [ -n "$setting" ] && grep -qszFx -- "$setting" "/proc/$pid/environ"
}

# Succeeds when an AMQP server answers at the port.
broker_answers() {
    local answer=
    {
        exec 3<>"/dev/tcp/127.0.0.1/$1" || return 1
        printf 'AMQP\0\0\11\1' >&3
        # The first octet of an answer is the frame type, 1.
        IFS= read -r -t 2 -N 1 answer <&3
        exec 3>&-
    } 2>/dev/null
    [ "$answer" = $'\1' ]
}

# Prints so many random octets in hexadecimal digits.
broker_random() { od -An -N"$1" -tx1 /dev/urandom | tr -d ' \n'; }

# Writes what a node needs to know of itself, once a folder.
#   broker_identity DIR PASSWORD PORT DISTRIBUTION-PORT EPMD-PORT [TLS-PORT TLSDIR]
broker_identity() {
    local dir=$1 password=$2 port=$3 dist=$4 epmd=$5 ssl=${6-} tls=${7-}
    (
        umask 077
        cat >"$dir/node.env" <<END
NODE_PORT=$port
NODE_DIST_PORT=$dist
NODE_EPMD_PORT=$epmd
NODE_TLS_PORT=$ssl
NODE_PASSWORD=$password
END
        # Half of the system's default for Raft's log, as this node may share a small machine with everything else.
        cat >"$dir/rabbitmq.conf" <<END
listeners.tcp.1 = 127.0.0.1:$port
default_vhost = pushline
default_user = pushline
default_pass = $password
loopback_users = none
vm_memory_high_watermark.relative = 0.4
disk_free_limit.absolute = 256MB
raft.wal_max_size_bytes = 67108864
heartbeat = 30
log.console = false
log.file.level = info
log.file.rotation.size = 10485760
log.file.rotation.count = 3
END
        if [ -n "$tls" ]; then
            cat >>"$dir/rabbitmq.conf" <<END
listeners.ssl.1 = 127.0.0.1:$ssl
ssl_options.cacertfile = $tls/ca.pem
ssl_options.certfile = $tls/server.pem
ssl_options.keyfile = $tls/server.key
ssl_options.verify = verify_peer
ssl_options.fail_if_no_peer_cert = true
ssl_options.versions.1 = tlsv1.2
ssl_options.versions.2 = tlsv1.3
END
        fi
        printf '[].\n' >"$dir/enabled_plugins"
    )
}

# Becomes a command in the environment of the node of DIR: to be called in a subshell, whose id is then the command's.
broker_become() {
    local dir=$1 NODE_PORT NODE_DIST_PORT NODE_EPMD_PORT
    shift
    # shellcheck source=/dev/null
    . "$dir/node.env"
    export HOME="$dir/home" ERL_EPMD_PORT="$NODE_EPMD_PORT" ERL_EPMD_ADDRESS=127.0.0.1
    export RABBITMQ_NODENAME="pushline-$NODE_PORT@localhost" RABBITMQ_DIST_PORT="$NODE_DIST_PORT"
    export RABBITMQ_MNESIA_BASE="$dir/mnesia" RABBITMQ_LOG_BASE="$dir/log"
    export RABBITMQ_CONFIG_FILE="$dir/rabbitmq.conf" RABBITMQ_ADVANCED_CONFIG_FILE="$dir/advanced.config"
    export RABBITMQ_CONF_ENV_FILE="$dir/no-rabbitmq-env.conf" RABBITMQ_CONFIG_FILES="$dir/conf.d"
    export RABBITMQ_ENABLED_PLUGINS_FILE="$dir/enabled_plugins" RABBITMQ_GENERATED_CONFIG_DIR="$dir/config"
    export ERL_CRASH_DUMP="$dir/log/erl_crash.dump"
    local loopback="-kernel inet_dist_use_interface {127,0,0,1}"
    export RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS="$loopback" RABBITMQ_CTL_ERL_ARGS="$loopback"
    # With "input allowed" the script becomes the node itself, so that its id is the node's; the two arguments give back
    # what the script would otherwise have said: no input, and no end by an interrupt of the terminal.
    export RABBITMQ_ALLOW_INPUT=1 RABBITMQ_SERVER_START_ARGS="-noinput +B i"
    unset NOTIFY_SOCKET RABBITMQ_PID_FILE RABBITMQ_NODE_PORT RABBITMQ_NODE_IP_ADDRESS
    exec "$@"
}

# Closes what a process that stays must not keep open: locks and pipes of whoever started us.
broker_close_descriptors() {
    local descriptor
    for descriptor in "/proc/$BASHPID/fd"/*; do
        descriptor=${descriptor##*/}
        if [ "$descriptor" -gt 2 ]; then eval "exec $descriptor>&-"; fi
    done
}

# Starts the node of a folder, and its port mapper where none of its cluster's nodes has.
broker_launch() {
    local dir=$1 epmd
    epmd=$(sed -n 's/^NODE_EPMD_PORT=//p' "$dir/node.env")
    if ! broker_alive "$dir" epmd && ! (exec 3<>"/dev/tcp/127.0.0.1/$epmd") 2>/dev/null; then
        (
            broker_close_descriptors
            export ERL_EPMD_PORT="$epmd"
            exec epmd -address 127.0.0.1 -port "$epmd"
        ) </dev/null >"$dir/log/epmd.out" 2>&1 &
        printf '%s\n' "$!" >"$dir/epmd.pid"
    fi
    (
        broker_close_descriptors
        broker_become "$dir" "$BROKER_SERVER"
    ) </dev/null >"$dir/log/start.out" 2>&1 &
    printf '%s\n' "$!" >"$dir/node.pid"
    # Else the shell would report its end among our own words.
    disown -a
}

# Waits until a node that was launched accepts connections. Fails with 1 where it has ended, and with 2 where it lives and does not answer.
broker_await() {
    local dir=$1 port start=$SECONDS said=no
    port=$(sed -n 's/^NODE_PORT=//p' "$dir/node.env")
    while ! broker_answers "$port"; do
        if ! kill -0 "$(cat "$dir/node.pid")" 2>/dev/null; then return 1; fi
        if [ $((SECONDS - start)) -ge "$BROKER_PATIENCE" ]; then
            broker_say "RabbitMQ does not answer after $BROKER_PATIENCE s."
            return 2
        elif [ "$said" = no ] && [ $((SECONDS - start)) -ge 120 ]; then
            broker_say "RabbitMQ has not answered for 120 s; it is waited for ..."
            said=yes
        fi
        if [ -t 2 ]; then printf '\rStarting RabbitMQ ... %s s' "$((SECONDS - start))" >&2; fi
        sleep 0.1
    done
    if [ -t 2 ]; then printf '\r' >&2; fi
    broker_say "RabbitMQ is up on 127.0.0.1:$port."
}

broker_folders() { mkdir -p "$1/home" "$1/log" "$1/mnesia" "$1/config" "$1/conf.d"; }

broker_start() {
    local dir tls=
    broker_folders "$1" || return 1
    dir=$(cd "$1" && pwd) || return 1
    if [ "${2-}" = --tls ]; then tls=$(cd "$3" && pwd) || return 1; fi
    if ! broker_is_installed; then
        broker_say "RabbitMQ is missing: apt-get install rabbitmq-server"
        return 1
    fi
    if broker_alive "$dir" node; then
        broker_say "A RabbitMQ node is running in $dir already."
        broker_env "$dir"
        return 0
    fi
    local attempt fresh=no ports status
    for attempt in 1 2 3; do
        if [ ! -e "$dir/node.env" ]; then
            mapfile -t ports < <(broker_free_ports 4)
            if [ "${#ports[@]}" -lt 4 ]; then return 1; fi
            if [ -n "$tls" ]; then ports+=("$tls"); else unset 'ports[3]'; fi
            broker_identity "$dir" "$(broker_random 16)" "${ports[@]}"
            fresh=yes
        fi
        broker_launch "$dir"
        status=0
        broker_await "$dir" || status=$?
        if [ "$status" -eq 0 ]; then
            broker_env "$dir"
            return 0
        fi
        broker_stop "$dir"
        # Somebody may have taken a port in between; a node that holds data keeps its name and ports.
        if [ "$fresh" = no ] || [ "$status" -eq 2 ]; then break; fi
        if [ "$attempt" -lt 3 ]; then rm -rf "$dir/node.env" "$dir/mnesia"; fi
    done
    broker_last_words "$dir"
    return 1
}

broker_last_words() {
    broker_say "RabbitMQ did not start. Its last words, from $1/log/start.out:"
    tail -n 15 "$1/log/start.out" >&2
}

broker_env() {
    local NODE_PORT NODE_TLS_PORT NODE_PASSWORD
    # shellcheck source=/dev/null
    . "$1/node.env" || return 1
    export BROKER_URL="amqp://pushline:$NODE_PASSWORD@127.0.0.1:$NODE_PORT/pushline"
    if [ -n "$NODE_TLS_PORT" ]; then
        export BROKER_TLS_URL="amqps://pushline:$NODE_PASSWORD@localhost:$NODE_TLS_PORT/pushline"
    fi
}

# Prints hexadecimal digits as escapes of octets.
broker_escaped() { printf %s "$1" | sed 's/../\\x&/g'; }

# Writes what three nodes need to know of themselves and of each other, once a folder.
broker_cluster_identity() {
    local dir=$1 password cookie number other salt hash ports
    password=$(broker_random 16)
    cookie=$(broker_random 16)
    # One for the port mapper, three for each node.
    mapfile -t ports < <(broker_free_ports 10)
    if [ "${#ports[@]}" -lt 10 ]; then return 1; fi
    for number in 1 2 3; do
        broker_folders "$dir/$number" || return 1
        broker_identity "$dir/$number" "$password" "${ports[number]}" "${ports[number + 3]}" "${ports[0]}"
    done
    # A user of definitions is given by salt and hash, in base64.
    salt=$(broker_random 4)
    hash=$(printf '%b%s' "$(broker_escaped "$salt")" "$password" | openssl dgst -sha256 | sed 's/.*[ =]//')
    (
        umask 077
        mkdir -p "$dir/definitions" && cp "$BROKER_SHIPPED/definitions/"*.json "$dir/definitions" || exit 1
        cat >"$dir/definitions/users.json" <<END
{
  "users": [{"name": "pushline", "tags": ["monitoring"], "hashing_algorithm": "rabbit_password_hashing_sha256",
    "password_hash": "$(printf %b "$(broker_escaped "$salt$hash")" | openssl base64 -A)"}],
  "permissions": [{"user": "pushline", "vhost": "pushline", "configure": ".*", "write": ".*", "read": ".*"}]
}
END
        for number in 1 2 3; do
            printf %s "$cookie" >"$dir/$number/home/.erlang.cookie" && chmod 400 "$dir/$number/home/.erlang.cookie" || exit 1
            printf 'NODE_MANAGEMENT_PORT=%s\n' "${ports[number + 6]}" >>"$dir/$number/node.env"
            printf '[rabbitmq_management].\n' >"$dir/$number/enabled_plugins"
            cp "$BROKER_SHIPPED/rabbitmq.conf" "$dir/$number/conf.d/10-cluster.conf" || exit 1
            {
                printf 'load_definitions = %s\n' "$dir/definitions"
                printf 'management.tcp.ip = 127.0.0.1\nmanagement.tcp.port = %s\n' "${ports[number + 6]}"
                for other in 1 2 3; do
                    printf 'cluster_formation.classic_config.nodes.%s = pushline-%s@localhost\n' "$other" "${ports[other]}"
                done
            } >"$dir/$number/conf.d/20-here.conf"
        done
    )
}

broker_cluster_start() {
    local dir number urls=
    mkdir -p "$1" && dir=$(cd "$1" && pwd) || return 1
    if ! broker_is_installed; then
        broker_say "RabbitMQ is missing: apt-get install rabbitmq-server"
        return 1
    fi
    if [ ! -e "$dir/3/conf.d/20-here.conf" ]; then broker_cluster_identity "$dir" || return 1; fi
    # Together: one that held data waits for the others.
    for number in 1 2 3; do
        if ! broker_alive "$dir/$number" node; then broker_launch "$dir/$number"; fi
    done
    for number in 1 2 3; do
        if ! broker_await "$dir/$number"; then
            broker_last_words "$dir/$number"
            broker_cluster_stop "$dir" 0
            return 1
        fi
        broker_env "$dir/$number"
        urls="$urls${urls:+,}$BROKER_URL"
    done
    export BROKER_URL="$urls"
}

broker_cluster_stop() {
    local number
    # The port mapper is one node's, and goes when nobody needs it any more.
    for number in 1 2 3; do broker_end "$1/$number" node "${2-20}"; done
    for number in 1 2 3; do broker_end "$1/$number" epmd "${2-20}"; done
}

broker_ctl() {
    local dir
    dir=$(cd "$1" && pwd) || return 1
    shift
    (broker_become "$dir" "$BROKER_CONTROL" "$@")
}

# Ends the node of DIR, or its port mapper, and waits until it is gone; after so many seconds it is killed.
#   broker_end DIR node|epmd SECONDS
broker_end() {
    local ticks=0
    while broker_alive "$1" "$2"; do
        if [ "$ticks" -ge $(($3 * 10)) ]; then
            kill -KILL "$(cat "$1/$2.pid")" 2>/dev/null || true
        elif [ "$ticks" -eq 0 ]; then
            kill -TERM "$(cat "$1/$2.pid")" 2>/dev/null || true
        fi
        ticks=$((ticks + 1))
        sleep 0.1
    done
    rm -f "$1/$2.pid"
}

broker_kill() { broker_end "$1" node 0; }

broker_stop() {
    broker_end "$1" node "${2-20}"
    # The port mapper outlives the node.
    broker_end "$1" epmd "${2-20}"
}

# ca.pem, server.pem and server.key (localhost, 127.0.0.1), client.pem and client.key: for tests, valid for 60 days.
broker_certificates() {
    local dir=$1 name
    mkdir -p "$dir" || return 1
    (
        umask 077
        cd "$dir" || exit 1
        openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 60 -keyout ca.key -out ca.pem \
            -subj "/CN=Pushline test CA" -addext basicConstraints=critical,CA:TRUE || exit 1
        for name in server client; do
            openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout $name.key -out $name.csr \
                -subj "/CN=localhost" || exit 1
            openssl x509 -req -in $name.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 60 -out $name.pem \
                -extfile <(printf 'subjectAltName=DNS:localhost,IP:127.0.0.1\n') || exit 1
        done
    ) >/dev/null 2>&1 || {
        broker_say "The certificates could not be made."
        return 1
    }
}

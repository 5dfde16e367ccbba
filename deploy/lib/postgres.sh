# shellcheck shell=bash
# Two private PostgreSQL servers in a folder of their own, on the loopback alone, for tests: they forget what a crash interrupts. Both take
# writes, as after a failover that the old primary has not heard of. To be sourced after broker.sh.
#
#   postgres_install     installs PostgreSQL, without a cluster of the system's
#   postgres_start DIR   starts the servers of DIR, where "ports" then has their ports (of the later timeline first), "password" the one
#                        of the roles "owner" and "programs", and "server.crt" what their certificate is checked with
#   postgres_stop DIR    ends them

postgres_programs() { find /usr/lib/postgresql/*/bin -name initdb -printf '%h\n' 2>/dev/null | sort -V | tail -n 1; }

# The package makes and starts a cluster unless it is told not to.
postgres_install() {
    [ -n "$(postgres_programs)" ] && return 0
    local sudo=() settings=/etc/postgresql-common/createcluster.conf placed=no status=0
    if [ "$(id -u)" -ne 0 ]; then sudo=(sudo); fi
    if [ ! -e "$settings" ]; then
        # shellcheck disable=SC2016  # the script is written as it stands
        "${sudo[@]}" sh -c 'mkdir -p "${1%/*}" && echo "create_main_cluster = false" >"$1"' sh "$settings" || return 1
        placed=yes
    fi
    "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive \
        apt-get install -y --no-install-recommends postgresql >&2 || status=$?
    if [ "$placed" = yes ]; then "${sudo[@]}" rm -f "$settings"; fi
    return "$status"
}

# Runs a program of the server's as a user that it accepts: it refuses root.
postgres_run() {
    local program
    program="$(postgres_programs)/$1"
    shift
    if [ "$(id -u)" -eq 0 ]; then
        setpriv --reuid=postgres --regid=postgres --init-groups env -C / "$program" "$@"
    else
        "$program" "$@"
    fi
}

# It takes passwords over TLS alone, but for the role "plain", whose connections tests look into. A server that was promoted is on a later timeline than one that was not.
#   postgres_serve DIR NAME PORT [promoted]
postgres_serve() {
    local dir=$1 data="$1/$2" settings="-p $3 -c listen_addresses=127.0.0.1 -c unix_socket_directories= -c fsync=off -c max_connections=200"
    settings+=" -c ssl=on -c ssl_cert_file=../server.crt -c ssl_key_file=../server.key"
    postgres_run initdb -D "$data" -U owner --auth=scram-sha-256 --pwfile="$dir/password" --encoding=UTF8 --no-locale --no-sync >/dev/null || return 1
    postgres_run postgres --single -D "$data" postgres >/dev/null \
        <<<"CREATE ROLE programs LOGIN PASSWORD '$(cat "$dir/password")'
CREATE ROLE plain LOGIN IN ROLE programs" || return 1
    printf '%s\n' "hostssl all all 127.0.0.1/32 scram-sha-256" "hostnossl all plain 127.0.0.1/32 trust" >"$data/pg_hba.conf"
    if [ -n "${4-}" ]; then : >"$data/standby.signal"; fi
    postgres_run pg_ctl -D "$data" -l "$dir/$2.log" -w -o "$settings" start >/dev/null || return 1
    if [ -n "${4-}" ]; then postgres_run pg_ctl -D "$data" -w promote >/dev/null; fi
}

postgres_start() {
    local dir=$1 ports
    rm -rf "$dir"
    mkdir -p "$dir"
    mapfile -t ports < <(broker_free_ports 2)
    if [ "${#ports[@]}" -lt 2 ]; then return 1; fi
    (umask 077; openssl rand -hex 16 >"$dir/password")
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 30 -subj /CN=localhost \
        -addext subjectAltName=IP:127.0.0.1 -keyout "$dir/server.key" -out "$dir/server.crt" 2>/dev/null || return 1
    chmod 600 "$dir/password" "$dir/server.key"
    if [ "$(id -u)" -eq 0 ]; then chown -R postgres "$dir"; fi
    postgres_serve "$dir" newer "${ports[0]}" promoted && postgres_serve "$dir" older "${ports[1]}" || return 1
    printf '%s\n' "${ports[@]}" >"$dir/ports"
}

postgres_stop() {
    local name
    for name in newer older; do postgres_run pg_ctl -D "$1/$name" -m immediate -w stop >/dev/null; done
}

# shellcheck shell=bash
# A private PostgreSQL server in a folder of its own, on the loopback alone, for tests: it forgets what a crash interrupts. To be sourced
# after broker.sh.
#
#   postgres_install     installs PostgreSQL, without a cluster of the system's
#   postgres_start DIR   starts the server of DIR and sets POSTGRES_ADDRESS
#   postgres_stop DIR    ends it

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

# Text is compared by its bytes, as the statements expect.
postgres_start() {
    local dir=$1 port
    rm -rf "$dir"
    mkdir -p "$dir"
    if [ "$(id -u)" -eq 0 ]; then chown postgres "$dir"; fi
    port=$(broker_free_port) || return 1
    postgres_run initdb -D "$dir/data" -U pushline --auth=trust --locale=C --encoding=UTF8 --no-sync >/dev/null || return 1
    postgres_run pg_ctl -D "$dir/data" -l "$dir/log" -w -o \
        "-p $port -c listen_addresses=127.0.0.1 -c unix_socket_directories= -c fsync=off -c max_connections=200" start >/dev/null ||
        return 1
    # shellcheck disable=SC2034  # used by those that source this
    POSTGRES_ADDRESS="host=127.0.0.1 port=$port user=pushline dbname=postgres"
}

postgres_stop() { postgres_run pg_ctl -D "$1/data" -m immediate -w stop >/dev/null; }

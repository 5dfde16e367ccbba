# shellcheck shell=bash
# Private PostgreSQL servers in a folder of their own, on the loopback alone, which take passwords over TLS. To be sourced after broker.sh.
#
#   postgres_install         installs PostgreSQL, without a cluster of the system's
#   postgres_start_one DIR LOCKS SETTINGS...
#                            starts a server of DIR with the database "pushline", for the role "pushline" of the programs, and
#                            "pushline_owner" of the tables, whose folder of locks is LOCKS. DIR/settings then has what programs are told,
#                            a variable a line; SETTINGS are the server's own, such as max_wal_size=4GB
#   postgres_make_tables DIR PROGRAM [CONFIG]
#                            makes the tables of that server with the command line tool PROGRAM, whose configuration file is CONFIG
#   postgres_kill DIR        ends that server with all its processes at once, as a crash does
#   postgres_again DIR       starts it again, where it was
#   postgres_restart DIR     ends it in order, and starts it again
#   postgres_signal DIR SIGNAL   sends a signal to it and all its processes
#   postgres_start DIR       starts two servers of DIR for tests, which forget what a crash interrupts; both take writes, as after a
#                            failover that the old primary has not heard of. "ports" then has their ports, of the later timeline first
#   postgres_stop DIR        ends them
#   postgres_forget DIR      ends them, and removes what they hold: some gigabytes after the tests, none of which remove their tables
#
# As root the server runs as the user "postgres", who must be able to come to DIR: postgres_admit FOLDER lets it through a closed one.
#
# DIR then has "password", the one of the roles, for tests "owner", "programs" and "certified", and "server.crt", what the certificate is checked
# with; for tests also "certified.crt" and "certified.key".

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

# Makes a server, whose first role has all rights.
#   postgres_make DIR NAME ROLE STATEMENTS [HOW-OTHERS-ARE-LET-IN...]
postgres_make() {
    local dir=$1 data="$1/$2"
    postgres_run initdb -D "$data" -U "$3" --auth=scram-sha-256 --pwfile="$dir/password" --encoding=UTF8 --no-locale --no-sync >/dev/null || return 1
    # A line each.
    postgres_run postgres --single -D "$data" postgres >"$dir/$2-made.log" 2>&1 <<<"$4" || return 1
    # The first line that fits is taken.
    printf '%s\n' "${@:5}" "hostssl all all 127.0.0.1/32 scram-sha-256" >"$data/pg_hba.conf"
}

#   postgres_serve DIR NAME PORT SETTINGS
postgres_serve() {
    local settings="-p $3 -c listen_addresses=127.0.0.1 -c unix_socket_directories= -c ssl=on -c ssl_cert_file=../server.crt -c ssl_key_file=../server.key"
    postgres_run pg_ctl -D "$1/$2" -l "$1/$2.log" -w -o "$settings $4" start >/dev/null
}

# For tests: the role "plain" connects without TLS, where they look into it; "certified" must show a certificate of its own.
# A server that was promoted is on a later timeline than one that was not.
#   postgres_serve_test DIR NAME PORT [promoted]
postgres_serve_test() {
    local data="$1/$2"
    postgres_make "$1" "$2" owner "CREATE ROLE programs LOGIN PASSWORD '$(cat "$1/password")'
CREATE ROLE certified LOGIN IN ROLE programs PASSWORD '$(cat "$1/password")'
CREATE ROLE plain LOGIN IN ROLE programs" \
        "hostssl all certified 127.0.0.1/32 scram-sha-256 clientcert=verify-full" "hostnossl all plain 127.0.0.1/32 trust" || return 1
    if [ -n "${4-}" ]; then : >"$data/standby.signal"; fi
    postgres_serve "$1" "$2" "$3" "-c fsync=off -c max_connections=400 -c max_wal_size=128MB -c ssl_ca_file=../server.crt" || return 1
    if [ -n "${4-}" ]; then postgres_run pg_ctl -D "$data" -w promote >/dev/null; fi
}

# A new folder with what servers need, for the user that they run as.
postgres_folder() {
    local dir=$1
    rm -rf "$dir"
    mkdir -p "$dir"
    (umask 077; openssl rand -hex 16 >"$dir/password")
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 30 -subj /CN=localhost \
        -addext subjectAltName=IP:127.0.0.1 -keyout "$dir/server.key" -out "$dir/server.crt" 2>/dev/null || return 1
    chmod 600 "$dir/password" "$dir/server.key"
    if [ "$(id -u)" -eq 0 ]; then chown -R postgres "$dir"; fi
}

# The certificate of a role, by the authority that the server's own is.
postgres_certify() {
    openssl req -x509 -CA "$1/server.crt" -CAkey "$1/server.key" -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 30 \
        -subj "/CN=$2" -keyout "$1/$2.key" -out "$1/$2.crt" 2>/dev/null && chmod 600 "$1/$2.key"
}

postgres_admit() { if [ "$(id -u)" -eq 0 ]; then chgrp postgres "$1" && chmod g+x "$1"; fi; }

postgres_start_one() {
    local dir=$1 locks=$2 port setting settings=
    shift 2
    port=$(broker_free_port) || return 1
    postgres_folder "$dir" || return 1
    postgres_make "$dir" server postgres "CREATE ROLE pushline_owner LOGIN PASSWORD '$(cat "$dir/password")'
CREATE ROLE pushline LOGIN PASSWORD '$(cat "$dir/password")'
CREATE DATABASE pushline OWNER pushline_owner
GRANT pg_read_all_stats TO pushline" || return 1
    for setting in max_connections=400 "$@"; do settings+=" -c $setting"; done
    printf '%s\n' "$port" >"$dir/port"
    printf '%s\n' "$settings" >"$dir/server-settings"
    # An empty path: the configuration file names one.
    printf '%s\n' PUSHLINE_STORE_PATH= \
        "PUSHLINE_STORE_URL=postgresql://pushline@127.0.0.1:$port/pushline?sslmode=verify-full&sslrootcert=$(jq -rn --arg path "$dir/server.crt" '$path | @uri')" \
        "PUSHLINE_STORE_PASSWORD_FILE=$dir/password" "PUSHLINE_STORE_LOCK_FOLDER=$locks" >"$dir/settings"
    postgres_again "$dir"
}

postgres_again() { postgres_serve "$1" server "$(cat "$1/port")" "$(cat "$1/server-settings")"; }

postgres_restart() { postgres_run pg_ctl -D "$1/server" -m fast -w stop >/dev/null && postgres_again "$1"; }

postgres_make_tables() {
    local dir=$1 settings
    mapfile -t settings <"$dir/settings"
    env "${settings[@]}" "$2" store migrate --owner pushline_owner --password-file "$dir/password" \
        --config "${3:-$ROOT/Config/pushline.yaml}"
}

# Prints the ids of a server's processes, the first of them before those that it has started.
postgres_processes() {
    local first
    first=$(head -n 1 "$1/server/postmaster.pid") || return 1
    printf '%s\n' "$first"
    tr ' ' '\n' <"/proc/$first/task/$first/children" | grep . || true
}

postgres_signal() {
    local processes
    mapfile -t processes < <(postgres_processes "$1")
    kill -s "$2" "${processes[@]}" 2>/dev/null || true
}

postgres_kill() {
    local processes
    mapfile -t processes < <(postgres_processes "$1")
    [ "${#processes[@]}" -gt 0 ] || return 1
    kill -KILL "${processes[@]}" 2>/dev/null || true
    # Whoever starts it again finds none that still has the files open, not one either that it started a moment ago: all work in its
    # folder. Nor its file, for a server takes a process that nobody has waited for yet for one that runs.
    while mapfile -t processes < <(find /proc/[0-9]*/cwd -maxdepth 0 -lname "$1/server" -printf '%h\n' 2>/dev/null) &&
        [ "${#processes[@]}" -gt 0 ]; do
        kill -KILL "${processes[@]#/proc/}" 2>/dev/null || true
        sleep 0.02
    done
    rm -f "$1/server/postmaster.pid"
}

postgres_start() {
    local dir=$1 ports
    mapfile -t ports < <(broker_free_ports 2)
    if [ "${#ports[@]}" -lt 2 ]; then return 1; fi
    postgres_folder "$dir" || return 1
    postgres_certify "$dir" certified || return 1
    postgres_serve_test "$dir" newer "${ports[0]}" promoted && postgres_serve_test "$dir" older "${ports[1]}" || return 1
    printf '%s\n' "${ports[@]}" >"$dir/ports"
}

postgres_stop() {
    local file
    for file in "$1"/*/postmaster.pid; do
        if [ -e "$file" ]; then postgres_run pg_ctl -D "${file%/*}" -m immediate -w stop >/dev/null; fi
    done
}

postgres_forget() {
    postgres_stop "$1" && rm -rf "$1/newer" "$1/older"
}

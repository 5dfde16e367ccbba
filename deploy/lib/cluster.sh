# shellcheck shell=bash
# Runs Tests/Chaos/cluster.py: three hosts in namespaces of their own. To be sourced after broker.sh, postgres.sh and chaos.sh.
#
#   cluster_check                        ends the script where it is not run as root
#   cluster_packages                     installs what the hosts have, and starts none of it
#   cluster_run DIR BIN ARGUMENTS...     runs it in DIR with the programs of BIN; fails where something did not hold
#
# chaos_stop ends what is left of it. What the hosts keep is in the memory, their logs are in DIR/run/logs.

# What is run.
CLUSTER_SCRIPT="$ROOT/Tests/Chaos/cluster.py"

cluster_check() {
    if [ "$(id -u)" -ne 0 ]; then
        die "--cluster makes three hosts of network and mount namespaces, which needs root: sudo deploy/chaos --cluster"
    fi
}

cluster_packages() {
    local package missing=()
    postgres_install || die "PostgreSQL could not be installed: apt-get install postgresql"
    for package in etcd-server patroni python3-psycopg2; do
        prepare_has_package "$package" || missing+=("$package")
    done
    if [ "${#missing[@]}" -eq 0 ]; then return; fi
    say "Installing ${missing[*]} ..."
    install_without_services "${missing[@]}" >/dev/null 2>&1 || { apt-get -q update >/dev/null && install_without_services "${missing[@]}" >/dev/null; } ||
        die "they could not be installed: apt-get install ${missing[*]}"
}

cluster_run() {
    local dir=$1 bin=$2 status=0 python
    python=$(chaos_python)
    shift 2
    rm -rf "$dir/run"
    mkdir -p "$dir/run"
    chmod 700 "$dir"
    broker_certificates "$dir/run/hub" || die "the hub's certificates could not be made"
    (
        exec {LOCK_FD}>&-
        export PYTHONDONTWRITEBYTECODE=1 PYTHONPATH="$ROOT/deploy/lib"
        # The bridge, the push services and the clients are in the namespace that this makes.
        exec setsid unshare --net --mount --uts --propagation private "$python" "$CLUSTER_SCRIPT" \
            --folder "$dir/run" --bin "$bin" --config "$CHAOS_CONFIG" --root "$ROOT" "$@"
    ) </dev/null &
    CHAOS_PID=$!
    wait "$CHAOS_PID" || status=$?
    CHAOS_PID=
    return "$status"
}

# shellcheck shell=bash
# What a machine needs before anything is built: Swift, and Debian packages. To be sourced after common.sh and broker.sh.

# What is linked against, and what the scripts themselves use.
PREPARE_PACKAGES=(
    librabbitmq-dev libnghttp2-dev libpq-dev libssl-dev libsqlite3-dev libxml2 zlib1g-dev pkg-config ca-certificates curl git jq openssl
)

prepare_swift() {
    if ! command -v swift >/dev/null; then
        die "Swift 6.3 or later is missing; https://www.swift.org/install/linux/ has it. Put it on the PATH and run this again."
    fi
    local version major minor
    version=$(swift --version 2>/dev/null | sed -n 's/.*Swift version \([0-9][0-9]*\.[0-9][0-9]*\).*/\1/p' | head -n 1)
    major=${version%%.*}
    minor=${version#*.}
    if [ -z "$version" ] || [ "$major" -lt 6 ] || { [ "$major" -eq 6 ] && [ "$minor" -lt 3 ]; }; then
        die "Swift 6.3 or later is needed, ${version:-an unknown version} is on the PATH; https://www.swift.org/install/linux/ has it."
    fi
}

prepare_has_package() { dpkg-query -W -f='${Status}' "$1" 2>/dev/null | grep -q 'ok installed'; }

# Installs what is missing: as root, or through sudo, or says what to install.
prepare_packages() {
    if ! command -v dpkg-query >/dev/null; then
        prepare_elsewhere
        return
    fi
    local missing=() package sudo=()
    for package in "${PREPARE_PACKAGES[@]}"; do
        prepare_has_package "$package" || missing+=("$package")
    done
    if [ "${#missing[@]}" -eq 0 ] && broker_is_installed; then return; fi

    local wanted=("${missing[@]}")
    broker_is_installed || wanted+=(rabbitmq-server)
    if [ "$(id -u)" -ne 0 ]; then
        command -v sudo >/dev/null || die "Packages are missing. As root: apt-get install ${wanted[*]}"
        sudo=(sudo)
    fi
    say "Installing ${wanted[*]} ..."
    # The lists of packages are fetched only where a package is not in them.
    for package in "${wanted[@]}"; do
        if [ -z "$(apt-cache madison "$package" 2>/dev/null)" ]; then
            prepare_apt update
            break
        fi
    done
    if [ "${#missing[@]}" -gt 0 ] && ! prepare_apt install -y --no-install-recommends "${missing[@]}"; then
        # Lists that are too old name files that are gone.
        prepare_apt update
        prepare_apt install -y --no-install-recommends "${missing[@]}" ||
            die "The packages could not be installed: ${missing[*]}"
    fi
    broker_install >/dev/null || { prepare_apt update && broker_install >/dev/null; } ||
        die "RabbitMQ could not be installed: apt-get install rabbitmq-server"
}

# Uses sudo of its caller.
prepare_apt() { "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q "$@" >/dev/null; }

# No Debian: nothing is installed, what is missing is named.
prepare_elsewhere() {
    local command missing=()
    for command in pkg-config curl git jq openssl flock; do
        command -v "$command" >/dev/null || missing+=("$command")
    done
    broker_is_installed || missing+=("RabbitMQ (under /usr/lib/rabbitmq)")
    local library
    for library in librabbitmq libnghttp2 libpq openssl sqlite3; do
        pkg-config --exists "$library" 2>/dev/null || missing+=("$library (headers)")
    done
    if [ "${#missing[@]}" -gt 0 ]; then die "This is not Debian; please install: ${missing[*]}"; fi
}

# Fetches promtool and Prometheus, which check what the programs expose, the alerts and the dashboard: out of Debian's package, for an
# installed one would start a service. Sets PROMETHEUS, the folder they are in.
prepare_prometheus() {
    local folder="$PUSHLINE_DIR/promtool" sudo=()
    for PROMETHEUS in /usr/bin "$folder/usr/bin"; do
        if [ -x "$PROMETHEUS/promtool" ] && [ -x "$PROMETHEUS/prometheus" ]; then return; fi
    done
    if ! command -v dpkg-deb >/dev/null; then die "promtool or prometheus is missing under /usr/bin; please install Prometheus"; fi
    if [ "$(id -u)" -ne 0 ]; then sudo=(sudo); fi
    say "Fetching Prometheus ..."
    rm -rf "$folder"
    mkdir -p "$folder"
    # Lists that are missing or too old are fetched once.
    prepare_prometheus_into "$folder" || { prepare_apt update && prepare_prometheus_into "$folder"; } ||
        die "Prometheus could not be fetched: apt-get download prometheus"
}

prepare_prometheus_into() (
    cd "$1" || exit
    # As whoever runs this: apt's own user may not write here.
    apt-get -q -o APT::Sandbox::User="$(id -un)" download prometheus >/dev/null &&
        dpkg-deb --fsys-tarfile prometheus_*.deb | tar -x ./usr/bin/promtool ./usr/bin/prometheus && rm prometheus_*.deb
)

# Installs a package of PyPI into an environment of its own, once; sets VENV.
#   prepare_python FOLDER NAME==VERSION PIP-ARGUMENTS...
prepare_python() {
    VENV="$1/$2"
    if [ -e "$VENV/complete" ]; then return; fi
    say "Installing $2 ... (log: ${1#"$ROOT"/}/install.log)"
    rm -rf "$VENV"
    mkdir -p "$1"
    { python3 -m venv "$VENV" && "$VENV/bin/pip" install "${@:2}"; } >"$1/install.log" 2>&1 ||
        die "it could not be installed. The log is ${1#"$ROOT"/}/install.log"
    touch "$VENV/complete"
}

# A build for release and one for the tests, what the tests write, and the packages: up to 9 GB at a time in .ci/run, of which 6 stay.
prepare_disk() {
    local free
    free=$(df --output=avail --block-size=1M "$ROOT" 2>/dev/null | tail -n 1)
    if [ -n "$free" ] && [ "$free" -lt 10240 ]; then
        say "Only $((free)) MB are free on the disk of $ROOT: a first build takes 2 to 3 GB, all tests with their own build 6 GB more."
    fi
}

prepare() {
    prepare_disk
    prepare_swift
    prepare_packages
}

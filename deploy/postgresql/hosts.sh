# shellcheck shell=bash
# What `secrets` and `configure` are told of the hosts. To be sourced.
#
#   die WORDS              ends the script with the reason
#   check_hosts PAIR...    ends it where one is not NAME=ADDRESS

die() {
    printf '%s: %s\n' "${0##*/}" "$1" >&2
    exit 1
}

check_hosts() {
    local host number
    for host in "$@"; do
        if ! [[ $host =~ ^[A-Za-z0-9][A-Za-z0-9.-]*=([0-9]{1,3})\.([0-9]{1,3})\.([0-9]{1,3})\.([0-9]{1,3})$ ]]; then
            die "$host is not NAME=ADDRESS, such as one=10.0.0.1"
        fi
        for number in "${BASH_REMATCH[@]:1}"; do
            if ((10#$number > 255)); then die "$host has no address: $number is above 255"; fi
        done
    done
}

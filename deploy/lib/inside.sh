# shellcheck shell=bash
# What the checks of the package and of the image do alike where they run Pushline with the simulator. To be sourced after common.sh.

URL=http://127.0.0.1:8080
SIMULATOR=http://127.0.0.1:9440
# Of a job, that its only target was reached.
ONE_REACHED='.state == "completed" and .totals.targets == 1 and .totals.accepted == 1'

# Succeeds once a command does; fails after 60 seconds.
#   wait_for WHAT COMMAND...
wait_for() {
    local end=$((SECONDS + 60))
    until "${@:2}" >/dev/null 2>&1; do
        if [ "$SECONDS" -ge "$end" ]; then die "$1 within 60 s: no"; fi
        sleep 0.2
    done
}

# Asks the API with PUSHLINE_KEY.
#   ask CURL-ARGUMENT...
ask() { curl -fsS -H "Authorization: Bearer $PUSHLINE_KEY" -H 'Content-Type: application/json' "$@"; }

# Registers alice's only device, sends to her by a command that prints the job when it is final, and asks the simulator what it received.
#   check_send WORDS COMMAND...
check_send() {
    local token state
    token=$(openssl rand -hex 32)
    wait_for "a device is registered" ask -X PUT -d "{\"service\": \"apns\", \"handle\": \"$token\", \"user\": \"alice\"}" "$URL/api/registrations/phone"
    state=$("${@:2}")
    # Whoever watches a job prints it more than once.
    jq -es "last | $ONE_REACHED" >/dev/null <<<"$state" || die "the send's outcome is $state"
    curl -fsS "$SIMULATOR/received?token=$token" | jq -e 'length == 1 and .[0].status == 200' >/dev/null ||
        die "the simulator did not receive the push"
    say "$1: 1 target, 1 accepted, and the simulator received it."
}

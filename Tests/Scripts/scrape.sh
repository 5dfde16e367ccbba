#!/usr/bin/env bash
# Has a Prometheus scrape a demonstration: it answers each query of the dashboard, and no alert rings where all is well. Prints a table of
# the queries, each with the number of series that answered it and the largest of them.
#   Tests/Scripts/scrape.sh TOOLS ENV_FILE LOG
set -euo pipefail

# shellcheck source=deploy/lib/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/../../deploy/lib/common.sh"
# shellcheck source=deploy/lib/broker.sh
. "$ROOT/deploy/lib/broker.sh"
TOOLS=${1:?the folder of prometheus}
ENV_FILE=${2:?the file that says where the demonstration is}
LOG=${3:?the file for what Prometheus prints}
WORK=$(mktemp -d)
SERVER=

finish() {
    local status=$?
    trap - EXIT
    if [ -n "$SERVER" ]; then
        kill -TERM "$SERVER" 2>/dev/null || true
        wait "$SERVER" || true
    fi
    rm -rf "$WORK"
    exit "$status"
}
trap finish EXIT
trap 'exit 143' TERM HUP
trap 'exit 130' INT

# What nothing counts while all is well, and a backup that nobody made: a query of these may have no series.
QUIET='pushline_(breakers_open|broker_refused_total|broker_connections_failed_total|http_connections_ended_total|signin_failures_total|backup_timestamp_seconds)'

# Prints a query's series as JSON, or fails.
ask() {
    curl -fsS --max-time 10 "$URL/api/v1/query" --data-urlencode "query=$1" | jq -ce '.data.result'
}

# shellcheck source=/dev/null
. "$ENV_FILE"
{
    printf 'global: {scrape_interval: 1s, evaluation_interval: 1s}\nrule_files: [%s]\n' "$ROOT/deploy/prometheus/alerts.yaml"
    printf 'scrape_configs: [{job_name: pushline, static_configs: [{targets: ['
    printf '"127.0.0.1:%s", ' "$PUSHLINE_API_PORT" "$PUSHLINE_WORKERS_REGISTER_PORT" "$PUSHLINE_WORKERS_SEND_PORT"
    printf '"127.0.0.1:%s"]}]}]\n' "$PUSHLINE_WORKERS_DELIVERY_PORT"
} >"$WORK/prometheus.yaml"
URL="http://127.0.0.1:$(broker_free_port)"
"$TOOLS/prometheus" --config.file="$WORK/prometheus.yaml" --storage.tsdb.path="$WORK/data" --web.listen-address="${URL#http://}" >"$LOG" 2>&1 </dev/null &
SERVER=$!
wait_for_url "$URL/-/ready" 60 "$SERVER" || die "Prometheus did not start: see $LOG"

# A rate needs two scrapes of each process.
end=$((SECONDS + 60))
until [ "$(ask 'count(sum_over_time(up[1m]) >= 3)' | jq -r '.[0].value[1] // 0')" -eq 4 ]; do
    [ "$SECONDS" -lt "$end" ] || die "Prometheus does not reach the four processes: $(ask up)"
    sleep 0.5
done

DASHBOARD="$ROOT/deploy/prometheus/dashboard.json"
ROW='%-52s %6s  %12s  %s\n'
count=0
# shellcheck disable=SC2059  # the format of all rows
printf "$ROW" panel series largest query
while IFS=$'\t' read -r panel query; do
    series=$(ask "$query") || die "Prometheus does not answer $query"
    if [ "$series" = '[]' ] && ! [[ $query =~ $QUIET ]]; then die "Prometheus has nothing for $query"; fi
    largest=$(jq -r 'map(.value[1] | select(test("^-?[0-9]")) | tonumber) | max // "-" | if type == "number" then . * 1000 | round / 1000 else . end' <<<"$series")
    # shellcheck disable=SC2059
    printf "$ROW" "$panel" "$(jq length <<<"$series")" "$largest" "$query"
    count=$((count + 1))
done < <(jq -r '.. | objects | select(.targets?) | .title as $title | .targets[] | "\($title)\t\(.expr)"' "$DASHBOARD")
[ "$count" -gt 0 ] || die "the dashboard has no queries"
[ "$count" -eq "$(jq '[.. | .expr? // empty] | length' "$DASHBOARD")" ] || die "not every query of the dashboard is in a panel"

rules=$(curl -fsS --max-time 10 "$URL/api/v1/rules" | jq -c '[.data.groups[].rules[]]')
bad=$(jq -r '.[] | select(.health != "ok" or .state == "firing") | "\(.name): \(.health), \(.state) \(.lastError // "")"' <<<"$rules")
[ -z "$bad" ] || die "these rules fail, or ring where all is well: $bad"

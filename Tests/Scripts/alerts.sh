#!/usr/bin/env bash
# Tests deploy/prometheus: the alerts' rules, their runbook, and the dashboard with its table in docs/operations.md.
#   Tests/Scripts/alerts.sh TOOLS
set -euo pipefail
# One order for sort and comm.
export LC_ALL=C

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
TOOLS=${1:?the folder of promtool}
ALERTS="$ROOT/deploy/prometheus/alerts.yaml"
CASES="$ROOT/deploy/prometheus/alerts.test.yaml"
DASHBOARD="$ROOT/deploy/prometheus/dashboard.json"
RUNBOOK="$ROOT/docs/runbook.md"
METRICS="$ROOT/Sources/PushlineMetrics"
WORK=$(mktemp -d)
trap 'rm -rf "$WORK"' EXIT

fail() {
    printf 'alerts.sh: %s\n' "$*" >&2
    exit 1
}

# Runs promtool, and shows what it says only where it finds a fault.
promtool() { "$TOOLS/promtool" "$@" >"$WORK/promtool" 2>&1 || { cat "$WORK/promtool" >&2 && return 1; }; }

# Ends the test where two lists differ, the lines of the first being wanted.
#   same WHAT FILE FILE
same() { diff -u "$2" "$3" >&2 || fail "$1: - is missing, + is too much"; }

# The rules.
promtool check rules "$ALERTS" || fail "promtool does not take deploy/prometheus/alerts.yaml"
promtool test rules "$CASES" || fail "an alert does not ring when it should, or rings when it should not"
sed -n 's/^ *- alert: //p' "$ALERTS" | sort -u >"$WORK/alerts"
[ -s "$WORK/alerts" ] || fail "deploy/prometheus/alerts.yaml has no alerts"
for case in rings 'is silent'; do
    sed -n "s/^ *- name: \([A-Za-z]*\) $case .*/\1/p" "$CASES" | sort -u >"$WORK/cases"
    same "cases in which an alert $case" "$WORK/alerts" "$WORK/cases"
done

# The configuration for three hosts has the jobs that rules ask for, and each program on each host.
HOSTS="$ROOT/deploy/prometheus/many-hosts.yaml"
promtool check config "$HOSTS" || fail "promtool does not take deploy/prometheus/many-hosts.yaml"
grep -o 'job=~*"[^"]*"' "$ALERTS" | sed 's/.*"\(.*\)"/\1/' | tr '|' '\n' | sort -u >"$WORK/asked"
sed -n 's/^ *- job_name: //p' "$HOSTS" | sort >"$WORK/jobs"
same "jobs of deploy/prometheus/many-hosts.yaml" "$WORK/asked" "$WORK/jobs"

# Each has what somebody needs who is woken by it.
rules=$(grep -c '^ *- alert: ' "$ALERTS")
for part in 'expr: .' 'labels: {severity: \(page\|ticket\)}$' 'summary: .' 'description: >-$' 'runbook_url: docs/runbook\.md#.'; do
    [ "$(grep -c "^ *$part" "$ALERTS")" -eq "$rules" ] || fail "an alert has no $part"
done

# The runbook has a section for each alert and no other, and each rule leads to its own.
sed -n '/^## Alerts$/,/^## /s/^### //p' "$RUNBOOK" | sort >"$WORK/sections"
same "sections of docs/runbook.md" "$WORK/alerts" "$WORK/sections"
sed -n 's/^ *- alert: //p' "$ALERTS" | tr '[:upper:]' '[:lower:]' >"$WORK/anchors"
sed -n 's|^ *runbook_url: docs/runbook\.md#||p' "$ALERTS" >"$WORK/urls"
same "anchors in docs/runbook.md" "$WORK/anchors" "$WORK/urls"

# The dashboard's queries parse: as rules, which promtool checks. One line of JSON is YAML.
jq -r '[.. | .expr? // empty][]' "$DASHBOARD" >"$WORK/queries"
[ -s "$WORK/queries" ] || fail "deploy/prometheus/dashboard.json has no queries"
jq -ncR '{groups: [{name: "dashboard", rules: [inputs | {record: "dashboard:query", expr: .}]}]}' "$WORK/queries" >"$WORK/queries.yaml"
# Each rule's name is the same: of that promtool only warns.
promtool check rules --lint=none "$WORK/queries.yaml" || fail "a query of the dashboard is not right"

# docs/operations.md has each of them, in the same order.
jq -r '.panels[] | .title as $title | .targets[]? | "| \($title) | `\(.expr)` |"' "$DASHBOARD" >"$WORK/panels"
sed -n '/^| panel | query |$/,/^$/p' "$ROOT/docs/operations.md" | sed '1,2d;$d' >"$WORK/table"
same "the table of the dashboard's queries in docs/operations.md" "$WORK/panels" "$WORK/table"

# All that is named is what the programs export: metrics (a histogram's are three series), and their labels.
sed -nE '/MetricDescription\($/{n;s/^ *"([a-z_]+)",$/\1/p}' "$METRICS"/MetricDescription+*.swift >"$WORK/names"
sed -nE 's/.*MetricDescription\("([a-z_]+)".*/\1/p' "$METRICS"/MetricDescription+*.swift >>"$WORK/names"
sed -nE '/MetricDescription\($/{n;h;n;/^ *\.histogram,$/{x;s/^ *"([a-z_]+)",$/\1/p}}' "$METRICS"/MetricDescription+*.swift >"$WORK/histograms"
declared=$(cat "$METRICS"/MetricDescription+*.swift | grep -c ' = MetricDescription(')
[ "$(wc -l <"$WORK/names")" -eq "$declared" ] || fail "not every metric's name can be read in Sources/PushlineMetrics"
[ -s "$WORK/histograms" ] || fail "no histogram can be read in Sources/PushlineMetrics"
{
    grep -vxFf "$WORK/histograms" "$WORK/names"
    sed 's/.*/&_bucket\n&_sum\n&_count/' "$WORK/histograms"
    # The labels; Prometheus' own, Patroni's and those of node_exporter; and PromQL's words.
    sed -n '/enum Label/,/^    }/p' "$METRICS/MetricDescription.swift" | grep -vE '//|enum|\}' |
        sed -E 's/^ *case //;s/[A-Za-z]+ = "([a-z_]+)"/\1/' | tr -s ', ' '\n'
    printf '%s\n' up scope patroni_sync_standby patroni_replica patroni_xlog_location patroni_xlog_received_location patroni_postgres_running
    printf '%s\n' node_filesystem_avail_bytes mountpoint fstype
    printf '%s\n' instance job le and by on or unless group_left
} | sort -u >"$WORK/known"
{ sed -n 's/^ *expr: //p' "$ALERTS" && cat "$WORK/queries"; } |
    # Without values of labels, times and the names of functions.
    sed -E 's/"[^"]*"//g;s/\[[0-9a-z]+\]//g;s/[a-z_]+\(//g' | grep -oE '[a-zA-Z_][a-zA-Z0-9_]*' | sort -u >"$WORK/used"
unknown=$(comm -13 "$WORK/known" "$WORK/used" | grep -vxE 'sum|min|max|count' || true)
[ -z "$unknown" ] || fail "no program exports ${unknown//$'\n'/, }"
# So for the words of the rules and of the runbook, where a histogram may stand as a whole.
grep -ohE '\b(pushline|process|http_server)_[a-z_]+\b' "$ALERTS" "$CASES" "$RUNBOOK" | sort -u >"$WORK/words"
unknown=$(sort -u "$WORK/known" "$WORK/names" | comm -13 - "$WORK/words")
[ -z "$unknown" ] || fail "no program exports ${unknown//$'\n'/, }"

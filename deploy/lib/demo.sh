# shellcheck shell=bash
# The sends of the quickstart: devices, some trouble at the push services, and a table of what became of everything.
# To be sourced after common.sh. The caller sets URL, SIMULATOR_URL, SIMULATOR_CA, OPERATOR_KEY, SENDER_KEY, WNS_CHANNEL, WEB_URL, RUN and
# PASSWORDS.

# The jobs, in the order of sending, and for each its title and the states that were seen.
DEMO_JOBS=()
declare -A DEMO_KINDS=() DEMO_TITLES=() DEMO_WAYS=() DEMO_STATES=() DEMO_TEXTS=() DEMO_STARTS=()

# Milliseconds of a clock that is good for differences.
demo_clock() { printf '%s' "${EPOCHREALTIME/[.,]/}" | cut -c 1-13; }

# A request as a user: fails with one line where the answer is not 2xx; the body goes to RUN/answer, headers to RUN/headers.
#   demo_as USER CURL-ARGUMENTS...
demo_as() {
    local user=$1
    shift
    demo_request --user "$user:${PASSWORDS[$user]}" "$@"
}

demo_with_key() { demo_request --header "Authorization: Bearer $1" "${@:2}"; }

demo_request() {
    local status
    status=$(curl -sS --max-time 30 -o "$RUN/answer" -D "$RUN/headers" -w '%{http_code}' "$@") ||
        die "the API does not answer: ${*: -1}"
    case $status in
    2*) ;;
    *) die "the API answered $status to ${*: -1}: $(head -c 300 "$RUN/answer")" ;;
    esac
}

# A device signs in as existing apps do: asks for an id, then puts itself there.
#   demo_register USER PLATFORM HANDLE [TAG]
demo_register() {
    local id handle
    handle=$(jq -rn --arg text "$3" '$text | @uri')
    demo_as "$1" -X POST "$URL/api/register?handle=$handle"
    id=$(jq -r . "$RUN/answer")
    demo_as "$1" -X PUT -H 'Content-Type: application/json' \
        -d "$(jq -cn --arg p "$2" --arg h "$3" --arg t "${4-}" '{Platform: $p, Handle: $h, Tags: ($t | if . == "" then [] else [.] end)}')" \
        "$URL/api/register/$id"
    # Apps may say gcm for fcm; everywhere else it is fcm.
    printf '  %-6s %-5s %.44s\n' "$1" "${2/gcm/fcm}" "$3"
}

demo_hex() { od -An -N32 -tx1 /dev/urandom | tr -d ' \n'; }

demo_fault() { curl -fsS --max-time 10 -o "$RUN/answer" -H 'Content-Type: application/json' -d "$1" "$SIMULATOR_URL/faults"; }

demo_remember() {
    local job=$1
    DEMO_JOBS+=("$job")
    DEMO_TITLES[$job]=$2
    DEMO_KINDS[$job]=$3
    DEMO_WAYS[$job]="accepted"
    DEMO_STATES[$job]=
    DEMO_STARTS[$job]=$(demo_clock)
}

demo_job_of_headers() { tr -d '\r' <"$RUN/headers" | sed -n 's/^[Pp]ushline-[Jj]ob: //p'; }

# As an app built for the classic backend sends.
#   demo_send_classic FROM PNS TO TEXT
demo_send_classic() {
    demo_as "$1" -X POST -H 'Content-Type: application/json;charset=utf-8' -d "\"$4\"" \
        "$URL/api/notifications?pns=$2&to_tag=$3"
    demo_remember "$(demo_job_of_headers)" "$1 to $3" app
}

# As a backend sends.
#   demo_send TITLE JSON
demo_send() {
    demo_with_key "$SENDER_KEY" -X POST -H 'Content-Type: application/json' -H "Idempotency-Key: $(demo_hex)" -d "$2" "$URL/api/sends"
    demo_remember "$(jq -r .id "$RUN/answer")" "$1" backend
}

# The handle of a browser: the subscription that its push service makes for it.
demo_browser() {
    curl -fsS --max-time 10 --cacert "$SIMULATOR_CA" -X POST "$WEB_URL/subscriptions/$1" | jq -r .handle ||
        die "the simulator has no browser: see its log"
}

# Devices of three users, and trouble for two of them.
demo_devices() {
    DEMO_BUSY=$(demo_hex)
    DEMO_DEAD=$(demo_hex)
    say "Devices, registered as the users' apps do it:"
    demo_register alice apns "$(demo_hex)" news
    demo_register alice fcm "fcm-$(demo_hex):APA91b$(demo_hex)" news
    demo_register bob gcm "gcm-$(demo_hex):APA91b$(demo_hex)" news
    demo_register bob wns "${WNS_CHANNEL}$(demo_hex)" news
    demo_register bob web "$(demo_browser bob)"
    demo_register carol apns "$DEMO_BUSY"
    demo_register carol apns "$DEMO_DEAD" news
    demo_fault "$(jq -cn --arg t "$DEMO_BUSY" '{service: "apns", token: $t, count: 2, status: 503, retryAfter: 2}')"
    demo_fault "$(jq -cn --arg t "$DEMO_DEAD" '{service: "apns", token: $t, reason: "Unregistered"}')"
    say "The simulator answers 'try again in 2 s' twice for one of carol's devices, and 'unregistered' for the other."
    say
}

demo_sends() {
    demo_send_classic bob apns alice 'Lunch? <b>Really</b> & "truly" 🍜'
    demo_send_classic alice gcm bob 'Yes, at noon'
    demo_send_classic alice wns bob 'At <noon> & not later'
    demo_send "shop to carol" '{"to": {"user": "carol"}, "title": "Parcel", "body": "It is at your door."}'
    demo_send "shop to tag news" '{"to": {"tag": "news"}, "title": "News", "body": "All is well.", "data": {"page": "7"}}'
    demo_send "shop to bob and alice" '{"to": {"users": ["alice", "bob"]}, "title": "Sale", "subtitle": "Today", "body": "It begins.",
        "image": "https://shop.example/sale.png", "link": "shop://sale", "actions": [{"id": "see", "title": "See it"}], "thread": "sales",
        "priority": "high", "ttl": 3600, "collapse": "sale", "apns": {"ttl": 600}, "fcm": {"channel": "sales", "color": "#1a73e8"},
        "wns": {"scenario": "reminder"}, "web": {"tag": "sale"}}'
    DEMO_RICH=${DEMO_JOBS[-1]}
}

# Looks at every job until all are final, and remembers the states on the way.
demo_watch() {
    local job state open=1 end=$((SECONDS + 60)) passed
    while [ "$open" -gt 0 ]; do
        open=0
        for job in "${DEMO_JOBS[@]}"; do
            case ${DEMO_STATES[$job]} in completed | abandoned | cancelled | expired) continue ;; esac
            demo_with_key "$OPERATOR_KEY" "$URL/api/jobs/$job"
            state=$(jq -r .state "$RUN/answer")
            DEMO_TEXTS[$job]=$(cat "$RUN/answer")
            if [ "$state" != "${DEMO_STATES[$job]}" ]; then
                passed=$(($(demo_clock) - DEMO_STARTS[$job]))
                DEMO_WAYS[$job]+=$(printf ' > %s %d.%d s' "$state" $((passed / 1000)) $((passed % 1000 / 100)))
                DEMO_STATES[$job]=$state
            fi
            case $state in completed | abandoned | cancelled | expired) ;; *) open=$((open + 1)) ;; esac
        done
        if [ "$SECONDS" -ge "$end" ]; then die "a send is not finished after 60 s: job $job is $state"; fi
        sleep 0.1
    done
}

# One line a service of each send; fails where targets are not the sum of outcomes.
demo_table() {
    local job title kind rows row
    local line='%-22s %-8s %-5s %7s %8s  %-15s %s\n'
    # shellcheck disable=SC2059  # the format is ours
    printf "$line" SEND "SENT BY" PNS TARGETS ACCEPTED FAILED STATES
    for job in "${DEMO_JOBS[@]}"; do
        title=${DEMO_TITLES[$job]}
        kind=${DEMO_KINDS[$job]}
        rows=$(jq -r '
            .counts | to_entries[] | [.key, .value.targets, .value.accepted,
            ((.value.failed | to_entries | map("\(.value) \(.key)") | join(", ")) | if . == "" then "-" else . end)] | @tsv
            ' <<<"${DEMO_TEXTS[$job]}")
        [ -n "$rows" ] || rows=$'-\t0\t0\t-'
        while IFS=$'\t' read -r -a row; do
            # shellcheck disable=SC2059
            printf "$line" "$title" "$kind" "${row[@]}" "${DEMO_WAYS[$job]}" | sed 's/ *$//'
            title=
            kind=
            DEMO_WAYS[$job]=
        done <<<"$rows"
        jq -e '.totals | .targets == .accepted + .expired + .cancelled + ([.failed[]] | add // 0)' \
            >/dev/null <<<"${DEMO_TEXTS[$job]}" || die "job $job: targets and outcomes do not add up"
    done
}

# The notification that one device of each service got of the send with image, link and actions: the headers that say where, how urgent and for how
# long, which FCM has in the message, and the body; Web Push as the browser decrypts it.
demo_rich() {
    local pns push
    say
    say "The last send, as each service got it:"
    for pns in apns fcm wns web; do
        # A device's last push: no other send follows this one.
        push=$(curl -fsS --max-time 10 "$SIMULATOR_URL/received?service=$pns&limit=1000" |
            jq -c 'map(select(.status < 300 and (.body | contains("sale.png")))) | last // empty')
        [ -n "$push" ] || die "$pns was handed nothing of job $DEMO_RICH"
        printf '  %s\n' "$pns"
        jq -r '(.headers | to_entries[] | select(.key | test("^(apns-(topic|push-type|priority|expiration|collapse-id)|" +
            "x-wns-(type|priority|ttl)|ttl|urgency|topic)$")) | "    \(.key): \(.value)"), "    \(.body)"' <<<"$push"
    done
}

demo_run() {
    demo_devices
    demo_sends
    demo_watch
    demo_table
    demo_rich
}

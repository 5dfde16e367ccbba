#!/usr/bin/env bash
# A backend that has users, devices and payloads of its own, and no account: all that it does is here, by curl alone.
#
#   PUSHLINE_URL=http://127.0.0.1:8080 PUSHLINE_SENDER_KEY=plk_… Examples/backend.sh
#
# It registers a device for each of 1,000 users, changes tags, sends to users, to handles and natively, previews, makes a dry
# run, and removes a device and a user. `deploy/quickstart --stay` starts something to try it on, and writes both variables to
# .pushline/quickstart.env.
set -euo pipefail

: "${PUSHLINE_URL:?is the address of the API}" "${PUSHLINE_SENDER_KEY:?is a key with the role sender}"
USERS=${USERS:-1000}
# So that two runs do not take each other's devices.
RUN=$(date +%s)

fail() {
    echo "backend: $1" >&2
    exit 1
}

# call METHOD PATH [BODY]: waits up to a minute for what comes of a job, and prints the answer; ends the script unless it is a success.
call() {
    curl -sS --fail-with-body -X "$1" "$PUSHLINE_URL$2" -H "Authorization: Bearer $PUSHLINE_SENDER_KEY" \
        -H 'Content-Type: application/json' -H 'Prefer: wait=60' ${3+-d "$3"} || fail "$1 $2 was refused"
}

# send BODY: sends, and prints the counts once the outcome of every device is known.
send() { call POST /api/sends "$1" | jq -c '{state, totals}'; }

# The token that the app of a user's phone would have told us.
token() { printf '%s %s' "$RUN" "$1" | sha256sum | cut -c1-64; }

register() {
    call PUT "/api/registrations/phone-$RUN-$1" \
        "{\"service\":\"apns\",\"handle\":\"$(token "$1")\",\"user\":\"user$RUN-$1\",\"tags\":[\"run:$RUN\"]}" >/dev/null
}
export RUN PUSHLINE_URL PUSHLINE_SENDER_KEY
export -f fail call token register

echo "== A device for each of $USERS users, under ids of our own"
seq 1 "$USERS" | xargs -P 8 -I {} bash -c 'register {}' || fail "a device was refused"
call GET "/api/registrations?tag=run:$RUN&limit=1" | jq -c '.items[0] | {id, user, service}'

echo "== A tag more, and one less"
call PATCH "/api/registrations/phone-$RUN-1" '{"tags":{"add":["beta"],"remove":["trial"]}}' | jq -c .tags

echo "== To users"
send "{\"to\":{\"users\":[\"user$RUN-1\",\"user$RUN-2\"]},\"title\":\"Hello\",\"body\":\"to two users\",\"label\":\"welcome\"}"

echo "== To all of them, by a tag"
send "{\"to\":{\"tag\":\"run:$RUN\"},\"body\":\"to $USERS users\"}"

echo "== To handles that nobody registered"
send "{\"to\":{\"handles\":[{\"service\":\"apns\",\"handle\":\"$(token loose)\",\"reference\":\"order-4711\"}]},\"body\":\"to a token\"}"

echo "== In the push service's own form"
send "{\"to\":{\"user\":\"user$RUN-1\"},\"native\":{\"apns\":{\"payload\":{\"aps\":{\"alert\":{\"title\":\"Native\"},\"badge\":3}}}}}"

echo "== What would be sent"
call POST /api/sends/preview "{\"to\":{\"tag\":\"run:$RUN\"},\"body\":\"a look\",\"services\":[\"apns\"]}" | jq -c .

echo "== A dry run: all but the request to the push service"
send "{\"to\":{\"tag\":\"run:$RUN\"},\"body\":\"nobody sees this\",\"dryRun\":true}"

echo "== A device is removed"
call DELETE "/api/registrations/phone-$RUN-1"
send "{\"to\":{\"user\":\"user$RUN-1\"},\"body\":\"nobody is there\"}"

echo "== A user is removed, with all that there is of them"
call DELETE "/api/users/user$RUN-2" | jq -c '{kind, state, result}'
send "{\"to\":{\"user\":\"user$RUN-2\"},\"body\":\"nobody is there\"}"

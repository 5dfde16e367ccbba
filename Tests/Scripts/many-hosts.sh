#!/usr/bin/env bash
# What deploy/postgresql/secrets and configure write, and how they fail. Needs a second; of configure root, in mounts of its own.
set -euo pipefail

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
SCRIPTS="$ROOT/deploy/postgresql"
HOSTS=(one=10.0.0.1 two=10.0.0.2 three=10.0.0.3)

# In mounts of its own, where /etc may be written.
if [ "${1-}" != --inside ]; then
    WORK=$(mktemp -d)
    trap 'rm -rf "$WORK"' EXIT
    if [ "$(id -u)" -eq 0 ]; then
        unshare --mount --propagation private "$0" --inside "$WORK" root
    else
        "$0" --inside "$WORK" other
    fi
    exit
fi
WORK=$2
FAILED=0

check() {
    if [ "$2" = "$3" ]; then return; fi
    printf '%s: %s, and not %s\n' "$1" "$2" "$3" >&2
    FAILED=1
}

# Checks that a command fails, and says why.
#   refuses WORDS COMMAND...
refuses() {
    local words=$1 status=0 said
    shift
    said=$("$@" 2>&1 >/dev/null) || status=$?
    check "the status of ${*##*/}" "$status" 1
    case $said in *"$words"*) ;; *) check "what ${*##*/} says" "$said" "$words" ;; esac
}

secrets_are_made_for_hosts() {
    local folder="$WORK/secrets" name file
    "$SCRIPTS/secrets" "$folder" "${HOSTS[@]}"
    for name in one two three; do
        check "the certificate of $name" "$(openssl verify -CAfile "$folder/ca.pem" "$folder/$name/server.pem" 2>&1)" "$folder/$name/server.pem: OK"
        for file in ca.pem password restapi-password erlang-cookie; do
            check "$file of $name" "$(cmp "$folder/$file" "$folder/$name/$file" 2>&1)" ""
        done
    done
    check "a certificate's names" "$(openssl x509 -in "$folder/two/server.pem" -noout -ext subjectAltName | tail -n 1 | tr -d ' ')" \
        DNS:two,IPAddress:10.0.0.2
    check "what is readable" "$(find "$folder" -type f -perm /044 -printf '%f\n' | sort -u | tr '\n' ' ')" "ca.pem server.pem "
    check "what is left" "$(find "$folder" -name '*.csr' -o -name '*.names' -o -name '*.new')" ""
    # rabbitmq-server.postinst replaces what Erlang itself has made: 20 capitals.
    check "the cookie" "$(grep -cE '^[0-9a-f]{32}$' "$folder/erlang-cookie")" 1
    # One that takes the place of another, later: all but its certificate is as it was.
    cp "$folder/password" "$WORK/password"
    "$SCRIPTS/secrets" "$folder" three=10.0.0.4
    check "a later one" "$(openssl verify -CAfile "$folder/one/ca.pem" "$folder/three/server.pem" 2>&1)" "$folder/three/server.pem: OK"
    check "its password" "$(cmp "$folder/three/password" "$WORK/password" 2>&1)" ""
    rm "$folder/password"
    refuses "ca.key and no password" "$SCRIPTS/secrets" "$folder" five=10.0.0.5
    rm "$folder/ca.key"
    refuses "ca.pem and no ca.key" "$SCRIPTS/secrets" "$folder" five=10.0.0.5
}

what_is_no_host_is_refused() {
    local pair
    for pair in one 10.0.0.1 one= =10.0.0.1 one=two one=10.0.0.256 one=10.0.0 one=10.0.0.1/24 'o ne=10.0.0.1' one=a=10.0.0.1; do
        refuses "$pair" "$SCRIPTS/secrets" "$WORK/none" "$pair"
        refuses "$pair" "$SCRIPTS/configure" one=10.0.0.1 two=10.0.0.2 "$pair"
    done
    check "what a refusal leaves" "$(find "$WORK/none" 2>/dev/null)" ""
}

what_openssl_says_is_shown() {
    mkdir "$WORK/bin"
    printf '#!/bin/sh\necho "no room for a key" >&2\nexit 1\n' >"$WORK/bin/openssl"
    chmod +x "$WORK/bin/openssl"
    PATH="$WORK/bin:$PATH" refuses "no room for a key" "$SCRIPTS/secrets" "$WORK/full" one=10.0.0.1
    PATH="$WORK/bin:$PATH" refuses "password could not be made" "$SCRIPTS/secrets" "$WORK/full" one=10.0.0.1
}

# An /etc whose changes are gone with this process's mounts.
make_etc() {
    mount -t tmpfs tmpfs "$WORK"
    mkdir "$WORK/upper" "$WORK/work"
    mount -t overlay overlay -o "lowerdir=/etc,upperdir=$WORK/upper,workdir=$WORK/work" /etc
    mkdir -p /etc/patroni /etc/default
    rm -f /etc/patroni/*
    mount -t tmpfs tmpfs /var/lib/rabbitmq
    "$SCRIPTS/secrets" "$WORK/secrets" "${HOSTS[@]}"
}

configuration_is_nobody_elses() {
    local file=/etc/patroni/config.yml
    refuses "password" "$SCRIPTS/configure" "${HOSTS[@]}"
    cp "$WORK/secrets/two"/* /etc/patroni
    printf 'administrators0\n' >/etc/patroni/password
    printf 'administrators0\n' >/etc/patroni/restapi-password
    refuses "must be another" "$SCRIPTS/configure" "${HOSTS[@]}"
    printf 'of&patroni\n' >/etc/patroni/restapi-password
    refuses "letters and digits" "$SCRIPTS/configure" "${HOSTS[@]}"
    printf 'patronis1\n' >/etc/patroni/restapi-password
    mv /etc/patroni/server.key "$WORK"
    refuses "server.key is missing" "$SCRIPTS/configure" "${HOSTS[@]}"
    mv "$WORK/server.key" /etc/patroni
    # One that somebody has made, and that another reads meanwhile.
    printf 'old\n' >"$file"
    chmod 644 "$file"
    exec 3<"$file"
    SHARED_BUFFERS=64MB "$SCRIPTS/configure" two=10.0.0.2 one=10.0.0.1 three=10.0.0.3 >/dev/null
    check "what a reader has" "$(cat <&3)" old
    check "whose it is" "$(stat -c '%U %a' "$file")" "postgres 600"
    check "whose secrets are" "$(cd /etc/patroni && stat -c '%n %U %a' password restapi-password server.key | tr '\n' ' ')" \
        "password postgres 600 restapi-password postgres 600 server.key postgres 600 "
    check "whose the cookie is" "$(stat -c '%U %a' /var/lib/rabbitmq/.erlang.cookie)" "rabbitmq 400"
    check "the cookie on the host" "$(cmp /var/lib/rabbitmq/.erlang.cookie "$WORK/secrets/erlang-cookie" 2>&1)" ""
    check "what was not filled in" "$(grep -ho '@[A-Z_0-9]*@' "$file" /etc/default/etcd)" ""
    check "passwords" "$(grep -A1 username: "$file" | grep -o '"[a-z0-9]*"' | tr '\n' ' ')" '"patronis1" "administrators0" "administrators0" '
    check "names" "$(grep -c 'two:8008\|two:5432\|10.0.0.2:8008' "$file")" 3
    check "who is let in" "$(grep -c 'hostssl all postgres 10.0.0.[123]/32' "$file")" 3
    check "how others are asked" "$(grep -c 'sslmode: verify-ca' "$file")" 2
    check "slots" "$(grep -o '"[a-z_]*": {type: physical}' "$file" | tr '\n' ' ')" \
        '"one": {type: physical} "three": {type: physical} "two": {type: physical} '
    check "units that are started again" "$(grep -lx Restart=always /etc/systemd/system/*.service.d/pushline.conf | xargs -n 1 dirname | xargs -n 1 basename | tr '\n' ' ')" \
        "etcd.service.d patroni.service.d rabbitmq-server.service.d "
    check "what rabbitmq-rejoin runs" "$(test -x "$(sed -n 's/^ExecStart=//p' /etc/systemd/system/rabbitmq-rejoin.service)" && echo yes)" yes
}

secrets_are_made_for_hosts
what_is_no_host_is_refused
what_openssl_says_is_shown
if [ "$3" = root ] && id postgres >/dev/null 2>&1 && id rabbitmq >/dev/null 2>&1 && ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1; then
    make_etc
    configuration_is_nobody_elses
else
    printf 'deploy/postgresql/configure was not tried: that needs root, PostgreSQL and RabbitMQ.\n' >&2
fi
exit "$FAILED"

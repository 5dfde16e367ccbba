#!/usr/bin/env bash
# Tests deploy/manual: a page for each command, without a fault, and completions that their shells can read.
#   Tests/Scripts/manual.sh BIN
set -euo pipefail

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
BIN=${1:?the folder of the programs}
SHARE=$(mktemp -d)
trap 'rm -rf "$SHARE"' EXIT

fail() {
    printf 'manual.sh: %s\n' "$*" >&2
    exit 1
}

"$ROOT/deploy/manual" "$SHARE" "$BIN" >/dev/null || fail "deploy/manual failed"
PAGES="$SHARE/man"

# Every command that a program's own description names has its page.
[ -s "$PAGES/man1/pushline.1" ] || fail "there is no page of pushline"
for program in pushline-api pushline-hub pushline-register-worker pushline-send-worker pushline-delivery-worker pushline-simulator; do
    [ -s "$PAGES/man8/$program.8" ] || fail "there is no page of $program"
done
commands=$("$BIN/pushline" --experimental-dump-help | grep -c '"commandName"')
pages=$(find "$PAGES/man1" -name '*.1' | wc -l)
[ "$commands" -eq "$pages" ] || fail "pushline has $commands commands and $pages pages"

for page in "$PAGES"/man?/*; do
    if command -v mandoc >/dev/null; then
        words=$(mandoc -Tlint -W warning "$page" 2>&1) || true
    elif command -v man >/dev/null; then
        words=$(man --warnings --local-file "$page" 2>&1 >/dev/null) || true
    else
        words=
    fi
    [ -z "$words" ] || fail "$words"
done

for shell in bash zsh fish; do
    case $shell in
    bash) file="$SHARE/bash-completion/completions/pushline" ;;
    zsh) file="$SHARE/zsh/site-functions/_pushline" ;;
    fish) file="$SHARE/fish/vendor_completions.d/pushline.fish" ;;
    esac
    [ -s "$file" ] || fail "there are no completions for $shell"
    if command -v "$shell" >/dev/null; then "$shell" -n "$file" || fail "$shell does not read its completions"; fi
done

#!/bin/sh
# SPDX-License-Identifier: MIT
# scripts/make-users-db: the rows, that they are always the same, that an old file
# stays until the new one is whole, and its errors.
set -eu
make=scripts/make-users-db
command -v sqlite3 >/dev/null || {
    echo "skipped: no sqlite3"
    exit 77
}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

fail() {
    echo "FAILED: $1" >&2
    exit 1
}

# expect CODE TEXT ARGUMENTS...: the exit code, and what standard error says.
expect() {
    code=$1 text=$2
    shift 2
    got=0
    $make "$@" >"$dir/out" 2>"$dir/err" || got=$?
    [ "$got" -eq "$code" ] || fail "make-users-db $*: exit code $got instead of $code"
    if [ -z "$text" ]; then
        [ ! -s "$dir/err" ] || fail "make-users-db $*: $(cat "$dir/err")"
    else
        grep -qF -- "$text" "$dir/err" || fail "make-users-db $*: $(cat "$dir/err")"
    fi
    [ ! -s "$dir/out" ] || fail "make-users-db $*: said something on standard output"
}

query() {
    sqlite3 "$dir/users.db" "$1"
}

expect 0 '' "$dir/users.db"
[ "$(query 'SELECT count(*), min(id), max(id) FROM users')" = '10000|1|10000' ] ||
    fail 'not 10,000 users'
[ "$(query 'SELECT * FROM users WHERE id = 42')" = \
    '42|John Carver|john.carver.42@example.com|Coimbra|2010-01-04T20:23:18Z' ] || fail 'user 42'
[ "$(query 'SELECT count(*) FROM users WHERE city IS NULL')" = 588 ] || fail 'cities'

expect 0 '' "$dir/again.db" 10000
cmp "$dir/users.db" "$dir/again.db" || fail 'not the same every time'

expect 0 '' "$dir/users.db" 3
[ "$(query 'SELECT count(*) FROM users')" = 3 ] || fail 'an old file is not replaced'
[ "$(ls "$dir" | tr '\n' ' ')" = 'again.db err out users.db ' ] || fail 'something was left behind'

expect 2 'which file?'
expect 2 'too many arguments' a b c
expect 2 'unknown option --fast' --fast
for rows in 0 -1 x 1.5 '' 123456789; do
    expect 2 "found \"$rows\": a number of rows" "$dir/users.db" "$rows"
done
expect 1 'is a directory' "$dir"
expect 1 'cannot write beside' "$dir/nowhere/users.db"
[ "$(query 'SELECT count(*) FROM users')" = 3 ] || fail 'a mistake touched the file'
$make --help | grep -q '^usage: make-users-db FILE' || fail 'no help'

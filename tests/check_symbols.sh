#!/bin/sh
# SPDX-License-Identifier: MIT
# check_symbols.sh LIBRARY [--update]
# What librondo exports is what src/librondo.symbols lists, no more and no less,
# all of it begins with rondo_, and it needs the C library alone.
set -eu
library=$1
list=src/librondo.symbols
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export LC_ALL=C

nm -D --defined-only "$library" | awk '{ print $3 }' | sort -u >"$work/exported"
if [ "${2:-}" = --update ]; then
    cp "$work/exported" "$list"
    exit 0
fi

bad=0
if ! sort -c "$list"; then bad=1; fi
if ! diff -u "$list" "$work/exported"; then
    echo "exported symbols differ from $list (if you mean it: $0 LIBRARY --update)"
    bad=1
fi
if grep -v '^rondo_' "$work/exported"; then
    echo "exported without the prefix rondo_"
    bad=1
fi

readelf -d "$library" >"$work/dynamic"
if ! grep -q 'SONAME.*\[librondo\.so\.0\]' "$work/dynamic"; then
    echo "the SONAME is not librondo.so.0"
    bad=1
fi
if ! grep -q 'NEEDED.*\[libc\.so\.6\]' "$work/dynamic"; then
    echo "readelf shows no libc: the check below would mean nothing"
    bad=1
fi
if grep NEEDED "$work/dynamic" |
    grep -Ev '\[(libc\.so\.6|libpthread\.so\.0|ld-linux-[a-z0-9_-]+\.so\.[0-9])\]'; then
    echo "needs more than the C library"
    bad=1
fi
exit $bad

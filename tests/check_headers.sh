#!/bin/sh
# SPDX-License-Identifier: MIT
# check_headers.sh CC CXX|none
# Each public header compiles alone, as strict C99 and as C++; then all at once.
set -eu
cc=$1 cxx=$2
flags="-pedantic -Wall -Wextra -Werror -fsyntax-only -Iinclude"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

for header in include/rondo/*.h; do
    # shellcheck disable=SC2086
    "$cc" -std=c99 $flags -x c -include "rondo/${header##*/}" /dev/null
    echo "#include \"rondo/${header##*/}\"" >>"$work/public_headers.h"
done
if [ "$cxx" = none ]; then
    echo "skipped: no C++ compiler (C99 is fine)"
    exit 77
fi
for header in include/rondo/*.h; do
    # shellcheck disable=SC2086
    "$cxx" -std=c++11 $flags -x c++ -include "rondo/${header##*/}" /dev/null
done
# shellcheck disable=SC2086
"$cxx" -std=c++11 $flags "-I$work" tests/headers.cpp

#!/bin/sh
# SPDX-License-Identifier: MIT
# Builds examples/plugin as a stranger would, with its own CMake file, and runs
# plugin_example_test on what comes out.
#
#     plugin_example.sh SOURCE_DIR CMAKE COMPILER TEST
set -eu
build=$(mktemp -d)
trap 'rm -rf "$build"' EXIT
# cmake's own default needs make, which may be absent.
generator=
[ -n "${CMAKE_GENERATOR:-}" ] || ! command -v ninja >/dev/null || generator=-GNinja
"$2" $generator -S "$1/examples/plugin" -B "$build" -DCMAKE_C_COMPILER="$3" \
    -DRONDO_INCLUDE_DIR="$1/include" -DCMAKE_C_FLAGS=-Werror >"$build/log" 2>&1 &&
    "$2" --build "$build" >>"$build/log" 2>&1 || {
    cat "$build/log"
    exit 1
}
"$4" "$build/lines.so"

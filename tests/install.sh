#!/bin/sh
# SPDX-License-Identifier: MIT
# install.sh BUILD_DIR CMAKE CC CXX|none
# Installs into a scratch prefix and builds programs against what is there, by
# pkg-config and by find_package, shared and static, C and C++.
set -eu
build=$1 cmake=$2 cc=$3 cxx=$4
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
prefix=$work/prefix
version=$(sed -n 's/^#define RONDO_VERSION "\(.*\)"/\1/p' include/rondo/rondo.h)

expect() {
    said=$("$1")
    if [ "$said" != "$2" ]; then
        echo "${1##*/} said '$said', not '$2'"
        exit 1
    fi
    echo "${1##*/}: $said"
}

"$cmake" --install "$build" --prefix "$prefix" >"$work/log" || { cat "$work/log"; exit 1; }
pc=$(find "$prefix" -name rondo.pc)
lib=${pc%/pkgconfig/rondo.pc}
for file in "$lib/librondo.so" "$lib/librondo.so.0" "$lib/librondo.so.$version" \
    "$lib/librondo.a" "$lib/cmake/rondo/rondoConfig.cmake" "$prefix/include/rondo/rondo.h"; do
    [ -e "$file" ] || { echo "not installed: $file"; exit 1; }
done
for header in include/rondo/*.h; do
    [ -e "$prefix/$header" ] || { echo "not installed: $header"; exit 1; }
done

export PKG_CONFIG_PATH="$lib/pkgconfig" LD_LIBRARY_PATH="$lib"
[ "$(pkg-config --modversion rondo)" = "$version" ]
# shellcheck disable=SC2046
"$cc" tests/install/main.c -o "$work/by_pkg_config" $(pkg-config --cflags --libs rondo)
expect "$work/by_pkg_config" "$version"
# shellcheck disable=SC2046
"$cc" tests/install/main.c -o "$work/static_by_pkg_config" $(pkg-config --cflags rondo) \
    "$lib/librondo.a" -pthread
expect "$work/static_by_pkg_config" "$version"

if [ "$cxx" != none ]; then
    for header in include/rondo/*.h; do
        echo "#include <rondo/${header##*/}>"
    done >"$work/public_headers.h"
    # shellcheck disable=SC2046
    "$cxx" "-I$work" tests/headers.cpp -o "$work/from_cpp" $(pkg-config --cflags --libs rondo)
    expect "$work/from_cpp" "$version, out of memory"
fi

unset LD_LIBRARY_PATH PKG_CONFIG_PATH
# The generator of the build: cmake's own default needs make, which may be absent.
generator=$(sed -n 's/^CMAKE_GENERATOR:INTERNAL=//p' "$build/CMakeCache.txt")
"$cmake" -G "$generator" -S tests/install -B "$work/user" "-DCMAKE_C_COMPILER=$cc" \
    "-DCMAKE_PREFIX_PATH=$prefix" >"$work/log" || { cat "$work/log"; exit 1; }
"$cmake" --build "$work/user" >"$work/log" || { cat "$work/log"; exit 1; }
expect "$work/user/with_shared" "$version"
expect "$work/user/with_static" "$version"

if [ -x "$prefix/bin/rondo" ]; then
    "$prefix/bin/rondo" --version | grep -F "$version"
fi

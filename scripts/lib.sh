# shellcheck shell=sh
# SPDX-License-Identifier: MIT
#
# Shared by the scripts beside it; sourced, never run. POSIX sh and what every
# Debian has, since a fresh machine brings no more. The caller has set `top` to
# the root of the source tree and made it the current directory.

# What each job needs, as Debian packages. libc6-dev is named because gcc only
# recommends it; llvm gives the sanitizers' reports their function names. The
# sources that talk to servers are built if their libraries are there; their tests
# start servers of their own, so the servers' programs are needed, not their daemons.
# shellcheck disable=SC2034
{
build_packages="gcc libc6-dev cmake ninja-build pkg-config libxxhash-dev libyaml-dev libsqlite3-dev libjansson-dev libmicrohttpd-dev"
demo_packages="redis-tools sqlite3"
test_packages="g++ libcmocka-dev clang-format locales python3 python3-redis python3-prometheus-client mandoc dpkg-dev file redis-tools redis-server libhiredis-dev sqlite3"
source_packages="libcurl4-openssl-dev libpq-dev libmariadb-dev postgresql-15 mariadb-server-core mariadb-client"
clang_packages="clang libclang-rt-14-dev llvm"
# Many machines have a node of their own, which Debian's npm would not go with.
command -v node >/dev/null 2>&1 && command -v npm >/dev/null 2>&1 ||
	test_packages="$test_packages nodejs npm"
}

say() {
	printf '%s\n' "$*"
}

# One line, then out. Exit codes are the program's own: 1 failed, 2 usage.
die() {
	printf '%s: %s\n' "${0##*/}" "$*" >&2
	exit 1
}

usage_error() {
	printf '%s: %s (try %s --help)\n' "${0##*/}" "$*" "$0" >&2
	exit 2
}

# Prints the comment block below the SPDX line of the script: its manual.
show_help() {
	awk 'NR > 2 { if (!/^#/) exit; sub(/^# ?/, ""); print }' "$0"
}

# missing_packages PACKAGE... prints those that dpkg does not know as installed.
missing_packages() {
	_out=
	for _p in "$@"; do
		_st=$(dpkg-query -W -f '${db:Status-Status}' "$_p" 2>/dev/null) || _st=
		case " $_out " in *" $_p "*) continue ;; esac
		[ "$_st" = installed ] || _out="$_out $_p"
	done
	printf '%s\n' "${_out# }"
}

# Runs as root, by way of sh -c so that one sudo covers all: $1 packages.
#
# A Debian package starts its daemon when it is installed unless a policy says
# no. Where the machine has a policy of its own it stays; otherwise ours stands
# for the length of the installation. (noclobber: never write over another's.)
# shellcheck disable=SC2016
install_as_root='
	policy=/usr/sbin/policy-rc.d
	if [ ! -e $policy ] && [ ! -L $policy ] &&
	   (set -C; printf "#!/bin/sh\nexit 101\n" >$policy) 2>/dev/null; then
		trap "rm -f $policy" EXIT
		trap "exit 1" HUP INT TERM
		chmod 755 $policy
	fi
	export DEBIAN_FRONTEND=noninteractive NEEDRESTART_SUSPEND=1 RUNLEVEL=1 LC_ALL=C
	apt() {
		apt-get -qq -y -o DPkg::Lock::Timeout=120 -o Dpkg::Use-Pty=0 "$@"
	}
	apt install --no-install-recommends $1 || {
		apt update && apt install --no-install-recommends $1
	}
'

# need_packages PACKAGE... installs what is missing and nothing else. Ends the
# script with one line that names what is missing if it cannot.
need_packages() {
	if ! command -v apt-get >/dev/null 2>&1; then
		need_commands "$@"
		return 0
	fi
	_missing=$(missing_packages "$@")
	[ -n "$_missing" ] || return 0

	_root=
	if [ "$(id -u)" -ne 0 ]; then
		may_sudo || die "missing: $_missing (neither root nor sudo here: install them as root)"
		_root=sudo
	fi
	say "${0##*/}: installing $_missing"
	_log=$(mktemp) || die "no temporary file"
	if $_root sh -c "$install_as_root" sh "$_missing" >"$_log" 2>&1 </dev/null; then
		rm -f "$_log"
		return 0
	fi
	_why=$(sed -n 's/^E: //p' "$_log" | head -n 1)
	rm -f "$_log"
	die "missing: $(missing_packages "$@") (apt-get could not install: ${_why:-unknown reason})"
}

# For --dry-run: says what need_packages would do with the same arguments.
plan_packages() {
	command -v apt-get >/dev/null 2>&1 || { say "would install nothing: no apt-get here"; return 0; }
	_missing=$(missing_packages "$@")
	if [ -n "$_missing" ]; then
		say "would install: $_missing"
	else
		say "would install nothing: all packages are there"
	fi
}

# True if sudo works now, or can ask the person at the terminal.
may_sudo() {
	command -v sudo >/dev/null 2>&1 || return 1
	sudo -n true 2>/dev/null && return 0
	[ -t 0 ] && [ -t 2 ] && sudo -v
}

# Not Debian: nothing is installed; tools that are plainly absent are named,
# libraries are left to CMake, whose message names them.
need_commands() {
	_absent=
	for _c in gcc cmake ninja pkg-config; do
		command -v "$_c" >/dev/null 2>&1 || _absent="$_absent $_c"
	done
	[ -z "$_absent" ] ||
		die "missing:$_absent (no apt-get here; the Debian names of all that is needed: $*)"
}

# quietly LOGFILE COMMAND... shows the output only if the command fails.
quietly() {
	_quiet_log=$1
	shift
	if "$@" >"$_quiet_log" 2>&1 </dev/null; then
		return 0
	fi
	# Without ninja's lines about the steps that went well.
	grep -v '^\[[0-9]*/[0-9]*\] ' "$_quiet_log" || :
	return 1
}

# openly LOGFILE COMMAND... is its counterpart on a terminal.
openly() {
	shift
	"$@" </dev/null
}

# build PRESET [CMAKE ARGUMENT...] configures and builds a preset: quietly in a
# pipe, with ninja's own progress line on a terminal. Target names come from the
# variable build_targets; all targets if it is empty.
build() {
	_preset=$1
	shift
	mkdir -p "build/$_preset"
	quietly "build/$_preset/configure.log" cmake --preset "$_preset" "$@" || return 1
	_show=quietly
	[ ! -t 1 ] || _show=openly
	# shellcheck disable=SC2086
	$_show "build/$_preset/build.log" cmake --build --preset "$_preset" \
		${build_targets:+--target $build_targets}
}

# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# Completion of rondo(1) for bash. The program's own help says what there is, so
# this cannot fall behind it.

_rondo_options() {
	"$1" "$2" --help 2>/dev/null |
		sed -n 's/^ \{2,\}\(-., \)\{0,1\} *\(--[a-z][a-z-]*\).*/\2/p'
}

_rondo_commands() {
	"$1" --help 2>/dev/null | sed -n '/^commands:/,/^$/s/^  \([a-z]*\) .*/\1/p'
}

_rondo() {
	local current=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} words
	COMPREPLY=()
	if [ "$COMP_CWORD" -eq 1 ]; then
		words="$(_rondo_commands "$1") --help --version"
	elif [[ $before == -c || $before == --config || $before == --port-file ]]; then
		mapfile -t COMPREPLY < <(compgen -f -- "$current")
		return
	elif [[ $current == -* ]]; then
		words=$(_rondo_options "$1" "${COMP_WORDS[1]}")
	else
		mapfile -t COMPREPLY < <(compgen -f -- "$current")
		return
	fi
	mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
}

complete -o filenames -F _rondo rondo

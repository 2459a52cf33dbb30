#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Copyright the Ringway authors
#
# tools/format.sh [--check] [FILE...]    clang-format over our C files (default: all of them).
# X-macro tables (*_list.h) are laid out by hand or by their generator: one row is one line there.
# Exit 77 (skipped) when clang-format is missing.
set -euo pipefail
cd "$(dirname "$0")/.." || exit

check=false
if [ "${1:-}" = --check ]; then
	check=true
	shift
fi
if ! command -v clang-format >/dev/null; then
	echo 'clang-format is missing: apt-get install clang-format' >&2
	exit 77
fi
if [ $# -eq 0 ]; then
	mapfile -t files < <(find base proto ring membership router tests -name '*.[ch]' ! -name '*_list.h' 2>/dev/null | sort)
else
	files=()
	for file in "$@"; do
		[[ $file != *.[ch] || $file == *_list.h ]] || files+=("$file")
	done
fi
if [ ${#files[@]} -eq 0 ]; then
	echo 'no C file to look at' >&2
	[ $# -gt 0 ] # nothing to do among the files given is fine; an empty tree is not
	exit
fi
if $check; then
	clang-format --dry-run --Werror "${files[@]}"
	echo "${#files[@]} files are formatted"
else
	clang-format -i "${files[@]}"
fi

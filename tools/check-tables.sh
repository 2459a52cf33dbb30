#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Copyright the Ringway authors
#
# What is generated from a table must be what its generator writes now: runs every tools/gen_*.py with --check.
set -uo pipefail
cd "$(dirname "$0")/.." || exit

failed=0
shopt -s nullglob
for generator in tools/gen_*.py; do
	if /usr/bin/python3 "$generator" --check; then
		echo "ok   $generator"
	else
		echo "FAIL $generator: run it and commit what it writes"
		failed=1
	fi
done
exit $failed

#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What only computes, of all tests but those on several ranks: cases of less than a second a program at a time, then the longer ones,
# by a ctest that has its logs in beside/. Called in a build folder by inside_tests.sh. Status 8, which is ctest's: some have failed,
# beside/ says which, as ctest does; anything else: not all have run.
# beside/numbers has NUMBER:NAME of all tests.
# Usage: tests_beside.sh [ARGUMENTS of ctest]
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd -P)
status=0

# What else somebody wants of ctest is ctest's.
: >tests-fast.txt
: >tests-fast-failed.txt
if [[ $# == 0 ]]; then
  ctest --show-only=json-v1 --label-regex '^fast$' | python3 "$here/../cmake/testing/together.py" "$PWD" || status=$?
  [[ $status == 0 || ! -s tests-fast-failed.txt ]] || status=8
  [[ $status == 0 || $status == 8 ]] || exit "$status"
fi
ctest --test-dir beside --output-on-failure --timeout 300 --output-junit "$PWD/tests-beside.xml" --parallel $(($(nproc) + 1)) \
  --label-regex '^(computes|fast)$' --label-exclude '^ranks$' --exclude-from-file "$PWD/tests-fast.txt" "$@" || status=$?
awk -F : 'NR == FNR { failed[$1]; next } $2 in failed' tests-fast-failed.txt beside/numbers >>beside/Testing/Temporary/LastTestsFailed.log
exit "$status"

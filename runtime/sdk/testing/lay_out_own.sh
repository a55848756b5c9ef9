#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A folder as a user has it who puts a program of one's own into an image: external/ and the program, built against what
# the build folder BUILD installs.
# Usage: lay_out_own.sh BUILD FOLDER
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd -P)
build=$1 folder=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
run() { "$@" >"$work/log" 2>&1 || { cat "$work/log" >&2; exit 1; }; }

rm -rf "$folder"
mkdir -p "$folder"
find "$here/external" -maxdepth 1 -type f -exec cp {} "$folder" \;
run cmake --install "$build" --prefix "$work/prefix"
run cmake -S "$folder" -B "$work/build" -DCMAKE_BUILD_TYPE=Release -DCMAKE_PREFIX_PATH="$work/prefix"
run cmake --build "$work/build" --target own
cp "$work/build/own" "$folder"

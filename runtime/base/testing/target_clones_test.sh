#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Promise: on another processor than x86 no source asks for clones of x86's kinds. There is no compiler for ARM in the
# root, so sources are preprocessed as if this were none of x86's (glibc then misses a header: an empty one does), and the
# attribute, which would be an error there, must be gone. Here it must be there: else the test sees nothing.
# Usage: target_clones_test.sh FOLDER, of the repository
set -euo pipefail
cd "$1"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir "$scratch/gnu" && : >"$scratch/gnu/stubs-32.h"
sources=$(grep -rlE --include='*.cpp' 'EMPI_TARGET_CLONES|target_clones\(' apps runtime operator)
for source in $sources; do
  g++ -std=c++20 -E -I. "$source" >"$scratch/here"
  grep -q 'target_clones(' "$scratch/here" || { echo "$source: no clones on x86" >&2 && exit 1; }
  g++ -std=c++20 -E -I. -isystem "$scratch" -U__x86_64__ "$source" >"$scratch/elsewhere"
  if grep -n 'target_clones(' "$scratch/elsewhere"; then
    echo "$source: asks for clones of x86 on any processor; EMPI_TARGET_CLONES of runtime/base/target_clones.hpp does not" >&2
    exit 1
  fi
done

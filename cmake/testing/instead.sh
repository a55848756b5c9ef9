#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# instead.sh COMMAND... -- COMPILER ARGUMENTS...: COMMAND ARGUMENTS. What CMake has for that is a launcher, which gets all of it.
left=$# found=
while [ "$left" -gt 0 ]; do
  if [ -z "$found" ] && [ "$1" = -- ]; then
    found=yes
    shift 2
    left=$((left - 2))
  else
    set -- "$@" "$1"
    shift
    left=$((left - 1))
  fi
done
exec "$@"

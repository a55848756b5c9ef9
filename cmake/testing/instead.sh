#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# instead.sh COMMAND... -- COMPILER ARGUMENTS...: COMMAND ARGUMENTS. What CMake has for that is a launcher, which gets all of it.
command=
while [ "$1" != -- ]; do
  command="$command $1"
  shift
done
shift 2
# shellcheck disable=SC2086  # words without spaces
exec $command "$@"

#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copies the Elastic MPI runtime into DIR, from where pods of another image run it. What the agent needs beyond
# C library, PMIx and Open MPI goes along, beside it; those three must be in the other image.
# Usage: elastic-mpi-install DIR
set -eu
if [ $# != 1 ]; then
  echo 'Usage: elastic-mpi-install DIR     (an existing folder, /opt/elastic-mpi in the pods of the operator)' >&2
  exit 2
fi
from=$(dirname "$(dirname "$(readlink -f "$0")")")
if [ ! -d "$1" ] || [ ! -w "$1" ]; then
  echo "elastic-mpi-install: $1 is not a folder that user $(id -u) can write to: mount an emptyDir there" >&2
  exit 1
fi
mkdir -p "$1/bin" "$1/lib/agent"
# What the agent needs besides, by the dynamic linker, as ldd asks it.
libraries=$(LD_TRACE_LOADED_OBJECTS=1 "$from/bin/elastic-mpi-agent" | awk '
  $3 !~ /^\// { next }
  { name = $3; sub(/.*\//, "", name) }
  name !~ /^(lib(c|m|pthread|dl|rt|resolv|pmix|hwloc|munge|udev|cap)\.so\.|libevent|ld-linux)/ { print $3 }')
# A sidecar that is started again installs again, while the agent runs: what is there already stays, and whatever is
# new appears at once and whole.
put() { # FOLDER FILE...
  folder=$1
  shift
  for file; do
    if ! cmp -s "$file" "$folder/${file##*/}"; then
      cp -L "$file" "$folder/.new"
      mv "$folder/.new" "$folder/${file##*/}"
    fi
  done
}
# shellcheck disable=SC2086  # one word each
if [ -e "$1/bin/elastic-mpi-agent" ]; then
  put "$1/lib/agent" $libraries
  put "$1/lib" "$from"/lib/*.so*
else # nobody uses anything of it
  cp -Lf $libraries "$1/lib/agent/"
  cp -Lf "$from"/lib/*.so* "$1/lib/"
fi
# The program comes last: nothing starts a half-copied one.
put "$1/bin" "$from/bin/elastic-mpi-agent"

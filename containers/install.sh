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
# A sidecar that is started again installs again, while the agent runs: what is there already stays, and whatever is
# new appears at once and whole.
put() { # FILE FOLDER
  cmp -s "$1" "$2/${1##*/}" && return
  cp -L "$1" "$2/.new" && mv "$2/.new" "$2/${1##*/}"
}
# Found before the program is there: nothing starts a half-copied one.
ldd "$from/bin/elastic-mpi-agent" | awk '$3 ~ /^\// { print $3 }' | while read -r library; do
  case ${library##*/} in
    libc.so.* | libm.so.* | libpthread.so.* | libdl.so.* | librt.so.* | libresolv.so.* | ld-linux*) ;;
    libpmix.so.* | libevent* | libhwloc.so.* | libmunge.so.* | libudev.so.* | libcap.so.*) ;;
    *) put "$library" "$1/lib/agent" ;;
  esac
done
for library in "$from"/lib/*.so*; do put "$library" "$1/lib"; done
put "$from/bin/elastic-mpi-agent" "$1/bin"

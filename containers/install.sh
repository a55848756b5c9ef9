#!/bin/sh
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
# Found before the programs are there: nothing starts a half-copied one.
for program in elastic-mpi-agent elastic-mpi-sidecar; do
  ldd "$from/bin/$program" | awk '$3 ~ /^\// { print $3 }'
done | sort -u | while read -r library; do
  case ${library##*/} in
    libc.so.* | libm.so.* | libpthread.so.* | libdl.so.* | librt.so.* | libresolv.so.* | ld-linux*) ;;
    libpmix.so.* | libevent* | libhwloc.so.* | libmunge.so.* | libudev.so.* | libcap.so.*) ;;
    *) cp -L "$library" "$1/lib/agent/" ;;
  esac
done
cp "$from"/lib/*.so "$1/lib/"
cp "$from/bin/elastic-mpi-agent" "$from/bin/elastic-mpi-sidecar" "$1/bin/"

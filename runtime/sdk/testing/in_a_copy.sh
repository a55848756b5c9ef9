#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs a command in a copy of this system that is thrown away afterwards: nothing of what it installs stays. FOLDER is
# /mine there, and the copy is made beside it; no other folder of the user's is visible.
# Usage: in_a_copy.sh FOLDER COMMAND...      exit status 77: this kernel or user cannot make such a copy
set -euo pipefail
if [[ ${1:-} != --inside ]]; then
  unshare --mount --pid --fork --kill-child --propagation private true 2>/dev/null ||
    { echo 'namespaces cannot be made here' >&2; exit 77; }
  exec unshare --mount --pid --fork --kill-child --propagation private bash "$0" --inside "$@"
fi
mine=$2
shift 2
copy=$(mktemp -d -p "$(dirname "$mine")") # it goes with that folder
mount -t tmpfs copy "$copy"
mkdir "$copy"/{changes,work,root}
cd "$copy/root"
mkdir dev proc sys tmp run mine
for path in /*; do
  name=${path#/}
  if [[ -L $path ]]; then cp -P "$path" .; fi
  case $name in
    usr | etc | var)
      mkdir "$name" "$copy"/{changes,work}/"$name"
      mount -t overlay copy -o "lowerdir=$path,upperdir=$copy/changes/$name,workdir=$copy/work/$name" "$name" 2>/dev/null ||
        { echo 'overlays cannot be mounted here' >&2; exit 77; }
      ;;
  esac
done
mount --rbind /dev dev
mount --rbind /sys sys
mount -t proc proc proc
mount -t tmpfs -o mode=1777 tmp tmp
mount -t tmpfs -o mode=755 run run
mount --bind "$mine" mine
exec env -i PATH=/usr/sbin:/usr/bin HOME=/tmp LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive \
  OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 chroot . "$@"

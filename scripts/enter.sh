#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs as process 1 of fresh mount and pid namespaces: makes a root that is Debian's in its system folders and this
# machine's in all others, and runs a command in it.
# Usage: enter.sh ROOT CACHE WORKDIR [--bind FOLDER | --read-only FOLDER]... [NAME=VALUE...] -- COMMAND [ARGS]
set -euo pipefail
PATH=$PATH:/usr/sbin:/sbin # pivot_root lives there, and an ordinary user may not have it on PATH
system=$1 cache=$2 workdir=$3
shift 3
folders=() vars=()
while [[ $1 != -- ]]; do
  case $1 in
    --bind | --read-only) folders+=("$1" "$2"); shift ;;
    *) vars+=("$1") ;;
  esac
  shift
done
shift

# Binds a folder at the same path inside.
bind() { # FOLDER
  [[ -d $root$1 ]] || mkdir -p "$root$1"
  mount --rbind "$1" "$root$1"
}

mount --make-rprivate /
root=$system/tmp # the mount point; what is mounted below it belongs to this process and its children
mount -t tmpfs -o mode=755 root "$root"
# The machine's folders may hold this one, and are not to be bound with it in them.
mount --make-unbindable "$root"

# Debian's are the system folders. What else it has at the top is there, but the machine's comes first.
links=() own=()
for path in "$system"/*; do
  if [[ -L $path ]]; then
    links+=("$path")
  elif [[ -d $path ]]; then
    own+=("${path##*/}")
  fi
done
if [[ ${#links[@]} != 0 ]]; then cp -P "${links[@]}" "$root/"; fi
(cd "$root" && mkdir -p "${own[@]}")
for name in "${own[@]}"; do
  case $name in bin | sbin | lib* | usr | etc | var | boot) mount --bind "$system/$name" "$root/$name" ;; esac
done
shopt -s dotglob
for path in /*; do
  # The same list as in scripts/reach.sh.
  case ${path#/} in bin | sbin | lib* | usr | etc | var | boot | dev | proc | sys | run | .old) continue ;; esac
  if [[ -L $path ]]; then
    rmdir "$root$path" 2>/dev/null || true
    cp -P "$path" "$root$path"
  elif [[ -d $path ]]; then
    bind "$path"
  elif [[ -f $path ]]; then
    { : >"$root$path" && mount --bind "$path" "$root$path"; } 2>/dev/null || true
  fi
done
mkdir -p "$root"/{tmp,run,proc,sys,dev,.old,cache}
if [[ ! -d /tmp ]]; then mount -t tmpfs -o mode=1777 tmp "$root/tmp"; fi
mount -t tmpfs -o mode=755 run "$root/run"
mount -t proc proc "$root/proc"
mount --rbind /sys "$root/sys"
mount --rbind /dev "$root/dev"
mount -t tmpfs -o mode=1777 shm "$root/dev/shm" # private: whatever a crash leaves there goes with us
mount --rbind "$cache" "$root/cache"
for ((i = 0; i < ${#folders[@]}; i += 2)); do
  bind "${folders[i + 1]}"
  if [[ ${folders[i]} == --read-only ]]; then mount -o remount,bind,ro "$root${folders[i + 1]}" 2>/dev/null || true; fi
done
names=()
if grep -qsw localhost /etc/hosts; then names=(/etc/hosts); fi # a proxy or a cluster may have its name there only
for file in /etc/resolv.conf "${names[@]}" /etc/ssl/certs/ca-certificates.crt; do
  # Written when it differs only: the disk may be full.
  if [[ -e $file ]] && ! cmp -s "$file" "$root$file"; then cat "$file" >"$root$file"; fi
done
mount --make-private "$root"
mount -o remount,bind,ro "$root" || true # what would be made at its top goes with it

cd "$root"
pivot_root . .old
# Some kernels refuse to detach the host's tree in a user namespace; then it is covered instead.
umount -l /.old 2>/dev/null || mount -t tmpfs -o ro,size=4k none /.old
cd "$workdir"
exec env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin USER=root LANG=C.UTF-8 LC_ALL=C.UTF-8 \
  OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 "${vars[@]}" "$@"

#!/usr/bin/env bash
# Runs as process 1 of fresh mount and pid namespaces: turns ROOT into / and runs a command in it.
# Usage: enter.sh ROOT PROJECT CACHE WORKDIR [NAME=VALUE...] -- COMMAND [ARGS]
set -euo pipefail
PATH=$PATH:/usr/sbin:/sbin # pivot_root lives there, and an ordinary user may not have it on PATH
root=$1 project=$2 cache=$3 workdir=$4
shift 4
vars=()
while [[ $1 != -- ]]; do vars+=("$1"); shift; done
shift

# Binds a folder of the host at the same path inside (the mount point is made in the root on first use).
bind() {
  if [[ ! -e $1 ]]; then return; fi
  mkdir -p "$root$1"
  mount --rbind "$1" "$root$1"
  if [[ ${2:-} == ro ]]; then mount -o remount,bind,ro "$root$1" 2>/dev/null || true; fi
}

mount --make-rprivate /
mount --bind "$root" "$root"
mount -t tmpfs -o mode=1777 tmp "$root/tmp"
mount -t tmpfs -o mode=755 run "$root/run"
mount -t proc proc "$root/proc"
mount --rbind /sys "$root/sys"
mount --rbind /dev "$root/dev"
mount -t tmpfs -o mode=1777 shm "$root/dev/shm" # private: whatever a crash leaves there goes with us
mkdir -p "$root/cache"
mount --bind "$cache" "$root/cache"
# The parent holds the data folder where there is one; the project itself may be a plain clone in /tmp.
bind "$(dirname "$project")/shared" ro
if [[ -n ${EMPI_DATA:-} ]]; then bind "$EMPI_DATA" ro; fi
bind "$project"
[[ $workdir == "$project"* ]] || bind "$workdir"
if [[ -e /etc/resolv.conf ]]; then cat /etc/resolv.conf >"$root/etc/resolv.conf"; fi
if [[ -e /etc/ssl/certs/ca-certificates.crt ]]; then
  cat /etc/ssl/certs/ca-certificates.crt >"$root/etc/ssl/certs/ca-certificates.crt"
fi

cd "$root"
mkdir -p .old
pivot_root . .old
# Some kernels refuse to detach the host's tree in a user namespace; then it is covered instead.
umount -l /.old 2>/dev/null || mount -t tmpfs -o ro,size=4k none /.old
cd "$workdir" 2>/dev/null || cd "$project"
exec env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/cache/home USER=root \
  LC_ALL=C.UTF-8 CCACHE_DIR=/cache/ccache CCACHE_BASEDIR="$project" CCACHE_NOHASHDIR=1 CCACHE_MAXSIZE=5G \
  OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 "${vars[@]}" EMPI_INSIDE_ROOT="$project" "$@"

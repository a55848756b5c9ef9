#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs a command as on a machine that has nothing but the Debian in FOLDER, with this machine's kernel and network.
# Nothing of it is left but what it has written. Needs root.
# Usage: minimal_machine.sh FOLDER [--bind FROM TO]... [--user NAME] [NAME=VALUE...] -- COMMAND [ARGS]
set -euo pipefail
PATH=$PATH:/usr/sbin:/sbin
if [[ $1 != --within ]]; then exec setpriv --pdeathsig KILL unshare --mount --pid --fork --kill-child -- bash "$0" --within "$@"; fi
machine=$2
shift 2
mount --make-rprivate /
mount --bind "$machine" "$machine"
mount -t proc proc "$machine/proc"
mount --rbind /sys "$machine/sys"
mount --rbind /dev "$machine/dev"
mount -t tmpfs -o mode=755 run "$machine/run"
mount -t tmpfs -o mode=1777 shm "$machine/dev/shm"
user=root vars=()
while [[ $1 != -- ]]; do
  case $1 in
    --bind)
      mkdir -p "$machine$3"
      mount --bind "$2" "$machine$3"
      shift 2
      ;;
    --user) user=$2; shift ;;
    *) vars+=("$1") ;;
  esac
  shift
done
shift
cat /etc/resolv.conf >"$machine/etc/resolv.conf"
cd "$machine"
mkdir -p .old
pivot_root . .old
umount -l /.old
rmdir /.old
IFS=: read -r _ _ uid gid _ home _ < <(grep "^$user:" /etc/passwd)
cd "$home"
exec env -i PATH=/usr/local/bin:/usr/bin:/bin HOME="$home" USER="$user" "${vars[@]}" \
  setpriv --reuid "$uid" --regid "$gid" --clear-groups -- "$@"

# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# What ./dev needs of this machine. What is missing is named in one line: a package, a file or an option of docker run.
# Sourced by root.sh.

container_options='start a container with docker run --privileged (or with --cap-add SYS_ADMIN --security-opt seccomp=unconfined --security-opt apparmor=unconfined --security-opt systempaths=unconfined)'

machine_is_checked=false
check_this_machine() {
  if $machine_is_checked; then return; fi
  check_tools
  if [[ $(id -u) != 0 ]]; then check_user; fi
  check_namespaces
  check_cache
  machine_is_checked=true
}

# What a base Debian has, and other systems may not.
check_tools() {
  local tool
  for tool in unshare:util-linux setpriv:util-linux flock:util-linux pivot_root:util-linux mount:mount umount:mount \
    tar:tar sed:sed grep:grep find:findutils cmp:diffutils sha256sum:coreutils realpath:coreutils df:coreutils; do
    command -v "${tool%:*}" >/dev/null || die "needs the program ${tool%:*}: install the package ${tool#*:}"
  done
  # (All of the help is read: under pipefail a grep that stops early would fail its writer.)
  [[ $(unshare --help 2>&1) == *--map-auto* ]] || die 'needs unshare --map-auto: install util-linux 2.38 or newer'
  env --default-signal true 2>/dev/null || die 'needs env --default-signal: install GNU coreutils 8.31 or newer'
}

# An ordinary user needs a range of sub-ids and newuidmap to own the files of a whole system.
check_user() {
  local name file
  name=$(id -un 2>/dev/null) || name=$(id -u)
  if ! command -v newuidmap >/dev/null || ! command -v newgidmap >/dev/null; then
    die 'needs newuidmap, for a Debian root of an ordinary user: install the package uidmap, or run as root'
  fi
  for file in /etc/subuid /etc/subgid; do
    grep -qsE "^($name|$(id -u)):" "$file" ||
      die "needs a range of ids for $name in $file: as root, usermod --add-subuids 100000-165535 --add-subgids 100000-165535 $name"
  done
}

# Tries what entering a root takes.
check_namespaces() {
  if in_own_namespaces true 2>/dev/null &&
    in_own_namespaces mount -t tmpfs probe /tmp 2>/dev/null; then return 0; fi
  local switch
  if [[ $(id -u) != 0 ]]; then
    for switch in user/max_user_namespaces=0 kernel/unprivileged_userns_clone=0 kernel/apparmor_restrict_unprivileged_userns=1; do
      if [[ $(cat "/proc/sys/${switch%=*}" 2>/dev/null) == "${switch#*=}" ]]; then
        die "this machine lets no ordinary user make namespaces: /proc/sys/${switch%=*} is ${switch#*=}; change it (sysctl), or run as root"
      fi
    done
  fi
  die "this machine does not allow to make namespaces and to mount in them: $container_options"
}

check_cache() {
  { mkdir -p "$cache"/{ccache,home} && [[ -w $cache ]] && : >>"$cache/lock"; } 2>/dev/null ||
    die "cannot write the folder $cache: set EMPI_CACHE to one that you can write to"
}

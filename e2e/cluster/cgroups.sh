# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# The control groups of a cluster, on both versions: empi-NAME, and in it one parent per node under which its
# kubelet keeps the pods. Runs on the host and inside. Sourced.

# The mount points of the hierarchies (version 1: one for each controller, and perhaps an empty version 2, which
# nodes do not see; version 2: the one).
cgroup_hierarchies() {
  if [[ -e /sys/fs/cgroup/cgroup.controllers ]]; then
    echo /sys/fs/cgroup
  else
    awk '$3 ~ /^cgroup2?$/ && $2 ~ "^/sys/fs/cgroup/" { print $2 }' /proc/mounts | sort -u
  fi
}

# What a kubelet insists on.
cgroup_controllers='cpu memory pids'
[[ -e /sys/fs/cgroup/cgroup.controllers ]] || cgroup_controllers+=' cpuset cpuacct'

# check_cgroups: prints why pods cannot have control groups here, or nothing.
check_cgroups() {
  local have controller mount
  if [[ -e /sys/fs/cgroup/cgroup.controllers ]]; then
    have=" $(cat /sys/fs/cgroup/cgroup.controllers) "
  else
    have=" $(cgroup_hierarchies | sed 's#.*/##' | tr ',\n' '  ') "
  fi
  for controller in $cgroup_controllers; do
    if [[ $have != *" $controller "* ]]; then
      echo "the cgroup controller '$controller' is not available under /sys/fs/cgroup"
      return
    fi
  done
  for mount in $(cgroup_hierarchies); do
    if [[ ! -w $mount ]] || ! mkdir -p "$mount/empi-probe-$$" 2>/dev/null; then
      echo "$mount is read-only: a container needs --privileged to start containers itself"
      return
    fi
    rmdir "$mount/empi-probe-$$"
  done
  if [[ -e /sys/fs/cgroup/cgroup.controllers ]] && ! enable_controllers /sys/fs/cgroup; then
    # Only the true root may have both processes and controllers.
    echo 'the cgroup controllers are not delegated: in a container, start it with --cgroupns=host'
  fi
}

# Version 2: lets the children of a group use the controllers.
enable_controllers() {
  local controller
  for controller in $(<"$1/cgroup.controllers"); do
    echo "+$controller" >"$1/cgroup.subtree_control" || [[ " $cgroup_controllers " != *" $controller "* ]] || return 1
  done 2>/dev/null
}

# make_node_cgroup CLUSTER NODE: makes /empi-CLUSTER/NODE in every hierarchy.
make_node_cgroup() {
  local mount group
  for mount in $(cgroup_hierarchies); do
    for group in "$mount/empi-$1" "$mount/empi-$1/$2"; do
      mkdir -p "$group"
      if [[ -e $mount/cgroup.controllers ]]; then
        enable_controllers "${group%/*}"
      elif [[ -e $group/cpuset.cpus ]]; then # version 1: empty until it is filled from its parent
        cat "${group%/*}/cpuset.cpus" >"$group/cpuset.cpus"
        cat "${group%/*}/cpuset.mems" >"$group/cpuset.mems"
      fi
    done
  done
}

# remove_cgroups CLUSTER: removes what is left of them; true when nothing is.
remove_cgroups() {
  local mount left=0
  for mount in $(cgroup_hierarchies); do
    [[ -e $mount/empi-$1 ]] || continue
    find "$mount/empi-$1" -depth -type d -exec rmdir {} + 2>/dev/null || true
    [[ ! -e $mount/empi-$1 ]] || left=1
  done
  return "$left"
}

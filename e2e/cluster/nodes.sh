# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Nodes as seen from the control plane: what a machine's owner can do to them. Sourced after lib.sh.
# Node I is a set of namespaces (pid, net, mount, uts, ipc) with a wire, vI, to the control plane's bridge.

# shellcheck source=e2e/cluster/cgroups.sh
source "$cluster_source/cgroups.sh"
# shellcheck source=e2e/cluster/node_config.sh
source "$cluster_source/node_config.sh"

node_name() { echo "node-$1"; }

# Turns a node's name into its number.
node_number() {
  local number=${1#node-}
  [[ $1 == node-* && $number =~ ^[0-9]+$ && -d $state/$1 ]] || fail "there is no node '$1'; these are: $(cd "$state" && echo node-*/ | tr -d /)"
  echo "$number"
}

# The process that is process 1 in the node, as seen from here.
node_init() { cat "$state/pid/$(node_name "$1").init"; }

in_node() { # NUMBER COMMAND...
  local init
  init=$(node_init "$1")
  shift
  nsenter --target "$init" --mount --net --uts --ipc --pid -- "$@"
}

# Once for each node: its folders, identity and settings.
make_node() {
  local name
  name=$(node_name "$1")
  mkdir -p "$state/$name"/{cni,cni-cache,containerd,kubelet,pod-logs}
  certificate "$name" "/O=system:nodes/CN=system:node:$name" "DNS:$name,IP:$(node_address "$1")"
  kubeconfig "$name" "/O=system:nodes/CN=system:node:$name" "DNS:$name,IP:$(node_address "$1")"
  write_node_config "$1" "$name"
}

power_on() {
  local name keeper init
  name=$(node_name "$1")
  make_node_cgroup "$cluster" "$name"
  # catatonit reaps what containers orphan; --kill-child makes an end of one the end of both.
  daemon "$name" unshare --mount --pid --fork --kill-child --net --uts --ipc --propagation private \
    catatonit -- bash "$cluster_source/node.sh" "$cluster" "$1"
  keeper=$(cat "$state/pid/$name")
  wait_until 10 "$name has its namespaces" pgrep -P "$keeper"
  init=$(pgrep -P "$keeper")
  echo "$init" >"$state/pid/$name.init"
  # The node has its network namespace as soon as its process 1 exists in another one than ours.
  wait_until 10 "$name has a network" has_own_network "$init"
  ip link add "v$1" type veth peer name eth0 netns "$init"
  ip link set "v$1" master br0 up
  ip route replace "$(pod_network "$1")" via "$(node_address "$1")"
}

has_own_network() { [[ $(readlink "/proc/$1/ns/net") != "$(readlink /proc/self/ns/net)" ]]; }

# A power cut: everything in the node is gone at once, its disk stays.
power_off() {
  local name init
  name=$(node_name "$1")
  init=$(node_init "$1")
  kill -9 "$init" 2>/dev/null || fail "$name is not running"
  wait_until 30 "every process of $name is gone" not_running "$init"
  ip link delete "v$1" 2>/dev/null || true
  rm -f "$state/pid/$name" "$state/pid/$name.init"
}

cut_link() { ip link set "v$1" down; }
mend_link() {
  ip link set "v$1" up
  # Routes go with a link that is down only when it is ours: the node's own end keeps them.
  ip route replace "$(pod_network "$1")" via "$(node_address "$1")"
}

nodes_ready() { # how many must be
  [[ $(kubectl get nodes -o jsonpath='{range .items[*]}{.status.conditions[?(@.type=="Ready")].status}{"\n"}{end}' |
    grep -c '^True$') -ge $1 ]]
}

# load FILE: imports a docker-archive into every running node, all at the same time.
load_image() {
  local pids=() number init pid failed=0
  for init in "$state"/pid/node-*.init; do
    number=${init##*/node-}
    number=${number%.init}
    in_node "$number" ctr --namespace k8s.io images import "$1" >"$state/log/load-$number.log" 2>&1 &
    pids+=($!)
  done
  for pid in "${pids[@]}"; do wait "$pid" || failed=1; done
  if [[ $failed == 1 ]]; then
    cat "$state"/log/load-*.log >&2
    fail "could not import $1 into every node: is it a docker-archive, as ./dev images and 'docker save' make them?"
  fi
}

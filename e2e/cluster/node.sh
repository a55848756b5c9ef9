#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A node, from power on: runs as the child of process 1 in the node's own namespaces.
# Usage: node.sh CLUSTER NUMBER
set -euo pipefail
# shellcheck source=e2e/cluster/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
use_cluster "$1"
number=$2
name=node-$number

rm -f "$state/$name/died"

# What a machine has to itself. Containers are mounted into the kubelet's view and back, hence shared.
mount -t proc proc /proc
mount -t tmpfs -o mode=755 run /run
mount -t tmpfs -o mode=1777 tmp /tmp
mount -t tmpfs -o mode=755 log /var/log
mkdir -p /var/lib/cni /var/lib/kubelet
mount --bind "$state/$name/cni-cache" /var/lib/cni
# A kubelet's socket for device plugins is there whatever its --root-dir is; two of them in one place end each other.
mount --bind "$state/$name/kubelet" /var/lib/kubelet

# A kubelet sets these for its machine. They are not the node's but the host's, so it is shown what it wants.
mkdir -p /run/sysctl
while read -r file value; do
  [[ -e /proc/sys/$file ]] || continue
  echo "$value" >"/run/sysctl/${file//\//.}"
  mount --bind "/run/sysctl/${file//\//.}" "/proc/sys/$file"
done <<'SYSCTL'
vm/overcommit_memory 1
vm/panic_on_oom 0
kernel/panic 10
kernel/panic_on_oops 1
kernel/keys/root_maxkeys 1000000
kernel/keys/root_maxbytes 25000000
SYSCTL
mount --make-rshared /
# crun knows both versions of control groups, but not one beside the other: a node has the one with the controllers.
if mountpoint --quiet /sys/fs/cgroup/unified; then umount /sys/fs/cgroup/unified; fi

hostname "$name"
ip link set lo up
has_eth0() { [[ -e /proc/sys/net/ipv4/conf/eth0 ]]; }
wait_until 30 'the wire of the node is plugged in' has_eth0
give_address "$(node_address "$number")" eth0
ip link set eth0 up
ip route add default via "$control_address"
forward_packets
nodes=$(cat "$state/nodes")
for ((other = 1; other <= nodes; ++other)); do
  [[ $other == "$number" ]] || ip route add "$(pod_network "$other")" via "$(node_address "$other")"
done

choose_iptables /run/iptables

# Logs and pids of a node's daemons are under the node's name.
service() {
  local service=$1
  shift
  "$@" >>"$state/log/$name.$service.log" 2>&1 </dev/null &
}
service containerd containerd --config "$state/$name/containerd.toml"
wait_until 60 "containerd of $name answers" ctr --connect-timeout 1s version
ctr --namespace k8s.io images import "$state/pause.tar" >/dev/null
service kube-proxy kube-proxy --kubeconfig="$state/proxy.kubeconfig" --hostname-override="$name" \
  --proxy-mode=iptables --bind-address="$any_address" --cluster-cidr="$pod_networks" --conntrack-max-per-core=0 --oom-score-adj=0
if [[ $cni == calico ]]; then
  # Policies say which pods DNS is, and ours is none: so it is on the node, where the NodeLocal DNSCache would be.
  ip address add "$node_dns_address/32" dev lo
  service dns coredns -conf "$state/node-dns.Corefile"
  # It ends when its settings change, and counts on being started again.
  service felix env FELIX_DATASTORETYPE=kubernetes KUBECONFIG="$state/calico.kubeconfig" FELIX_FELIXHOSTNAME="$name" \
    FELIX_LOGSEVERITYSCREEN=Warning FELIX_LOGSEVERITYFILE=none FELIX_LOGSEVERITYSYS=none FELIX_LOGFILEPATH=none \
    FELIX_DEFAULTENDPOINTTOHOSTACTION=ACCEPT FELIX_IPV6SUPPORT=false FELIX_BPFENABLED=false FELIX_USAGEREPORTINGENABLED=false \
    FELIX_IGNORELOOSERPF=true FELIX_HEALTHENABLED=true bash -c 'while true; do calico-felix || sleep 1; done'
fi
service kubelet kubelet --config="$state/$name/kubelet.yaml" --kubeconfig="$state/$name.kubeconfig" \
  --hostname-override="$name" --node-ip="$(node_address "$number")" \
  --root-dir="$state/$name/kubelet" --cert-dir="$state/pki"
# None of them ends while the node has power. Whoever waits for the node to be ready need not wait any longer then.
wait -n || true
touch "$state/$name/died"
wait

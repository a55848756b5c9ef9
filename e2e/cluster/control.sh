#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The cluster, from nothing to ready: runs as the child of process 1 in the cluster's own namespaces, and stays.
# Usage: control.sh CLUSTER NODES     says how far it is in $state/progress: lines, the last one `ready` or `failed`
set -euo pipefail
# shellcheck source=e2e/cluster/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
use_cluster "$1"
# shellcheck source=e2e/cluster/pki.sh
source "$cluster_source/pki.sh"
# shellcheck source=e2e/cluster/control_plane.sh
source "$cluster_source/control_plane.sh"
# shellcheck source=e2e/cluster/nodes.sh
source "$cluster_source/nodes.sh"
nodes=$2
echo "$nodes" >"$state/nodes"

# The daemons have memory here, and collect less often: a part of their processor time.
export GOGC=400

trap 'echo failed >>"$state/progress"' EXIT
started=$(date +%s%N)
progress() { echo "$(printf '%5d' $((($(date +%s%N) - started) / 1000000))) ms  $*" | tee -a "$state/progress"; }

hostname control
ip link set lo up
ip link add br0 type bridge
give_address "$control_address" br0
ip link set br0 up
forward_packets

start_etcd
make_pki
for ((number = 1; number <= nodes; ++number)); do make_node "$number"; done
progress 'certificates made'

if [[ $cni == calico ]]; then corefile cache >"$state/node-dns.Corefile"; fi
# Nodes boot while the API server does: kubelets retry.
start_apiserver
for ((number = 1; number <= nodes; ++number)); do power_on "$number"; done
wait_until 120 'the API server is ready (see apiserver.log)' apiserver_ready
progress 'API server ready'
start_controller-manager
start_scheduler
if [[ $cni == calico ]]; then calico_objects; fi
dns_objects | kubectl apply -f - >/dev/null
start_dns

wait_until 120 "$nodes nodes are Ready (see node-*.kubelet.log)" nodes_ready "$nodes"
wait_until 60 'cluster DNS is ready (see dns.log)' dns_ready
wait_until 60 'the default service account exists (see controller-manager.log)' kubectl get serviceaccount default
progress "$nodes nodes ready"
echo ready >>"$state/progress"
trap - EXIT
# Stays, and buries daemons that end; those that are started later are not our children but process 1's.
sleep infinity &
while true; do wait -n || true; done

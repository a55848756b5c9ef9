#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# a pool by nodes has what other pods and taints leave of them: a job that is too large for that waits, says so, and starts when they go
# images: operator runtime jacobi
# alone: it fills nodes and taints one
set -euo pipefail
# shellcheck source=e2e/cases/cluster/lib/operator.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/operator.sh"
# shellcheck source=e2e/cases/cluster/lib/queues.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/queues.sh"
begin_case
label=example.com/shared-nodes
case_repair() {
  queue_goes
  kubectl label node --all "$label-"
  kubectl taint node --all "$label-" || true # none may have one
} >/dev/null 2>&1
# Pods of the case before that are ending would count as others that stay.
none_ends() { api "/api/v1/pods" | jq -e 'all(.items[]; .metadata.deletionTimestamp == null)' >/dev/null; }
within 60 'no pod is about to go' none_ends
mapfile -t nodes < <(kubectl get nodes -l '!node-role.kubernetes.io/control-plane' -o name | head -n 2)
expect 'there are two nodes' test "${#nodes[@]}" = 2
kubectl label "${nodes[@]}" "$label=yes" >/dev/null
queue ".spec.pools = [{name: \"both\", capacity: \"Nodes\", nodeSelector: {\"$label\": \"yes\"}}]"
pool_is() { queue_is ".status.pools[0] | $1"; }
pool_has() { get_queue | jq -e ".status.pools[0].$1"; }
within 20 'the queue counts both nodes' pool_is '.nodes == 2 and .capacityMilliCPU > 0'
all=$(pool_has capacityMilliCPU) others=$(pool_has foreignMilliCPU)
say "they have $all, others $others"

# sized NAME WORKERS MILLICPU: rigid; each pod has a sidecar of 10m besides.
sized() {
  job "$1" 0 "$in_queue | .spec.runtime.mode = \"Rigid\" | .spec.worker.replicas = $2
    | .spec.worker.template.spec.containers[0].resources.requests.cpu = \"$(($3 - 10))m\""
}
# Of all that there is the stranger takes three tenths, each of two workers four: beside one another they find no room.
stranger=$((all * 3 / 10)) worker=$((all * 4 / 10))
jq -n --arg image "$(image jacobi)" --arg label "$label" --arg cpu "${stranger}m" '
  {apiVersion: "v1", kind: "Pod", metadata: {name: "stranger"},
   spec: {nodeSelector: {($label): "yes"}, terminationGracePeriodSeconds: 1,
     securityContext: {runAsNonRoot: true, runAsUser: 65532, seccompProfile: {type: "RuntimeDefault"}},
     containers: [{name: "sleep", image: $image, command: ["sleep", "infinity"], resources: {requests: {cpu: $cpu}},
       securityContext: {allowPrivilegeEscalation: false, capabilities: {drop: ["ALL"]}}}]}}' | k apply -f - >/dev/null
within 20 "the stranger's $stranger are counted as foreign, and the capacity is less by them" \
  pool_is ".foreignMilliCPU == $others + $stranger and .capacityMilliCPU == $all - $stranger"
sized large 2 "$worker"
within 20 'a job that is too large for what is left waits, and says what there is' waits large "needs 2 workers.*pool both has $(awk -v m=$((all - stranger)) 'BEGIN { printf "%g", m / 1000 }') CPU"
expect 'no pod of it was made' pods_are large 'length == 0'
k delete pod stranger --wait=false >/dev/null
runs large 2
within 20 'all that there is counts again' pool_is ".foreignMilliCPU == $others and .capacityMilliCPU == $all and .heldMilliCPU == 2 * $worker"

kubectl taint node "${nodes[0]#node/}" "$label=yes:NoSchedule" >/dev/null
within 20 'a node with a taint that the pool does not tolerate counts no more' pool_is ".nodes == 1 and .capacityMilliCPU < $all * 6 / 10"
sized small 1 60
within 20 'more than what is left is held, so even a small job waits' waits small 'needs 1 worker.*: 0 free'
expect 'who runs there stays' running large 2
kubectl taint node "${nodes[0]#node/}" "$label-" >/dev/null
runs small 1
within 20 'the node counts again' pool_is ".nodes == 2 and .capacityMilliCPU == $all"

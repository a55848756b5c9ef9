#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# a job with a deadline starts on the cheapest nodes; a cordoned pool and a drained spot node are left by jobs that run on
# images: operator runtime jacobi
# alone: it cordons nodes
# full: what is decided is tried by operator/controller/pools_test.cpp
set -euo pipefail
# shellcheck source=e2e/cases/cluster/lib/operator.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/operator.sh"
# shellcheck source=e2e/cases/cluster/lib/queues.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/queues.sh"
begin_case
label=e2e-pools
case_repair() {
  queue_goes
  kubectl uncordon -l "$label"
  kubectl label node --all "$label-"
} >/dev/null 2>&1
mapfile -t nodes < <(kubectl get nodes -o name | sed 's|node/||')
if [[ ${#nodes[@]} -lt 3 ]]; then
  say 'needs three nodes, one for each pool'
  exit 77
fi
firm=${nodes[0]} cheap=${nodes[1]} spot=${nodes[2]}
kubectl label node "$firm" "$label=firm" >/dev/null
kubectl label node "$cheap" "$label=cheap" >/dev/null
kubectl label node "$spot" "$label=spot" >/dev/null
# pool NAME JQ-OBJECT: the nodes with this label, and what more is said of it.
pool() { echo "{name: \"$1\", capacity: \"Nodes\", nodeSelector: {\"$label\": \"$1\"}} + $2"; }
queue ".spec.pools = [$(pool firm '{pricePerCPUHour: "3"}'), $(pool cheap '{pricePerCPUHour: "1"}'),
  $(pool spot '{pricePerCPUHour: "0.5", spot: true}'), $(pool missing '{}')]"
# NAME POOL NODE: it runs in the pool, and all its pods are on the node.
is_in() {
  job_is "$1" ".status.state == \"Running\" and .status.allocation.pool == \"$2\" and .status.allocation.movedFrom == null" &&
    pods_are "$1" "length > 0 and all(.[]; .spec.nodeName == \"$3\")"
}

job nowhere 0 "$in_queue | .spec.scheduling.pools = [\"missing\"]"
within 20 'a pool without nodes is waited for, in words' job_is nowhere \
  '.status.state == "Queued" and (.status.queue.reason | test("pool missing has no node"))'
job stray 0 "$in_queue | .spec.scheduling.pools = [\"msising\"]"
within 20 'a pool that the queue has not is not, and its own are named' job_is stray \
  '.status.queue.cause == "NotAdmitted" and (.status.queue.reason | test("it has firm, cheap, spot, missing"))'

# As long as nothing has moved yet, only what is said of a job is known.
job due 0 "$in_queue | .spec.scheduling += {deadlineSeconds: 36000, expectedSeconds: 9000}
  | .spec.autoscaling = {mode: \"Auto\", policy: {name: \"deadline\"}}"
within 60 'a job with a deadline is on the cheapest nodes of those that it need not name' is_in due cheap "$cheap"
expect 'its price is what the pool says' job_is due '.status.allocation.pricePerWorkerHour > 0.05 and .status.allocation.pricePerWorkerHour < 0.1'
job bold 0 "$in_queue | .spec.scheduling.pools = [\"spot\", \"firm\"]"
within 60 'one that names the spot pool is there' is_in bold spot "$spot"
iterates due
iterates bold

start=$EPOCHREALTIME
kubectl cordon "$cheap" >/dev/null
within 60 'the cordoned pool is left' is_in due firm "$firm"
say "moved after $(elapsed "$start") s"
iterates due
expect 'its program was not started again' job_is due '.status.restarts == 0 and .status.epoch >= 3'
within 10 'it is said why' event due Moving 'leaves pool cheap, which has no room for it any more, for firm'

start=$EPOCHREALTIME
kubectl drain "$spot" --pod-selector=elasticmpi.io/job-name=bold --ignore-daemonsets --delete-emptydir-data --force --timeout=120s >/dev/null
say "drained after $(elapsed "$start") s"
within 60 'the drained spot node is left' is_in bold firm "$firm"
iterates bold
expect 'its program was not started again' job_is bold '.status.restarts == 0'

# The cheaper nodes are back; the job has not rested for long enough to go back for a price.
kubectl uncordon "$cheap" >/dev/null
nodes_counted() { api "/apis/elasticmpi.io/v1alpha1/elasticqueues/$namespace" | jq -e '.status.pools | map(.nodes) == [1, 1, 0, 0]' >/dev/null; }
within 30 'the queue counts the nodes that it may use' nodes_counted

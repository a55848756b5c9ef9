#!/usr/bin/env bash
# a node whose wire is cut costs the job its worker: it starts again elsewhere, and the lost ranks are dead
# images: operator runtime jacobi
set -euo pipefail
# shellcheck source=e2e/cases/cluster/lib/operator.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/operator.sh"
need_own_cluster
begin_case
operator_may_restart=true # one of them may be on that node
expected_log='no answer|Could not|Connection|connection|lead|lease|Lease|timed out|Timeout|next attempt|stop the program'
node=
case_repair() {
  if [[ -n $node ]]; then cluster_ctl mend "$node"; wait_until 90 "$node is ready" node_is "$node" True; fi
} >/dev/null 2>&1
job spread-out 0 ".spec.worker.replicas = 3 | .spec.runPolicy.backoffLimit = 1 | $spread"
runs spread-out 3
victim=spread-out-w-2 node=$(node_of spread-out-w-2)
others() { ! pods_are spread-out "map(select(.metadata.name != \"$victim\" and .spec.nodeName == \"$node\")) | length > 0"; }
expect 'the pods are on three nodes' others
cluster_ctl cut "$node"
start=$EPOCHREALTIME
within 150 'the job says that it lost a worker and starts again' job_is spread-out '.status.restarts == 1'
expect 'in words' event spread-out '' 'restart 1 of 1'
runs spread-out 3 150
iterates spread-out
elsewhere() { pods_are spread-out "map(select(.metadata.deletionTimestamp == null)) | all(.[]; .spec.nodeName != \"$node\")"; }
expect 'on the other nodes' elsewhere
say "all over $(elapsed "$start") s after the fault"
cluster_ctl mend "$node"
within 90 'the node is ready again' node_is "$node" True
within 90 'the lost pod goes' pod_gone "$victim"
iterates spread-out
runs spread-out 3

#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# a NoExecute taint, as of a spot node that is taken away, is a planned leave: no member is lost and nothing begins anew
# images: operator runtime jacobi
# alone: it empties a node
# full: what [drain] does by the eviction API
set -euo pipefail
# shellcheck source=e2e/cases/cluster/lib/operator.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/operator.sh"
begin_case
operator_may_restart=true # one of them may be on that node
expected_log='no answer|Could not|Connection|connection|lead|lease|Lease|timed out|Timeout|next attempt|stop the program'
node=
case_repair() { [[ -z $node ]] || kubectl taint node "$node" spot-; } >/dev/null 2>&1
job taken 0 ".spec.worker.replicas = 3 | .spec.runPolicy.backoffLimit = 1 | $spread"
runs taken 3
has_copies taken
node=$(node_of taken-w-1)
start=$EPOCHREALTIME
kubectl taint node "$node" spot=gone:NoExecute >/dev/null
elsewhere() { pods_are taken "map(select(.metadata.deletionTimestamp == null)) | length == 3 and all(.[]; .spec.nodeName != \"$node\")"; }
within 60 'three workers are elsewhere' elsewhere
runs taken 3
say "all over $(elapsed "$start") s after the taint"
iterates taken
expect 'nothing began anew' job_is taken '(.status.restarts // 0) == 0 and .status.epoch >= 2'
expect 'no member was lost' job_is taken '(.status.recoveries.count // 0) == 0'
within 10 'the change was planned' event taken Resized '3 -> 3 workers'

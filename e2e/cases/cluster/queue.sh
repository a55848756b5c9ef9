#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# jobs of a queue start in its order, some by shrinking others that never restart; held and deleted, it stops nobody, and back, it sizes who runs
# images: operator runtime jacobi
set -euo pipefail
# shellcheck source=e2e/cases/cluster/lib/operator.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/operator.sh"
# shellcheck source=e2e/cases/cluster/lib/queues.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/queues.sh"
begin_case
urgent=e2e-queue-urgent
case_repair() {
  queue_goes
  kubectl delete priorityclass "$urgent" --ignore-not-found --wait=false >/dev/null
}
kubectl apply -f - >/dev/null <<END
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: $urgent}
value: 1
preemptionPolicy: Never
END
holds() { queue ".spec.priorities = [{name: \"$urgent\", value: 10}] | .spec.hold = \"$1\" | .spec.growth.cooldownSeconds = 1"; }
rigid=$queued' | .spec.runtime.mode = "Rigid" | .spec.worker.replicas = 5'

# Its answer is that of the one that is shrunk.
job alone 800 '.spec.worker |= (.replicas = 1 | .maxReplicas = 1) | .spec.worker.template.spec.containers[0].args[-1] = "0"'

holds Start
job wide 800 "$queued | .spec.worker.replicas = 8 | .spec.worker.minReplicas = 2"
within 20 'the queue is held, and counts who waits' queue_is '.status.queued == 1 and .status.running == 0 and .status.fence > 0'
expect 'no pod was made' pods_are wide 'length == 0'
holds None
runs wide 8

start=$EPOCHREALTIME
job stiff 0 "$rigid | .spec.worker.replicas = 4"
within 40 'a rigid job starts on the full queue' running stiff 4
say "$(elapsed "$start") s after it was made"
expect 'the other one has become smaller, asked once and never started again' job_is wide '.status.joinedReplicas == 4 and .status.nextChange == 2 and .status.restarts == 0'
within 20 'the queue has given out all that it has' queue_is '.status.running == 2 and (.status.pools[0] | .heldMilliCPU == .capacityMilliCPU)'
within 10 'it was promised that' event stiff Promised
within 10 'the other one says why it is smaller' event wide Yielding 'yields 4 workers to stiff'

# One more, which has what the shrunk one leaves when that ends.
job supple 0 "$queued | .spec.worker |= (.replicas = 4 | .maxReplicas = 4)"
ends wide Succeeded 60
ends alone Succeeded 20
expect 'the one that was shrunk has the same answer' test "$(fingerprint wide)" = "$(fingerprint alone)"
runs supple 4

job later 20 "$rigid"
within 20 'who comes then waits' waits later 'needs 5 workers'
expect 'a list of jobs says so in a word' job_is later '.status.reason == "Waiting"'
kubectl delete elasticqueue "$namespace" >/dev/null
within 20 'without its queue it waits as well, and says so' waits later 'there is no ElasticQueue'
expect 'what runs goes on' running stiff 4
iterates stiff
holds Start
job first 20 "$rigid | .spec.worker.replicas = 3 | .spec.scheduling.priorityClassName = \"$urgent\""
within 20 'the queue is back, and puts the more important job first' queue_is '.status.head | map(.name) == ["first", "later"]'
within 20 'it has the jobs that run' queue_is '.status.running == 2'
expect 'with what they had' running supple 4
holds None
ends first Succeeded 60
within 10 'it has sized a running job again' event supple Yielding 'yields 3 workers to first'
expect 'which was never started again' job_is supple '.status.restarts == 0'

k delete emj stiff --wait=false >/dev/null
ends later Succeeded 60
started() { value "$1" '.status.startTime'; }
# shellcheck disable=SC2016
expect 'the more important one has started first' test ! "$(started first)" '>' "$(started later)"
all_accounted() { [[ $(operator_log all | sed -n 's|.*: Accounting: ||p' | grep -c "; namespace=$namespace ") == 5 ]]; }
within 20 'each of the five has a line in the accounts' all_accounted

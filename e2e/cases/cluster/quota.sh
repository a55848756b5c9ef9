#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# a ResourceQuota bounds the jobs of its namespace together, and nobody is shrunk for one that it bars
# images: operator runtime jacobi
# full: the tests of operator/decide/queue and operator/controller say the same in less
set -euo pipefail
# shellcheck source=e2e/cases/cluster/lib/operator.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/operator.sh"
# shellcheck source=e2e/cases/cluster/lib/queues.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/queues.sh"
begin_case
bound() { # PODS: the quota of the case's namespace
  jq -n --arg pods "$1" '{apiVersion: "v1", kind: "ResourceQuota", metadata: {name: "few"}, spec: {hard: {pods: $pods}}}' | k apply -f - >/dev/null
  within 20 "the namespace may have $1 pods" counted_quota "$1"
}
counted_quota() { [[ $(k get resourcequota few -o jsonpath='{.status.hard.pods}') == "$1" ]]; }
stiff() { job "$1" "$2" "$queued | .spec.runtime.mode = \"Rigid\" | .spec.worker.replicas = $3"; } # NAME ITERATIONS WORKERS
barred() { job_is "$1" '.status.state == "Queued" and .status.queue.cause == "Quota" and (.status.queue.reason | test("'"$2"'"))'; }

queue .
bound 4
job wide 0 "$queued | .spec.worker.replicas = 8 | .spec.worker.minReplicas = 1"
runs wide 4
stiff first 0 2
within 20 'a second job of the namespace waits for its quota, and says so' barred first 'ResourceQuotas of namespace quota leave room for 0'
expect 'nobody is shrunk for it' job_is wide '.status.joinedReplicas == 4 and .status.nextChange == 1'

# Room for one of the two that wait, and never for both.
stiff second 0 2
within 20 'a third one waits, too' barred second 'needs 2 workers'
bound 6
within 60 'one of them starts' job_is first '.status.state == "Running"'
expect 'the other one waits' barred second 'needs 2 workers'
expect 'and nobody is shrunk' job_is wide '.status.joinedReplicas == 4'
expect 'nothing was refused by the API server' test -z "$(operator_log all | grep "$namespace/.*403" || true)"
